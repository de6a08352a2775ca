"""server.json is what the MCP registry takes, and names commands and variables that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import salience
from salience.cli.app import COMMANDS
from salience.remote.settings import KEY_VARIABLE
from salience.stores.address import DB_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"named": {"name"}, "positional": {"value"}}
"""The kinds of arguments, with what each has to have here."""


@pytest.fixture
def server() -> Any:
    return json.loads((ROOT / "server.json").read_text("utf-8"))


def test_the_server_is_described_within_the_limits_of_the_registry(server: Any) -> None:
    assert re.fullmatch(
        r"https://static\.modelcontextprotocol\.io/schemas/[\d-]+/server\.schema\.json",
        server["$schema"],
    )
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 3 <= len(server["name"]) <= 200
    assert 1 <= len(server["description"]) <= 100
    assert 1 <= len(server["title"]) <= 100


def test_the_readme_names_the_server_as_the_registry_asks(server: Any) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"<!-- mcp-name: (\S+) -->", readme) == [server["name"]]


def test_the_version_is_that_of_the_package(server: Any) -> None:
    (package,) = server["packages"]
    assert server["version"] == package["version"] == salience.__version__


def test_the_package_is_this_one_and_starts_the_server(server: Any) -> None:
    (package,) = server["packages"]
    assert (package["registryType"], package["identifier"]) == ("pypi", "salience")
    assert package["transport"] == {"type": "stdio"}
    arguments = [*package["runtimeArguments"], *package["packageArguments"]]
    assert all(KINDS[each["type"]] <= set(each) for each in arguments)
    (command,) = package["packageArguments"]
    assert command["value"] in {name for group in COMMANDS.values() for name in group}
    (extras,) = package["runtimeArguments"]
    assert extras["value"] == "salience[mcp]"


def test_its_variables_exist_and_the_key_is_secret(server: Any) -> None:
    (package,) = server["packages"]
    variables = {each["name"]: each for each in package["environmentVariables"]}
    assert {DB_VARIABLE, KEY_VARIABLE} <= set(variables)
    assert variables[KEY_VARIABLE]["isSecret"] is True
    files = (*(ROOT / "src").rglob("*.py"), ROOT / "src" / "salience" / "cli" / "commands.txt")
    source = "".join(path.read_text("utf-8") for path in files)
    assert [name for name in variables if name not in source] == []


def test_the_readme_claims_the_name(server: Any) -> None:
    """The registry looks for it in the description of the package on PyPI."""
    assert f"<!-- mcp-name: {server['name']} -->" in (ROOT / "README.md").read_text("utf-8")
