"""Statements of a SQLite file and their parts: many values, places in a log, checksums, vectors."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any
from zlib import crc32

from salience.retrieval.operations import Order, Place
from salience.retrieval.vector_sets import OTHER


def checksum(*values: Any) -> int:
    """The CRC-32 of stored values, in their order.

    Text counts in UTF-8, a number as Python writes it, bytes as they are. None is left out: a
    column of a later schema changes no checksum while it is empty.
    """
    encoded = [
        value
        if type(value) is bytes
        else value.encode()
        if type(value) is str
        else b"%d" % value
        if type(value) is int
        else repr(float(value) if isinstance(value, float) else int(value)).encode()
        for value in values
        if value is not None
    ]
    return crc32(b"\x1f".join(encoded))


_INTERRUPTS: list[KeyboardInterrupt] = []
"""Interrupts that came while a function of ours ran inside SQLite, which only says that it failed.
"""


def define(db: sqlite3.Connection, name: str, arguments: int, function: Callable[..., Any]) -> None:
    """Let statements call a function; `interrupt_of` reports an interrupt in it."""

    def called(*values: Any) -> Any:
        try:
            return function(*values)
        except KeyboardInterrupt as interrupt:
            _INTERRUPTS.append(interrupt)
            raise

    db.create_function(name, arguments, called, deterministic=True)


def interrupt_of(problem: Exception) -> KeyboardInterrupt | None:
    """The interrupt that an error of SQLite stands for, if it does."""
    was_ours = isinstance(problem, sqlite3.Error) and "user-defined function" in str(problem)
    return _INTERRUPTS.pop() if was_ours and _INTERRUPTS else None


_MAX_PARAMETERS = 30_000  # of one statement; SQLite takes 32,766


def column_name(name: str) -> str:
    """The column of the table that holds a field, or a key of the metadata."""
    if name.startswith("metadata."):
        return "metadata"
    return name.replace(".", "_")


def page_clause(order: Order, after: Place | None, limit: int) -> tuple[str, tuple[Any, ...]]:
    """The end of a statement that selects one page of a namespace's memories, with its values."""
    way, beyond, first = ("ASC", ">", -math.inf) if order == "oldest" else ("DESC", "<", math.inf)
    clause = (
        f"AND (created_at, sequence) {beyond} (?, ?) "
        f"ORDER BY created_at {way}, sequence {way} LIMIT ?"
    )
    return clause, (*(after or Place(first, 0)), limit)


def chunks(values: Sequence[Any], size: int = _MAX_PARAMETERS) -> Iterator[Sequence[Any]]:
    """Values in chunks of `size`, by default as many as fit into one statement."""
    for start in range(0, len(values), size):
        yield tuple(values[start : start + size])


def execute_rows(db: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement over many rows, which replace `{rows}` in it.

    Unlike `executemany`, it releases Python's global lock once and not for every row, and does not
    slow down a search in another thread.
    """
    if rows:
        row = f"({placeholders(rows[0])})"
        for start in range(0, len(rows), _MAX_PARAMETERS // len(rows[0])):
            part = rows[start : start + _MAX_PARAMETERS // len(rows[0])]
            values = ", ".join([row] * len(part))
            db.execute(statement.format(rows=values), tuple(chain.from_iterable(part)))


def placeholders(values: Sequence[Any]) -> str:
    """One "?" for each value."""
    return ", ".join("?" * len(values))


def take_places(db: sqlite3.Connection, spaces: Sequence[int]) -> list[int]:
    """The next numbers of some namespaces, one for each time that one is named."""
    following: dict[int, int] = {}
    for space, count in Counter(spaces).items():
        [last] = db.execute(
            "UPDATE spaces SET last = last + ? WHERE space = ? RETURNING last", (count, space)
        ).fetchone()
        following[space] = last - count
    places = []
    for space in spaces:
        following[space] += 1
        places.append(following[space])
    return places


# Vectors


def vector_dimensions(
    db: sqlite3.Connection, namespace: str, names: Iterable[str] | None
) -> list[tuple[str, int]]:
    """The stored names and the lengths of a namespace's vectors of some names or all.

    A length is that of most of a few vectors, or the largest in a tie: one may be damaged.
    """
    [space] = db.execute("SELECT max(space) FROM spaces WHERE name = ?", (namespace,)).fetchone()
    stored = [kept for name in names or () for kept in (name, f"{OTHER}{name}")]
    dimensions = []
    for name in stored if names is not None else stored_names(db, space):
        row = db.execute(
            "SELECT size / 2 FROM (SELECT length(vector) AS size, typeof(vector) AS type "
            "FROM vectors WHERE space = ? AND name = ? LIMIT 9) "
            "WHERE type = 'blob' AND size > 0 AND size % 2 = 0 "
            "GROUP BY size ORDER BY count(*) DESC, size DESC LIMIT 1",
            (space, name),
        ).fetchone()
        if row:
            dimensions.append((name, int(row[0])))
    return dimensions


def stored_names(db: sqlite3.Connection, space: int) -> Iterator[str]:
    """The names under which a namespace keeps vectors, each looked up in the index."""
    name = ""
    while row := db.execute(
        "SELECT name FROM vectors WHERE space = ? AND name > ? ORDER BY name LIMIT 1", (space, name)
    ).fetchone():
        name = row[0]
        yield name
