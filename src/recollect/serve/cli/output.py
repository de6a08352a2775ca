"""Where output goes: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_PIPED_WIDTH, _PIPED_TABLE = 100, 200


def emit(data: Any) -> None:
    """Print data as JSON that every reader of UTF-8 can read; what is no character is a "?"."""
    written = json.dumps(data, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode()
    if (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8"):
        written = json.dumps(json.loads(written), indent=2)
    print(written)


def console(table: bool = False) -> Console:
    """What prints results for people: as wide as the terminal, plain text where there is none.

    A table of figures has room enough there, so that none of them is cut short.
    """
    # Imported here: what prints JSON need not wait for it.
    from rich.console import Console

    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Console(highlight=False, soft_wrap=False)
    width = _PIPED_TABLE if table else _PIPED_WIDTH
    # Where the environment knows no terminal, a width counts only beside a height.
    return Console(width=width, height=_PIPED_WIDTH, highlight=False, soft_wrap=False)


def note(message: str) -> None:
    """Say something that is not a result."""
    print(message, file=sys.stderr)


def degraded(lacks: Iterable[str]) -> None:
    """Say what had to be done without."""
    for lack in lacks:
        note(f"degraded: {lack}")


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
