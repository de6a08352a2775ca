"""`salience mcp install` and `salience mcp doctor`: real files in a home, and real servers."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import salience
from cli.conftest import Run
from salience.access import Keyring
from salience.cli import main
from salience.cli.network.clients import jsonc
from salience.cli.network.clients.programs import PROGRAMS
from support.real_server import RealServer, free_port

USER_FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "zed": ".config/zed/settings.json",
    "gemini-cli": ".gemini/settings.json",
}
SETTINGS = """\
{
  // my settings, with care
  "theme": "dark", /* at night */
  "%s": {
    "files": { "command": "files-server", "args": ["-v",] }, // of the team
  },
  "z": [1, 2, 3]
}
"""
CODEX = """\
# my settings
model = "gpt-5"  # the big one

[mcp_servers.files]
command = "files-server"
args = ["[not.a.header]"]

# about projects
[projects."/home/ana/shop"]
trust_level = "trusted"
"""


@pytest.fixture
def home(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any file."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SALIENCE_API_KEY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return home


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def settings_of(program: str) -> str:
    return CODEX if program == "codex" else SETTINGS % PROGRAMS[program].key


def servers(program: str, path: Path) -> Any:
    text = path.read_text("utf-8")
    values = tomllib.loads(text) if path.suffix == ".toml" else jsonc.read(text)
    return values[PROGRAMS[program].key]


def test_every_program_has_a_file_in_the_home(home: Path) -> None:
    assert {
        name: str(p.user_file().relative_to(home)) for name, p in PROGRAMS.items()
    } == USER_FILES


@pytest.mark.parametrize(
    ("platform", "program", "file"),
    [
        (
            "darwin",
            "claude-desktop",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
    ],
)
def test_other_systems_have_other_folders(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, program: str, file: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("APPDATA", raising=False)
    assert PROGRAMS[program].user_file() == home / file


def test_folders_of_the_environment_are_respected(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "claude"))
    assert PROGRAMS["codex"].user_file() == home / "codex/config.toml"
    assert PROGRAMS["claude-code"].user_file() == home / "claude/.claude.json"


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_server_is_entered_where_there_was_no_file(
    run: Run, home: Path, tmp_path: Path, program: str
) -> None:
    ran = run("mcp", "install", program, "--db", "notes.db", "--namespace", "ana", "--yes")
    path = home / USER_FILES[program]
    entry = servers(program, path)["salience"]
    assert ran.code == 0
    assert os.access(entry["command"], os.X_OK)
    assert entry["args"] == ["mcp", "--db", str(tmp_path / "notes.db"), "--namespace", "ana"]
    assert entry.get("type") == ("stdio" if program in ("claude-code", "vscode") else None)
    assert entry.get("required") is (True if program == "codex" else None)
    assert "env" not in entry
    assert "+++ " in ran.out
    assert [each.name for each in path.parent.iterdir() if "salience" not in each.name] == [
        path.name
    ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_else_in_a_file_stays_and_removing_restores_it(
    run: Run, home: Path, program: str
) -> None:
    before = settings_of(program)
    path = write(home / USER_FILES[program], before)
    assert run("mcp", "install", program, "--yes").code == 0
    after = path.read_text("utf-8")
    assert set(servers(program, path)) == {"files", "salience"}
    rest = iter(after)
    assert all(character in rest for character in before)  # nothing of it was lost

    again = run("mcp", "install", program, "--yes")
    assert (again.code, again.out) == (0, "")
    assert "as it should be" in again.err
    (copy,) = path.parent.glob("*.bak")
    assert copy.read_text("utf-8") == before
    assert run("mcp", "install", program, "--remove", "--yes").code == 0
    assert path.read_text("utf-8") == before
    assert run("mcp", "install", program, "--remove", "--yes").out == ""


@pytest.mark.parametrize("program", ["cursor", "codex"])
def test_another_store_takes_the_place_of_the_first(run: Run, home: Path, program: str) -> None:
    path = write(home / USER_FILES[program], settings_of(program))
    run("mcp", "install", program, "--db", "a.db", "--yes")
    run("mcp", "install", program, "--db", "b.db", "--tools", "full", "--read-only", "--yes")
    arguments = servers(program, path)["salience"]["args"]
    assert [arguments[2][-4:], *arguments[3:]] == ["b.db", "--tools", "full", "--read-only"]
    assert set(servers(program, path)) == {"files", "salience"}


@pytest.mark.parametrize("program", [name for name, p in PROGRAMS.items() if p.project_file])
def test_a_project_has_a_file_of_its_own(
    run: Run, home: Path, tmp_path: Path, program: str
) -> None:
    assert run("mcp", "install", program, "--project", "--yes").code == 0
    path = PROGRAMS[program].file(tmp_path)
    assert path.is_relative_to(tmp_path)
    assert "salience" in servers(program, path)
    assert not (home / USER_FILES[program]).exists()


def test_showing_changes_nothing_and_nobody_to_ask_is_an_error(run: Run, home: Path) -> None:
    shown = run("mcp", "install", "cursor", "vscode", "--print")
    assert shown.code == 0
    assert shown.out.count('+    "salience": {') == 2
    refused = run("mcp", "install", "cursor")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert not list(home.rglob("*.json"))


def test_a_refusal_changes_nothing(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for said, code in ((b"n\n", 1), (b"y\n", 0)):
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(said), "utf-8"))
        assert main(["mcp", "install", "cursor"]) == code
        assert (home / ".cursor/mcp.json").exists() == (code == 0)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("cursor", '{"mcpServers": {'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", "[1]"),
        ("codex", "model = "),
        ("codex", 'mcp_servers = {salience = {command = "x"}}\n'),
        ("codex", 'mcp_servers.salience.command = "x"\n'),
    ],
)
def test_a_file_that_cannot_be_changed_safely_stays(
    run: Run, home: Path, program: str, text: str
) -> None:
    path = write(home / USER_FILES[program], text)
    ran = run("mcp", "install", program, "--yes")
    assert ran.code == 2
    assert str(path) in ran.err
    assert path.read_text("utf-8") == text
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_a_link_and_the_mode_of_a_file_stays(run: Run, home: Path) -> None:
    target = write(home / "dotfiles/cursor.json", "{}\n")
    target.chmod(0o640)
    link = home / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to(target)
    assert run("mcp", "install", "cursor", "--yes").code == 0
    assert link.is_symlink()
    assert "salience" in target.read_text("utf-8")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_key_is_written_only_if_asked_and_never_shown(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "rk_00000000_secretsecretsecret"
    address = ("--db", "http://127.0.0.1:9")
    assert "SALIENCE_API_KEY" in run("mcp", "install", "cursor", *address, "--with-key").err
    monkeypatch.setenv("SALIENCE_API_KEY", key)
    path = home / ".cursor/mcp.json"
    run("mcp", "install", "cursor", *address, "--yes")
    assert key not in path.read_text("utf-8")
    ran = run("mcp", "install", "cursor", *address, "--with-key", "--yes")
    assert servers("cursor", path)["salience"]["env"] == {"SALIENCE_API_KEY": key}
    assert key not in ran.out + ran.err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("arguments", [(), ("emacs",), ("windsurf", "--project")])
def test_a_wrong_program_is_told_the_right_ones(
    run: Run, home: Path, arguments: tuple[str, ...]
) -> None:
    assert run("mcp", "install", *arguments, "--yes").code == 2


# The doctor


def examined(run: Run, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the checks by what they looked at."""
    ran = run("mcp", "doctor", *arguments, "--json")
    return ran.code, {check["what"]: check for check in ran.json}


@pytest.fixture
def entered(run: Run, home: Path) -> Path:
    """The file of a program in which the server is entered."""
    assert run("mcp", "install", "cursor", "--db", "notes.db", "--yes").code == 0
    return home / ".cursor/mcp.json"


def change(path: Path, **values: Any) -> None:
    """Change the entry of the server."""
    text = path.read_text("utf-8")
    entry = jsonc.read(text)["mcpServers"]["salience"] | values
    path.write_text(jsonc.with_member(text, ("mcpServers", "salience"), entry), "utf-8")


def test_the_doctor_starts_the_server_and_lists_its_tools(run: Run, entered: Path) -> None:
    run("add", "The spare key is with the neighbour.", "--db", "notes.db")
    code, checks = examined(run)
    slow = {what for what, check in checks.items() if not check["ok"]}
    assert slow <= {"start"}  # on a machine that is busy
    assert code == bool(slow)
    assert "search_memories" in checks["tools"]["found"]
    assert checks["version"]["found"] == f"salience {salience.__version__}"
    assert checks["store"]["found"].endswith("notes.db, 1 memories")
    assert salience.__version__ in checks["server"]["found"]


def test_the_doctor_finds_a_command_that_is_gone(run: Run, entered: Path) -> None:
    change(entered, command="/nowhere/salience")
    code, checks = examined(run, "cursor")
    assert code == 1
    assert not checks["command"]["ok"]
    assert "mcp install cursor" in checks["command"]["remedy"]
    assert "start" not in checks


def test_the_doctor_finds_another_version(run: Run, entered: Path, tmp_path: Path) -> None:
    program = write(tmp_path / "salience", "#!/bin/sh\necho salience 0.0.1\n")
    program.chmod(0o755)
    change(entered, command=str(program))
    code, checks = examined(run)
    assert code == 1
    assert (checks["version"]["ok"], checks["version"]["found"]) == (False, "salience 0.0.1")
    assert not checks["start"]["ok"]


@pytest.mark.deep
def test_the_doctor_finds_a_server_that_ends_and_says_why(run: Run, entered: Path) -> None:
    change(entered, args=["mcp", "--tools", "hammer"])
    code, checks = examined(run)
    assert code == 1
    assert "hammer" in checks["start"]["found"]


def test_the_doctor_finds_a_store_that_cannot_be_opened(
    run: Run, entered: Path, tmp_path: Path
) -> None:
    change(entered, args=["mcp", "--db", "/nowhere/at/all.db"])
    code, checks = examined(run)
    assert (code, checks["store"]["ok"]) == (1, False)
    broken = write(tmp_path / "broken.db", "no database " * 500)
    change(entered, args=["mcp", "--db", str(broken)])
    code, checks = examined(run)
    assert (code, checks["store"]["ok"]) == (1, False)


def test_the_doctor_finds_a_server_that_is_away(run: Run, home: Path) -> None:
    run("mcp", "install", "cursor", "--db", f"http://127.0.0.1:{free_port()}", "--yes")
    code, checks = examined(run)
    assert (code, checks["store"]["ok"]) == (1, False)


@pytest.mark.deep
def test_the_doctor_finds_a_key_that_is_refused(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tmp_path / "server.db"
    with Keyring.open(f"sqlite:///{db}") as keys:
        key = keys.create(["ana"], ["memories:read"]).text
    with RealServer(db) as server:
        run("mcp", "install", "cursor", "--db", server.url, "--yes")
        monkeypatch.setenv("SALIENCE_API_KEY", f"{key[:-8]}aaaaaaaa")
        code, checks = examined(run)
        assert (code, checks["store"]["ok"]) == (1, False)
        monkeypatch.setenv("SALIENCE_API_KEY", key)
        run("mcp", "install", "cursor", "--db", server.url, "--with-key", "--yes")
        _, checks = examined(run)
        assert {what for what, check in checks.items() if not check["ok"]} <= {"start"}
        assert "search_memories" in checks["tools"]["found"]
        assert "add_memory" not in checks["tools"]["found"]


def test_the_doctor_finds_damaged_files_and_those_without_the_server(run: Run, home: Path) -> None:
    assert run("mcp", "doctor").code == 1
    write(home / ".cursor/mcp.json", '{"mcpServers": {"salience": {"url": "http://x"}}}')
    write(home / ".gemini/settings.json", "{")
    write(home / ".codex/config.toml", CODEX)
    ran = run("mcp", "doctor", "--json")
    found = {(check["program"], check["what"]): check["ok"] for check in json.loads(ran.out)}
    assert found == {
        ("cursor", "file"): True,
        ("cursor", "entry"): False,
        ("gemini-cli", "file"): False,
    }
    shown = run("mcp", "doctor", "codex")
    assert shown.code == 1
    assert "FAIL  codex: file: " in shown.out
    assert "salience mcp install codex" in shown.out
