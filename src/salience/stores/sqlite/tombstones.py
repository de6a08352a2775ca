"""Tombstones in a SQLite file: who erased how many memories when, under hashes alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from salience.records.events import Event
from salience.records.tombstones import HASH_BYTES, Erasing, ErasureKind, id_hashes, name_hash
from salience.stores import codec
from salience.stores.sqlite.integrity.row_checksums import Insert, checksum_of

_COLUMNS = ("namespace", "seq", "at", "actor", "kind", "memories", "ids")
_INSERT = Insert("erasures", _COLUMNS)


class Tombstone(NamedTuple):
    """A row of the table."""

    namespace: str
    seq: int
    at: float
    actor: str | None
    kind: ErasureKind
    memories: int
    ids: bytes

    @property
    def place(self) -> tuple[str, int, float]:
        """The key that tells it from all others, in a file and its copies."""
        return self.namespace, self.seq, self.at


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


def read_tombstones(db: sqlite3.Connection) -> list[Tombstone]:
    """All tombstones of a file that are not damaged; none of one with an older schema."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'erasures'").fetchone():
        return []
    rows = db.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM erasures WHERE checksum IS {checksum_of('erasures')}"
    )
    return [Tombstone(*row) for row in rows]


def take_over(db: sqlite3.Connection, new: Sequence[Tombstone], spaces: Mapping[str, int]) -> None:
    """Add tombstones of another file; the logs of its namespaces go on behind them."""
    taken = {
        (namespace, seq) for namespace, seq in db.execute("SELECT namespace, seq FROM erasures")
    }
    _INSERT(db, [each for each in new if (each.namespace, each.seq) not in taken])
    for name, space in spaces.items():
        last = last_tombstone(db, name)
        db.execute("UPDATE spaces SET last = max(last, ?) WHERE space = ?", (last, space))


def buried(namespace: str, ids: Iterable[str], under: Iterable[Tombstone]) -> list[str]:
    """Those of some ids of a namespace that are gone by tombstones."""
    own = name_hash(namespace)
    hashes = {
        each.ids[start : start + HASH_BYTES]
        for each in under
        if each.namespace == own
        for start in range(0, len(each.ids), HASH_BYTES)
    }
    return [id for id in ids if id_hashes(namespace, (id,)) in hashes] if hashes else []


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
