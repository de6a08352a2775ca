"""The views A/B, Context and Time in a browser: they show what the API gives, as it gives it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest
from playwright.sync_api import Browser, expect

from salience import Memory
from salience.evaluation import sample
from salience.testing.conformance._case import Clock
from support.browser import Inspector
from support.real_server import real_server

QUESTION = "Which database holds our telemetry now?"
FACTS = '{"kind": "fact"}'


@pytest.mark.parametrize(
    "changed",
    [
        {"profile": "composite"},
        {"options": {"weights": {"semantic": 3.0, "lexical": -1.0}}},
        {"profile": "multi_route"},
    ],
)
def test_two_sides_have_the_lists_of_both_searches(
    inspector: Inspector, client: httpx.Client, changed: dict[str, Any]
) -> None:
    weights = changed.get("options", {}).get("weights", {})
    state = {"other": changed.get("profile", ""), "weights": json.dumps(weights)}
    page = inspector.show(".moves", q=QUESTION, view="ab", **state)
    found = [
        [hit["id"] for hit in client.post("/search", json=body).json()["hits"]]
        for options in ({}, changed)
        for body in [{"query": QUESTION, "touch": False, **options}]
    ]
    shown = page.eval_on_selector_all(
        ".side", "sides => sides.map(side => [...side.children].map(each => each.dataset.id))"
    )
    assert shown == found
    both = set(found[0]) & set(found[1])
    assert page.locator(".links path").count() == len(both)
    assert f"{len(both)} {'is' if len(both) == 1 else 'are'} the same" in page.inner_text(".chance")
    rows = page.eval_on_selector_all(".moves tbody tr", "rows => rows.map(row => row.dataset.id)")
    assert sorted(rows) == sorted({*found[0], *found[1]})
    for place, id in enumerate(found[1], 1):
        assert page.inner_text(f".moves [data-id='{id}'] td:nth-child(3)") == str(place)


@pytest.mark.parametrize("state", [{"other": "composite"}, {"weights": '{"semantic": 5}'}])
def test_two_sides_are_compared_over_all_labelled_questions(
    chrome: Browser, sample_db: Path, tmp_path: Path, state: dict[str, str]
) -> None:
    path = tmp_path / "own.db"
    path.write_bytes(sample_db.read_bytes())
    with Memory(path) as memory:
        asked = [one for one in sample.questions() if one["relevant"]][:12]
        for one in asked:
            memory.labels.add(one["text"], one["relevant"], id=one["id"])
        memory.labels.add("What does nobody know?", not_relevant=["fact-retention"])
    with real_server(path) as server, chrome.new_context() as context:
        inspector = Inspector(context.new_page(), server)
        page = inspector.show(".moves", q=QUESTION, view="ab", **state)
        with page.expect_response("**/v1/questions/score") as scored:
            page.click("text=Ask all 12 labelled questions")
        page.wait_for_selector(".gains")
        one, other = (side["by_question"] for side in scored.value.json()["scores"])
        for measure in ("nDCG@10", "MRR"):
            page.select_option("label:has-text('Compared by') select", measure)
            expect(page.locator(".gains tbody tr")).to_have_count(len(asked))
            gains = {id: other[id][measure] - one[id][measure] for id in one}
            rows = page.eval_on_selector_all(".gains tbody tr", "all => all.map(e => e.dataset.id)")
            assert [gains[id] for id in rows] == sorted(gains.values(), reverse=True)
            better, worse = (sum(each * sign > 0 for each in gains.values()) for sign in (1, -1))
            expect(page.locator("main")).to_contain_text(
                f"B answers {better} better and {worse} worse; {12 - better - worse} "
            )
        expect(page.locator("main")).to_contain_text("Few questions prove little")
        inspector.check()


def test_without_labels_two_sides_say_where_to_give_some(inspector: Inspector) -> None:
    page = inspector.show(".moves", q=QUESTION, view="ab", other="composite")
    expect(page.locator("main")).to_contain_text("No question has a labelled answer yet")


def test_weights_are_saved_as_a_profile_and_opened(
    inspector: Inspector, client: httpx.Client, tmp_path: Path
) -> None:
    weights = {"semantic": 3.0, "lexical": -1.0}
    page = inspector.show(
        "[data-source=server]", q=QUESTION, view="whatif", weights=json.dumps(weights)
    )
    with page.expect_download() as saved:
        page.click("text=Save as a profile")
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    profile = json.loads(path.read_text("utf-8"))
    assert (path.name, profile["name"]) == ("balanced-mine.json", "balanced-mine")
    body = {"query": QUESTION, "touch": False}
    by_file = client.post("/search", json={**body, "profile": profile}).json()["hits"]
    by_weights = client.post("/search", json={**body, "options": {"weights": weights}}).json()[
        "hits"
    ]
    assert [(h["id"], h["score"]) for h in by_file] == [(h["id"], h["score"]) for h in by_weights]
    page = inspector.show(".order", q=QUESTION, view="whatif")
    page.set_input_files("input[type=file]", path)
    page.wait_for_selector("[data-source=server]")
    expect(page).to_have_url(re.compile("weights"))  # the policy lets no function be waited for
    told = dict(parse_qsl(page.evaluate("location.hash.slice(1)")))
    assert json.loads(told["weights"]) == weights
    wrong = tmp_path / "wrong.json"
    wrong.write_text("no profile", encoding="utf-8")
    page.set_input_files("input[type=file]", wrong)
    page.wait_for_selector("main [role=alert]")


def test_a_context_is_what_a_model_gets(inspector: Inspector, client: httpx.Client) -> None:
    page = inspector.show(".considered", q=QUESTION, view="context", tokens="400")
    body = {"query": QUESTION, "max_tokens": 400, "touch": False, "options": {"trace": True}}
    told = client.post("/context", json=body).json()
    assert page.inner_text("pre.context") == told["text"]
    assert f"{told['tokens']} of 400 tokens" in page.inner_text(".chance")
    page.click("main section:last-of-type button:has-text('Show the other')")
    expected = [[each["id"], each["outcome"]] for each in told["considered"]]
    expect(page.locator(".considered tbody tr")).to_have_count(len(expected))
    rows = page.eval_on_selector_all(
        ".considered tbody tr", "rows => rows.map(row => [row.dataset.id, row.dataset.outcome])"
    )
    assert sorted(rows) == sorted(expected)
    assert {outcome for _, outcome in rows} == {"in", "shortened", "no room", "said already"}


def test_a_budget_that_is_refused_says_by_how_much(
    inspector: Inspector, client: httpx.Client
) -> None:
    page = inspector.show(".considered", q=QUESTION, view="context")
    page.fill("main input[type=number]", "150")
    page.press("main input[type=number]", "Enter")
    body = {"query": QUESTION, "max_tokens": 150, "touch": False}
    detail = client.post("/context", json=body).json()["detail"]
    assert "never cut and takes" in detail
    expect(page.locator("main [role=alert]")).to_contain_text(detail)
    expect(page).to_have_url(re.compile("tokens=150"))
    assert page.locator("pre.context").count() == 0


def test_the_store_is_listed_as_it_was(inspector: Inspector, client: httpx.Client) -> None:
    page = inspector.show(".then li", view="time", filters=FACTS)
    for day in ("2026-02-01", "2026-08-01"):
        page.evaluate(
            """day => {
                const slider = document.getElementById("then");
                slider.value = Math.round((Date.parse(day) - Date.parse("2026-01-06")) / 864e5);
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                slider.dispatchEvent(new Event("change", { bubbles: true }));
            }""",
            day,
        )
        page.wait_for_selector(f".then[data-as-of='{day}'] li")
        body = {"limit": 25, "filters": {"kind": "fact"}, "as_of": day}
        listed = client.post("/memories/list", json=body).json()["memories"]
        shown = page.eval_on_selector_all(".then li", "all => all.map(each => each.dataset.id)")
        assert shown == [each["id"] for each in listed]
        superseded = {each["id"] for each in listed if each["status"] == "superseded"}
        struck = page.locator(".then li:has(> button s)")
        ids = struck.evaluate_all("all => all.map(each => each.dataset.id)")
        assert set(ids) == superseded
    successor = page.locator("[data-id=fact-database-influx] .successor")
    expect(successor).to_contain_text("TimescaleDB")
    expect(page).to_have_url(re.compile("asOf=2026-08-01"))


def test_a_life_has_every_event_and_its_vitality(
    inspector: Inspector, client: httpx.Client
) -> None:
    with inspector.page.expect_response("**/vitality?*") as asked:  # vitality depends on the time
        page = inspector.show(".plot", view="time", open="fact-database-influx")
    events = client.get("/memories/fact-database-influx/history").json()["events"]
    expect(page.locator(".life tbody tr")).to_have_count(len(events))
    found = asked.value.json()
    now = [point for point in found["points"] if point["at"] <= found["now"]][-1]
    label = page.get_attribute(".plot", "aria-label") or ""
    assert f"{now['vitality']:.4f} now: {now['zone']}" in label
    page.click("summary:has-text('Changes of zone')")
    expect(page.locator(".drawer details tbody tr")).to_have_count(len(found["crossings"]))


def test_an_edit_shows_the_words_that_changed(chrome: Browser, tmp_path: Path) -> None:
    clock = Clock()
    with Memory(tmp_path / "edited.db", clock=clock, actor="ana") as memory:
        memory.add("The spare key is with Ben, the neighbour.", id="key", layer="activity")
        clock.pass_(days=2)
        memory.update("key", content="The spare key is in the drawer.", importance=0.8)
    with real_server(tmp_path / "edited.db") as server, chrome.new_context() as context:
        inspector = Inspector(context.new_page(), server)
        page = inspector.show(".diff", view="time", open="key")
        page.wait_for_selector(".plot")
        assert page.locator("del").all_inner_texts() == ["with Ben, ", "neighbour."]
        assert page.locator("ins").all_inner_texts() == ["in ", "drawer."]
        row = page.inner_text(".life tbody tr:last-child")
        assert "ana" in row
        assert "importance: null → 0.8" in row
        expect(page.locator(".sentence")).to_have_text(re.compile("If never used again|dormant"))
        assert "in no zone" not in page.inner_text(".sentence")
        inspector.check()


def test_a_time_before_the_store_or_a_memory_that_is_none_is_said(inspector: Inspector) -> None:
    page = inspector.show("main [role=alert]", view="time", open="nobody", asOf="2025-01-01")
    expect(page.locator("main [role=alert]")).to_contain_text("nobody")
    expect(page.locator("main")).to_contain_text("of 0 memories")
    inspector.statuses.clear()
