"""Parts of SQL statements, and statements over more values than one takes parameters."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

_MAX_PARAMETERS = 30_000  # of one statement; SQLite takes 32,766


def column_name(name: str) -> str:
    """The column of the table that a field, or a key of the metadata, is kept in."""
    if name.startswith("metadata."):
        return "metadata"
    return name.replace(".", "_")


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Values in parts that fit into one statement."""
    for start in range(0, len(values), _MAX_PARAMETERS):
        yield tuple(values[start : start + _MAX_PARAMETERS])


def execute_rows(db: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement over many rows, which stand for `{rows}` in it.

    Unlike `executemany` it hands Python's lock over once and not for every row, so that a search
    in another thread need not fight for it.
    """
    if rows:
        one = f"({placeholders(rows[0])})"
        for start in range(0, len(rows), _MAX_PARAMETERS // len(rows[0])):
            part = rows[start : start + _MAX_PARAMETERS // len(rows[0])]
            values = ", ".join([one] * len(part))
            db.execute(statement.format(rows=values), tuple(chain.from_iterable(part)))


def placeholders(values: Sequence[Any]) -> str:
    """A parameter's place for each value."""
    return ", ".join("?" * len(values))
