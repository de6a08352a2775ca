"""The protocol's own conformance suite, with the results that docs/mcp.md tells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from support.pages import page
from support.real_server import RealServer

Check = Callable[[str, str], list[dict[str, Any]]]
Inspect = Callable[..., Any]
HEAD = re.search(r"^\| scenario \| (.*) \|$", page("docs/mcp.md"), re.MULTILINE)
assert HEAD is not None
VERSIONS = HEAD[1].split(" | ")
RESULT = r"(?:-|\d+/\d+)"
ROWS = re.findall(
    rf"^\| `([\w-]+)` \| ({RESULT}(?: \| {RESULT})*) \|$", page("docs/mcp.md"), re.MULTILINE
)
TOLD = [
    (scenario, version, result)
    for scenario, results in ROWS
    for version, result in zip(VERSIONS, results.split(" | "), strict=True)
    if result != "-"
]


@pytest.mark.parametrize(("scenario", "version", "result"), TOLD)
def test_a_scenario_has_the_result_that_is_told(
    check: Check, scenario: str, version: str, result: str
) -> None:
    checks = check(scenario, version)
    counts = Counter(each["status"] for each in checks)
    assert f"{counts['SUCCESS']}/{counts['SUCCESS'] + counts['FAILURE']}" == result, checks
    for each in checks:
        if each["status"] == "FAILURE":  # a tool of the suite's own is missing, and no behaviour
            assert "Not testable: server does not list the diagnostic tool" in each["errorMessage"]


def test_the_inspector_lists_and_calls_over_http(inspect: Inspect, server: RealServer) -> None:
    target = (f"{server.url}/mcp", "--transport", "http")
    names = [tool["name"] for tool in inspect(*target, "--method", "tools/list")["tools"]]
    assert names[:2] == ["add_memory", "search_memories"]
    call = ("--method", "tools/call", "--tool-name")
    added = inspect(*target, *call, "add_memory", "--tool-arg", "content=Ben has a cello.")
    found = inspect(*target, *call, "search_memories", "--tool-arg", "query=cello")
    assert [each["id"] for each in found["structuredContent"]["memories"]] == [
        added["structuredContent"]["id"]
    ]


def test_the_inspector_lists_over_stdio(inspect: Inspect, tmp_path: object) -> None:
    command = ("salience", "--db", f"{tmp_path}/memory.db", "mcp")
    for method, name in (("tools", "tools"), ("prompts", "prompts"), ("resources", "resources")):
        assert inspect(*command, "--method", f"{method}/list")[name]
