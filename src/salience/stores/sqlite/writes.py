"""Parts of a write to a SQLite file: links, accesses, what stands in its way, what it erases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from salience.records.events import Event
from salience.records.filters import Filter, filter_fields, passes
from salience.records.record import Link
from salience.retrieval.operations import OWNER_FIELDS, HashColumn, Put, Seen
from salience.stores import codec
from salience.stores.access_queue import AccessTimes, Use
from salience.stores.sqlite.integrity.row_checksums import Insert
from salience.stores.sqlite.statements import (
    checksum,
    chunks,
    column_name,
    execute_rows,
    placeholders,
    take_places,
)
from salience.stores.tables.erase import ErasedMemory
from salience.stores.tables.event_log import event_row

OVERWRITTEN = (
    "The freed pages of the file are overwritten (secure_delete), and its write-ahead log is "
    "emptied. Where SQLite has split a page before, a copy of a short text may be left in it; "
    "rewrite=True leaves none."
)
IN_LOG = (
    "The freed pages of the file are overwritten (secure_delete). Another process reads an older "
    "state in the write-ahead log, so the text is in that until somebody writes after it has ended."
)
REWRITTEN = (
    "The file was rewritten: its schema cookie has moved on, it has no free page, and its "
    "write-ahead log is empty."
)
_REPLACE_LINKS = Insert(
    "links", ("space", "source", "target", "type", "weight", "created_at"), "REPLACE"
)
_INSERT_EVENTS = Insert(
    "events", ("space", "seq", "memory", "type", "at", "actor", "session", "payload")
)
Entry = tuple[int, int, Event]
"""The number of a namespace, the sequence number of a memory (0 for all), and an event."""


def append(db: sqlite3.Connection, entries: Sequence[Entry]) -> list[int]:
    """Log events; return their places."""
    places = take_places(db, [space for space, *_ in entries])
    _INSERT_EVENTS(
        db,
        [
            event_row(space, place, sequence, event)
            for place, (space, sequence, event) in zip(places, entries, strict=True)
        ],
    )
    return places


class LinkingMemory(NamedTuple):
    """The place of a memory that a link begins at."""

    space: int
    row: int
    sequence: int


def insert_links(db: sqlite3.Connection, spaces: Mapping[str, int], links: Sequence[Link]) -> None:
    """Write links, each in the place of one of its type between the same two."""
    _REPLACE_LINKS(
        db,
        [
            (
                spaces[link.namespace],
                link.source,
                link.target,
                link.type,
                link.weight,
                codec.encode("created_at", link.created_at),
            )
            for link in links
        ],
    )


def delete_links(db: sqlite3.Connection, links: Sequence[Link]) -> list[Link]:
    """Delete links; return those that were there."""
    return [
        link
        for link in links
        if db.execute(
            "DELETE FROM links WHERE source = ? AND target = ? AND type = ? "
            "AND space = (SELECT space FROM spaces WHERE name = ?)",
            (link.source, link.target, link.type, link.namespace),
        ).rowcount
    ]


def linking_memories(
    db: sqlite3.Connection, events: Sequence[tuple[str, Event]]
) -> dict[tuple[str, str | None], LinkingMemory]:
    """The memories of events of links, by namespace and id, as far as they are there."""
    ids: dict[str, dict[str | None, None]] = {}
    for namespace, event in events:
        ids.setdefault(namespace, {})[event.id] = None
    memories: dict[tuple[str, str | None], LinkingMemory] = {}
    for namespace, own_ids in ids.items():
        for part in chunks(list(own_ids)):
            for id, *place in db.execute(
                "SELECT id, space, row, sequence FROM memories JOIN spaces USING (space) "
                f"WHERE name = ? AND id IN ({placeholders(part)}) ORDER BY +row",
                (namespace, *part),
            ):
                memories[namespace, id] = LinkingMemory(*place)
    return memories


class AccessedMemory(NamedTuple):
    """The place of an accessed memory."""

    space: int
    sequence: int


def update_accesses(
    db: sqlite3.Connection, accesses: Mapping[int, AccessTimes]
) -> dict[int, AccessedMemory]:
    """Count accesses in, by row; return the memories that are there."""
    stored: list[tuple[int, int, int, bytes | None]] = []
    for part in chunks(sorted(accesses)):
        stored += db.execute(
            "SELECT row, space, sequence, accesses FROM memories "
            f"WHERE row IN ({placeholders(part)}) ORDER BY row",
            part,
        ).fetchall()
    changes = []
    for row, _, _, times_before in stored:
        count, times = accesses[row]
        changes.append((row, count, times[0], codec.add_accesses(times_before, times)))
    execute_rows(
        db,
        "WITH new (row, count, last, accesses) AS (VALUES {rows}) UPDATE memories SET "
        "access_count = access_count + new.count, accesses = new.accesses, "
        "last_accessed = max(coalesce(last_accessed, new.last), new.last) "
        "FROM new WHERE memories.row = new.row",
        changes,
    )
    return {row: AccessedMemory(space, sequence) for row, space, sequence, _ in stored}


def log_uses(
    db: sqlite3.Connection, uses: Sequence[Use], memories: Mapping[int, AccessedMemory]
) -> None:
    """Log uses of memories that are there."""
    events = [
        (memories[row], type_, at, actor, session)
        for rows, at, type_, actor, session in uses
        for row in rows
        if row in memories
    ]
    places = take_places(db, [memory.space for memory, *_ in events])
    execute_rows(
        db,
        "INSERT INTO events (space, seq, memory, type, at, actor, session, checksum) VALUES {rows}",
        [
            (*row, checksum(*row))
            for row in (
                (memory.space, seq, memory.sequence, *event)
                for seq, (memory, *event) in zip(places, events, strict=True)
            )
        ],
    )


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
