"""The commands `mcp install` and `mcp doctor`: a memory in the programs that speak MCP."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.network.clients import doctor as examination
from salience.cli.network.clients.programs import (
    PROGRAMS,
    Program,
    difference,
    read_text,
    write_text,
)
from salience.cli.settings import Settings
from salience.coding_agents.paths import data_file
from salience.errors import InvalidInput, shown
from salience.remote.settings import KEY_VARIABLE
from salience.stores.address import SQLITE, remote_scheme, store_url

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PROGRAM...",
        help=f"The programs: {', '.join(PROGRAMS)}.",
        autocompletion=one_of(PROGRAMS),
    ),
]


def install(
    settings: Settings,
    programs: Names = None,
    project: bool = False,
    name: str = "salience",
    tools: str | None = None,
    read_only: bool = False,
    with_key: Annotated[bool, typer.Option(help=KEY_VARIABLE)] = False,
    remove: bool = False,
    print_: bool = False,
    yes: bool = False,
) -> None:
    """Add the memory to a program's MCP configuration, after showing the change.

    All else in the file stays as it is, and a copy of it is kept beside.
    """
    chosen = _programs(programs, project)
    if not chosen:
        raise InvalidInput("PROGRAM", "is missing", f"give some of {', '.join(PROGRAMS)}")
    arguments = _arguments(settings, tools, read_only)
    env = _environment(with_key)
    if os.environ.get(KEY_VARIABLE) and not with_key and remote_scheme(arguments[2]) and not remove:
        output.note(f"the key in {KEY_VARIABLE} is not written into a file; --with-key does it")
    for program in chosen:
        file = program.file(Path.cwd() if project else None)
        before, after = _texts(program, file, name, None if remove else (arguments, env))
        if before == after:
            output.note(f"{file} is as it should be")
            continue
        print(_without_key(difference(file, before, after), env), end="")
        if print_:
            continue
        if not yes and not _agreed(f"Change {file}?"):
            output.note("nothing was changed")
            raise typer.Exit(1)
        copy = write_text(file, after, private=bool(env))
        backup = "" if copy is None else f"; {copy} is what it was"
        output.note(f"{file} is written{backup}; restart {program.title}")


def doctor(
    settings: Settings, programs: Names = None, project: bool = False, name: str = "salience"
) -> None:
    """Find out why the memory does not work in a program.

    Without a program, all are looked at whose file names the server. It starts the server as they
    would, and lists its tools.
    """
    folder = Path.cwd() if project else None
    candidates = [p for p in PROGRAMS.values() if not project or p.project_file]
    chosen = _programs(programs, project) or [p for p in candidates if _names(p, folder, name)]
    if not chosen:
        output.nothing("no program has the server; `salience mcp install PROGRAM` enters it")
    results: list[examination.Check] = []
    for program in chosen:
        for check in examination.checks(program, program.file(folder), name):
            results.append(check)
            if not settings.json:
                remedy = f"\n      {check.remedy}" if check.remedy else ""
                mark = "ok  " if check.ok else "FAIL"
                print(f"{mark}  {check.program}: {check.what}: {check.found}{remedy}", flush=True)
    if settings.json:
        output.emit([check.to_dict() for check in results])
    if not all(check.ok for check in results):
        raise typer.Exit(1)


def _programs(names: list[str] | None, project: bool) -> list[Program]:
    chosen = []
    for name in names or ():
        if name not in PROGRAMS:
            raise InvalidInput("PROGRAM", f"is {shown(name)}", f"use one of {', '.join(PROGRAMS)}")
        if project and PROGRAMS[name].project_file is None:
            raise InvalidInput("--project", f"{name} has no file in a project", "leave it out")
        chosen.append(PROGRAMS[name])
    return chosen


def _arguments(settings: Settings, tools: str | None, read_only: bool) -> list[str]:
    """The arguments of `salience` with which a program starts the server, from any folder."""
    db = settings.db
    if db is None:
        db = str(Path(data_file()).with_name("memory.db"))
        Path(db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    url = store_url(db)
    path = url.removeprefix(SQLITE)
    arguments = ["mcp", "--db", url if path == url else str(Path(path).absolute())]
    if settings.namespace:
        arguments += ["--namespace", settings.namespace]
    if settings.embedder and not remote_scheme(url):
        arguments += ["--embedder", settings.embedder]
    if settings.time_zone:
        arguments += ["--time-zone", settings.time_zone]
    if tools:
        arguments += ["--tools", tools]
    return arguments + ["--read-only"] * read_only


def _environment(with_key: bool) -> dict[str, str]:
    key = os.environ.get(KEY_VARIABLE, "")
    if with_key and not key:
        raise InvalidInput("--with-key", f"{KEY_VARIABLE} is not set", "set it to the key")
    return {KEY_VARIABLE: key} if with_key else {}


def _command() -> str:
    """The path of this `salience`: programs with windows know no PATH of a shell."""
    beside = Path(sys.executable).with_name("salience.exe" if os.name == "nt" else "salience")
    return str(beside) if beside.exists() else shutil.which("salience") or "salience"


def _texts(
    program: Program, file: Path, name: str, start: tuple[list[str], dict[str, str]] | None
) -> tuple[str, str]:
    """The text of a file before and after the server is entered, or taken out for None."""
    try:
        before = read_text(file)
        if start is None:
            return before, program.without_server(before, name)
        arguments, env = start
        entry = program.entry(_command(), arguments, env)
        if program.servers(before).get(name) == entry:
            return before, before
        return before, program.with_server(before, name, entry)
    except ValueError as problem:
        raise InvalidInput(str(file), str(problem), "repair it, or edit it by hand") from None


def _names(program: Program, folder: Path | None, name: str) -> bool:
    """Test whether a program's file names a server, or cannot be read."""
    file = program.file(folder)
    try:
        return file.exists() and name in program.servers(read_text(file))
    except (OSError, ValueError):
        return True


def _without_key(text: str, env: dict[str, Any]) -> str:
    """The text without the key, which must not stay on a screen."""
    for key in env.values():
        text = text.replace(key, "***")
    return text


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidInput(
            "--yes", "is missing, and there is no terminal to ask on", "give --yes or --print"
        )
    return typer.confirm(question, err=True)
