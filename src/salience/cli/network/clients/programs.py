"""The programs that `salience mcp install` knows: where their files are, how an entry looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salience.cli.network.clients import jsonc, toml_tables


@dataclass(frozen=True)
class Program:
    """A program: its file for a user, that in a project if it has one, and the key of its servers.

    `fields` stand in each entry before the command.
    """

    name: str
    title: str
    user_file: Callable[[], Path]
    project_file: str | None = None
    key: str = "mcpServers"
    fields: Mapping[str, Any] = field(default_factory=dict)

    def file(self, project: Path | None) -> Path:
        """The file of the user, or of a project."""
        if project is None:
            return self.user_file()
        assert self.project_file is not None
        return project / self.project_file

    @property
    def is_toml(self) -> bool:
        return self.user_file().suffix == ".toml"

    def servers(self, text: str) -> Mapping[str, Any]:
        """The entries of all servers in the text of a file.

        Raises:
            ValueError: the file is damaged.
        """
        values = toml_tables.read(text) if self.is_toml else jsonc.read(text)
        servers = values.get(self.key, {}) if isinstance(values, dict) else None
        if not isinstance(servers, dict):
            raise ValueError(f"{self.key} is no object")
        return servers

    def with_server(self, text: str, name: str, entry: Mapping[str, Any]) -> str:
        """The text with the entry of a server.

        Raises:
            ValueError: the file is damaged, or cannot be changed safely.
        """
        if self.is_toml:
            return toml_tables.with_table(text, (self.key, name), entry)
        return jsonc.with_member(text, (self.key, name), dict(entry))

    def without_server(self, text: str, name: str) -> str:
        """The text without the entry of a server.

        Raises:
            ValueError: the file is damaged, or cannot be changed safely.
        """
        if self.is_toml:
            return toml_tables.without_table(text, (self.key, name))
        return jsonc.without_member(text, (self.key, name))

    def entry(self, command: str, arguments: list[str], env: Mapping[str, str]) -> dict[str, Any]:
        """The entry of a server that the program starts itself."""
        entry = {**self.fields, "command": command, "args": arguments}
        return entry | ({"env": dict(env)} if env else {})


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _settings(*parts: str) -> Callable[[], Path]:
    """A file in the folder where the system keeps the settings of programs with windows."""

    def path() -> Path:
        if sys.platform == "win32":
            folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        else:
            folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return folder.joinpath(*parts)

    return path


def _moved_by(variable: str, default: str, file: str) -> Callable[[], Path]:
    """A file in the folder that a variable names, else in one of the home."""
    return lambda: Path(os.environ.get(variable) or Path.home() / default) / file


def _zed() -> Path:
    if sys.platform == "darwin":
        return Path.home() / ".config" / "zed" / "settings.json"
    return _settings("Zed" if sys.platform == "win32" else "zed", "settings.json")()


_STDIO = {"type": "stdio"}
PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(
            "claude-code",
            "Claude Code",
            _moved_by("CLAUDE_CONFIG_DIR", "", ".claude.json"),
            ".mcp.json",
            fields=_STDIO,
        ),
        Program(
            "claude-desktop", "Claude Desktop", _settings("Claude", "claude_desktop_config.json")
        ),
        Program("cursor", "Cursor", _home(".cursor", "mcp.json"), ".cursor/mcp.json"),
        Program(
            "vscode",
            "VS Code",
            _settings("Code", "User", "mcp.json"),
            ".vscode/mcp.json",
            key="servers",
            fields=_STDIO,
        ),
        Program(
            "codex",
            "Codex",
            _moved_by("CODEX_HOME", ".codex", "config.toml"),
            ".codex/config.toml",
            key="mcp_servers",
            # Its first turn goes without a server that is not required and takes over a second.
            fields={"required": True, "startup_timeout_sec": 60},
        ),
        Program("windsurf", "Windsurf", _home(".codeium", "windsurf", "mcp_config.json")),
        Program("zed", "Zed", _zed, ".zed/settings.json", key="context_servers"),
        Program(
            "gemini-cli",
            "Gemini CLI",
            _home(".gemini", "settings.json"),
            ".gemini/settings.json",
        ),
    )
}
"""All programs by name."""
