"""Parts of SQL statements, and statements over more values than one takes parameters."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from salience.retrieval.operations import Order, Place

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

    Unlike `executemany`, it releases Python's global lock once and not for every row, so that it
    does not slow down a search in another thread.
    """
    if rows:
        one = f"({placeholders(rows[0])})"
        for start in range(0, len(rows), _MAX_PARAMETERS // len(rows[0])):
            part = rows[start : start + _MAX_PARAMETERS // len(rows[0])]
            values = ", ".join([one] * len(part))
            db.execute(statement.format(rows=values), tuple(chain.from_iterable(part)))


def placeholders(values: Sequence[Any]) -> str:
    """One "?" for each value."""
    return ", ".join("?" * len(values))
