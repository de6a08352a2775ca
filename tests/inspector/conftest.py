"""A server over the sample, and a browser; both end with the module, as a browser's loop must."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from salience import Memory
from salience.evaluation import sample
from support.browser import Inspector, browser
from support.real_server import RealServer, real_server

SMOKE = {
    "test_what_is_drawn_adds_up_to_the_score[balanced]",
    "test_the_order_after_other_weights_is_that_of_the_server[balanced-weights0]",
    "test_a_memory_that_is_not_returned_says_why",
    "test_a_wrong_memory_is_corrected_and_taken_back",
    "test_every_action_is_refused_without_its_scope",
    "test_a_slow_answer_never_stands_under_a_new_question",
    "test_keys_move_open_and_ask",
    "test_a_click_filters_and_the_address_is_a_link",
    "test_nothing_has_to_be_scrolled_sideways[search-320]",
    "test_looking_changes_nothing",
    "test_a_key_that_reads_sees_nothing_that_is_refused",
    "test_hostile_texts_are_shown_and_nothing_more[states0]",
}
"""What `make test` has of the page: cases of one module, so of one browser."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        in_browser = isinstance(item, pytest.Function) and "chrome" in item.fixturenames
        if in_browser and item.name not in SMOKE:
            item.add_marker(pytest.mark.deep)


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


@contextmanager
def _inspector(chrome: Browser, server: RealServer) -> Iterator[Inspector]:
    with chrome.new_context(viewport={"width": 1280, "height": 900}) as context:
        shown = Inspector(context.new_page(), server)
        yield shown
        shown.check()


@pytest.fixture
def inspector(chrome: Browser, server: RealServer) -> Iterator[Inspector]:
    with _inspector(chrome, server) as shown:
        yield shown


@pytest.fixture
def shown(chrome: Browser, own: RealServer) -> Iterator[Inspector]:
    """The inspector of the server that a test has for its own."""
    with _inspector(chrome, own) as shown:
        yield shown
