"""Erasing memories from a SQLite file, with everything that tells of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from salience.records.filters import Filter, filter_fields, passes
from salience.retrieval.operations import COPYING_NOTE, LOCK_NOTE
from salience.stores import codec
from salience.stores.sqlite.statements import column_name, placeholders


class ErasedMemory(NamedTuple):
    """A memory to be erased."""

    id: str
    row: int
    sequence: int


def memories_to_erase(
    db: sqlite3.Connection,
    space: int,
    key: str,
    chosen: Sequence[Any],
    where: Filter | None,
) -> list[ErasedMemory]:
    """The memories of a namespace with the chosen values of `key` (row, id) that pass a filter."""
    if not chosen:
        return []
    names = ("id", "row", "sequence", *sorted(map(column_name, filter_fields(where))))
    memories = db.execute(
        f"SELECT {', '.join(names)} FROM memories "
        f"WHERE space = ? AND {key} IN ({placeholders(chosen)})",
        (space, *chosen),
    )
    return [
        ErasedMemory(*values[:3])
        for values in memories
        if passes(where, partial(codec.index_value_of, dict(zip(names, values, strict=True))))
    ]


def erase_common(db: sqlite3.Connection, space: int) -> None:
    """Erase what belongs to a namespace as a whole: its notes, and events of all its memories."""
    db.execute("DELETE FROM notes WHERE space = ?", (space,))
    db.execute("DELETE FROM events WHERE space = ? AND memory = 0", (space,))


def erase_traces(db: sqlite3.Connection, space: int, erased: Sequence[ErasedMemory]) -> None:
    """Erase the links and events of memories, and the events that linked others to them."""
    if not erased:
        return
    ids, _, sequences = zip(*erased, strict=True)
    marks = placeholders(erased)
    for end in ("source", "target"):
        db.execute(f"DELETE FROM links WHERE space = ? AND {end} IN ({marks})", (space, *ids))
    for table in ("events", "former_vectors"):
        db.execute(
            f"DELETE FROM {table} WHERE space = ? AND memory IN ({marks})", (space, *sequences)
        )
    # Without statistics SQLite would read all events of the namespace.
    db.execute(
        "DELETE FROM events INDEXED BY events_by_target WHERE space = ? AND type = 'link' "
        f"AND json_extract(payload, '$.target') IN ({marks})",
        (space, *ids),
    )


def erase_empty_space(db: sqlite3.Connection, space: int) -> None:
    """Erase the name of a namespace with its last memory: a name can be telling, too.

    What belongs to the namespace as a whole goes first, except for what work in progress notes.
    """
    if db.execute(
        "SELECT 1 FROM memories WHERE space = ? AND id >= '' LIMIT 1", (space,)
    ).fetchone():
        return
    busy = (LOCK_NOTE, COPYING_NOTE)
    db.execute("DELETE FROM notes WHERE space = ? AND key NOT IN (?, ?)", (space, *busy))
    if db.execute("SELECT 1 FROM notes WHERE space = ?", (space,)).fetchone() is None:
        db.execute("DELETE FROM events WHERE space = ? AND memory = 0", (space,))
        db.execute("DELETE FROM spaces WHERE space = ?", (space,))
