"""Commands to a database, as data; `send` sends those of a round trip.

A read or a write is a function whose last argument is `send`, which answers with the results of the
commands, one for each. A store runs it as a transaction; PostgreSQL's retries it if that breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from string import Template
from typing import Any, Protocol

from salience.lazily import dataclass

_OTHER = ("target", "match", "into")  # where an event names another memory


def _coalesced(form: str) -> str:
    return f"coalesce({', '.join(form.format(name) for name in _OTHER)})"


FRAGMENTS = {
    "own": ("namespace = %s", "space = (SELECT space FROM spaces WHERE name = ?)"),
    "namespace": ("namespace", "space"),
    "row": ('"row"', "row"),
    "any_text": ("= ANY(%s::text[])", "IN (SELECT value FROM json_each(?))"),
    "any_number": ("= ANY(%s::bigint[])", "IN (SELECT value FROM json_each(?))"),
    "any_row": ("= ANY(%s::integer[])", "IN (SELECT value FROM json_each(?))"),
    "of_rows": (  # a file numbers the rows of all namespaces together
        'namespace = %s AND "row" = ANY(%s::integer[])',
        "? IS NOT NULL AND row IN (SELECT value FROM json_each(?))",
    ),
    "text": ("%s::text", "?"),
    "json": ("%s::json", "?"),
    "payload": ("payload::text", "payload"),
    "metadata": ("metadata::text", "metadata"),
    "key": ("payload ->> 'key'", "json_extract(payload, '$.key')"),
    "other": (_coalesced("payload ->> '{}'"), _coalesced("json_extract(payload, '$.{}')")),
    "locked": ("FOR UPDATE", ""),  # whoever writes to a file waits anyway
    # Without statistics SQLite would read all of the namespace.
    **{
        name: ("", f"INDEXED BY {name}")
        for name in (
            *("events_by_key", "events_by_memory", "events_by_mention", "links_by_target"),
            *("memories_by_attribute", "memories_by_text", "vectors_by_row"),
        )
    },
}
"""The parts of shared statements, as PostgreSQL and as SQLite say them, by name.

A name behind `$` stands for one in a template, as `string.Template` has it, and `%s` for a
parameter. Where the two need an index named, it is a part of its own.
"""


class Shared(str):
    """A statement of both stores, in the words of PostgreSQL; `sqlite` has those of SQLite."""

    sqlite: str


@lru_cache(maxsize=512)
def worded(template: str) -> Shared:
    """The statement of a template.

    Raises:
        KeyError: it names a part that `FRAGMENTS` does not have.
    """
    of_postgres, of_sqlite = (
        Template(template).substitute({name: variants[at] for name, variants in FRAGMENTS.items()})
        for at in (0, 1)
    )
    statement = Shared(of_postgres)
    statement.sqlite = of_sqlite.replace("%s", "?")
    return statement


def shared(template: str, parameters: Sequence[Any] = ()) -> Statement:
    """A statement of both stores, by its template."""
    return Statement(worded(template), parameters)


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
    """Rows to COPY into a table; `types` are those of the columns."""

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
    """Renew the statistics of tables; the workers of a cluster do so by themselves."""

    tables: Sequence[str]

    @property
    def sql(self) -> str:
        """The statement."""
        return f"ANALYZE {', '.join(self.tables)}"


@dataclass(frozen=True)
class Call:
    """Work on a connection to SQLite that is not one statement; the result is its answer."""

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
