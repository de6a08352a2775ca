"""`salience mcp` as a process, as programs start it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from salience.mcp.tools import CORE
from support.mcp_client import Connection, connected, process

START_SECONDS = 30.0  # after which programs give a server up; it takes 2 on a quiet machine


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mcp") / "memory.db"


@pytest.fixture(scope="module")
def connection(db: Path) -> Iterator[Connection]:
    with connected(process("--db", str(db), "mcp")) as connection:
        yield connection


def test_it_answers_before_programs_give_it_up(tmp_path: Path) -> None:
    started = time.monotonic()
    with connected(process("--db", str(tmp_path / "a.db"), "mcp")) as connection:
        connection.await_("list_tools")
        assert time.monotonic() - started < START_SECONDS


def test_the_core_is_listed_in_its_order(connection: Connection) -> None:
    listed = connection.await_("list_tools").tools
    assert [tool.name for tool in listed] == [tool.name for tool in CORE]


def test_what_is_added_is_found(connection: Connection) -> None:
    id = connection.call("add_memory", content="Ana moved to Lisbon in March.")["id"]
    found = connection.call("search_memories", query="Where does Ana live?")["memories"]
    assert [each["id"] for each in found] == [id]
    assert found[0]["source"] == "mcp:mcp"


def test_only_reading_is_offered_with_read_only(db: Path) -> None:
    with connected(process("--db", str(db), "mcp", "--read-only")) as connection:
        listed = connection.await_("list_tools").tools
        assert {tool.annotations.read_only_hint for tool in listed} == {True}
        assert "memories:write" in connection.refused("add_memory", content="x")
