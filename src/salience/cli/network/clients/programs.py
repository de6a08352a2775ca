"""The programs that `salience mcp install` knows: where their files are, how an entry looks."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from salience.cli.network.clients import jsonc, toml_tables
from salience.closing import regular_file
from salience.lazily import dataclass, field


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
        """The entries of all servers in the text of a file."""
        values = toml_tables.read(text) if self.is_toml else jsonc.read(text)
        servers = values.get(self.key, {}) if isinstance(values, dict) else None
        if not isinstance(servers, dict):
            raise ValueError(f"{self.key} is not an object")
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


# Files of settings: read, compared, and written whole, with a copy of the former file

_NEW_MODE = 0o644  # of a file that was not there


def read_text(path: Path) -> str:
    """The text of a file with its line ends as they are; "" if there is no file.

    Raises:
        ValueError: it is not in UTF-8.
    """
    try:
        with regular_file(path) as file:
            return file.read().decode("utf-8")
    except FileNotFoundError:
        return ""


def difference(path: Path, before: str, after: str) -> str:
    """The lines that change, as `diff -u` shows them."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path)
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def write_text(path: Path, text: str, *, private: bool = False) -> Path | None:
    """Write a file whole or not at all; return the copy of the former file, None if there was none.

    A link stays one. A private file is one that only its user can read.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = None
    if target.exists():
        copy = _free_name(target)
        _write_private(copy, target.read_bytes())
        shutil.copystat(target, copy)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        _write_private(draft, text.encode("utf-8"))
        if not private:
            draft.chmod(_NEW_MODE if copy is None else copy.stat().st_mode)
        os.replace(draft, target)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return copy


def _write_private(path: Path, data: bytes) -> None:
    """Write a new file that only this user can read: the keys of others may stand in it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _free_name(path: Path) -> Path:
    time = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    names = (
        path.with_name(f"{path.name}.{time}{more}.bak")
        for more in ("", *map("-{}".format, range(1, 1_000)))
    )
    return next(name for name in names if not name.exists())
