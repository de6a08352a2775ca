"""The plugins name commands and files that exist, and the version of the package."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import salience
from salience.cli.app import COMMANDS
from salience.coding_agents.hook import is_event

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = {
    "claude-code": (".claude-plugin/marketplace.json", ".claude-plugin/plugin.json", ".mcp.json"),
    "codex": (".agents/plugins/marketplace.json", ".codex-plugin/plugin.json", ".mcp.json"),
    "cursor": (".cursor-plugin/marketplace.json", ".cursor-plugin/plugin.json", "mcp.json"),
}


def load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def commands(hooks: Any) -> list[str]:
    """All commands in the file of hooks, of any form."""
    if isinstance(hooks, dict):
        own = [hooks["command"]] if "command" in hooks else []
        return own + [each for value in hooks.values() for each in commands(value)]
    return [each for value in hooks for each in commands(value)] if isinstance(hooks, list) else []


@pytest.mark.parametrize("agent", PLUGINS)
def test_a_plugin_holds_together(agent: str) -> None:
    marketplace, manifest, servers = PLUGINS[agent]
    (entry,) = load(ROOT / marketplace)["plugins"]
    source = entry["source"]
    folder = ROOT / (source["path"] if isinstance(source, dict) else source)
    assert folder.resolve() == ROOT / "plugins" / agent
    about = load(folder / manifest)
    assert about["name"] == entry["name"] == "salience"
    assert about["version"] == salience.__version__
    for name in ("hooks", "mcpServers"):
        assert (folder / about.get(name, ".")).exists()
    server = load(folder / servers)["mcpServers"]["salience"]
    assert server["command"] == "salience"
    all_commands = {name for group in COMMANDS.values() for name in group}
    assert " ".join(server["args"]) in all_commands


@pytest.mark.parametrize("agent", PLUGINS)
def test_every_hook_is_one_that_the_command_line_answers_quickly(agent: str) -> None:
    found = commands(load(ROOT / "plugins" / agent / "hooks" / "hooks.json"))
    assert len(found) >= 4
    for command in found:
        program, *arguments = shlex.split(command)
        assert program == "salience"
        assert is_event(arguments)
        assert arguments[-2:] == ["--agent", agent]
