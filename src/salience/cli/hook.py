"""The commands `hook ...`: what coding agents run at their events, and the daemon behind them.

`salience.cli.main` answers the plain form of an event without coming here, which is much quicker.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.network.mcp import mcp as serve_mcp
from salience.cli.settings import Settings
from salience.coding_agents import hook
from salience.coding_agents.events import log_path
from salience.coding_agents.paths import EMBEDDER_VARIABLE, data_file, switched_off
from salience.coding_agents.project import (
    NAMESPACE_VARIABLE,
    OFF_FILE,
    PROJECT_FOLDER_VARIABLE,
    find_project,
)
from salience.coding_agents.project import share as share_project
from salience.errors import InvalidInput, SalienceError
from salience.records.time_zone import TIME_ZONE_VARIABLE
from salience.stores.address import DB_VARIABLE, public_url, store_url

_STATUS_SECONDS = 3.0
_END_SECONDS = 15.0  # that a daemon takes at most to end
_POLL_SECONDS = 0.02

Agent = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Whose event it is: claude-code, codex or cursor; else its input tells.",
        autocompletion=one_of(hook.AGENTS),
    ),
]


def _event(name: str) -> Callable[..., None]:
    """The command that runs the hook of an event."""

    def run(settings: Settings, agent: Agent = None) -> None:
        os.environ.update(_environment(settings))
        hook.run(name, agent)

    return run


session_start = _event("session-start")
prompt = _event("prompt")
pre_compact = _event("pre-compact")
stop = _event("stop")


def mcp(settings: Settings) -> None:
    """Serve the memories of this folder's project to an agent (Model Context Protocol)."""
    environment = {**os.environ, **_environment(settings)}
    project = find_project(environment.get(PROJECT_FOLDER_VARIABLE) or os.getcwd(), environment)
    if project.is_off:
        raise InvalidInput(OFF_FILE, "switches the project off", "remove it")
    db = settings.db or data_file()
    if not settings.db:
        os.makedirs(os.path.dirname(db), mode=0o700, exist_ok=True)
    serve_mcp(replace(settings, db=db, namespace=project.namespaces[0]))


def status(settings: Settings) -> None:
    """Show the project of this folder, and whether a daemon runs."""
    environment = {**os.environ, **_environment(settings)}
    project = find_project(os.getcwd(), environment)
    figures: dict[str, Any] = {
        "project": str(project.root),
        "namespaces": list(project.namespaces),
        "switched_off": project.is_off or switched_off(environment),
        "store": public_url(store_url(environment.get(DB_VARIABLE) or data_file())),
        "log": log_path(),
        "daemon": _ask_daemon("status"),
    }
    if output.emitted(settings, figures):
        return
    daemon = figures.pop("daemon")
    for name, value in figures.items():
        print(f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")
    if daemon is None:
        print("daemon: none runs; the next hook starts one")
    else:
        print(f"daemon: process {daemon['pid']}, {daemon['answered']} answers")


def share(settings: Settings, namespace: str | None = None) -> None:
    """Let this repository use the memories of a namespace, such as another clone's."""
    root = share_project(os.getcwd(), namespace)
    print(f"{root}: {find_project(str(root), {}).namespaces[0]}")


def stop_daemon(settings: Settings) -> None:
    """Stop the daemon; the next hook starts another."""
    ended = _ask_daemon("end")
    if ended is None:
        output.nothing("no daemon runs")
    if not _has_ended(ended["pid"]):
        raise SalienceError(f"process {ended['pid']} has not ended yet; it finishes its work first")
    print(f"process {ended['pid']} has ended")


def _has_ended(pid: int) -> bool:
    """Wait until a process is gone; False if that takes too long."""
    deadline = time.monotonic() + _END_SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _environment(settings: Settings) -> dict[str, str]:
    """The variables of the options that were given."""
    values = {
        DB_VARIABLE: settings.db,
        NAMESPACE_VARIABLE: settings.namespace,
        EMBEDDER_VARIABLE: settings.embedder,
        TIME_ZONE_VARIABLE: settings.time_zone,
    }
    return {name: value for name, value in values.items() if value}


def _ask_daemon(event: str) -> dict[str, Any] | None:
    """The answer of the daemon, None if none runs."""
    try:
        return hook.exchange(hook.request(event), _STATUS_SECONDS)
    except (AttributeError, OSError):  # Windows has no sockets of this kind
        return None
