"""A plugin of pytest that puts `SalienceStore` in the place of LangGraph's own stores.

LangGraph's tests of them then run on it. Those in `NOT_OURS` have to fail, for the reason told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import langgraph.store.memory
import langgraph.store.sqlite
import langgraph.store.sqlite.base
import pytest

from salience.integrations.langgraph import SalienceStore

_FILTER_KEYS = "a key of a filter may have any characters: it never becomes part of a statement"
NOT_OURS = {
    "test_vector_store_initialization": "it looks into the tables of the file",
    "test_nonnull_migrations": "it looks at the statements of its migrations",
    "test_sql_injection_vulnerability[memory]": _FILTER_KEYS,
    "test_sql_injection_vulnerability[file]": _FILTER_KEYS,
}
"""Tests of `langgraph-checkpoint-sqlite` by name."""


class InMemoryStore(SalienceStore):
    """A store in memory, as LangGraph's of that name is made."""

    def __init__(self, *, index: Any = None) -> None:
        settings: dict[str, Any] = {} if index else {"embedder": None}
        super().__init__("ram://", index=index, **settings)


class SqliteStore(SalienceStore):
    """A store in a file, as LangGraph's of that name is made."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, address: str, *, index: Any = None, ttl: Any = None
    ) -> Iterator[SqliteStore]:
        if index and index.get("text_fields"):  # its name of "fields"
            index = {**index, "fields": index["text_fields"]}
        settings: dict[str, Any] = {} if index else {"embedder": None}
        with TemporaryDirectory() as folder:
            path = "ram://" if address == ":memory:" else f"{folder}/store.db"
            with cls(path, index=index, ttl=ttl, **settings) as store:
                yield store

    def setup(self) -> None:
        """Nothing to do: a memory is ready when it is open."""


langgraph.store.memory.InMemoryStore = InMemoryStore  # type: ignore[misc]
langgraph.store.sqlite.SqliteStore = SqliteStore  # type: ignore[misc]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    names = {item.nodeid.partition("::")[2]: item for item in items}
    if "sqlite" in str(items[0].path):
        for name, reason in NOT_OURS.items():
            names[name].add_marker(pytest.mark.xfail(reason=reason, strict=True))
