"""Tombstones in a SQLite file: who erased how many memories when, under hashes alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from salience.records.events import Event
from salience.records.tombstones import Erasing, id_hashes, name_hash
from salience.stores import codec
from salience.stores.sqlite.integrity.row_checksums import Insert, checksum_of

_INSERT = Insert("erasures", ("namespace", "seq", "at", "actor", "kind", "memories", "ids"))


def bury(
    db: sqlite3.Connection, namespace: str, seq: int, erasing: Erasing, ids: Sequence[str]
) -> None:
    """Leave a tombstone at a place of the log, with the hashes of the ids that are gone."""
    at = codec.encode("created_at", erasing.at)
    who = (at, erasing.actor, erasing.kind)
    _INSERT(db, [(name_hash(namespace), seq, *who, len(ids), id_hashes(namespace, ids))])


def tombstones(db: sqlite3.Connection, namespace: str, after: int) -> list[Event]:
    """The tombstones of a namespace after a place of its log, in order."""
    found = db.execute(
        "SELECT at, actor, kind, memories, seq FROM erasures WHERE namespace = ? AND seq > ? "
        "ORDER BY seq",
        (name_hash(namespace), after),
    )
    return [
        Erasing(codec.decode("created_at", at), actor, kind).event(memories, seq)
        for at, actor, kind, memories, seq in found
    ]


def last_tombstone(db: sqlite3.Connection, namespace: str) -> int:
    """The place of the last tombstone of a namespace, 0 for none."""
    [last] = db.execute(
        "SELECT max(seq) FROM erasures WHERE namespace = ?", (name_hash(namespace),)
    ).fetchone()
    return last or 0


def forget_actor(db: sqlite3.Connection, namespace: str, user_id: str) -> None:
    """Take the name of a user out of the tombstones of a namespace."""
    own = name_hash(namespace)
    renamed = db.execute(
        "UPDATE erasures SET actor = NULL WHERE namespace = ? AND actor = ? RETURNING seq",
        (own, user_id),
    ).fetchall()
    db.executemany(
        f"UPDATE erasures SET checksum = {checksum_of('erasures')} WHERE namespace = ? AND seq = ?",
        [(own, seq) for (seq,) in renamed],
    )
