"""A home of their own for hooks, and projects to run them in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from salience.coding_agents.project import find_project
from support.command_server import commands
from support.waiting import until


@dataclass(frozen=True)
class Answer:
    """What a hook printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def context(self) -> str:
        """The text for the agent; "" if there is none."""
        if not self.out:
            return ""
        answer = json.loads(self.out)
        if "additional_context" in answer:
            return str(answer["additional_context"])
        return str(answer["hookSpecificOutput"]["additionalContext"])


@dataclass(frozen=True)
class Home:
    """A user: a home, a folder for sockets, and an environment of nothing else.

    `sessions` begins the ids of the sessions of one test.
    """

    path: Path
    runtime: Path
    variables: dict[str, str] = field(default_factory=dict)
    sessions: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "SALIENCE_HOOK_SECONDS": "300",
            "GIT_CONFIG_GLOBAL": os.devnull,
            **self.variables,
        }

    @property
    def log(self) -> Path:
        return self.path / ".local/state/salience/hooks/hooks.log"

    @property
    def store(self) -> Path:
        return self.path / ".local/share/salience/coding-agents.db"

    @property
    def sockets(self) -> list[Path]:
        return sorted((self.runtime / "salience").glob("*.sock"))

    def command(self, *arguments: str, folder: Path, text: str = "") -> Answer:
        """Run `salience` with some arguments, in a folder."""
        ran = subprocess.run(
            [commands() / "salience", *arguments],
            input=text,
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Answer(ran.returncode, ran.stdout, ran.stderr)

    def hook(self, event: str, folder: Path, *options: str, **values: Any) -> Answer:
        """Run the hook of an event, with values in the agent's input."""
        values = {"session_id": "s1", "cwd": str(folder), **values}
        for name in {"session_id", "conversation_id"} & values.keys():
            values[name] = values[name] and self.sessions + values[name]
        text = json.dumps({name: _plain(value) for name, value in values.items()})
        return self.command("hook", event, *options, folder=folder, text=text)

    def daemon(self) -> dict[str, Any] | None:
        """The status of the daemon, None if none runs."""
        shown = self.command("hook", "status", "--json", folder=self.path)
        found: dict[str, Any] | None = json.loads(shown.out)["daemon"]
        return found


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


@contextmanager
def user(folder: Path) -> Iterator[Home]:
    """A user with a home in a folder; the daemon that hooks start is ended."""
    runtime = Path(tempfile.mkdtemp(prefix="hooks", dir="/tmp"))  # a socket needs a short path
    path = folder / "home"
    path.mkdir()
    home = Home(path, runtime)
    yield home
    if home.sockets:
        home.command("hook", "stop-daemon", folder=path)
        until(lambda: not home.sockets)
    shutil.rmtree(runtime)


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[Home]:
    """A user whom no other test knows, and for whom no daemon runs yet."""
    with user(tmp_path) as home:
        yield home


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A user of all tests of a module, whom one daemon serves."""
    with user(tmp_path_factory.mktemp("user")) as home:
        yield home


@pytest.fixture
def home(shared_home: Home, tmp_path: Path) -> Home:
    """The user of all tests, with sessions of one test."""
    return replace(shared_home, sessions=f"{tmp_path.name}-")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with a remote."""
    return repository(tmp_path / "shop", "git@github.com:ana/shop.git")


def namespace_of(project: Path) -> str:
    """The namespace of the memories of a repository, which the user has not said."""
    return find_project(str(project), {}).namespaces[0]


def git(folder: Path, *arguments: str) -> None:
    names = {
        f"GIT_{who}_{what}": "ana@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **names}
    subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, env=environment
    )


def repository(folder: Path, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def claude_line(role: str, text: str, **values: Any) -> str:
    """A line of a transcript of Claude Code."""
    entry = {
        "parentUuid": None,
        "isSidechain": False,
        "type": role,
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
        "uuid": "0b1",
        "timestamp": "2026-11-02T09:30:00.000Z",
        "sessionId": "s1",
        **values,
    }
    return json.dumps(entry) + "\n"
