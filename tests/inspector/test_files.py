"""The files of the page, their sizes and headers, and a server that only reads."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import httpx
import msgspec
import pytest

from salience import Memory
from salience.api.operations import OPERATIONS, READ
from salience.cli.app import COMMANDS
from salience.server.inspector import sent
from support.real_server import RealServer, real_server

UI = Path(str(files("salience.server").joinpath("ui")))
ROOT = Path(__file__).resolve().parents[2]


def modules(name: str, found: dict[str, bytes]) -> dict[str, bytes]:
    """A module and all that it imports from the beginning."""
    if name not in found:
        found[name] = content = sent(UI / name)
        for other in re.findall(rb"""from\s*["'](\.[^"']+)["']""", content):
            path = (UI / name).parent / other.decode()
            modules(path.resolve().relative_to(UI).as_posix(), found)
    return found


def packed(contents: list[bytes]) -> int:
    return sum(len(gzip.compress(content, 9)) for content in contents)


def test_a_script_is_sent_without_its_comments_each_line_in_its_place() -> None:
    for path in UI.rglob("*.js"):
        lines = path.read_text("utf-8").split("\n")
        for line, kept in zip(lines, sent(path).decode().split("\n"), strict=True):
            assert kept == line or (not kept and re.match(r"\s*(//|/\*\*| \*)", line))


def test_the_first_view_and_the_whole_page_are_small() -> None:
    first = modules("app.js", {})
    assert {"search.js", "vendor/preact.js", "vendor/htm.js", "words.js"} <= first.keys()
    assert "ask.js" not in first
    assert packed([*first.values()]) <= 25_000
    assert packed([sent(path) for path in UI.rglob("*.js")]) <= 60_000


def test_the_libraries_are_those_of_the_list() -> None:
    command = [sys.executable, "tools/vendor_ui.py", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (UI / "index.html").read_text("utf-8")
    assert not re.search(r"<style|style=|<script[^>]*>[^<]|\son\w+=", page)
    for path in [UI / "index.html", *UI.glob("*.js"), *UI.glob("*.css")]:
        text = path.read_text("utf-8")
        assert not re.search(r"https?://|innerHTML|dangerously|localStorage|document\.cookie", text)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    path = tmp_path_factory.mktemp("reader") / "memory.db"
    with Memory(path) as memory:
        memory.add("Ana has a cello.", id="cello")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALIENCE_READ_ONLY", "1")
        with real_server(path) as server:
            yield server


def test_the_files_need_no_key_and_have_a_strict_policy(reader: RealServer) -> None:
    with httpx.Client(base_url=reader.url) as client:
        assert client.get("/ui").headers["location"] == "ui/"
        for path in ("/ui/", "/ui/app.js", "/ui/vendor/preact.js", "/ui/style.css"):
            answer = client.get(path)
            policy = answer.headers["content-security-policy"]
            assert answer.status_code == 200
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert policy.endswith("require-trusted-types-for 'script'; trusted-types 'none'")
            assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        for path in (
            "/ui/none.js",
            "/ui/vendor/VENDORED.json",
            "/ui/../app.py",
            "/ui/%2e%2e/app.py",
        ):
            assert client.get(path).status_code in (401, 404)


def test_a_server_that_reads_refuses_every_operation_that_writes(reader: RealServer) -> None:
    with reader.client() as client:
        for operation in OPERATIONS:
            if operation.scope != READ:
                path = operation.path.replace("{id}", "cello")
                body = msgspec.json.encode(operation.example)
                kind = "application/x-ndjson" if path == "/load" else "application/json"
                headers = {"Content-Type": kind}
                answer = client.request(operation.verb, path, content=body, headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (403, "ReadOnly"), path
        assert client.post("/keys", json={"name": "x"}).status_code == 403
        assert client.post(f"{reader.url}/mcp", json={}).status_code == 404
        assert client.get("/key").json()["scopes"] == ["memories:read"]
        hits = client.post("/search", json={"query": "cello"}).json()["hits"]
        assert [hit["id"] for hit in hits] == ["cello"]
    reader.stop()
    with Memory(reader.db) as memory:
        record = memory.get("cello")
        assert record is not None
        assert record.access_count == 0
        assert [event.type for event in memory.events().events] == ["write"]


def test_there_is_a_command() -> None:
    assert "inspect" in COMMANDS["Serve"]
