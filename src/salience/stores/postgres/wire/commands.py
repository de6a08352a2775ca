"""What is sent to a server, as data.

What the store asks for are *steps*: generators that yield the commands of one round trip and are
sent their results. A *talk* makes transactions of them, trip by trip; who sends them and waits is
`database.py` or, awaited, `awaited.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
Talk = Generator[Trip | Rollback, list[Any], T]
Hook = Callable[[Command], None]


def setting(name: str, value: str) -> Statement:
    """Set something for a transaction, wherever its statements run (unlike `set_config`)."""
    return Statement(f"SET LOCAL {name} = {quoted(value)}")


def quoted(text: str) -> str:
    """A text as it is written in SQL."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'" if "\\" not in text else "E'" + escaped.replace("\\", "\\\\") + "'"
