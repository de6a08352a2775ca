"""Commands whose --db is a server: the same as over a file, or a reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.served import Served, serve_memory

COMMANDS = (
    ("add", "Ben has a cello.", "--id", "cello", "--tag", "music"),
    ("add", "Ana plays the piano.", "--id", "piano", "--importance", "0.9"),
    ("search", "who has a cello?", "--json"),
    ("search", "who has a cello?", "--profile", "composite"),
    ("explain", "who has a cello?", "cello"),
    ("compare", "who has a cello?", "--profile", "balanced", "--profile", "composite"),
    ("context", "who has a cello?"),
    ("get", "cello"),
    ("list", "--json"),
    ("count",),
    ("feedback", "cello", "useful"),
    ("update", "cello", "--set", "importance=0.4"),
    ("feedback", "cello", "promote"),
    ("history", "cello"),
    ("stats",),
    ("zones",),
    ("verify",),
    ("audit",),
    ("prune",),
    ("archive", "piano"),
    ("unarchive", "piano"),
    ("maintain",),
    ("export", "all.jsonl"),
    ("delete", "piano"),
    ("get", "nobody"),
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serve_memory(f"sqlite:///{tmp_path / 'served.db'}") as memory:
        yield memory


def test_commands_work_at_a_server_as_over_a_file(
    run: Callable[..., Any], served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for command in COMMANDS:
        over_file = run("--db", "own.db", *command)
        at_server = run("--db", served.url, *command)
        assert at_server.code == over_file.code, (command, at_server.err)
        assert "Usage" not in over_file.err, command
        assert _lines(at_server.out) == _lines(over_file.out), command
    assert (tmp_path / "all.jsonl").read_text("utf-8").count("cello") > 1
    monkeypatch.setenv("SALIENCE_DB", served.url)
    assert "cello" in run("search", "cello").out
    assert run("import", "all.jsonl", "--namespace", "other").code == 0


def _lines(output: str) -> int:
    """The number of lines but for who wrote a memory, whom only a server knows."""
    return sum("written_by" not in line for line in output.splitlines())


def test_what_needs_the_store_itself_says_so(run: Callable[..., Any], served: Served) -> None:
    for command in (("reembed",), ("copy", served.url, "other.db")):
        ran = run("--db", served.url, *command)
        assert ran.code == 2
        assert "server" in ran.err, command
    ran = run("--db", served.url, "--embedder", "none", "search", "x")
    assert (ran.code, "embedder: is a setting of the server" in ran.err) == (2, True)
    ran = run("--db", "http://127.0.0.1:1", "search", "x")
    assert ran.code == 3
    assert "no server answers at http://127.0.0.1:1" in ran.err
