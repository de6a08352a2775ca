"""A server over a store in memory, and its address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from salience.testing import WordHashEmbedder
from support.served import Served, serve_memory


@pytest.fixture
def served() -> Iterator[Served]:
    with serve_memory("ram://", embedder=WordHashEmbedder()) as memory:
        yield memory
