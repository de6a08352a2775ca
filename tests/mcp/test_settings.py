"""What a configuration decides, and the table of tools in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.mcp.app import ToolSettings
from salience.mcp.tools import SETS, TOOLS
from support.mcp_client import in_process, text_of
from support.pages import page


def test_options_come_before_the_environment() -> None:
    environment = {
        "SALIENCE_MCP_TOOLS": "full",
        "SALIENCE_MCP_MAX_TOKENS": "3000",
        "SALIENCE_MCP_INSTRUCTIONS": "Answer in French.",
    }
    assert ToolSettings.from_environment({}) == ToolSettings("core", 10_000, "")
    settings = ToolSettings.from_environment(environment, tools="chatgpt", max_tokens=None)
    assert settings == ToolSettings("chatgpt", 3_000, "Answer in French.")


@pytest.mark.parametrize("value", ["999", "2000000", "many"])
def test_a_wrong_limit_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match=r"max_tokens: is .*; give a whole number"):
        ToolSettings.from_environment({"SALIENCE_MCP_MAX_TOKENS": value})


def test_no_answer_is_longer_than_the_configuration_allows() -> None:
    with in_process(max_tokens=1_000) as connection:
        id = connection.call("add_memory", content="word " * 4_000)["id"]
        for tool, arguments in (
            ("search_memories", {"query": "word"}),
            ("get_context", {"query": "word"}),
            ("get_memory", {"id": id}),
            ("fetch", {"id": id}),
        ):
            budget = {} if tool == "fetch" else {"max_tokens": 100_000}
            assert len(text_of(connection.result(tool, **arguments, **budget))) <= 4_000
        read = connection.await_("read_resource", f"salience://memory/{id}").contents[0].text
        assert 1_000 < len(read) <= 4_000


def test_a_context_is_put_together_once_and_counted_as_a_retrieval(tmp_path: Path) -> None:
    steps: list[str] = []
    db = tmp_path / "memory.db"
    with in_process(db, trace=steps.append) as connection:
        id = connection.call("add_memory", content="The gate code is 4711.")["id"]
        steps.clear()
        assert connection.call("get_context", query="gate code")["ids"] == [id]
        assert len([step for step in steps if "Embed('gate code'" in step]) == 1
    with Memory(db) as memory:
        record = memory.get(id)
        assert record is not None
        assert record.access_count == 1


def test_each_tool_is_documented_with_its_scope_and_set() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([\w:]+)` \| (\w+) \|", page("docs/mcp.md"), re.MULTILINE)
    first_set = {tool.name: name for name in reversed([*SETS]) for tool in SETS[name]}
    assert rows == [(name, tool.scope, first_set[name]) for name, tool in TOOLS.items()]
