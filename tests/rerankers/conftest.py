"""The scripted server, as the embedders' tests use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.scripted_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
