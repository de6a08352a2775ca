"""Erasing many memories: in short transactions, between which others write."""

import itertools
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest

from salience import Memory
from salience.errors import StoreError
from salience.records.tombstones import Erasing
from salience.retrieval.operations import Delete
from salience.stores import EmbeddedStore
from salience.stores.sqlite import connection
from salience.stores.sqlite.records import IN_LOG, OVERWRITTEN, REWRITTEN, SqliteRecords
from salience.stores.tables import erase
from support.suite.writers import acting
from support.waiting import HANG_SECONDS

ERASING: dict[str, Callable[[Memory], object]] = {
    "namespace": lambda memory: memory.delete_all(namespace=memory.namespace),
    "filter": lambda memory: memory.delete_all({"tags": "t"}),
    "id": lambda memory: memory.delete("m0"),
}


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erase, "ERASED_AT_ONCE", 10)


def opened(path: Path) -> tuple[Memory, SqliteRecords]:
    store = SqliteRecords(str(path))
    return Memory.open(EmbeddedStore(store), embedder=None, namespace="a"), store


def filled(path: Path, count: int) -> tuple[Memory, SqliteRecords]:
    memory, store = opened(path)
    memory.add_many({"id": f"m{i}", "content": f"Fact {i}.", "tags": ["t"]} for i in range(count))
    return memory, store


@pytest.mark.parametrize("by", ["namespace", "filter", "ids"])
def test_each_transaction_erases_few_memories(tmp_path: Path, by: str) -> None:
    memory, store = filled(tmp_path / "memory.db", 45)
    with memory:
        left: list[int] = []

        def count(statement: str) -> None:
            if statement.startswith("COMMIT"):
                left.append(store.namespaces().get("a", 0))

        store._writer.set_trace_callback(count)
        if by == "namespace":
            erased = memory.delete_all(namespace="a").memories
        elif by == "filter":
            erased = memory.delete_all({"tags": "t"}).memories
        else:
            erasing = Erasing(datetime.now(timezone.utc), None, "delete")
            ids = tuple(f"m{i}" for i in range(45))
            erased = store.delete(Delete("a", erasing, ids)).memories
        store._writer.set_trace_callback(None)
        assert erased == 45
        assert left[-6:] == [45, 35, 25, 15, 5, 0]  # as others see it, before each commit
        assert memory.stats()["memories"] == 0


def test_what_was_cut_short_says_so_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memory, _ = filled(path, 45)
    with memory, sqlite3.connect(path) as other:
        other.execute(
            "CREATE TRIGGER trouble BEFORE DELETE ON memories WHEN old.id = 'm25' "
            "BEGIN SELECT RAISE(ABORT, 'the disk has trouble'); END"
        )
        other.commit()
        with pytest.raises(StoreError, match=r"trouble.*; 20 are erased, erase again for the rest"):
            memory.delete_all(namespace="a")
        assert memory.get_all(limit=100).total == 25
        other.execute("DROP TRIGGER trouble")
        other.commit()
        assert memory.delete_all(namespace="a").memories == 25


def test_an_edit_between_two_transactions_saves_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, store = filled(tmp_path / "memory.db", 25)
    other, _ = opened(tmp_path / "memory.db")
    turn = itertools.count()

    def between() -> None:
        if next(turn) == 1:
            other.update("m24", content="Another text.")  # it gets another row
            other.add("A fact that was not there when the call came.", id="new")

    with memory, other:
        monkeypatch.setattr(store._turns, "wait", between)
        assert memory.delete_all(namespace="a").memories == 25
        assert [record.id for record in memory.get_all()] == ["new"]


def test_who_waits_for_the_lock_gets_it_between_two_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LONG_TURN_SECONDS", 0.0)
    monkeypatch.setattr(connection, "PAUSE_SECONDS", 0.5)
    memory, store = filled(tmp_path / "memory.db", 30)
    other, _ = opened(tmp_path / "memory.db")
    begun, seen = threading.Event(), []

    def write() -> None:
        begun.wait(HANG_SECONDS)
        other.for_namespace("b").add("A fact.")
        seen.append(store.namespaces().get("a", 0))

    with memory, other:
        thread = threading.Thread(target=write)
        thread.start()
        store._writer.set_trace_callback(
            lambda statement: begun.set() if statement.startswith("DELETE FROM links") else None
        )
        assert memory.delete_all(namespace="a").memories == 30
        store._writer.set_trace_callback(None)
        thread.join()
    assert seen[0] > 0


@pytest.mark.parametrize("by", ERASING)
def test_what_is_still_there_afterwards_undoes_the_erasure(tmp_path: Path, by: str) -> None:
    path = tmp_path / "memory.db"
    memory, _ = filled(path, 3)
    with memory, sqlite3.connect(path) as other:
        memory.link("m0", "m1", "supports")
        other.execute(
            "CREATE TRIGGER keeper AFTER DELETE ON links BEGIN INSERT INTO links VALUES (old.space,"
            " old.source, old.target, old.type, old.weight, old.created_at, old.checksum); END"
        )
        other.commit()
        with pytest.raises(StoreError, match=r"not erased: 1 of links are still there .* undone"):
            ERASING[by](memory)
        assert memory.count() == 3
        other.execute("DROP TRIGGER keeper")
        other.commit()
        assert memory.delete_all(namespace="a").remaining["links"] == 0


def test_a_receipt_says_what_has_become_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memory, _ = filled(path, 3)
    with memory:
        receipt = memory.delete_all({"id": "m0"})
        assert receipt.disk == OVERWRITTEN
        with sqlite3.connect(path) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM memories").fetchone()
            assert memory.delete_all({"id": "m1"}).disk == IN_LOG
            reader.execute("COMMIT")
        receipt = memory.delete_user("nobody", rewrite=True)
        assert (receipt.memories, receipt.rewritten, receipt.disk) == (0, True, REWRITTEN)


@pytest.mark.parametrize("count", [9, 10, 11, 25])
def test_a_user_is_taken_out_of_more_events_than_are_rewritten_at_once(
    tmp_path: Path, count: int
) -> None:
    path = tmp_path / "memory.db"
    memory, _ = filled(path, 1)
    with memory:
        for _ in range(count):
            acting(memory, "xyzzy").feedback("m0", "useful")
        receipt = memory.delete_user("xyzzy")
        assert receipt.erased["mentions"] == count
        assert "xyzzy" not in {event.actor for event in memory.history("m0").events}
        assert b"xyzzy" not in path.read_bytes() + path.with_name("memory.db-wal").read_bytes()
