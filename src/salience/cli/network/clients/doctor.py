"""Checks of a program and its memory: each says what it found, and the remedy."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import salience
from salience.cli.network.clients.programs import Program, read_text
from salience.engine.memory import Memory
from salience.errors import SalienceError
from salience.lazily import asdict, dataclass
from salience.stores.address import DB_VARIABLE, public_url, remote_scheme

SLOW_SECONDS = 10.0  # some programs give a server 30 s, on a machine that does other things, too
_START_SECONDS = 90.0
_VERSION_SECONDS = 60.0


@dataclass(frozen=True)
class Check:
    """One check of a program: what was checked, whether it is right, and the remedy."""

    program: str
    what: str
    ok: bool
    found: str
    remedy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A mapping of values that JSON has."""
        return asdict(self)


Checker = Callable[..., Check]
"""Makes a check: its subject, whether it is right, the finding, the remedy."""


def checks(program: Program, file: Path, name: str) -> Iterator[Check]:
    """The checks of the entry of a server in a program's file, up to one that stops the others."""

    def check(what: str, ok: bool, executable: str, remedy: str = "") -> Check:
        return Check(program.name, what, ok, executable, "" if ok else remedy)

    install = f"salience mcp install {program.name}"
    try:
        entry = program.servers(read_text(file)).get(name)
    except (OSError, ValueError) as problem:
        yield check("file", False, f"{file}: {problem}", "repair the file, or restore a copy of it")
        return
    if not isinstance(entry, Mapping):
        yield check("file", False, f"{file} has no server {name}", install)
        return
    yield check("file", True, str(file))
    command, arguments, env = entry.get("command"), entry.get("args", []), entry.get("env") or {}
    if not isinstance(command, str) or not _is_server(arguments, env):
        yield check("entry", False, "it names no command with arguments", install)
        return
    executable = shutil.which(command, path=env.get("PATH"))
    if executable is None:
        yield check(
            "command", False, f"{command} is not a program", f"{install} names the one of now"
        )
        return
    yield check("command", True, executable)
    yield _version(check, executable, env)
    store = _store(check, arguments, env)
    if store is not None:
        yield store
        if not store.ok:
            return
    yield from _start(check, executable, arguments, env)


def _is_server(arguments: Any, env: Any) -> bool:
    texts = isinstance(arguments, list) and all(isinstance(text, str) for text in arguments)
    return texts and isinstance(env, Mapping)


def _version(check: Checker, command: str, env: Mapping[str, str]) -> Check:
    try:
        ran = subprocess.run(
            [command, "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            env={**os.environ, **env},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return check("version", False, f"{command}: {problem}", "reinstall salience")
    answer = ran.stdout.partition(",")[0].strip() or ran.stderr.strip()
    expected = f"salience {salience.__version__}"
    remedy = f"the command asked now is {expected}; run it from the same installation, or reinstall"
    return check("version", answer == expected, _last_line(answer), remedy)


def _store(check: Checker, arguments: Sequence[str], env: Mapping[str, str]) -> Check | None:
    """The check of the store that the arguments name; None if they leave it to the command."""
    db = env.get(DB_VARIABLE)
    if "--db" in arguments[:-1]:
        db = arguments[arguments.index("--db") + 1]
    if db is None:
        return None
    options: dict[str, Any] = {"embedder": None}
    if remote_scheme(db):
        options = {"api_key": env.get("SALIENCE_API_KEY") or os.environ.get("SALIENCE_API_KEY")}
    elif "://" not in db and not Path(db).exists():
        folder = Path(db).absolute().parent
        if folder.is_dir() and os.access(folder, os.W_OK):
            return check("store", True, f"{db}, which is made by the first memory")
        remedy = f"mkdir -p {folder}, or name another store with --db"
        return check("store", False, f"{folder} is not a folder to write in", remedy)
    try:
        with Memory.open(db, **options) as memory:
            count = memory.count()
    except SalienceError as problem:
        remedy = "start the server, give it the right key" if remote_scheme(db) else "name another"
        return check("store", False, str(problem), f"{remedy}: salience mcp install")
    return check("store", True, f"{public_url(db)}, {count} memories")


def _start(
    check: Checker, command: str, arguments: Sequence[str], env: Mapping[str, str]
) -> Iterator[Check]:
    """The checks of the server, started as the program would start it."""
    if find_spec("mcp") is None:
        yield check("start", False, "this needs the package mcp", "pip install 'salience[mcp]'")
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        start = time.monotonic()
        try:
            version, tools = asyncio.run(_tools(command, arguments, env, errors))
        except BaseException as problem:  # a group of failures in the background
            if isinstance(problem, KeyboardInterrupt):
                raise
            errors.seek(0)
            message = _last_line(errors.read()) or type(problem).__name__
            remedy = (
                "run the command yourself and see; an extra may lack: pip install 'salience[mcp]'"
            )
            yield check("start", False, message, remedy)
            return
        seconds = time.monotonic() - start
    quick = seconds <= SLOW_SECONDS
    remedy = "let a server run beside it: salience serve, and --db http://127.0.0.1:8420"
    yield check("start", quick, f"answered after {seconds:.1f} s", remedy)
    yield check("tools", bool(tools), ", ".join(tools) or "none", "give the key another scope")
    if version is not None:
        remedy = "restart the program, so that it starts the version of now"
        yield check("server", version == salience.__version__, f"version {version}", remedy)


async def _tools(
    command: str, arguments: Sequence[str], env: Mapping[str, str], errors: TextIO
) -> tuple[str | None, list[str]]:
    """The version of a server, and the names of its tools."""
    from mcp.client.stdio import stdio_client

    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=command, args=list(arguments), env=dict(env))
    async with asyncio.timeout(_START_SECONDS):
        async with Client(stdio_client(server, errlog=errors)) as client:
            listed = await client.list_tools()
            info = client.server_info
            return (info.version if info else None), [tool.name for tool in listed.tools]


def _last_line(text: str, characters: int = 400) -> str:
    """The last line of a text, where programs say what went wrong, of a bounded length."""
    line = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return line if len(line) <= characters else f"{line[:characters]}..."
