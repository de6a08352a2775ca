"""Commands to a database, as data; whoever is given `send` sends those of a round trip.

What reads or writes is a function whose last argument is `send`, which answers with the results of
the commands, one for each. A store runs it as a transaction; PostgreSQL's again if that breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from salience.lazily import dataclass


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


@dataclass(frozen=True)
class Call:
    """Work on a connection to SQLite, for which there is no statement; the result is its answer."""

    work: Callable[[Any], Any]


Command = Statement | Many | Copy | Analyze | Call
CommandHook = Callable[[Command], None]


class Send(Protocol):
    """Sends the commands of one round trip; answers with the results, one for each."""

    def __call__(self, *commands: Command) -> list[Any]: ...


class Abandon(Exception):
    """Raised by what writes: undo everything and answer with its first argument."""


def set_local(name: str, value: str) -> Statement:
    """Set something for a transaction, wherever its statements run (unlike `set_config`)."""
    return Statement(f"SET LOCAL {name} = {quote_literal(value)}")


def quote_literal(text: str) -> str:
    """A text as a literal in SQL."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'" if "\\" not in text else "E'" + escaped.replace("\\", "\\\\") + "'"
