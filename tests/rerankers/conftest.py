"""The scripted server, as the embedders' tests use it."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

from support.scripted_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()
