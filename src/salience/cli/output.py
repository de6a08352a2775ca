"""Where output goes: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from salience.records.record import Link

_NOTES = 10  # how many of many are printed
_PIPED_WIDTH, _PIPED_TABLE = 100, 200
_LEAST_WIDTH = 40  # less leaves no room for texts beside the figures


def emit(data: Any) -> None:
    """Print data as JSON that every reader of UTF-8 can read; what is no character is a "?"."""
    try:
        written = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON knows no NaN and no infinity
        written = json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)
    written = written.encode("utf-8", "replace").decode()
    if (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8"):
        written = json.dumps(json.loads(written), indent=2)
    print(written)


def _finite(data: Any) -> Any:
    """The same data with null for every number that is none."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data


def console(table: bool = False) -> Console:
    """What prints results for people: as wide as the terminal, plain text where there is none.

    A table of figures has room enough there, so that none of them is cut short.
    """
    # Imported here: what prints JSON need not wait for it.
    from rich.console import Console

    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and len(given) < 6 and int(given):
        width = int(given)
    elif sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    else:
        width = _PIPED_TABLE if table else _PIPED_WIDTH
    width = max(width, _LEAST_WIDTH)
    # Where the environment knows no terminal, a width counts only beside a height.
    return Console(width=width, height=_PIPED_WIDTH, highlight=False, soft_wrap=False)


def note(message: str) -> None:
    """Say something that is not a result."""
    print(message, file=sys.stderr)


def degraded(lacks: Iterable[str]) -> None:
    """Say what had to be done without."""
    for lack in lacks:
        note(f"degraded: {lack}")


def nothing(why: str = "nothing found") -> NoReturn:
    """Say that there is no result, and end with the exit code for that."""
    note(why)
    raise typer.Exit(1)


def notes(messages: Iterable[str], rest: str = "") -> None:
    """Say many such things: the first of them, and how many more there are."""
    said = list(messages)
    for message in said[:_NOTES]:
        note(message)
    if len(said) > _NOTES:
        note(f"... and {len(said) - _NOTES:,} more{rest}")


def pending(links: Iterable[Link]) -> None:
    """Say which links lead to no memory yet."""
    notes(
        f"pending: {link.source} links to {link.target!r}, which is no memory yet" for link in links
    )


Told = Callable[[str, int, int | None], None]
"""Takes what is being done, how much of it is done, and how much there is if that is known."""


@contextmanager
def progress() -> Iterator[Told]:
    """A bar on stderr for what goes on within; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )
