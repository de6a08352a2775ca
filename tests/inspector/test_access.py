"""The page for everybody: on paper, on a narrow screen, by keyboard alone, in forced colours."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from inspector.test_inspector_page import QUESTION
from support.browser import Inspector
from support.real_server import RealServer

MEMORY = "fact-database-timescale"
VIEWS = {
    "search": (".card", {}),
    "trace": (".verdict", {"memory": "fact-retention"}),
    "whatif": ("[data-source=server]", {"weights": '{"semantic": 3}'}),
    "ab": (".moves", {"other": "composite"}),
    "context": (".considered", {"tokens": "400"}),
    "time": (".then li >> nth=0", {"memory": MEMORY}),
    "health": (".feed td >> nth=0", {}),
    "around": (".nodes td >> nth=0", {"memory": MEMORY}),
    "label": (".labels .row >> nth=0", {}),
}
"""Of each view: what it shows at last, and what it is asked for."""
HAS_FOCUS = "document.activeElement !== document.body"


@pytest.mark.parametrize("view", VIEWS)
def test_a_print_has_the_question_and_every_text_on_white(
    chrome: Browser, server: RealServer, view: str
) -> None:
    with chrome.new_context(color_scheme="dark") as context:
        inspector = Inspector(context.new_page(), server)
        ready, state = VIEWS[view]
        page = inspector.show(ready, q=QUESTION, view=view, **state)
        page.emulate_media(media="print", color_scheme="dark")
        expect(page.locator("#question")).to_be_visible()
        expect(page.locator("nav")).to_be_hidden()
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        dark = "getComputedStyle(document.body).color.match(/\\d+/g).every(each => each < 90)"
        assert page.evaluate(dark)
        hidden = page.eval_on_selector_all(
            "main bdi",
            "all => all.filter(e => !e.closest('details') && !e.checkVisibility()"
            " && !e.closest('button:not(.plain, .chip)')).map(e => e.textContent)",
        )
        assert hidden == []
        cut = "all => all.filter(e => e.scrollHeight > e.clientHeight + 1).length"
        assert page.eval_on_selector_all(".context", cut) == 0
        inspector.check()


@pytest.mark.parametrize("view", VIEWS)
def test_no_text_is_a_column_of_letters_on_a_narrow_screen(inspector: Inspector, view: str) -> None:
    inspector.page.set_viewport_size({"width": 360, "height": 800})
    ready, state = VIEWS[view]
    page = inspector.show(ready, q=QUESTION, view=view, **state)
    if view == "search":
        page.click(".why >> nth=0")
        page.wait_for_selector(".waterfall")
        inside = "e => e.scrollWidth <= e.parentElement.clientWidth"
        assert page.eval_on_selector(".waterfall", inside)
    widths = page.eval_on_selector_all(
        "main :is(th[scope=row], td:has(.plain))",
        "all => all.filter(e => e.checkVisibility()).map(e => e.clientWidth)",
    )
    assert all(width >= 70 for width in widths), widths
    words = "all => all.filter(e => e.clientHeight > 12 * 24 && e.clientWidth < 150).length"
    assert page.eval_on_selector_all("main :is(td, th)", words) == 0


def test_focus_goes_to_the_results_when_what_has_it_goes_away(inspector: Inspector) -> None:
    page = inspector.show(".card", q=QUESTION)
    page.locator(".card .chip").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".filters")
    inspector.answered()
    assert page.evaluate(HAS_FOCUS)
    page.locator(".filters button").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".filters")).to_have_count(0)
    expect(page.locator("#results")).to_be_focused()
    page = inspector.show(".considered", q=QUESTION, view="context")
    page.locator(".considered button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict")
    assert page.evaluate(HAS_FOCUS)
    page = inspector.show(".nodes", view="around", memory=MEMORY)
    page.locator(".nodes button").last.focus()
    page.keyboard.press("Enter")
    page.locator(".drawer button:has-text('What surrounds it')").focus()
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile(MEMORY))
    inspector.answered()
    page.wait_for_selector(".nodes")
    assert page.evaluate(HAS_FOCUS)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_reached_and_left_by_keyboard_alone(inspector: Inspector, view: str) -> None:
    state = VIEWS[view][1]
    page = inspector.show("main .chance", q=QUESTION, **state)
    place = [*VIEWS].index(view)
    page.locator("nav a").first.focus()
    for _ in range(place):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(VIEWS[view][0])
    inspector.answered()
    expect(page.locator("nav a").nth(place)).to_be_focused()  # it stays where it was
    page.locator("nav button").focus()
    reached = set[int]()
    while len(reached) < 12:
        page.keyboard.press("Tab")
        place = page.evaluate(
            "[...document.querySelectorAll('main *')].indexOf(document.activeElement)"
        )
        if place < 0:
            break  # past the end of the page
        assert place not in reached
        reached.add(place)
    assert reached
    typing = "document.activeElement.matches('input:not([type=range], [type=checkbox]), select')"
    while page.evaluate(typing):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()


def test_the_row_to_label_stays_in_view(inspector: Inspector) -> None:
    inspector.page.set_viewport_size({"width": 800, "height": 500})
    page = inspector.show(".labels .row", q=QUESTION, view="label")
    for place in range(2, 9):
        page.keyboard.press("j")
        row = page.locator(f".labels .row:nth-child({place}).chosen")
        expect(row).to_be_in_viewport(ratio=0.9)


def test_forced_colours_are_those_of_the_reader(chrome: Browser, server: RealServer) -> None:
    with chrome.new_context(forced_colors="active", color_scheme="dark") as context:
        inspector = Inspector(context.new_page(), server)
        page = inspector.show(".labels .row", q=QUESTION, view="label")
        edges = page.eval_on_selector_all(
            ".labels .row", "all => all.map(e => getComputedStyle(e).borderLeftColor)"
        )
        assert edges[0] not in edges[1:]  # what is chosen stands out
        page = inspector.show(".graph text", view="around", memory=MEMORY)
        name = "getComputedStyle(document.querySelector('.graph text'))"
        colours = page.evaluate(f"[{name}.fill, getComputedStyle(document.body).color]")
        assert colours[0] == colours[1]
        inspector.check()


def test_nothing_moves_by_itself(chrome: Browser, server: RealServer) -> None:
    with chrome.new_context(reduced_motion="reduce") as context:
        inspector = Inspector(context.new_page(), server)
        for view, (ready, state) in VIEWS.items():
            page = inspector.show(ready, q=QUESTION, view=view, **state)
            assert page.evaluate("document.getAnimations().length") == 0


LONGEST_LINE = """() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  let longest = [0, ""], node;
  while ((node = walker.nextNode())) {
    const range = document.createRange(), text = node.textContent.trim();
    range.selectNodeContents(node);
    const lines = new Map();
    for (const { top, width } of range.getClientRects()) {
      lines.set(top, (lines.get(top) || 0) + width);
    }
    const widths = [...lines.values()], all = widths.reduce((sum, each) => sum + each, 0);
    const length = all && Math.round((text.length * Math.max(...widths)) / all);
    if (length > longest[0]) longest = [length, text.slice(0, 60)];
  }
  return longest;
}"""


@pytest.mark.parametrize("view", VIEWS)
def test_no_line_is_too_long_to_read(inspector: Inspector, view: str) -> None:
    inspector.page.set_viewport_size({"width": 3840, "height": 900})
    ready, state = VIEWS[view]
    page = inspector.show(ready, q=QUESTION, view=view, **state)
    length, text = page.evaluate(LONGEST_LINE)
    assert length <= 115, text
