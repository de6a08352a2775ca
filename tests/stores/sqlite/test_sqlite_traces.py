"""What is erased is in no byte of the file, its log and its shared memory."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder

WINDOW = 8  # characters of a marker that count as a trace


class Markers:
    """Texts that occur nowhere else, by the namespace that they are written in."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.of: dict[str, set[str]] = {}

    def new(self, namespace: str, suffix: str = "") -> str:
        marker = "".join(self.chance.choices("bcdfghjklmnpqrstvwxz", k=16)) + suffix
        self.of.setdefault(namespace, set()).add(marker)
        return marker

    def traces(self, folder: Path, namespaces: set[str]) -> set[str]:
        """Pieces of the markers of some namespaces that are in any file of a folder."""
        pieces = {piece for name in namespaces for m in self.of[name] for piece in _pieces(m)}
        found = set()
        for path in folder.iterdir():
            for run in re.findall(rb"[a-z]{%d,}" % WINDOW, path.read_bytes()):
                found |= pieces & {*_windows(run.decode())}
        return found


def _pieces(marker: str) -> Iterator[str]:
    yield from _windows(json.dumps(marker)[1:17])


def _windows(text: str) -> Iterator[str]:
    for start in range(len(text) - WINDOW + 1):
        yield text[start : start + WINDOW]


def write(memory: Memory, markers: Markers, own: list[str]) -> None:
    """One write, of a kind that chance chooses, with markers in all that it writes."""
    chance, name = markers.chance, memory.namespace

    def new(suffix: str = "") -> str:
        return markers.new(name, suffix)

    kind = chance.random()
    if kind < 0.5 or len(own) < 2:
        own.append(new())
        length = chance.choice((1, 2, 3, 40, 400))
        session = new() if chance.random() < 0.3 else None
        memory.add(
            f"{new()} " * length,
            id=own[-1],
            metadata={new(): new("\u2028")},
            session_id=session,
            idempotency_key=new(),
            dedup=False,
            tags=[new()],
            entities=[new("é")],
            title=new(),
            user_id=new(),
        )
    elif kind < 0.7:
        memory.update(chance.choice(own), content=f"{new()} " * chance.choice((1, 2, 60)))
    elif kind < 0.8:
        source, target = chance.sample(own, 2)
        memory.link(source, target, "supports")
    elif kind < 0.9:
        memory.touch([chance.choice(own)], utility=0.5, session_id=new())
    else:
        memory.delete(own.pop(chance.randrange(len(own))))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_file_that_is_written_anew_has_no_trace_of_what_was_erased(
    tmp_path: Path, seed: int
) -> None:
    markers = Markers(seed)
    names = [markers.new("names") for _ in range(4)]
    with Memory.open(tmp_path / "memory.db", embedder=WordHashEmbedder()) as memory:
        spaces = [memory.within(name) for name in names]
        ids: dict[str, list[str]] = {name: [] for name in names}
        for _ in range(300):
            space = markers.chance.choice(spaces)
            write(space, markers, ids[space.namespace])
        kept, by_ids, by_filter, whole = spaces
        markers.of["gone"] = set(names[1:])
        assert markers.traces(tmp_path, {"gone", *names[1:]})  # they are found while they are there
        by_ids.delete_many(ids[by_ids.namespace])
        by_filter.delete_all({"id": {"exists": True}})
        whole.delete_all(namespace=whole.namespace, rewrite=True)
        assert markers.traces(tmp_path, {"gone", *names[1:]}) == set()
        assert markers.traces(tmp_path, {kept.namespace})
        assert kept.count() == len(ids[kept.namespace])
        assert kept.verify().differences == ()
        assert memory.stats(everywhere=True)["namespaces"] == {kept.namespace: kept.count()}


def test_no_event_names_a_memory_that_was_erased(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=WordHashEmbedder()) as memory:
        memory.add("Ana plays the cello.", id="near")
        memory.add("The cello is old.", id="qwrtzpsdfg")
        memory.link("qwrtzpsdfg", "near", "supports")
        memory.touch(["qwrtzpsdfg"], utility=0.9)
        assert [event.type for event in memory.history("near").events] == ["write", "boost"]
        memory.delete("qwrtzpsdfg")
        assert memory.verify().differences == ()
    assert b"qwrtzpsdfg" not in (tmp_path / "memory.db").read_bytes()


def test_a_forgotten_user_is_named_by_no_byte(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None, actor="qwrtzpsdfg") as memory:
        memory.add("The key is with the neighbour.", id="kept")
        memory.add("The key is under the mat.", id="gone", user_id="qwrtzpsdfg")
        memory.update("kept", user_id="qwrtzpsdfg")
        memory.update("kept", user_id="ben", importance=0.7)
        memory.touch(["kept"], "read")
        receipt = memory.forget_user("qwrtzpsdfg", rewrite=True)
        assert (receipt.memories, receipt.erased["mentions"]) == (1, 4)
        assert memory.verify().differences == ()
        assert memory.doctor().findings == ()
    assert b"qwrtzpsdfg" not in path.read_bytes()


def test_upkeep_of_an_empty_namespace_leaves_no_name(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None, namespace="qwrtzpsdfg") as memory:
        memory.maintain()
        memory.add("A fact.", id="a")
        memory.maintain()
        memory.delete("a")
    assert b"qwrtzpsdfg" not in (tmp_path / "memory.db").read_bytes()
