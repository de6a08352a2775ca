"""The view Label in a browser: a queue of doubtful searches, labels by key, each taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from salience import Memory
from support.browser import Inspector
from support.real_server import RealServer, real_server

ASKED = "How tall is Mount Kilimanjaro?"


@pytest.fixture
def own(sample_db: Path, tmp_path: Path) -> Iterator[RealServer]:
    """A server over a copy of the sample, in which one search was recorded."""
    path, log = tmp_path / "own.db", tmp_path / "searches.jsonl"
    path.write_bytes(sample_db.read_bytes())
    with Memory(path, search_log=log) as memory:
        memory.search(ASKED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_SEARCH_LOG", str(log))
        with real_server(path) as server:
            yield server


def labels(server: RealServer) -> list[dict[str, Any]]:
    return list(httpx.get(f"{server.url}/v1/questions").json()["questions"])


def test_labels_are_given_changed_and_taken_back(chrome: Browser, own: RealServer) -> None:
    with chrome.new_context(viewport={"width": 1280, "height": 900}) as context:
        inspector = Inspector(context.new_page(), own)
        page = inspector.show(".labels .row", view="label")
        expect(page.locator(".queue")).to_contain_text(ASKED)
        ids = page.eval_on_selector_all(".labels .row", "all => all.map(e => e.dataset.id)")

        def press(key: str, until: str) -> None:
            page.keyboard.press(key)
            page.wait_for_selector(until)

        press("j", ".labels .row:nth-child(2).chosen")
        press("1", ".row:nth-child(2) [aria-pressed=true]:has-text('Right')")
        [kept] = labels(own)
        assert (kept["query"], kept["relevant"], kept["not_relevant"]) == (ASKED, [ids[1]], [])
        press("2", ".row:nth-child(2) [aria-pressed=true]:has-text('Not')")
        [kept] = labels(own)
        assert (kept["relevant"], kept["not_relevant"]) == ([], [ids[1]])
        press("u", ".row:nth-child(2) [aria-pressed=true]:has-text('Right')")
        assert labels(own)[0]["relevant"] == [ids[1]]
        press("u", "main:not(:has([aria-pressed=true]))")
        page.wait_for_selector("text=no label yet")
        assert labels(own) == []
        press("0", ".queue:has-text('no answer there')")
        assert labels(own)[0]["not_relevant"] == ids
        page.click("text=Drop this question")
        page.wait_for_selector("text=no label yet")
        assert labels(own) == []
        inspector.check()


def test_health_has_the_times_of_recorded_searches(chrome: Browser, own: RealServer) -> None:
    [search] = httpx.get(f"{own.url}/v1/searches").json()["searches"]
    assert search["ms"] > 0
    with chrome.new_context() as context:
        inspector = Inspector(context.new_page(), own)
        page = inspector.show(".feed tr", view="health")
        expect(page.locator("main")).to_contain_text(f"the longest {search['ms']:.1f} ms")
        page.click("section:has-text('Recent searches') summary")
        expect(page.locator(".recent tbody tr")).to_contain_text(ASKED)
        inspector.check()


def test_a_label_of_what_no_search_finds_is_there(chrome: Browser, own: RealServer) -> None:
    body = {"query": "telemetry", "relevant": ["long gone"], "id": "old"}
    httpx.post(f"{own.url}/v1/questions", json=body).raise_for_status()
    with chrome.new_context() as context:
        inspector = Inspector(context.new_page(), own)
        page = inspector.show(".queue", view="label", q="telemetry")
        row = page.locator(".row[data-id='long gone']")
        expect(row).to_contain_text("no longer there")
        row.locator("button:has-text('Right')").click()
        row.wait_for(state="detached")
        assert labels(own)[0]["relevant"] == []
        page.keyboard.press("u")
        page.wait_for_selector(".row[data-id='long gone']")
        page.click("text=Measure it on 1 question")
        page.wait_for_selector(".scores")
        score = httpx.post(f"{own.url}/v1/questions/score", json={}).json()["scores"][0]
        means = page.eval_on_selector_all(".scores td:nth-child(2)", "e => e.map(o => o.innerText)")
        assert means == [f"{each['mean']:.3f}" for each in score["measures"].values()]
        inspector.check()


def test_a_server_that_only_reads_takes_no_label(chrome: Browser, sample_db: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_READ_ONLY", "1")
        with real_server(sample_db) as server, chrome.new_context() as context:
            inspector = Inspector(context.new_page(), server)
            page = inspector.show(".labels .row", view="label", q="telemetry")
            page.keyboard.press("1")
            inspector.round_trip("/key")
            assert page.locator(".labels button:not([disabled])").count() == 0
            assert all(status < 400 for status in inspector.statuses)
            inspector.check()
