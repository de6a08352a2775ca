"""The drop-in over a store in memory, and a model that says what a test scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from salience import Memory as Salience
from salience.integrations.mem0 import Memory
from salience.testing import WordHashEmbedder
from support.scripted_model import extractor
from support.scripted_server import Server


@pytest.fixture
def store() -> Iterator[Salience]:
    with Salience("ram://", embedder=WordHashEmbedder()) as memory:
        yield memory


@pytest.fixture
def memory(store: Salience) -> Iterator[Memory]:
    """Without a model."""
    with Memory(store, extractor=None) as memory:
        yield memory


@pytest.fixture
def model() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def reading(store: Salience, model: Server) -> Iterator[Memory]:
    """With a model."""
    with Memory(store, extractor=extractor(model), custom_instructions="No pets.") as memory:
        yield memory
