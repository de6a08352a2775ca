"""The view Around in a browser: the nodes and links of the API, at the same places each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from inspector.test_inspector_page import QUESTION
from salience.records.record import LINK_TYPES
from support.browser import Inspector

Paths = dict[str, list[dict[str, Any]]]
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
    page.click(".drawer button:has-text('What surrounds it')")
    page.wait_for_selector(f".nodes tbody tr:first-child[data-id='{id}']")
    page.fill("[name=around]", "nobody")
    page.press("[name=around]", "Enter")
    page.wait_for_selector("main [role=alert]")


@pytest.mark.parametrize("profile", ["activation", "vitality.knowledge"])
def test_each_hop_is_there_with_what_it_gives(
    inspector: Inspector, client: httpx.Client, profile: str
) -> None:
    body = {"query": QUESTION, "profile": profile}
    table = client.post("/candidates", json=body).json()
    paths = {row["id"]: row["paths"] for row in table["rows"]}
    far = [id for id, own in paths.items() if any(path["source"] for path in own)]
    deepest = max(far, key=lambda id: len(hops(paths, id)))
    direct = [path for path in paths[deepest] if path["source"]]
    state = {"q": QUESTION, "profile": profile, "memory": deepest}
    with inspector.page.expect_response("**/v1/candidates") as asked:  # scores depend on the time
        page = inspector.show(".hops", view="around", **state)
    told = {row["id"]: row["paths"] for row in asked.value.json()["rows"]}
    rows = page.eval_on_selector_all(
        ".hops tbody tr",
        "all => all.map(e => [e.dataset.back, ...[1, 2].map(n => e.cells[n].innerText)])",
    )
    expected = [
        [str(back), path["type"] or "", number(path["given"])] for back, path in hops(told, deepest)
    ]
    assert rows == expected
    activation = sum(path["given"] for path in told[deepest])
    expect(page.locator(".hops tfoot td >> nth=1")).to_have_text(number(activation))
    assert page.locator(".graph .gift").count() >= len({path["source"] for path in direct}) > 0
    page = inspector.show(".card", q=QUESTION, profile=profile)
    card = page.locator(".card:has(a[href*='view=around'])")
    page.eval_on_selector_all(".why", "buttons => buttons.forEach(button => button.click())")
    shown = page.eval_on_selector_all(".card", "cards => cards.map(card => card.dataset.id)")
    expect(card).to_have_count(len([id for id in shown if id in far]))


def number(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else f"{value:.3g}"


def hops(paths: Paths, id: str) -> list[tuple[int, dict[str, Any]]]:
    """The paths to a memory, each before those to its source, once; with the links between."""
    told = set[str]()

    def found(id: str, back: int) -> Iterator[tuple[int, dict[str, Any]]]:
        told.add(id)
        for path in paths.get(id, []):
            yield back, path
            if path["source"] and back < 3 and path["source"] not in told:
                yield from found(path["source"], back + 1)

    return list(found(id, 0))


def test_a_profile_without_spreading_says_so(inspector: Inspector) -> None:
    page = inspector.show(".nodes", q=QUESTION, view="around", memory=MEMORY)
    expect(page.locator("main")).to_contain_text("nothing spreads over links")
    assert page.locator(".gift").count() == 0
