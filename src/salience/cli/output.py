"""Output: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from salience.cli import INTERRUPTED
from salience.display.result import visible
from salience.errors import InvalidInput, SalienceError
from salience.language.spelling import taken_notes

if TYPE_CHECKING:
    from rich.console import Console

    from salience.records.record import Link


MAX_NOTES = 10  # printed of one kind; the rest is counted
_PIPED_COLUMNS, _PIPED_TABLE_COLUMNS = 100, 200  # where there is no terminal
_MIN_COLUMNS = 40  # fewer leave no room for texts beside the figures


def emit(data: Any) -> None:
    """Print data as JSON in valid UTF-8; lone surrogates become "?"."""
    try:
        written = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:  # JSON knows no NaN and no infinity
        written = json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)
    written = written.encode("utf-8", "replace").decode()
    if (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8"):
        written = json.dumps(json.loads(written), indent=2)
    print(visible(written, "\\u{:04x}"))


def emitted(settings: Any, result: Any) -> bool:
    """Print a result as JSON if the settings ask for that; whether they do."""
    if settings.json:
        emit(result.to_dict() if hasattr(result, "to_dict") else result)
    return bool(settings.json)


def tell(settings: Any, result: Any, line: str) -> None:
    """Print a result as JSON if the settings ask for that, else a line."""
    if not emitted(settings, result):
        say(line)


def _finite(data: Any) -> Any:
    """The same data with null for NaN and infinities."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data


def console(table: bool = False) -> Console:
    """A console for people: as wide as the terminal; plain text where stdout is none.

    Without a terminal, a table of figures gets twice the width, so that no figure is cut.
    """
    # Imported here, because printing JSON does not need it.
    from salience.cli.output import Terminal

    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) < 6 and int(columns):
        width = int(columns)
    elif sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    else:
        width = _PIPED_TABLE_COLUMNS if table else _PIPED_COLUMNS
    width = max(width, _MIN_COLUMNS)
    # Rich ignores a width without a height where the environment names no terminal.
    return Terminal(width=width, height=_PIPED_COLUMNS, highlight=False, soft_wrap=False)


def elsewhere(memory: Any, as_of: Any = None) -> None:
    """Say why a namespace has nothing: it had no memories at a time, or has none but others have.

    Those of a like name come first.
    """
    from difflib import get_close_matches

    try:
        names_there = [] if memory.count() else [*memory.stats(everywhere=True)["namespaces"]]
    except SalienceError:  # a key of a server may not see the others
        return
    near = get_close_matches(memory.namespace, names_there, MAX_NOTES) or names_there[:MAX_NOTES]
    if as_of is not None and not near and not memory.count(as_of=as_of):
        note(f"nothing was known yet at {as_of}")
    if near:
        names = ", ".join(near)
        note(f"the namespace {memory.namespace!r} has no memories; there are memories in {names}")


def say(line: str) -> None:
    """Print a line of a result, its control characters as `visible` shows them."""
    print(visible(line))


def note(message: str) -> None:
    """Print a line that is not a result, as `say` does."""
    print(visible(message), file=sys.stderr)


def taken(words: Mapping[str, Sequence[str]]) -> None:
    """Print the misspelt words of a query, with those that they were taken for."""
    for line in taken_notes(words):
        note(line)


def degraded(reasons: Iterable[str]) -> None:
    """Print what a result had to do without, such as an embedder."""
    for reason in reasons:
        note(f"degraded: {reason}")


def nothing(reason: str = "nothing found") -> NoReturn:
    """End with the exit code for no result, and print the reason."""
    note(reason)
    raise typer.Exit(1)


def notes(messages: Iterable[str], suffix: str = "") -> None:
    """Print the first `MAX_NOTES` messages, and how many more there are."""
    lines = list(messages)
    for line in lines[:MAX_NOTES]:
        note(line)
    if len(lines) > MAX_NOTES:
        note(f"... and {len(lines) - MAX_NOTES:,} more{suffix}")


def pending(links: Iterable[Link]) -> None:
    """Print the links whose target does not exist yet."""
    notes(
        f"pending: {link.source} links to {link.target!r}, which does not exist yet"
        for link in links
    )


def write_file(option: str, path: Path, text: str) -> None:
    """Write a file, or refuse its path by the name of the option."""
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as problem:
        reason = f"{path} cannot be written: {problem.strerror}"
        raise InvalidInput(option, reason, "give a file in a folder that exists") from None


ReportProgress = Callable[..., None]
"""Takes the step, if there are several, how much is done, and how much there is (or None)."""


@contextmanager
def progress(aftermath: str = "", step: str = "") -> Iterator[ReportProgress]:
    """A progress bar on stderr during the block; none where stderr is no terminal.

    `step` names the work where the calls do not.

    An interrupt prints how far the work got, and its `aftermath`: what has become of that part.
    """
    latest: Any = ("", 0, None)

    def note_latest(*counts: Any) -> None:
        nonlocal latest
        latest = counts if len(counts) == 3 else (step, *counts)

    try:
        if not sys.stderr.isatty():
            yield note_latest
            return
        with _bar() as show:

            def note_and_show(*counts: Any) -> None:
                note_latest(*counts)
                show(*latest)

            yield note_and_show
    except KeyboardInterrupt:
        note("; ".join(filter(None, ("interrupted" + _reached(*latest), aftermath))))
        raise typer.Exit(INTERRUPTED) from None


def _reached(step: str, done: int, total: int | None) -> str:
    """The progress of a step, as in " while embedding, at 2,048 of 9,000"."""
    if not step:
        return ""
    return f" while {step}, at {done:,}" + ("" if total is None else f" of {total:,}")


@contextmanager
def _bar() -> Iterator[ReportProgress]:
    """A progress bar on a terminal."""
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
        yield lambda step, done, total: bar.update(
            task, description=step, completed=done, total=total
        )


# The console of the command line, on which no text of a memory acts


class Terminal(Console):
    """A console that prints each text as `visible` gives it, even as part of something else."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible(text), style)
