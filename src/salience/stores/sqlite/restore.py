"""Putting a backup in the place of a store, without what was erased there since it was made."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import NamedTuple

from salience.errors import InvalidInput, StoreError
from salience.records.tombstones import HASH_BYTES, Erasing, ErasureKind, id_hashes, name_hash
from salience.retrieval.operations import Delete
from salience.retrieval.safety import Backup
from salience.stores.sqlite.connection import (
    APPLICATION_ID,
    connect,
    open_file,
    translate_errors,
)
from salience.stores.sqlite.dialect import DIALECT
from salience.stores.sqlite.integrity.open_files import OPEN_FILES, file_identity
from salience.stores.sqlite.integrity.row_checksums import checksum_of
from salience.stores.sqlite.records import SqliteRecords
from salience.stores.sqlite.safety.backup import Progress, back_up, check_target
from salience.stores.tables.commands import Send, Statement
from salience.stores.tables.event_log import last_tombstone

_UNREADABLE = (
    "what was erased from the store that was there cannot be read ({problem}): what was erased "
    "since the backup may be back, so erase it again"
)
_USERS = (
    "users were forgotten since the backup ({count:,} erasures): their memories are erased again, "
    "but the history of others may name them again; call forget_user once more"
)
_COLUMNS = ("namespace", "seq", "at", "actor", "kind", "memories", "ids")


class Tombstone(NamedTuple):
    """A row of `erasures`: who erased how many memories when, under hashes alone."""

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


def restore_file(
    backup: str, path: str, *, overwrite: bool = False, progress: Progress | None = None
) -> Backup:
    """Put a copy of a backup at a path, checked; the backup stays as it is.

    Of the store that it replaces it takes over the tombstones, and what these say to be erased is
    erased from the copy before that appears.

    Raises:
        InvalidInput: there is a file already, and `overwrite` is not given.
        StoreError: the backup is none or damaged, or somebody has the file of the path open.
    """
    check_target(Path(path).absolute(), overwrite)
    if file_identity(path) is not None and file_identity(path) == file_identity(backup):
        raise InvalidInput("path", f"{path} is the backup itself", "name another file")
    identity = open_file(backup, read_only=True)
    assert identity is not None
    try:
        return _restore(backup, path, overwrite, progress)
    finally:
        OPEN_FILES.remove(os.path.abspath(backup), identity)


def _restore(backup: str, path: str, overwrite: bool, progress: Progress | None) -> Backup:
    with closing(connect(backup, read_only=True)) as source:
        with translate_errors(backup):
            [application] = source.execute("PRAGMA application_id").fetchone()
            tables = source.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application != APPLICATION_ID:
            state = "has nothing in it" if not tables else "is a SQLite file of another program"
            raise StoreError(f"{backup}: {state}; name a file that `salience backup` has written")
        known, note = _known(path)
        erased = 0

        def amend(copy: str) -> None:
            nonlocal erased, note
            erased, users = _erase_again(copy, known)
            note = note or (_USERS.format(count=users) if users else "")

        done = back_up(
            source, path, overwrite=overwrite, progress=progress, amend=amend if known else None
        )
        return replace(done, erased_again=erased, note=note)


def _known(path: str) -> tuple[list[Tombstone], str]:
    """The tombstones of the store at a path, and why they cannot be read."""
    if not os.path.exists(path):
        return [], ""
    try:
        with closing(connect(path, read_only=True)) as db, translate_errors(path):
            return _read_tombstones(db), ""
    except (StoreError, sqlite3.Error) as problem:
        return [], _UNREADABLE.format(problem=problem)


def _erase_again(path: str, known: Sequence[Tombstone]) -> tuple[int, int]:
    """Erase what is erased by tombstones that a copy does not have, and give them to it.

    The numbers of memories that were there, and of the erasures of users.
    """
    records = SqliteRecords(path)
    try:
        with closing(connect(path, read_only=True)) as db:
            own = {tombstone.place for tombstone in _read_tombstones(db)}
        new = [tombstone for tombstone in known if tombstone.place not in own]
        by, erased = Erasing(datetime.now(timezone.utc), None, "delete"), 0
        for namespace in records.namespaces():
            ids = _buried(namespace, records.ids(namespace), new)
            if ids:
                erased += records.delete(Delete(namespace, by, ids), buries=False).memories
        records.run(partial(_take_over, new, list(records.namespaces())))
        if erased:
            records.rewrite()  # as thorough as any of the erasures can have been
        return erased, sum(tombstone.kind == "forget_user" for tombstone in new)
    finally:
        records.close()


def _read_tombstones(db: sqlite3.Connection) -> list[Tombstone]:
    """All tombstones of a file that are not damaged; none of one with an older schema."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'erasures'").fetchone():
        return []
    rows = db.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM erasures WHERE checksum IS {checksum_of('erasures')}"
    )
    return [Tombstone(*row) for row in rows]


def _take_over(new: Sequence[Tombstone], namespaces: Iterable[str], send: Send) -> None:
    """Add tombstones of another file; the logs of namespaces go on behind them."""
    [taken] = send(Statement("SELECT namespace, seq FROM erasures"))
    send(*DIALECT.insert("erasures", [each for each in new if each[:2] not in taken]))
    for name in namespaces:
        [[[last]]] = send(last_tombstone(name))
        send(*DIALECT.advance(name, last))


def _buried(namespace: str, ids: Iterable[str], under: Iterable[Tombstone]) -> tuple[str, ...]:
    """Those of some ids of a namespace that are gone by tombstones."""
    own = name_hash(namespace)
    hashes = {
        each.ids[start : start + HASH_BYTES]
        for each in under
        if each.namespace == own
        for start in range(0, len(each.ids), HASH_BYTES)
    }
    return tuple(id for id in ids if id_hashes(namespace, (id,)) in hashes) if hashes else ()
