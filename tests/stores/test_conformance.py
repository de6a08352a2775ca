from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.testing.conformance import StoreConformance


class TestRam(StoreConformance):
    persistent = False

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open("ram://", **settings)


class TestSqliteFile(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "memory.db"

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(f"sqlite:///{self.path}", **settings)


class TestSqliteInMemory(StoreConformance):
    persistent = False

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open("sqlite:///:memory:", **settings)


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, database: str) -> None:
        self.url = database

    def open_memory(self, **settings: Any) -> Memory:
        return Memory.open(self.url, **settings)
