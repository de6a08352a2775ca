from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.testing.conformance import StoreConformance
from salience.testing.conformance._changes import Exports
from salience.testing.conformance._durability import (
    Concurrency,
    Durability,
    ErasureDuringSearch,
    Reembedding,
)
from salience.testing.conformance._events import TimeTravel
from salience.testing.conformance._listings import EventPages, Listing
from salience.testing.conformance._rankings import Rankings
from salience.testing.conformance._reads import Accesses
from salience.testing.conformance.trust._atomicity import Atomicity, SameFacts
from salience.testing.conformance.trust._erasure import ErasureReceipts, ForgettingUsers
from salience.testing.conformance.trust._writers import Writers
from support.query_plans import reading_plans


class TestSqliteFile(StoreConformance):
    """The plan of every statement is read: none may read all that a namespace has in a table."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> Iterator[None]:
        self.path = tmp_path / "memory.db"
        with reading_plans():
            yield

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


class TestPostgres(StoreConformance):
    """Each namespace is searched by its index in this process, whoever writes."""

    @pytest.fixture(autouse=True)
    def place(self, database: str, shared_connections: None) -> None:
        self.url = database

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(self.url, **settings)
