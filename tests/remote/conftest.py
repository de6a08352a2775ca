"""A server over a store in memory, and its address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from salience.testing import WordHashEmbedder
from support.served import Served, serve_memory

LONG = {"test_ten_thousand_memories", "test_searching_while_everything_changes"}
"""Tests of the suite that are deep over HTTP; without a server they are not."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.name in LONG:
            item.add_marker(pytest.mark.deep)


@pytest.fixture
def served() -> Iterator[Served]:
    with serve_memory("ram://", embedder=WordHashEmbedder()) as memory:
        yield memory
