"""Replacing all vectors of a file: in short transactions, with one set for readers all the time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import EmbedderMismatch
from salience.stores.sqlite import adoption, records
from salience.testing import WordHashEmbedder

OLD, NEW = WordHashEmbedder(32), WordHashEmbedder(48)
MEMORIES = 23


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with facts, chats of several vectors, others' vectors and edited memories."""
    monkeypatch.setattr(adoption, "ADOPTED_AT_ONCE", 4)
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Memory.open(url, embedder=OLD) as memory:
        for i in range(MEMORIES):
            memory.add(f"Box {i} is of the colour {i * i}.", id=f"m{i}", vectors=own_vector(i))
        chat = [
            {"role": "user", "content": "I like rye bread."},
            {"role": "user", "content": "Yes."},
        ]
        memory.add_chat(chat, session_id="s", mode="hybrid")
        memory.within("team").add("Deploys happen on Tuesdays.", id="deploy")
        for i in range(0, MEMORIES, 3):
            memory.update(f"m{i}", content=f"Box {i} is painted.")
    return url


def own_vector(number: int) -> dict[str, list[float]]:
    """A vector that no embedder makes anew, for some memories."""
    return {"image": [1.0, float(number)]} if number % 5 == 0 else {}


def state(url: str) -> Any:
    """All that readers are told of the vectors, by indexes that are loaded now."""
    with Memory.open(url, embedder=NEW) as memory:
        hits = [
            [(hit.id, hit.score, *sorted(hit.routes)) for hit in space.search(text, touch=False)]
            for space in (memory, memory.within("team"))
            for text in ("the colour of box number seven", "Tuesdays", "rye bread")
        ]
        past = memory.search("colour", as_of=datetime.now(UTC), touch=False).ids
    with closing(records.SqliteRecords(url.removeprefix("sqlite:///"))) as reader:
        stored = [stored_vectors(reader, space) for space in ("default", "team")]
        former = [(name, blob) for _, name, blob in reader.former_vectors("default")]
    return hits, past, stored, former


def stored_vectors(reader: records.SqliteRecords, space: str) -> Any:
    """The vectors of a namespace, with what else is told of them."""
    vectors = among(reader, space, None)
    assert among(reader, space, sorted({row for _, row, _ in vectors})) == vectors
    names = sorted({name for name, *_ in vectors})
    assert reader.vector_names(space) == frozenset(names)
    return vectors, reader.dimensions(space, names), reader.unembedded(space, "content", 99)


def among(
    reader: records.SqliteRecords, space: str, rows: list[int] | None
) -> list[tuple[str, int, bytes]]:
    """The name, the row and the bytes of each vector, of all rows or of some."""
    return [
        (name, row, blob)
        for name, owners, blobs in reader.vectors(space, rows)
        for row, blob in zip(owners, blobs, strict=True)
    ]


class PowerCut(BaseException):
    """What ends a process at any point."""


@contextmanager
def cut_after(monkeypatch: pytest.MonkeyPatch, transactions: int) -> Iterator[None]:
    """Break off in the transaction of renaming after so many of them."""
    left = iter(range(transactions))
    settle = adoption.settle_rows

    def settle_or_break(*arguments: Any) -> None:
        settle(*arguments)
        if next(left, None) is None:
            raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(records, "settle_rows", settle_or_break)
        with pytest.raises(PowerCut):
            yield


def test_a_writer_waits_for_a_few_memories_at_most(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: list[int] = []
    writing = records.SqliteRecords._writing

    @contextmanager
    def counted(self: records.SqliteRecords) -> Iterator[sqlite3.Connection]:
        with writing(self) as db:
            before = db.total_changes
            yield db
            changes.append(db.total_changes - before)

    begin = adoption.begin_adoption

    def begin_counting(*arguments: Any) -> None:
        monkeypatch.setattr(records.SqliteRecords, "_writing", counted)
        begin(*arguments)

    monkeypatch.setattr(records, "begin_adoption", begin_counting)
    Memory.reembed(url, embedder=NEW)
    assert len(changes) > MEMORIES / 4
    assert max(changes) <= 2 * 4 * 3 + 1  # of a memory 3 vectors are dropped, and 3 renamed


@pytest.mark.parametrize("transactions", [0, 1, 3])
def test_cut_short_it_makes_no_difference_and_another_call_finishes_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transactions: int
) -> None:
    with cut_after(monkeypatch, transactions):
        Memory.reembed(url, embedder=NEW)
    with pytest.raises(EmbedderMismatch):
        Memory.open(url, embedder=OLD)
    with Memory.open(url, embedder=NEW) as memory:  # writers go on
        memory.add("Box 99 is new.", id="late")
        memory.update("m1", content="Box 1 is open.")
        memory.update("m22", tags=["blue"])
        memory.delete("m20")
    before = state(url)
    embedded: list[int] = []
    Memory.reembed(url, embedder=NEW, progress=lambda done, _: embedded.append(done))
    assert embedded == []  # all of them had been
    assert state(url) == before
    with closing(sqlite3.connect(tmp_path / "m.db")) as db:
        stored = {name for (name,) in db.execute("SELECT DISTINCT name FROM vectors")}
        assert not [name for name in stored if name.startswith("_")]
        assert db.execute("SELECT * FROM meta WHERE key = 'adoption'").fetchall() == []
        [bytes_of_all] = db.execute(
            "SELECT DISTINCT length(vector) FROM vectors WHERE name = 'content'"
        ).fetchall()
        assert bytes_of_all == (2 * 48,)


def test_another_embedder_takes_over_from_one_that_was_cut_short(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cut_after(monkeypatch, 2):
        Memory.reembed(url, embedder=NEW)
    third = WordHashEmbedder(16)
    Memory.reembed(url, embedder=third)
    with Memory.open(url, embedder=third) as memory:
        hit = memory.search("Box 7 is of the colour 49.")[0]
        assert hit.id == "m7"
        assert hit.similarity == pytest.approx(1.0, abs=1e-3)


def test_rows_that_have_their_vectors_are_not_read_again(url: str) -> None:
    with closing(records.SqliteRecords(url.removeprefix("sqlite:///"))) as store:
        rows = store.unembedded("default", "_next", 99)
        steps: list[None] = []

        def put(number: int) -> int:
            """Steps of SQLite at looking for the next."""
            store.put_vectors("default", "_next", {rows[number]: b"00" * 8}, None)
            steps.clear()
            assert store.unembedded("default", "_next", 1) == rows[number + 1 : number + 2]
            return len(steps)

        store._reader.set_progress_handler(lambda: steps.append(None), 1)
        counts = [put(number) for number in range(len(rows))]
        assert max(counts[2:-1]) <= min(counts[2:-1]) + 10
