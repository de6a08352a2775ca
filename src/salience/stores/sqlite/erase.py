"""Erasing memories from a SQLite file, with everything that tells of them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from salience.records.events import FILE_ACTOR, without_mention, without_user
from salience.records.filters import Filter, filter_fields, passes
from salience.retrieval.erasure import Erasure, checked
from salience.retrieval.operations import WORK_NOTES
from salience.stores import codec
from salience.stores.sqlite.integrity.row_checksums import checksum_of
from salience.stores.sqlite.statements import chunks, column_name, placeholders

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
_JSON_ENCODER = json.JSONEncoder(ensure_ascii=False).encode
_EVENTS_AT_ONCE = 2_000  # from which the name of a user is taken in one transaction
_TERM_BYTES = " + ".join(f"coalesce(length({column_name(name)}), 0)" for name in codec.TERMS)
_NAMED = ", ".join(f"json_extract(payload, '$.{key}')" for key in ("target", "match", "into"))
# Without statistics SQLite would read all events of the namespace.
_MENTIONS = (
    "FROM events INDEXED BY events_by_mention WHERE space = ? AND payload IS NOT NULL "
    f"AND coalesce({_NAMED}) IS NOT NULL AND coalesce({_NAMED}) IN ({{ids}})"
)
_NAMES_USER = (
    f"? IN (actor, json_extract(payload, '$.was.user_id'), json_extract(payload, '$.{FILE_ACTOR}'))"
)


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


def kept_notes(
    db: sqlite3.Connection, space: int, erased: Sequence[ErasedMemory], everything: bool
) -> Sequence[str] | None:
    """The notes that stay when memories are erased; None if all do, as there are other memories."""
    if everything:
        return ()
    count = len(erased)
    select = "SELECT 1 FROM memories WHERE space = ? AND id >= '' LIMIT ?"
    left = len(db.execute(select, (space, count + 1)).fetchall()) - count
    return None if left or not count else WORK_NOTES


def count_rows(
    db: sqlite3.Connection,
    space: int,
    erased: Sequence[ErasedMemory],
    kept: Sequence[str] | None,
) -> Counter[str]:
    """The rows of each kind that are of some memories, or name them.

    Unless the notes that are `kept` are None, those of the whole namespace are among them.
    """
    counts = Counter[str]()
    if erased:
        counts.update(_count_rows_of(db, space, erased))
    if kept is not None:
        [events] = db.execute(
            "SELECT count(*) FROM events WHERE space = ? AND memory = 0", (space,)
        ).fetchone()
        [notes] = db.execute(
            f"SELECT count(*) FROM notes WHERE space = ? AND key NOT IN ({placeholders(kept)})",
            (space, *kept),
        ).fetchone()
        counts.update(events=events, notes=notes)
    return counts


def _count_rows_of(
    db: sqlite3.Connection, space: int, erased: Sequence[ErasedMemory]
) -> dict[str, int]:
    """The rows of each kind that are of some memories, or name them."""
    ids, rows, sequences = zip(*erased, strict=True)
    marks = placeholders(erased)

    def count(select: str, *values: Any) -> int:
        [number] = db.execute(select, values).fetchone()
        return int(number or 0)

    of_memory = f"WHERE space = ? AND memory IN ({marks})"
    ends = "source, target, type FROM links WHERE space = ?"
    return {
        "memories": count(
            f"SELECT count(*) FROM (SELECT row FROM memories WHERE row IN ({marks}) "
            f"UNION SELECT row FROM memories WHERE space = ? AND id IN ({marks}))",
            *(*rows, space, *ids),
        ),
        "terms": count(
            f"SELECT sum({_TERM_BYTES}) / 8 FROM memories WHERE row IN ({marks})", *rows
        ),
        "vectors": count(f"SELECT count(*) FROM vectors WHERE row IN ({marks})", *rows),
        "former_vectors": count(
            f"SELECT count(*) FROM former_vectors {of_memory}", space, *sequences
        ),
        "links": count(
            f"SELECT count(*) FROM (SELECT {ends} AND source IN ({marks}) "
            f"UNION SELECT {ends} AND target IN ({marks}))",
            *(space, *ids, space, *ids),
        ),
        "events": count(f"SELECT count(*) FROM events {of_memory}", space, *sequences),
        "idempotency_keys": count(
            "SELECT count(json_extract(payload, '$.key')) FROM events INDEXED BY events_by_memory "
            f"{of_memory}",
            *(space, *sequences),
        ),
        "mentions": count(
            f"SELECT count(*) {_MENTIONS.format(ids=marks)} AND memory NOT IN ({marks})",
            *(space, *ids, *sequences),
        ),
    }


def erase_common(db: sqlite3.Connection, space: int, kept: Sequence[str]) -> None:
    """Erase what belongs to a namespace as a whole: its notes, and events of all its memories."""
    db.execute(
        f"DELETE FROM notes WHERE space = ? AND key NOT IN ({placeholders(kept)})", (space, *kept)
    )
    db.execute("DELETE FROM events WHERE space = ? AND memory = 0", (space,))


def erase_traces(db: sqlite3.Connection, space: int, erased: Sequence[ErasedMemory]) -> None:
    """Erase the links and events of memories, and what names them in the events of others."""
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
    naming = db.execute(
        f"SELECT seq, type, actor, payload {_MENTIONS.format(ids=marks)}", (space, *ids)
    ).fetchall()
    linking = [(space, seq) for seq, type, *_ in naming if type == "link"]
    db.executemany("DELETE FROM events WHERE space = ? AND seq = ?", linking)
    _rewrite_events(
        db,
        space,
        [
            (seq, actor, without_mention(json.loads(payload)))
            for seq, type, actor, payload in naming
            if type != "link"
        ],
    )


def erase_user(
    db: sqlite3.Connection, space: int, user_id: str, after: int
) -> tuple[Erasure, int | None, list[int]]:
    """Take the name of a user out of the next events after a place.

    The second part is the place of the last of them, None at the end of the log. The third are the
    rows of memories that the user wrote, which must not say so any longer.
    """
    naming = db.execute(
        f"SELECT seq, actor, payload, memory, type FROM events WHERE space = ? AND seq > ? "
        f"AND {_NAMES_USER} ORDER BY seq LIMIT ?",
        (space, after, user_id, _EVENTS_AT_ONCE),
    ).fetchall()
    if not naming:
        return Erasure({}, {}, ""), None, []
    _rewrite_events(
        db,
        space,
        [
            (
                seq,
                None if actor == user_id else actor,
                without_user(json.loads(payload) if payload else {}, user_id),
            )
            for seq, actor, payload, *_ in naming
        ],
    )
    written = [
        memory for _, actor, _, memory, type in naming if (actor, type) == (user_id, "write")
    ]
    rows: list[int] = []
    for part in chunks(written):
        select = f"SELECT row FROM memories WHERE space = ? AND sequence IN ({placeholders(part)})"
        rows += [row for (row,) in db.execute(select, (space, *part))]
    places = [seq for seq, *_ in naming]
    [left] = db.execute(
        f"SELECT count(*) FROM events WHERE space = ? AND seq IN ({placeholders(places)}) "
        f"AND {_NAMES_USER}",
        (space, *places, user_id),
    ).fetchone()
    last = places[-1] if len(places) == _EVENTS_AT_ONCE else None
    erasure = checked({"mentions": len(naming)}, {"mentions": left})
    return erasure, last, rows


def _rewrite_events(
    db: sqlite3.Connection, space: int, events: Iterable[tuple[int, str | None, Any]]
) -> None:
    """Give events of some places another actor and payload."""
    rows = [
        (actor, _JSON_ENCODER(payload) if payload else None, space, seq)
        for seq, actor, payload in events
    ]
    db.executemany("UPDATE events SET actor = ?, payload = ? WHERE space = ? AND seq = ?", rows)
    db.executemany(
        f"UPDATE events SET checksum = {checksum_of('events')} WHERE space = ? AND seq = ?",
        [(space, seq) for *_, seq in rows],
    )


def erase_empty_space(db: sqlite3.Connection, space: int) -> None:
    """Erase the name of a namespace with its last memory: a name can be telling, too.

    What belongs to the namespace as a whole goes first, except for what work in progress notes.
    """
    if db.execute(
        "SELECT 1 FROM memories WHERE space = ? AND id >= '' LIMIT 1", (space,)
    ).fetchone():
        return
    erase_common(db, space, WORK_NOTES)
    if db.execute("SELECT 1 FROM notes WHERE space = ?", (space,)).fetchone() is None:
        db.execute("DELETE FROM spaces WHERE space = ?", (space,))
