"""The view Health in a browser: figures of the API, previews before changes, and a feed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from salience import Memory
from support.browser import Inspector
from support.real_server import RealServer, real_server

ZONES = ("active", "stale", "fading", "dormant")


@pytest.fixture
def own(sample_db: Path, tmp_path: Path) -> Iterator[RealServer]:
    """A server over a copy of the sample, which may be changed."""
    path = tmp_path / "own.db"
    path.write_bytes(sample_db.read_bytes())
    with Memory(path) as memory:
        memory.add("TODO", id="todo")
    with real_server(path) as server:
        yield server


def test_the_zones_are_those_of_the_api(inspector: Inspector, client: httpx.Client) -> None:
    page = inspector.show(".zones", view="health")
    counts = client.get("/zones", params={"limit": 0}).json()["counts"]
    cells = page.eval_on_selector_all(".zones td:nth-child(2)", "all => all.map(e => e.innerText)")
    assert [int(text.replace(",", "")) for text in cells] == [counts.get(z, 0) for z in ZONES]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.click("text=Count them over time")
    page.wait_for_selector(".chart")
    assert sum(url.endswith("/v1/zones/shares") for url in requests) == 1


def test_opening_the_view_begins_nothing_long(inspector: Inspector) -> None:
    asked: list[str] = []
    inspector.page.on("request", lambda request: asked.append(request.url.partition("/v1")[2]))
    inspector.show(".feed tr", view="health")
    assert not {"/audit", "/zones/shares"} & set(asked)
    assert {"/key", "/zones?limit=0", "/stats"} <= set(asked)


def test_a_problem_is_previewed_settled_and_taken_back(shown: Inspector, own: RealServer) -> None:
    def status() -> str:
        return str(httpx.get(f"{own.url}/v1/memories/todo").json()["status"])

    page = shown.show(".zones", view="health")
    page.click("text=Look for problems")
    page.wait_for_selector(".findings")
    row = page.locator(".findings tr:has-text('junk') td:last-child")
    row.locator("button").click()
    expect(row.locator(".preview")).to_contain_text("todo")
    assert status() == "active"
    row.locator("button:has-text('Leave it')").click()
    row.locator("button").click()
    row.locator("button:has-text('Do it')").click()
    row.locator("button:has-text('Undo this run')").wait_for()
    assert status() == "archived"
    row.locator("button:has-text('Undo this run')").click()
    row.locator("text=Undone").wait_for()
    assert status() == "active"


STREAM = """
const asked = window.fetch;
window.fetch = async (url, options) => {
  if (!url.endsWith("/audit")) return asked(url, options);
  const body = new ReadableStream({ start(controller) {
    window.say = (text) => controller.enqueue(new TextEncoder().encode(text));
    window.end = () => controller.close();
  } });
  return new Response(body, { headers: { "Content-Type": options.headers.Accept } });
};
"""
"""A script that lets a test say, piece by piece, what an audit answers."""


def test_the_share_that_is_done_is_told_while_it_runs(shown: Inspector) -> None:
    shown.page.add_init_script(STREAM)
    page = shown.show(".zones", view="health")
    page.click("text=Look for problems")
    page.wait_for_selector("progress")
    page.evaluate("""say('data: {"progress": {"step": "reading", "do')""")
    expect(page.locator("main")).to_contain_text("Beginning")
    page.evaluate("""say('ne": 1, "of": 4}}\\n\\n')""")
    expect(page.locator("main")).to_contain_text("25 %")
    assert page.evaluate("document.querySelector('progress').value") == 0.25
    page.evaluate("""say('data: {"answer": {"findings": []}}\\n\\n')""")
    expect(page.locator("main")).to_contain_text("There is no problem.")
    page.click("text=Look for problems")
    page.evaluate("""say('data: {"problem": {"detail": "no <b>room</b>"}}\\n\\n')""")
    expect(page.locator("main [role=alert]")).to_contain_text("no <b>room</b>")
    page.click("text=Look for problems")
    page.evaluate("end()")
    expect(page.locator("main [role=alert]")).to_contain_text("broke off")


def test_the_feed_shows_what_happens_and_pauses(shown: Inspector, own: RealServer) -> None:
    page = shown.show(".feed tr", view="health")
    with httpx.Client(base_url=f"{own.url}/v1") as client:
        client.post("/memories", json={"content": "New.", "id": "new one"}).raise_for_status()
        newest = page.locator(".feed tbody tr:first-child")
        expect(newest).to_contain_text("new one")
        page.click("text=Pause")
        page.wait_for_selector("text=Paused.")
        client.post("/memories/new one/pin").raise_for_status()
        assert '"pin"' in shown.round_trip("/events?order=newest&limit=1")
        assert "pin" not in newest.inner_text()
        page.click("text=Go on")
        expect(newest).to_contain_text("pin")
    shown.page.goto("about:blank")


def test_a_server_that_only_reads_offers_no_change(chrome: Browser, sample_db: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_READ_ONLY", "1")
        with real_server(sample_db) as server, chrome.new_context() as context:
            inspector = Inspector(context.new_page(), server)
            page = inspector.show(".feed tr", view="health")
            assert page.locator("text=Look for problems").count() == 0
            expect(page.locator("main")).to_contain_text("salience inspect --write")
            assert all(status < 400 for status in inspector.statuses)
            inspector.check()
