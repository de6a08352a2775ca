"""Access keys as a table of SQLite or PostgreSQL keeps them, and the statements about them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from salience.records.access_key import AccessKey

SELECT_KEYS = "SELECT id, version, last_used, entry FROM access_keys"
PUT_KEY = (
    "INSERT INTO access_keys (id, version, entry) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "
    "SET version = excluded.version, entry = excluded.entry "
    "WHERE access_keys.version = excluded.version - 1 "
    "OR (access_keys.version = excluded.version AND access_keys.entry = excluded.entry) "
    "RETURNING 1"
)
"""Writes the values of `row_of`; the answer is empty where another version is in the way.

It may be repeated, as after a connection that broke while it was committed."""
USE_KEY = "UPDATE access_keys SET last_used = ? WHERE id = ? AND coalesce(last_used, 0) < ?"


def row_of(key: AccessKey) -> tuple[str, int, str]:
    """The values of `PUT_KEY`."""
    return key.id, key.version, json.dumps(key.entry(), ensure_ascii=False, sort_keys=True)


def use_of(id: str, at: datetime) -> tuple[float, str, float]:
    """The values of `USE_KEY`."""
    return at.timestamp(), id, at.timestamp()


def keys_of(rows: Iterable[Any]) -> list[AccessKey]:
    """The keys of the rows that `SELECT_KEYS` gives, oldest first."""
    keys = (
        AccessKey.of(
            id,
            version,
            None if last_used is None else datetime.fromtimestamp(last_used, timezone.utc),
            json.loads(entry),
        )
        for id, version, last_used, entry in rows
    )
    return sorted(keys, key=lambda key: (key.created_at, key.id))
