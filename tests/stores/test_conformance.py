from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.testing.conformance import StoreConformance
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


class TestSqliteInMemory(StoreConformance):
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
