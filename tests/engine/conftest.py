"""A memory in this process and one at a server, which wrong things are given to."""

from collections.abc import Iterator

import pytest

from salience import Memory
from salience.testing import WordHashEmbedder
from support.bad_input import NOW
from support.served import opened


@pytest.fixture(scope="module", params=["ram://", pytest.param("http", marks=pytest.mark.deep)])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    with opened(request.param, embedder=WordHashEmbedder(), clock=lambda: NOW) as memory:
        memory.add("An apple a day.", id="taken", vectors={"image": [1.0, 0.0]})
        yield memory
