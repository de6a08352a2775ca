"""Commands to a server, as data, and steps: generators that yield the commands of a round trip.

Steps are sent the results of their commands, one for each. Whoever runs them makes a transaction
of them: see `connection.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

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


@dataclass(frozen=True)
class Analyze:
    """Renew the statistics of tables; the workers of a cluster do that by themselves."""

    tables: Sequence[str]

    @property
    def sql(self) -> str:
        """The statement."""
        return f"ANALYZE {', '.join(self.tables)}"


Command = Statement | Many | Copy | Analyze
Steps = Generator[Sequence[Command], list[Any], T]
CommandHook = Callable[[Command], None]


class Abandon(Exception):
    """Raised in steps that write: undo everything and answer with its first argument."""


def concurrently(parts: Sequence[Steps[Any]]) -> Steps[list[Any]]:
    """Run several steps at once: commands that they yield at the same time share a round trip."""
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
        indices: dict[int, list[int]] = {}
        for place, own in waiting.items():
            indices[place] = [_add_command(commands, command) for command in own]
        results = yield commands
        for place, at in indices.items():
            advance(place, [results[i] for i in at])
    return answers


def _add_command(commands: list[Command], command: Command) -> int:
    """The index of a command among those to send; it is added unless an equal one is there."""
    for i, other in enumerate(commands):
        if other is command or (
            _is_comparable(other) and _is_comparable(command) and other == command
        ):
            return i
    commands.append(command)
    return len(commands) - 1


def _is_comparable(command: Command) -> bool:
    return isinstance(command, Statement) and not any(
        isinstance(value, np.ndarray) for value in command.parameters
    )


def set_local(name: str, value: str) -> Statement:
    """Set something for a transaction, wherever its statements run (unlike `set_config`)."""
    return Statement(f"SET LOCAL {name} = {quote_literal(value)}")


def quote_literal(text: str) -> str:
    """A text as a literal in SQL."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'" if "\\" not in text else "E'" + escaped.replace("\\", "\\\\") + "'"
