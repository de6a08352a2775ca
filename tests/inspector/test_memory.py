"""The drawer of one memory in a browser: what it shows, and what can be done to it and undone."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from salience import Memory
from support.browser import Inspector
from support.children import PROGRAM
from support.real_server import RealServer, real_server

KEY, DRAWER = "The spare key is with Ben.", "The spare key is in the drawer."
CHANGED = {"updated_at", "version", "write_count", "accesses"}
"""What a change and its undoing leave."""


def fill(path: Path) -> None:
    with Memory(path) as memory:
        memory.add(KEY, id="key", speaker="Ana", metadata={"floor": 2}, importance=0.8)
        memory.add(DRAWER, id="drawer", speaker="Ana", dedup=False)
        memory.add("Ben lives next door.", id="ben")
        memory.add("Old.", id="old")
        memory.add("Older.", id="older", dedup=False)
        memory.link("key", "drawer", "contradicts")
        memory.supersede("old", "key")
        memory.archive("older")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RealServer]:
    fill(tmp_path / "own.db")
    with real_server(tmp_path / "own.db") as server:
        yield server


def state(server: RealServer, id: str) -> dict[str, Any]:
    """A memory with what is linked to it, without what any change leaves."""
    url = f"{server.url}/v1"
    memory = httpx.post(f"{url}/memories/get", json={"ids": [id]}).json()["memories"][0]
    kept = {name: value for name, value in (memory or {}).items() if name not in CHANGED}
    links = httpx.get(f"{url}/links", params={"id": id}).json()["links"]
    return kept | {
        "links": sorted((each["source"], each["target"], each["type"]) for each in links)
    }


FILLED = {"correct": "The spare key is with Bea.", "replace": "The spare key is at work."}
ACTIONS = [
    ("key", "correct", {"content": "The spare key is with Bea."}),
    ("key", "replace", {"status": "superseded"}),
    ("key", "outdated", {"review": "outdated", "outdated": 1.0}),
    ("key", "pin", {"pinned": 1.0}),
    ("ben", "archive", {"status": "archived"}),
    ("older", "restore", {"status": "active"}),
    ("old", "revive", {"status": "active", "valid_to": None}),
    ("key", "erase", {"content": None}),
]


def choose(page: Page, name: str) -> None:
    if name in FILLED:
        page.fill(".preview textarea", FILLED[name])


@pytest.mark.parametrize(("id", "name", "after"), ACTIONS, ids=[each[1] for each in ACTIONS])
def test_each_action_is_previewed_done_and_undone(
    shown: Inspector, own: RealServer, id: str, name: str, after: dict[str, Any]
) -> None:
    before, old = state(own, id), state(own, "old")
    page = shown.show(".drawer .preview", open=id, act=name, view="time")
    choose(page, name)
    expect(page.locator(".preview li").first).to_be_visible()
    assert state(own, id) == before  # a preview changes nothing
    page.click(".preview .main")
    page.wait_for_selector(".last")
    now = state(own, id)
    assert {field: now.get(field) for field in after} == after
    page.click(".last button:has-text('Undo')")
    page.wait_for_selector(".last:has-text('Undone')")
    ignored = {"added_at", "last_accessed", "written_by"} if name == "erase" else {"pinned"}
    again = state(own, id)
    assert {n: v for n, v in again.items() if n not in ignored} == {
        n: v for n, v in before.items() if n not in ignored
    }
    assert not again.get("pinned")
    if id == "key":
        assert state(own, "old") == old


def test_what_contradicts_takes_the_place(shown: Inspector, own: RealServer) -> None:
    page = shown.show(".drawer .actions", open="key", q="spare key")
    page.click(".actions button:has-text('Replace')")
    expect(page.locator(".choices label:has(:checked)")).to_contain_text(DRAWER)
    page.click(".preview .main")
    page.wait_for_selector(".last")
    now = state(own, "key")
    assert now["status"] == "superseded"
    assert ("drawer", "key", "supersedes") in now["links"]
    page.click(".last button:has-text('Undo')")
    page.wait_for_selector(".last:has-text('Undone')")
    assert state(own, "key")["status"] == "active"


def test_a_person_is_forgotten_after_a_count(shown: Inspector, own: RealServer) -> None:
    page = shown.show(".drawer .actions", open="drawer")
    page.click(".actions button:has-text('Forget Ana')")
    expect(page.locator(".preview")).to_contain_text("2 memories of Ana")
    expect(page.locator(".preview")).to_contain_text("cannot be undone")
    page.click(".preview .main")
    page.wait_for_selector(".drawer [role=alert]:has-text('There is no memory drawer')")
    assert page.locator(".last button:has-text('Undo')").count() == 0
    assert state(own, "key") == {"links": []}


@pytest.mark.parametrize(("id", "name", "after"), ACTIONS, ids=[each[1] for each in ACTIONS])
def test_a_page_that_reads_has_the_lines_that_do_it(
    chrome: Browser, tmp_path: Path, id: str, name: str, after: dict[str, Any]
) -> None:
    paths = [tmp_path / "command.db", tmp_path / "python.db"]
    for path in paths:
        fill(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_READ_ONLY", "1")
        with real_server(paths[0]) as server, chrome.new_context() as context:
            inspector = Inspector(context.new_page(), server)
            page = inspector.show(".drawer .preview", open=id, act=name)
            choose(page, name)
            command, call = page.locator(".line pre").all_inner_texts()
            assert page.locator(".preview .main").count() == 0
            inspector.check()
    words = shlex.split(command)
    assert words.pop(0) == "salience"
    place = words.index("--") if "--" in words else len(words)
    words[place:place] = ["--db", str(paths[0]), *(["--yes"] if name == "erase" else [])]
    subprocess.run([sys.executable, "-c", PROGRAM, *words], check=True, capture_output=True)
    with Memory(paths[1]) as memory:
        eval(call, {"memory": memory})
    for path in paths:
        with Memory(path) as memory:
            record = memory.get(id)
            values = {} if record is None else record.to_dict()
            assert {field: values.get(field) for field in after} == after


def test_rows_of_every_view_open_it_and_back_closes_it(inspector: Inspector) -> None:
    memory = "fact-database-timescale"
    for row, given in (
        (".card .more", {"q": "telemetry"}),
        (".then .plain", {"view": "time"}),
        (".feed .plain", {"view": "health"}),
        (".nodes .plain", {"view": "around", "memory": memory}),
        (".moves .plain", {"view": "ab", "q": "telemetry", "other": "composite"}),
    ):
        page = inspector.show(row, **given)
        page.locator(row).first.click()
        page.wait_for_selector(".drawer .life")
        page.go_back()
        expect(page.locator(".drawer")).to_have_count(0)
        page.go_forward()
        page.wait_for_selector(".drawer .life")
        page.keyboard.press("Escape")
        expect(page.locator(".drawer")).to_have_count(0)
        expect(page.locator(row).first).to_be_focused()


def test_a_drawer_has_all_of_a_memory(shown: Inspector) -> None:
    page = shown.show(".drawer .life", open="key")
    shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click(".facts button:has-text('Copy')")
    assert page.evaluate("navigator.clipboard.readText()") == "key"
    text = page.inner_text(".drawer")
    for part in (KEY, "Ana", "floor", "0.8", DRAWER, "replaces", "contradicts", "written"):
        assert part in text
    page.click(".linked button:has-text('Old.')")
    page.wait_for_selector(".drawer .whole:has-text('Old.')")
