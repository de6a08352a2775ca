"""The list of what was erased is kept outside of a store, and applied to one that was restored."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import copyfile, which

import pytest
from typer.testing import CliRunner

from salience import Memory
from salience.cli.app import app
from salience.errors import InvalidInput
from salience.records.tombstones import Tombstone
from salience.testing import WordHashEmbedder
from support.shared_postgres import Databases
from support.waiting import HANG_SECONDS


def opened(address: str) -> Memory:
    return Memory.open(address, embedder=WordHashEmbedder())


def salience(*arguments: str | Path) -> str:
    """What a command prints."""
    ran = CliRunner().invoke(app, list(map(str, arguments)))
    assert ran.exit_code == 0, ran.output
    return ran.output


def dumped(address: str, dump: Path) -> bool:
    """Dump a database; False where there is no pg_dump of the version of the server."""
    command = ["pg_dump", "--format=custom", f"--file={dump}", address]
    done = (
        which("pg_dump")
        and subprocess.run(command, check=False, timeout=HANG_SECONDS).returncode == 0
    )
    if not done:
        dump.unlink(missing_ok=True)
    return bool(done)


@pytest.mark.parametrize("kind", ["file", "postgres"])
def test_what_was_erased_since_a_dump_is_erased_again(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dump, kept = tmp_path / "dump", tmp_path / "erased.jsonl"
    if kind == "file":
        address, restored = str(tmp_path / "memory.db"), str(tmp_path / "restored.db")
    else:
        databases: Databases = request.getfixturevalue("postgres")
        address, restored = databases.fresh("erased"), databases.fresh("restored")
    with opened(address) as memory:
        memory.add("Ana hides a key.", id="again")
        memory.delete("again")
        memory.add("Ana hides another key.", id="again")
        memory.add_many([{"id": f"m{i}", "content": f"Fact number {i}."} for i in range(4)])
        memory.add("Ana is allergic to nuts.", id="allergy", user_id="ana")
        memory.for_namespace("other").add("Fact number 1.", id="m1")
        memory.for_namespace("gone").add_many([f"Secret number {i}." for i in range(30)])
    if kind == "file":
        copyfile(address, dump)
    elif not dumped(address, dump):
        restored = databases.fresh("restored", template="erased")
    with opened(address) as memory:
        memory.delete("m1")
        memory.add("Fact number 1 again.", id="m1")
        memory.delete_many(["m2", "m3"])
        memory.delete_user("ana")
        memory.delete_all(namespace="gone")
        told = [event for event in memory.events() if event.type == "erase"]
    kept.write_text(salience("--db", address, "erased"))
    assert not any(word in kept.read_text() for word in ("allergy", "m1", "gone", "default"))

    if kind == "file":
        copyfile(dump, restored)
    elif dump.exists():
        command = ["pg_restore", "--clean", "--if-exists", f"--dbname={restored}", str(dump)]
        subprocess.run(command, check=True, timeout=HANG_SECONDS)
    assert "34 memories erased again" in salience("--db", restored, "erased", "--apply", kept)
    with opened(restored) as memory:
        assert {record.id for record in memory.get_all()} == {"again", "m0"}
        assert list(memory.stats(everywhere=True)["namespaces"]) == ["default", "other"]
        assert len(memory.for_namespace("other")) == 1
        assert [event for event in memory.events() if event.type == "erase"] == told
        memory.add("Fact number 2 was told again.", id="m2")
        places = [event.seq for event in memory.events()]
        assert places == sorted(set(places))
        assert memory.upkeep.doctor()
    again = salience("--json", "--db", restored, "erased", "--apply", kept)
    assert again.split() == ["{", '"erased_again":', "0", "}"]
    assert salience("--db", restored, "erased") == kept.read_text()


@pytest.mark.parametrize("line", [b"[]", b"{}", b"x", b'{"ids": 1}', b'{"ids": "00"}', b"\xff"])
def test_what_is_no_line_of_a_list_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidInput, match="is no erasure; give a list that `salience erased`"):
        Tombstone.from_line(line)
