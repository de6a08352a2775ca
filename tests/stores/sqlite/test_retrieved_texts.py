"""What searches returned lately: kept in memory, and still what the file says now."""

import random
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from salience import Memory
from salience.records.tombstones import Erasing
from salience.retrieval.operations import Delete, RetrievedTexts, RowsById, Touch
from salience.stores.sqlite.records import SqliteRecords

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
LAST = 40


def asked(records: SqliteRecords, namespace: str, since: datetime) -> dict[str, str]:
    return records.retrieved_texts(RetrievedTexts(namespace, since, LAST))


def by_log(db: sqlite3.Connection, namespace: str, since: datetime) -> dict[str, str]:
    """The same by one statement that reads all of it."""
    found = db.execute(
        "SELECT id, content FROM spaces "
        "JOIN events ON events.space = spaces.space AND seq > last - ? "
        "JOIN memories ON memories.space = spaces.space AND sequence = memory "
        "WHERE name = ? AND type = 'retrieval' AND at >= ?",
        (LAST, namespace, since.timestamp()),
    )
    return dict(found.fetchall())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_the_kept_texts_are_those_of_the_log_whatever_others_write(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    path = tmp_path / "m.db"
    now = START
    with Memory.open(path, embedder=None) as one, Memory.open(path, embedder=None) as other:
        kept, db = SqliteRecords(str(path)), sqlite3.connect(path)
        for number in range(120):
            namespace = chance.choice("ab")
            memory = chance.choice((one, other)).for_namespace(namespace)
            ids = [each.id for each in memory.get_all(limit=50)]
            step = chance.choice(
                ("add", "add", "search", "search", "edit", "delete", "wait", "all")
            )
            if step == "add" or not ids:
                memory.add(f"Text {number} of a memory.", id=f"m{number}")
            elif step == "search":
                memory.search("text memory", limit=chance.randint(1, 6), now=now)
            elif step == "edit":
                memory.update(chance.choice(ids), content=f"Another text, {number}.")
            elif step == "delete":
                memory.delete(chance.choice(ids))
            elif step == "wait":
                now += timedelta(seconds=chance.randint(1, 400))
            elif chance.random() < 0.2:
                memory.delete_all(namespace=namespace)
            one.upkeep.flush()
            other.upkeep.flush()
            for name in "ab":
                since = now - timedelta(seconds=600)
                assert asked(kept, name, since) == by_log(db, name, since), (number, step)
        kept.close()
        db.close()


def test_what_was_read_before_is_not_read_again(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        memory.add_many([f"Text {n} about apples." for n in range(30)], dedup=False)
        memory.search("apples", limit=30, now=START)
        memory.upkeep.flush()
        records = SqliteRecords(str(tmp_path / "m.db"))
        statements: list[str] = []
        records._reader.set_trace_callback(statements.append)
        assert len(asked(records, memory.namespace, START)) == 30
        assert any("content" in statement for statement in statements)
        memory.add("Nothing that was recalled.")
        statements.clear()
        assert len(asked(records, memory.namespace, START)) == 30
        assert not any("content" in statement for statement in statements)
        records.close()


def test_an_access_that_waits_counts_and_an_erased_text_is_let_go(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        memory.add("A text about apples.", id="apples")
        memory.search("apples", now=START)
        memory.upkeep.flush()
    records = SqliteRecords(str(tmp_path / "m.db"))
    [row] = records.answer(RowsById("default", ("apples",))).values()
    assert asked(records, "default", START) == {"apples": "A text about apples."}
    assert asked(records, "default", START + timedelta(seconds=1)) == {}
    records.touch(Touch(np.array([row]), START + timedelta(seconds=2)))
    assert len(asked(records, "default", START + timedelta(seconds=1))) == 1
    records.delete(Delete("default", Erasing(START, None, "delete"), ("apples",)))
    assert not records._retrieved
    assert asked(records, "default", START) == {}
    records.close()
