from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.retrieval.operations import Op
from salience.stores.embedded import EmbeddedStore
from salience.stores.sqlite import snapshots
from salience.testing.conformance._durability import Concurrency, Durability
from support.query_plans import reading_plans
from support.suite.atomicity import Atomicity, SameFacts
from support.suite.changes import Exports
from support.suite.erasure import ErasureReceipts, ForgettingUsers
from support.suite.events import TimeTravel
from support.suite.listings import EventPages, Listing
from support.suite.memory import MemoryConformance
from support.suite.rankings import Rankings
from support.suite.reads import Accesses
from support.suite.reembedding import ErasureDuringSearch, Reembedding
from support.suite.writers import Writers


class TestSqliteFile(MemoryConformance):
    """The plan of every statement is read: none may read all that a namespace has in a table."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> Iterator[None]:
        self.path = tmp_path / "memory.db"
        with reading_plans():
            yield

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(f"sqlite:///{self.path}", **settings)


class TestSqliteSnapshots(
    Durability,
    Concurrency,
    ErasureDuringSearch,
    Reembedding,
    Accesses,
    Listing,
    TimeTravel,
    Exports,
    SameFacts,
    ErasureReceipts,
    ForgettingUsers,
    Writers,
    Rankings,
):
    """Every batch finds no index, and makes one of the snapshot that an earlier one has left."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = tmp_path / "memory.db"
        monkeypatch.setattr(snapshots, "LEAST_MEMORIES", 1)
        monkeypatch.setattr(snapshots, "_MAX_CHANGED_SHARE", 3.0)
        answer = EmbeddedStore.batch

        def forgetful(store: EmbeddedStore, batch: Sequence[Op]) -> list[Any]:
            with store._lock:
                for namespace in [*store._indexes]:
                    store._drop(namespace)
                if store._records.snapshots is not None:
                    store._records.snapshots.close()
            return answer(store, batch)

        monkeypatch.setattr(EmbeddedStore, "batch", forgetful)

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(f"sqlite:///{self.path}", **settings)


class TestSqliteInMemory(
    Durability,
    Concurrency,
    ErasureDuringSearch,
    Reembedding,
    Accesses,
    Listing,
    EventPages,
    TimeTravel,
    Exports,
    Atomicity,
    SameFacts,
    ErasureReceipts,
    ForgettingUsers,
    Writers,
    Rankings,
):
    """What one connection for reads and writes, and no file, may change; all else is one code."""

    persistent = False

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open("ram://", **settings)


class TestPostgres(MemoryConformance):
    """Each namespace is searched by its index in this process, whoever writes."""

    @pytest.fixture(autouse=True)
    def place(self, database: str, shared_connections: None) -> None:
        self.url = database

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(self.url, **settings)
