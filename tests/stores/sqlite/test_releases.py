"""Files as each release since the first of these made them, which this one reads and goes on with.

`releases/make.py` writes the script of such a file; a change of the schema adds one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import pytest

from salience import Memory
from salience.access.keyring import Keyring
from salience.stores.migrations import migrations
from salience.testing import WordHashEmbedder

SCRIPTS = sorted((Path(__file__).parent / "releases").glob("*.sql"))
NOW = datetime(2026, 2, 1, tzinfo=timezone.utc)
KEPT = {"lisbon", "cello", "rye", "fever", "cafe", "long", "bakery", "harbour"}
FOUND = {
    "Where does Ana live?": "lisbon",
    "Who sold the cello?": "cello",
    "What does Ben bake?": "rye",
    "When does the caf\u00e9 open?": "cafe",
    "Which clock stands in room 39 of the museum?": "long",
    "Who works at the harbour?": "harbour",
}


def opened(path: Path) -> Memory:
    return Memory.open(
        f"sqlite:///{path}", embedder=WordHashEmbedder(dimensions=8), clock=lambda: NOW
    )


@pytest.fixture(params=SCRIPTS, ids=lambda script: script.stem)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(request.param.read_text("utf-8"))
    return path


@pytest.fixture
def memory(file: Path) -> Iterator[Memory]:
    with opened(file) as memory:
        yield memory


def check(memory: Memory) -> None:
    """Everything of the file is there, and is found."""
    assert {record.id for record in memory.get_all()} >= KEPT
    for question, id in FOUND.items():
        assert memory.search(question, touch=False).ids[0] == id, question


def test_there_is_a_file_of_the_present_schema() -> None:
    states = [path.read_text("utf-8").split("user_version=")[1] for path in SCRIPTS]
    newest = max(int(state.split(";")[0]) for state in states)
    assert newest == len(migrations("sqlite")), "run releases/make.py HEAD once it is committed"


def test_all_that_it_holds_is_there(memory: Memory) -> None:
    check(memory)
    assert memory["lisbon"].pinned
    assert (memory["lisbon"].tags, memory["cello"].metadata) == (("Home",), {"n": 1})
    assert (memory["bakery"].status, memory["fever"].status) == ("superseded", "archived")
    assert memory["rye"].importance == 0.75
    assert {(link.source, link.target, link.type) for link in memory.links()} >= {
        ("cello", "rye", "supports"),
        ("harbour", "bakery", "supersedes"),
    }
    [before, now] = memory.history("cello").versions
    assert (before.record.content, now.record.content) == (
        "Ben has a cello.",
        "Ben has sold the cello.",
    )
    assert memory.get("gone") is None
    past = memory.search("Who has a cello?", as_of="2026-01-10T18:00:00Z", touch=False)
    assert past[0].content == "Ben has a cello."
    other = memory.for_namespace("other")
    assert other.search("heron", touch=False).ids == ("heron",)


@pytest.mark.one_in(5)
def test_its_keys_are_kept(file: Path) -> None:
    with Keyring.open(f"sqlite:///{file}") as keys:
        [key] = keys.list()
        assert (key.name, key.scopes) == ("reader", ("memories:read",))


def test_its_memories_are_changed(file: Path, memory: Memory) -> None:
    memory.update("rye", content="Ben bakes bread with spelt on Sundays.")
    memory.add("The tram goes at nine.", id="tram")
    memory.unarchive("fever")
    memory.feedback("lisbon", "useful")
    memory.link("tram", "lisbon", "supports")
    memory.delete("harbour")
    memory.close()
    with opened(file) as again:
        assert again.search("What does Ben bake?", touch=False)[0].content.endswith(
            "spelt on Sundays."
        )
        assert again.search("When does the tram go?", touch=False).ids[0] == "tram"
        assert again["fever"].status == "active"
        assert again.get("harbour") is None
        assert again.upkeep.doctor(), again.upkeep.doctor().findings


def test_the_doctor_finds_it_sound(memory: Memory) -> None:
    assert memory.upkeep.doctor(), memory.upkeep.doctor().findings


@pytest.mark.one_in(5)
def test_it_is_backed_up_and_restored(memory: Memory, tmp_path: Path) -> None:
    memory.backup(tmp_path / "copy.db")
    memory.close()
    with opened(tmp_path / "copy.db") as copy:
        check(copy)
    Memory.restore_backup(tmp_path / "copy.db", tmp_path / "again.db")
    with opened(tmp_path / "again.db") as again:
        check(again)


@pytest.mark.one_in(5)
def test_it_is_exported(memory: Memory, tmp_path: Path) -> None:
    memory.export(tmp_path / "all.jsonl")
    with opened(tmp_path / "other.db") as other:
        other.load(tmp_path / "all.jsonl")
        check(other)
        assert other.history("cello").versions[0].record.content == "Ben has a cello."
