"""Every view of the page over 100,000 memories, of synthetic conversations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from inspector.test_access import VIEWS
from salience import Memory
from salience.evaluation.benchmark import Setup, chunks, questions_about
from support.browser import Inspector
from support.real_server import RealServer, real_server

pytestmark = pytest.mark.deep
SETUP = Setup(100_000, queries=1)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    path = tmp_path_factory.mktemp("large") / "memory.db"
    with Memory(path) as memory:
        for _, items in chunks(SETUP, 16_384):
            memory.add_many(items, dedup=False)
        question, *_ = [text for _, text in questions_about(SETUP)]
        first, second = memory.search(question, limit=2)
        memory.link(first.id, second.id, "mentions")
    with real_server(path) as running:
        yield running


def test_every_view_opens_and_asks_for_no_more_than_it_shows(
    chrome: Browser, large: RealServer
) -> None:
    question, *_ = [text for _, text in questions_about(SETUP)]
    with large.client() as client:
        found = client.post("/search", json={"query": question, "touch": False}).json()
    first = found["hits"][0]["id"]
    with chrome.new_context() as context:
        inspector = Inspector(context.new_page(), large)
        lengths: dict[str, int] = {}
        inspector.page.on(
            "response", lambda answer: lengths.update({answer.url: len(answer.body())})
        )
        for view, (ready, state) in VIEWS.items():
            about = {name: first if name == "memory" else value for name, value in state.items()}
            inspector.show("main" if view == "label" else ready, q=question, view=view, **about)
        assert set(inspector.statuses) <= {200}
        assert max(lengths.values()) <= 1_000_000  # no answer grows with the store
        inspector.check()
