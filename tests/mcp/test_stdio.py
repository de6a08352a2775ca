"""`salience mcp` as a process, as programs start it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salience.cli import main
from salience.mcp.tools import CORE
from support.command_server import commands
from support.mcp_client import Connection, cold_process, connected, process

START_SECONDS = 30.0  # after which programs give a server up; it takes 2 on a quiet machine


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mcp") / "memory.db"


@pytest.fixture(scope="module")
def connection(db: Path) -> Iterator[Connection]:
    with connected(process("--db", str(db), "mcp")) as connection:
        yield connection


def test_it_answers_before_programs_give_it_up(tmp_path: Path) -> None:
    before = os.times()
    with connected(cold_process("--db", str(tmp_path / "a.db"), "mcp")) as connection:
        connection.await_("list_tools")
    after = os.times()  # a machine that others use, too, takes longer by the clock
    taken = after.children_user - before.children_user
    taken += after.children_system - before.children_system
    assert 0 < taken < START_SECONDS


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


def test_what_is_not_asked_for_is_not_loaded() -> None:
    program = "import salience.cli.app, salience.server.app, sys; print('mcp' in sys.modules)"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "False\n"


def test_a_bridge_has_no_index_and_no_embedder_of_its_own() -> None:
    program = (
        "import asyncio, sys\n"
        "from salience.engine.async_memory import AsyncMemory\n"
        "import salience.mcp.server\n"
        "async def main():\n"
        "    memory = AsyncMemory('http://127.0.0.1:9')\n"
        "    print(type(memory).__name__, 'wordllama' in sys.modules, 'sqlite3' in sys.modules)\n"
        "asyncio.run(main())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert ran.stdout.split() == ["AsyncRemoteMemory", "False", "False"]


def test_without_its_package_a_command_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "mcp" else found(name)
    )
    assert main(["--db", str(tmp_path / "a.db"), "mcp"]) == 2
    assert "pip install 'salience[mcp]'" in capsys.readouterr().err


def test_a_wrong_set_of_tools_is_refused_before_anything_starts(tmp_path: Path) -> None:
    assert main(["--db", str(tmp_path / "a.db"), "mcp", "--tools", "all"]) == 2
    assert not (tmp_path / "a.db").exists()


def test_every_request_is_answered_with_its_id(db: Path) -> None:
    """A model that is cut off leaves half an emoji; the parser of the protocol takes no such."""
    version = {"name": "x", "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": version}
    note = {"content": "a \udc00 b", "title": None, "tags": ""}
    requests: dict[Any, Any] = {
        1: ("initialize", opening),
        2: ("tools/call", {"name": "search_memories", "arguments": {"query": "\ud83d"}}),
        "three": ("tools/call", []),
        4: ("tools/call", {"name": "add_memory", "arguments": note}),
    }
    pipe = subprocess.PIPE
    command = [str(commands() / "salience"), "--db", str(db), "--embedder", "none", "mcp"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        answers = {}
        for id, (method, params) in requests.items():
            request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            served.stdin.write(f"{json.dumps(request)}\n")
            served.stdin.flush()
            answer = json.loads(served.stdout.readline())
            answers[answer["id"]] = answer
        served.stdin.close()
    assert answers.keys() == requests.keys()
    assert "error" in answers["three"]
    assert not answers[2]["result"].get("isError")
    assert not answers[4]["result"].get("isError")
