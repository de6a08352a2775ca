"""The start of the page in a browser, what it says of nothing, and the way to a remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from salience import Memory
from support.browser import Inspector
from support.real_server import RealServer, real_server

ASKED = "Where is the spare key?"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RealServer]:
    log = tmp_path / "searches.jsonl"
    with Memory(tmp_path / "own.db", search_log=log) as memory:
        memory.add("The spare key is with Ben.", id="key")
        memory.add("The spare bicycle of Ben is red.", id="bicycle")
        memory.search(ASKED)
        memory.archive("bicycle")
        memory.for_namespace("other").add("Ana has a cello.", id="cello")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_SEARCH_LOG", str(log))
        with real_server(tmp_path / "own.db") as server:
            yield server


def test_the_start_has_questions_searches_and_namespaces(shown: Inspector) -> None:
    page = shown.show(".start a")
    for part in (ASKED, "chance of answering", "What is known about Ben?", "1 memory"):
        expect(page.locator("main")).to_contain_text(part)
    expect(page.locator(".spaces")).to_contain_text("other")
    expect(page.locator("option:has-text('other (1)')")).to_have_count(1)
    page.click(f".start a:has-text('{ASKED}')")
    page.wait_for_selector(".card")
    expect(page).to_have_title(f"{ASKED} · Search · salience")


def test_a_question_from_a_view_of_the_store_goes_to_search(shown: Inspector) -> None:
    for view, ready in (("health", ".feed td"), ("time", ".then"), ("around", "[name=around]")):
        page = shown.show(ready, view=view)
        page.fill("#question", ASKED)
        page.press("#question", "Enter")
        page.wait_for_selector(".card")
        expect(page.locator("nav [aria-current]")).to_have_text("Search")
    page.keyboard.press("Tab")
    page.locator(".card").first.focus()
    page.keyboard.press("?")
    page.wait_for_selector(".keys[open]")
    expect(page.locator(".keys")).to_contain_text("open the memory of this card")
    page.keyboard.press("Escape")
    expect(page.locator(".keys")).to_have_count(0)
    page.locator(".card").first.focus()
    page.keyboard.press("o")
    page.wait_for_selector(".drawer .whole")


def test_a_store_that_rests_is_shown_as_it_was(inspector: Inspector) -> None:
    page = inspector.show(".start a")
    page.click("text=Nothing was written since 2026-09-24")
    page.wait_for_selector("text=not used for a while")
    inspector.answered()
    assert "108 hardly ever used" not in page.inner_text("main")
    page.click("nav a:has-text('Health')")
    page.wait_for_selector("text=Zones on 2026-09-24")


def test_views_open_on_something_to_see(inspector: Inspector) -> None:
    question = "Which database holds our telemetry now?"
    page = inspector.show(".moves", q=question, view="ab")
    expect(page.locator("option:checked:has-text('other weights')")).to_have_count(1)
    assert page.locator(".links .crossing").count() > 0
    page = inspector.show(".graph", view="around")
    assert page.locator(".nodes [data-id]").count() > 1
    page.set_viewport_size({"width": 360, "height": 760})
    for view in ("around", "label"):
        inspector.show("nav [aria-current]", q=question, view=view)
        expect(page.locator("nav [aria-current]")).to_be_in_viewport()
    inspector.show(".order", q=question, view="whatif")
    strip = page.locator(".whatif > :last-child")
    page.locator(".slider").last.scroll_into_view_if_needed()
    expect(strip).to_be_in_viewport()
    box = strip.bounding_box()
    assert box is not None
    assert box["height"] < 48


def test_what_is_not_there_says_what_is(shown: Inspector) -> None:
    for view in ("search", "time", "health"):
        page = shown.show(".spaces", q=ASKED, view=view, namespace="othr")
        expect(page.locator("main")).to_contain_text("no memory in the namespace othr")
        assert "%" not in page.inner_text("main")
    page.click(".spaces a:has-text('other')")
    page.wait_for_selector(".feed td")
    page = shown.show("text=Nothing was known on 2020-01-01", q=ASKED, asOf="2020-01-01")
    page.click("button:has-text('As it is now')")
    page.wait_for_selector(".card")
    page = shown.show("text=passes the filters", q=ASKED, filters='{"kind": "nothing"}')
    page.click("button:has-text('Without the filters')")
    page.wait_for_selector(".card")


def test_a_memory_that_was_expected_is_found_explained_and_brought_back(
    shown: Inspector, own: RealServer
) -> None:
    page = shown.show(".card", q="What colour is the bicycle?")
    page.click("text=I expected another memory")
    page.fill("[name=expected]", "bicycle red")
    page.press("[name=expected]", "Enter")
    page.click(".expected li[data-id=bicycle] button")
    expect(page.locator(".verdict")).to_contain_text("archived")
    page.click(".remedies button:has-text('Restore')")
    page.click(".preview .main")
    page.wait_for_selector(".last")
    page.keyboard.press("Escape")
    expect(page.locator(".card >> nth=0")).to_contain_text("bicycle")
    page.click("text=Label it as the answer")
    page.wait_for_selector("text=salience tune")
    url = f"{own.url}/v1/questions"
    [label] = httpx.get(url).json()["questions"]
    assert label["relevant"] == ["bicycle"]
    page.click(".remedies button:has-text('Undo')")
    page.wait_for_selector("text=Label it as the answer")
    assert httpx.get(url).json()["questions"] == []


def test_what_sets_a_hit_apart_is_no_part_that_all_share(inspector: Inspector) -> None:
    page = inspector.show(".card", q="Which database holds our telemetry now?")
    with page.expect_response("**/v1/candidates") as asked:
        page.reload()
    table = asked.value.json()
    hits = [place for place, row in enumerate(table["rows"]) if row["left"] is None]
    same = [
        part["title"]
        for part in table["parts"]
        if part["values"] and len({part["values"][place] for place in hits}) == 1
    ]
    first = page.inner_text(".sentence >> nth=0")
    assert not any(f"“{title}”" in first for title in same)
    assert re.search(r"\+\d", first)
    expect(page.locator(".legend")).to_contain_text("that all share")


ORDINARY = (
    *("می‌خواهم", "ه\u200d ", "क्‍ष", "שלום\u200f!", "\u0600١", "葛\U000e0100"),
    *(
        "👩‍🚀 ❤️ 1️⃣",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "１２３　ＡＢＣ",
        "10 km",
    ),
)
DECEIVING = (
    *("pay\u200bpal", "pay\u200dpal", "a\u202eb", "x\ufe0fy", "a\u200eb", "می\u200d\u200d"),
    *("\U000e0041\U000e0042", "a\U000e0100", "\u200dx", "\ufeff"),
)


def test_letters_that_are_ordinary_are_shown_and_those_that_deceive_told(
    inspector: Inspector,
) -> None:
    page = inspector.show(".start")
    script = "async texts => texts.map((await import('/ui/text.js')).visible)"
    assert page.evaluate(script, ORDINARY) == [*ORDINARY]
    assert all("U+" in text for text in page.evaluate(script, DECEIVING))


def test_only_sliders_that_can_change_the_first_ones_are_open(
    inspector: Inspector, client: httpx.Client
) -> None:
    question = "Which database holds our telemetry now?"
    page = inspector.show(".order", q=question, view="whatif")
    folded = page.eval_on_selector_all("details .slider label", "e => e.map(o => o.htmlFor)")
    body = {"query": question, "touch": False}
    found = [hit["id"] for hit in client.post("/search", json=body).json()["hits"]]
    assert folded
    for name in folded[:6]:
        weights = {name.removeprefix("w-"): 1.0}
        hits = client.post("/search", json=body | {"options": {"weights": weights}}).json()["hits"]
        assert [hit["id"] for hit in hits] == found
