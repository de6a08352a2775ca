"""A server over the sample, and a browser; both end with the module, as a browser's loop must."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from salience import Memory
from salience.evaluation import sample
from support.browser import Inspector, browser
from support.real_server import RealServer, real_server


@pytest.fixture(scope="session")
def sample_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inspector") / "sample.db"
    clock = sample.Clock()
    with Memory(path, clock=clock) as memory:
        sample.live(memory, clock)
    return path


@pytest.fixture(scope="module")
def server(sample_db: Path) -> Iterator[RealServer]:
    with real_server(sample_db) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: RealServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as launched:
        yield launched


@pytest.fixture
def inspector(chrome: Browser, server: RealServer) -> Iterator[Inspector]:
    with chrome.new_context(viewport={"width": 1280, "height": 900}) as context:
        shown = Inspector(context.new_page(), server)
        yield shown
        shown.check()
