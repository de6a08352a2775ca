"""Values by key: the notes of upkeep on a namespace, and the access keys of the store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from salience.records.access_key import AccessKey
from salience.retrieval.operations import Note, Notes, PutKey, ReadKeys, UseKey
from salience.stores.tables.commands import Abandon, Send, shared
from salience.stores.tables.dialect import Dialect


def notes(op: Notes, send: Send) -> dict[str, str]:
    """The notes of a namespace by key."""
    [rows] = send(shared("SELECT key, value FROM notes WHERE $own", (op.namespace,)))
    return dict(rows)


def note(op: Note, dialect: Dialect, send: Send) -> bool:
    """Set a note if its value is still the one expected; True if it was set."""
    where = (op.namespace, op.key)
    entering = [] if op.value is None else [dialect.enter(op.namespace)]
    select = "SELECT value FROM notes WHERE $own AND key = %s $locked"
    *_, rows = send(*entering, shared(select, where))
    if op.was != (rows[0][0] if rows else None):
        raise Abandon(False)
    if op.value is None:
        send(shared("DELETE FROM notes WHERE $own AND key = %s", where))
    else:
        send(*dialect.replace("notes", [(*where, op.value)]))
    return True


def read_keys(op: ReadKeys, send: Send) -> list[AccessKey]:
    """Access keys, all or of some ids, oldest first."""
    select = "SELECT id, version, last_used, entry FROM access_keys"
    if op.ids is None:
        [rows] = send(shared(select))
    else:
        [rows] = send(shared(f"{select} WHERE id $any_text", (list(op.ids),)))
    return sorted(_keys_of(rows), key=lambda key: (key.created_at, key.id))


def _keys_of(rows: Iterable[Any]) -> Iterable[AccessKey]:
    for id, version, last_used, entry in rows:
        used = None if last_used is None else datetime.fromtimestamp(last_used, timezone.utc)
        yield AccessKey.of(id, version, used, json.loads(entry))


def put_key(op: PutKey, dialect: Dialect, send: Send) -> bool:
    """Write a new access key or the next version of one; True if it was written.

    It may be repeated, as after a connection that broke during the commit.
    """
    entry = json.dumps(op.key.entry(), ensure_ascii=False, sort_keys=True)
    write = (
        "INSERT INTO access_keys (id, version, entry) VALUES (%s, %s, %s) ON CONFLICT (id) "
        "DO UPDATE SET version = excluded.version, entry = excluded.entry "
        "WHERE access_keys.version = excluded.version - 1 OR "
        "(access_keys.version = excluded.version AND access_keys.entry = excluded.entry) "
        "RETURNING id"
    )
    [written] = send(shared(write, (op.key.id, op.key.version, entry)))
    send(*dialect.renew("access_keys", "id = %s", written))
    return bool(written)


def use_key(op: UseKey, send: Send) -> None:
    """Note the last use of an access key, unless a later one is noted."""
    at = op.at.timestamp()
    write = "UPDATE access_keys SET last_used = %s WHERE id = %s AND coalesce(last_used, 0) < %s"
    send(shared(write, (at, op.id, at)))
