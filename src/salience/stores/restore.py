"""Putting a backup in the place of a store, without what was erased there since the backup."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from salience.errors import InvalidInput, StoreError
from salience.records.tombstones import Tombstone
from salience.retrieval.operations import ReadStats, Rewrite
from salience.retrieval.safety import Backup
from salience.stores.copy import USERS, erase_again
from salience.stores.embedded import EmbeddedStore
from salience.stores.sqlite.backup import Progress, back_up, check_target
from salience.stores.sqlite.connection import (
    APPLICATION_ID,
    connect,
    open_file,
    translate_errors,
)
from salience.stores.sqlite.open_files import OPEN_FILES, file_identity
from salience.stores.sqlite.records import SqliteRecords
from salience.stores.sqlite.row_checksums import checksum_of

_UNREADABLE = (
    "what was erased from the store that was there cannot be read ({problem}): what was erased "
    "since the backup may be back, so erase it again"
)

_ALL_ERASED = "is not given, and all that the backup has was erased since it was made ({count:,})"
_BRINGING_BACK = (
    "give with_erased=True (--with-erased) to bring them back, or False (--no-with-erased) to "
    "restore what is left without them"
)


def restore_file(
    backup: str,
    path: str,
    *,
    overwrite: bool = False,
    with_erased: bool | None = None,
    progress: Progress | None = None,
) -> Backup:
    """Put a copy of a backup at a path, checked; the backup stays as it is.

    It takes over the tombstones of the store that it replaces, and erases what they name from the
    copy before it appears; `with_erased` brings all of that back instead.

    Raises:
        InvalidInput: the file exists and `overwrite` is not given; or all of the backup was erased
            since, and nothing says whether to bring it back.
        StoreError: it is not a backup, or is damaged, or somebody has the file of the path open.
    """
    check_target(Path(path).absolute(), overwrite)
    if file_identity(path) is not None and file_identity(path) == file_identity(backup):
        raise InvalidInput("path", f"{path} is the backup itself", "name another file")
    identity = open_file(backup, read_only=True)
    assert identity is not None
    try:
        return _restore(backup, path, overwrite, with_erased, progress)
    finally:
        OPEN_FILES.remove(os.path.abspath(backup), identity)


def _restore(
    backup: str,
    path: str,
    overwrite: bool,
    with_erased: bool | None,
    progress: Progress | None,
) -> Backup:
    with closing(connect(backup, read_only=True)) as source:
        with translate_errors(backup):
            [application] = source.execute("PRAGMA application_id").fetchone()
            tables = source.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application != APPLICATION_ID:
            state = "has nothing in it" if not tables else "is a SQLite file of another program"
            raise StoreError(f"{backup}: {state}; name a file that `salience backup` has written")
        known, note = ([], "") if with_erased else _known(path)
        erased = 0

        def amend(copy: str) -> None:
            nonlocal erased, note
            erased, users, left = _erase_again(copy, known)
            if erased and not left and with_erased is None:
                raise InvalidInput("with_erased", _ALL_ERASED.format(count=erased), _BRINGING_BACK)
            note = note or (USERS.format(count=users) if users else "")

        done = back_up(
            source, path, overwrite=overwrite, progress=progress, amend=amend if known else None
        )
        return replace(done, erased_again=erased, note=note)


def _known(path: str) -> tuple[list[Tombstone], str]:
    """The tombstones of the store at a path, and why they cannot be read."""
    if not os.path.exists(path):
        return [], ""
    try:
        with translate_errors(path), closing(connect(path, read_only=True)) as db:
            return _read_tombstones(db), ""
    except StoreError as problem:
        return [], _UNREADABLE.format(problem=problem)


def _erase_again(path: str, known: Sequence[Tombstone]) -> tuple[int, int, bool]:
    """Repeat the erasures of tombstones, as thoroughly as the first time.

    The result: the numbers of memories and of erasures of users, and whether any memory is left.
    """
    store = EmbeddedStore(SqliteRecords(path))
    try:
        erased, users = erase_again(store.batch, known)
        if erased:
            store.batch([Rewrite()])
        [stats] = store.batch([ReadStats()])
        return erased, users, bool(stats["namespaces"])
    finally:
        store.close()


def _read_tombstones(db: sqlite3.Connection) -> list[Tombstone]:
    """All undamaged tombstones of a file; none if its schema is older."""
    columns = {name for _, name, *_ in db.execute("PRAGMA table_info(erasures)")}
    names = [name for name in Tombstone._fields if name in columns]
    if not names:
        return []
    rows = db.execute(
        f"SELECT {', '.join(names)} FROM erasures "
        f"WHERE checksum IS {checksum_of('erasures', columns)}"
    )
    return [Tombstone(*row) for row in rows]
