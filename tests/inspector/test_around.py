"""The view Around in a browser: the nodes and links of the API, at the same places each time."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from salience.records.record import LINK_TYPES
from support.browser import Inspector

MEMORY = "fact-database-timescale"
PLACES = "all => all.map(e => e.getAttribute('cx') + e.getAttribute('x'))"


@pytest.mark.parametrize("depth", [1, 3])
def test_the_nodes_are_those_of_the_api_at_the_same_places(
    inspector: Inspector, client: httpx.Client, depth: int
) -> None:
    drawn = []
    for _ in range(2):
        page = inspector.show(".graph", view="around", memory=MEMORY)
        page.select_option("main select", str(depth))
        graph = client.get("/graph", params={"around": MEMORY, "depth": depth}).json()
        expect(page.locator(".nodes tbody tr")).to_have_count(len(graph["nodes"]))
        ids = page.eval_on_selector_all(".nodes tbody tr", "all => all.map(e => e.dataset.id)")
        assert ids == [node["id"] for node in graph["nodes"]]
        assert page.locator(".graph line").count() == len(graph["edges"]) > 0
        assert page.locator(".graph .node").count() == len(graph["nodes"])
        drawn.append(page.eval_on_selector_all(".graph circle, .graph rect", PLACES))
    assert drawn[0] == drawn[1]


def test_entities_and_types_are_chosen(inspector: Inspector, client: httpx.Client) -> None:
    page = inspector.show(".graph", view="around", memory=MEMORY)
    page.check("text=with entities")
    asked = {"around": MEMORY, "entities": "true"}
    page.wait_for_selector(".graph .names")
    graph = client.get("/graph", params=asked).json()
    assert page.locator(".graph .names").count() > 0
    assert page.locator(".graph line").count() == len(graph["edges"])
    assert page.locator(".nodes tbody tr").count() == len(graph["nodes"])
    offered = page.locator(".types label").all_inner_texts()
    assert [text.strip() for text in offered] == [*LINK_TYPES]
    page.check(".types >> text=supersedes")
    graph = client.get("/graph", params={**asked, "types": '["supersedes"]'}).json()
    expect(page.locator(".graph line:not(.names)")).to_have_count(
        len([edge for edge in graph["edges"] if edge["type"] != "entity"])
    )
    types = page.eval_on_selector_all(".edges th", "all => all.map(e => e.textContent)")
    assert types == [edge["type"] for edge in graph["edges"]]


def test_a_click_moves_the_middle(inspector: Inspector) -> None:
    page = inspector.show(".graph", view="around", memory=MEMORY)
    other = page.locator(".nodes tbody tr").nth(1)
    id = other.get_attribute("data-id")
    other.locator("button").click()
    page.wait_for_selector(f".nodes tbody tr:first-child[data-id='{id}']")
    page.fill("[name=around]", "nobody")
    page.press("[name=around]", "Enter")
    page.wait_for_selector("main [role=alert]")
