"""Long memories are found by their passages, alike in every store."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.language.passages import SPLITTER
from salience.stores.postgres import PostgresStore
from salience.testing import WordHashEmbedder
from support.older_files import without_places

EMBEDDER = WordHashEmbedder()
CHORES = (
    "We swept the floor of the barn and stacked the wood behind it.",
    "The old clock in the hall was wound up again on Sunday evening.",
    "Nobody remembered to water the tomatoes before the long weekend.",
    "A parcel with seeds arrived and was put on the shelf by the door.",
)
FACT = "The password of the guest network is juniper."


def note(place: int, fact: str = "") -> str:
    """Some 500 words under headings, a fact in the middle."""
    half = "".join(
        f"## Week {week}\n\n{CHORES[(week + place) % 4]} {CHORES[week % 4]} Item {place}{week}.\n\n"
        for week in range(10)
    )
    return f"# Diary {place}\n\n{half}## Visitors\n\n{fact}\n\n{half}"


def filled(store: Any) -> Memory:
    """A memory with notes, turns, and notes that were edited and erased."""
    memory = Memory.open(store, embedder=EMBEDDER)
    for place in range(6):
        memory.add(note(place, FACT if place == 3 else ""), id=f"note{place}", title=f"Log {place}")
    for turn in range(4):
        memory.add(CHORES[turn], id=f"turn{turn}", session_id="talk", speaker="Ana")
    memory.add("A guest asked about the network.", id="short")
    memory.update("note1", content=note(1, "The spare key hangs in the shed."))
    memory.update("note2", content="It is short now.")
    memory.delete("note0")
    return memory


QUERIES = (
    "password of the guest network",
    "Where is the spare key?",
    "wound up the clock",
    "Log 4",
)


def answers(memory: Memory) -> list[Any]:
    """All that searches say."""
    found = []
    for query in QUERIES:
        hits = memory.search(query, limit=20, touch=False, now="2030-01-01").hits
        found.append([(hit.id, hit.score, hit.similarity, hit.passages) for hit in hits])
    return found


@pytest.fixture
def expected() -> list[Any]:
    with filled("ram://") as memory:
        return answers(memory)


def test_a_fact_amid_a_note_is_found_with_its_passage(expected: list[Any]) -> None:
    [(_, _, similarity, passages)] = [hit for hit in expected[0] if hit[0] == "note3"]
    assert FACT in passages[0].text
    assert passages[0].text == note(3, FACT)[passages[0].start : passages[0].end]
    assert passages[0].heading.startswith("Diary 3")
    assert len(SPLITTER.split(note(3, FACT))) == passages[0].of
    assert similarity > 0.2
    assert expected[1][0][0] == "note1"
    assert all(passages == () for id, _, _, passages in expected[0] if id in ("short", "note2"))


@pytest.mark.parametrize("memory_limit", [0, 1 << 30])
def test_postgres_answers_alike(database: str, expected: list[Any], memory_limit: int) -> None:
    with filled(PostgresStore(database, memory=memory_limit)) as memory:
        assert answers(memory) == expected
        assert answers(memory) == expected


def test_sqlite_answers_alike_before_and_after_it_is_opened_anew(
    tmp_path: Path, expected: list[Any]
) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with filled(url) as memory:
        assert answers(memory) == expected
    with Memory.open(url, embedder=EMBEDDER) as memory:
        assert answers(memory) == expected
        past = memory.search(QUERIES[1], as_of=datetime.now(UTC)).hits[0]
        assert past.passages == expected[1][0][3]


def test_passages_come_along_with_copies_and_exports(
    tmp_path: Path, expected: list[Any], copied: Callable[[Memory, Path], Memory]
) -> None:
    with filled("ram://") as memory, copied(memory, tmp_path) as other:
        assert answers(other) == expected


@pytest.fixture(params=[False, True])
def copied(request: pytest.FixtureRequest) -> Callable[[Memory, Path], Memory]:
    def copy(memory: Memory, folder: Path) -> Memory:
        memory.export(folder / "all.jsonl", vectors=request.param)
        other = Memory.open("ram://", embedder=EMBEDDER)
        other.load(folder / "all.jsonl")
        return other

    return copy


def test_other_profiles_rank_the_whole_and_show_the_passage() -> None:
    with filled("ram://") as memory:
        hits = memory.search(QUERIES[0], profile="composite", touch=False).hits
        shown = next(hit for hit in hits if hit.id == "note3")
        assert FACT in shown.passages[0].text


def test_a_context_has_the_passage_and_not_the_head_of_the_note() -> None:
    with filled("ram://") as memory:
        context = memory.get_context(QUERIES[0], max_tokens=200)
        assert FACT in context.text
        assert "tokens left out" in context.text
        assert context.tokens <= 200


def test_an_older_file_gets_its_passages(tmp_path: Path, expected: list[Any]) -> None:
    path = tmp_path / "memory.db"
    filled(f"sqlite:///{path}").close()
    db = sqlite3.connect(path)
    without_places(db)
    db.executescript(
        "DROP INDEX memories_with_passages; ALTER TABLE memories DROP COLUMN passages;"
        "ALTER TABLE memories DROP COLUMN terms_passages;"
        "ALTER TABLE memories DROP COLUMN written_by;"
        "ALTER TABLE memories DROP COLUMN write_count; DROP TABLE erasures;"
        "ALTER TABLE memories DROP COLUMN derived_by;"
        "DELETE FROM vectors WHERE name LIKE 'content#%'; PRAGMA user_version = 8;"
    )
    db.close()
    with Memory.open(f"sqlite:///{path}", embedder=EMBEDDER) as memory:
        hits = memory.search(QUERIES[0], touch=False).hits
        shown = next(hit for hit in hits if hit.id == "note3")
        assert FACT in shown.passages[0].text  # by its words
    assert Memory.upkeep.reembed(f"sqlite:///{path}", embedder=EMBEDDER, missing=True) == 4
    with Memory.open(f"sqlite:///{path}", embedder=EMBEDDER) as memory:
        assert answers(memory) == expected


def test_another_embedder_makes_the_vectors_of_passages_anew(tmp_path: Path) -> None:
    url, other = f"sqlite:///{tmp_path / 'memory.db'}", WordHashEmbedder(48)
    filled(url).close()
    Memory.upkeep.reembed(url, embedder=other)
    with Memory.open(url, embedder=other) as memory:
        again = answers(memory)
    assert FACT in again[0][0][3][0].text
