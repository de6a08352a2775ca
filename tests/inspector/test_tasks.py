"""Six tasks from the start of the page, by keyboard alone, each in at most six steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from salience import Memory
from support.browser import Inspector
from support.real_server import RealServer, real_server

MOST_STEPS = 6


@pytest.fixture
def own(sample_db: Path, tmp_path: Path) -> Iterator[RealServer]:
    path = tmp_path / "own.db"
    path.write_bytes(sample_db.read_bytes())
    with Memory(path) as memory:
        memory.add("The spare key is with Zelda.", id="key", kind="fact", dedup=False)
        memory.add("The spare key is in the drawer.", id="drawer", kind="fact", dedup=False)
        memory.link("key", "drawer", "contradicts")
        memory.add("I have a cello.", id="cello", speaker="Zelda")
    with real_server(path) as server:
        yield server


class Hands:
    """A keyboard: what is named is reached by Tab, and each Enter is a step."""

    def __init__(self, inspector: Inspector) -> None:
        self.inspector, self.page, self.steps = inspector, inspector.page, 0
        inspector.show(".start a")

    def enter(self, name: str, text: str = "") -> None:
        wanted = self.page.locator(name).locator("visible=true").first
        wanted.wait_for()
        self.inspector.answered()
        wanted.evaluate("each => { window.wanted = each }")
        for _ in range(400):
            if self.page.evaluate("document.activeElement === window.wanted"):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"{name} is not reached")
        if text:
            self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")
        self.steps += 1


@pytest.fixture
def hands(chrome: Browser, own: RealServer) -> Iterator[Hands]:
    with chrome.new_context(viewport={"width": 1280, "height": 900}) as context:
        inspector = Inspector(context.new_page(), own)
        yield (used := Hands(inspector))
        inspector.check()
        assert used.steps <= MOST_STEPS


def memory(server: RealServer, id: str) -> httpx.Response:
    return httpx.get(f"{server.url}/v1/memories/{id}")


def test_why_one_is_first(hands: Hands) -> None:
    hands.enter("#question", "Where is the spare key?")
    hands.enter(".why")
    expect(hands.page.locator(".waterfall tfoot")).to_contain_text("adds up exactly")


def test_why_one_is_not_found(hands: Hands) -> None:
    hands.enter("#question", "Where is the telemetry of Kasvolt stored?")
    hands.enter(".expected summary")
    hands.enter("[name=expected]", "fact-database-influx")
    hands.enter(".expected li[data-id=fact-database-influx] button")
    expect(hands.page.locator(".verdict")).to_contain_text("superseded")
    expect(hands.page.locator(".remedies")).to_contain_text("Make it hold again")


def test_a_wrong_one_is_corrected(hands: Hands, own: RealServer) -> None:
    hands.enter("#question", "Where is the spare key?")
    hands.enter(".card[data-id=key] .more")
    hands.enter(".actions button:has-text('Correct')")
    hands.page.fill(".preview textarea", "The spare key is with Link.")
    hands.enter(".preview .main")
    hands.page.wait_for_selector(".last")
    assert "Link" in memory(own, "key").json()["content"]


def test_two_that_contradict_are_settled(hands: Hands, own: RealServer) -> None:
    hands.enter("#question", "Where is the spare key?")
    hands.enter(".card[data-id=key] .more")
    hands.enter(".actions button:has-text('Replace')")
    hands.enter(".preview .main")
    hands.page.wait_for_selector(".last")
    assert memory(own, "key").json()["status"] == "superseded"


def test_a_person_is_found_and_erased(hands: Hands, own: RealServer) -> None:
    hands.enter("#question", "Zelda has a cello")
    hands.enter(".card[data-id=cello] .more")
    hands.enter(".actions button:has-text('Forget Zelda')")
    hands.enter(".preview .main")
    hands.page.wait_for_selector(".last")
    assert memory(own, "cello").status_code == 404


def test_which_weight_would_turn_it_and_what_else(hands: Hands) -> None:
    hands.enter("#question", "Where is the spare key?")
    hands.enter(".expected summary")
    hands.enter("[name=expected]", "key")
    hands.enter(".expected li[data-id=key] button")
    hands.enter(".turning a")
    expect(hands.page.locator("[data-source=server]")).to_be_visible()
    assert hands.page.locator(".order li").count() == 10
