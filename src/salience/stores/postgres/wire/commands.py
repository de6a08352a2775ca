"""What is sent to a server, as data.

What the store asks for are *steps*: generators that yield the commands of one round trip and are
sent their results. A *talk* makes transactions of them, trip by trip; who sends them and waits is
`database.py` or, awaited, `awaited.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np


def _is_comparable(command: Command) -> bool:
    return isinstance(command, Statement) and not any(
        isinstance(value, np.ndarray) for value in command.parameters
    )


def _add_command(commands: list[Command], command: Command) -> int:
    """Where a command stands among those to send; it is added unless it is there."""
    for i, known in enumerate(commands):
        if known is command or (
            _is_comparable(known) and _is_comparable(command) and known == command
        ):
            return i
    commands.append(command)
    return len(commands) - 1


def concurrently(parts: Sequence[Steps[Any]]) -> Steps[list[Any]]:
    """Several steps at once: what they ask for at the same time goes into the same round trip."""
    answers: list[Any] = [None] * len(parts)
    waiting: dict[int, Sequence[Command]] = {}

    def advance(place: int, results: list[Any] | None) -> None:
        part = parts[place]
        try:
            waiting[place] = next(part) if results is None else part.send(results)
        except StopIteration as end:
            waiting.pop(place, None)
            answers[place] = end.value

    for place in range(len(parts)):
        advance(place, None)
    while waiting:
        commands: list[Command] = []
        at: dict[int, list[int]] = {}
        for place, asked in waiting.items():
            at[place] = [_add_command(commands, command) for command in asked]
        results = yield commands
        for place, places in at.items():
            advance(place, [results[i] for i in places])
    return answers


T = TypeVar("T")


@dataclass(frozen=True)
class Statement:
    """One statement with its parameters; the result is its rows."""

    sql: str
    parameters: Sequence[Any] = ()


@dataclass(frozen=True)
class Many:
    """One statement for each of some rows of parameters; there is no result."""

    sql: str
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Copy:
    """Rows into a table by COPY; `types` are those of the columns."""

    table: str
    columns: Sequence[str]
    types: Sequence[str]
    rows: Iterable[Sequence[Any]]

    @property
    def sql(self) -> str:
        """The statement that takes the rows."""
        columns = ", ".join(f'"{name}"' for name in self.columns)
        return f"COPY {self.table} ({columns}) FROM STDIN (FORMAT BINARY)"

    def inserted(self) -> Many:
        """The same row by row, for a role to which row-level security forbids COPY."""
        columns = ", ".join(f'"{name}"' for name in self.columns)
        marks = ", ".join(["%s"] * len(self.columns))
        return Many(f"INSERT INTO {self.table} ({columns}) VALUES ({marks})", list(self.rows))


class Abandon(Exception):
    """Raised in steps that write: undo everything and answer with its first argument."""


@dataclass(frozen=True)
class Analyze:
    """Look anew at how tables are filled; the workers of a cluster do that by themselves."""

    tables: Sequence[str]

    @property
    def sql(self) -> str:
        """The statement."""
        return f"ANALYZE {', '.join(self.tables)}"


Command = Statement | Many | Copy | Analyze


@dataclass(frozen=True)
class Trip:
    """Commands to be sent together and waited for once, after `first`; with `last`, commit."""

    commands: Sequence[Command]
    first: Sequence[Statement] = ()
    last: bool = False


class Rollback:
    """Undo what the transaction under way has done."""


Steps = Generator[Sequence[Command], list[Any], T]
Exchange = Generator[Trip | Rollback, list[Any], T]
CommandHook = Callable[[Command], None]


def set_local(name: str, value: str) -> Statement:
    """Set something for a transaction, wherever its statements run (unlike `set_config`)."""
    return Statement(f"SET LOCAL {name} = {quote_literal(value)}")


def quote_literal(text: str) -> str:
    """A text as it is written in SQL."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'" if "\\" not in text else "E'" + escaped.replace("\\", "\\\\") + "'"
