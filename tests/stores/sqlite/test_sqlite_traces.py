"""What is erased is in no byte of the file, its log and its shared memory."""

from pathlib import Path

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder
from support.traces import check_erasures


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_file_that_is_written_anew_has_no_trace_of_what_was_erased(
    tmp_path: Path, seed: int
) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=WordHashEmbedder()) as memory:
        check_erasures(memory, seed, lambda: tmp_path)


def test_no_event_names_a_memory_that_was_erased(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=WordHashEmbedder()) as memory:
        memory.add("Ana plays the cello.", id="near")
        memory.add("The cello is old.", id="qwrtzpsdfg")
        memory.link("qwrtzpsdfg", "near", "supports")
        memory.touch(["qwrtzpsdfg"], utility=0.9)
        assert [event.type for event in memory.history("near").events] == ["write", "boost"]
        memory.delete("qwrtzpsdfg")
        assert memory.upkeep.verify().differences == ()
    assert b"qwrtzpsdfg" not in (tmp_path / "memory.db").read_bytes()


def test_a_forgotten_user_is_named_by_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None, actor="qwrtzpsdfg") as memory:
        memory.add("The key is with the neighbour.", id="kept")
        memory.add("The key is under the mat.", id="gone", user_id="qwrtzpsdfg")
        memory.update("kept", user_id="qwrtzpsdfg")
        memory.update("kept", user_id="ben", importance=0.7)
        memory.touch(["kept"], "read")
        receipt = memory.delete_user("qwrtzpsdfg", rewrite=True)
        assert (receipt.memories, receipt.erased["mentions"]) == (1, 4)
        assert memory.upkeep.verify().differences == ()
        assert memory.upkeep.doctor().findings == ()
    assert b"qwrtzpsdfg" not in path.read_bytes()


def test_upkeep_of_an_empty_namespace_leaves_no_name(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None, namespace="qwrtzpsdfg") as memory:
        memory.upkeep.maintain()
        memory.add("A fact.", id="a")
        memory.upkeep.maintain()
        memory.delete("a")
    assert b"qwrtzpsdfg" not in (tmp_path / "memory.db").read_bytes()
