"""Checks of a write inside its transaction: of idempotency keys, and of what says the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from salience.retrieval.operations import OWNER_FIELDS, HashColumn, Put, Seen
from salience.stores.sqlite.statements import chunks, placeholders

_HASH_INDEXES: dict[HashColumn, str] = {
    "text_key": "memories_by_text",
    "attribute_key": "memories_by_attribute",
}


def select_by_key(
    db: sqlite3.Connection,
    columns: Sequence[str],
    space: int,
    column: HashColumn,
    keys: Sequence[int],
    after: int = 0,
) -> Iterator[tuple[Any, ...]]:
    """Columns of the memories with some hashes in one, in the rows after a row."""
    for part in chunks(keys):
        yield from db.execute(
            f"SELECT {', '.join(columns)} FROM memories INDEXED BY {_HASH_INDEXES[column]} "
            f"WHERE space = ? AND {column} IN ({placeholders(part)}) AND row > ?",
            (space, *part, after),
        )


def unseen_ids(db: sqlite3.Connection, space: int, seen: Seen) -> tuple[str, ...]:
    """The ids of memories that say the same, and were written since that was looked at."""
    return seen.unseen_ids(
        [
            (id, row, (key, *owner))
            for id, row, key, *owner in select_by_key(
                db, ("id", "row", column, *OWNER_FIELDS), space, column, keys, after
            )
        ]
        for column, keys, after in seen.lookups()
    )


def used_keys(db: sqlite3.Connection, op: Put) -> set[tuple[str, str]]:
    """The idempotency keys of a write that events have already, with their namespaces."""
    return {
        (namespace, key)
        for namespace, key, _ in op.keys
        if db.execute(
            "SELECT 1 FROM events JOIN spaces USING (space) WHERE name = ? "
            "AND payload IS NOT NULL AND json_extract(payload, '$.key') IS NOT NULL "
            "AND json_extract(payload, '$.key') = ?",
            (namespace, key),
        ).fetchone()
    }
