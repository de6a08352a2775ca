"""Parts of a write to a SQLite file: rows of memories, accesses, the choice of what is erased."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from salience.stores import codec
from salience.stores.access_queue import AccessTimes, Use
from salience.stores.sqlite.statements import (
    checksum,
    chunks,
    execute_rows,
    placeholders,
    take_places,
)

OVERWRITTEN = (
    "The freed pages of the file are overwritten (secure_delete), and its write-ahead log is "
    "emptied; no snapshot of an index has it. Where SQLite has split a page before, a copy of a "
    "short text may be left in it; rewrite=True leaves none."
)
IN_LOG = (
    "The freed pages of the file are overwritten (secure_delete). Another process reads an older "
    "state in the write-ahead log, so the text is in that until somebody writes after it has ended."
)
REWRITTEN = (
    "The file was rewritten: its schema cookie has moved on, it has no free page, its "
    "write-ahead log is empty, and there is no snapshot of an index."
)


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
