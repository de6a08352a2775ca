"""Copies of a SQLite file while it is in use, checked before they appear at their path."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from salience.errors import InvalidInput, StoreError
from salience.retrieval.safety import Backup
from salience.stores.sqlite.connection import (
    transaction,
    translate_errors,
    translated_error,
)
from salience.stores.sqlite.open_files import next_state, only_user
from salience.stores.sqlite.row_checksums import CHECKED, checksum_of
from salience.stores.sqlite.snapshots import PARTIAL, remove_snapshots
from salience.stores.sqlite.statements import checksum, define

_PAGES_AT_ONCE = 2_000
_LOG_FILES = ("-wal", "-shm", "-journal")
Progress = Callable[[int, int], None]
"""Called with the number of pages copied, and of all."""
CopiedLog = tuple[int, int, list[tuple[int, str, str | None, float, str | None]]]
"""The number of memories, the last place in the log of their namespace, and of each event, oldest
first, the place, type, memory and time. With those of edits are their payloads.
"""
_COPIED_LOG = (
    "SELECT seq, type, id, at, CASE type WHEN 'edit' THEN payload END "
    "FROM present.events AS events "
    "LEFT JOIN memories ON memories.space = events.space AND sequence = memory "
    "WHERE events.space = ? AND (memory = 0 OR id IS NOT NULL) ORDER BY seq"
)


def back_up(
    source: sqlite3.Connection,
    path: str,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    amend: Callable[[str], None] | None = None,
) -> Backup:
    """Copy what a connection sees to a path, as it all is at one time; others go on writing.

    The copy appears when it is complete and was checked, and belongs to its owner alone. `amend`
    may change it before, at the path that it is given.

    Raises:
        InvalidInput: there is a file already, and `overwrite` is not given.
        StoreError: the file is open, the source is damaged, or it cannot be written.
    """
    target = Path(path).absolute()
    check_target(target, overwrite)
    with translate_os_errors(target), _partial_file(target) as partial:
        with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            with translate_errors(path):
                _copy_pages(source, copy, progress)
                memories = _finish(copy)
            with translate_errors(str(target)):
                problem = first_damage(copy)
        if problem is not None:
            raise StoreError(
                f"{path}: not written, as the source is damaged ({problem}); see `salience doctor`"
            )
        if amend is not None:
            amend(str(partial))
            with closing(sqlite3.connect(partial, isolation_level=None)) as copy:
                memories = _finish(copy)
        _sync(partial)
        with only_user(str(target)) as is_free:
            if not is_free:
                raise StoreError(f"{path}: is open in a program; close it there, then try again")
            _put_in_place(partial, target, overwrite)
        _sync(target.parent)
        return Backup(str(target), memories, target.stat().st_size)


def copy_namespaces(
    path: str, db: sqlite3.Connection, names: Iterable[str]
) -> dict[str, CopiedLog]:
    """Copy what namespaces of a file hold, all of one time, into an empty store; not their logs.

    They keep the numbers of their rows and changes. The answer is what there is in the logs of
    those that there are.
    """
    db.execute("ATTACH ? AS present", (path,))
    try:
        with transaction(db):
            logs: dict[str, CopiedLog] = {}
            for name in names:
                select = "SELECT space, last FROM present.spaces WHERE name = ?"
                for space, last in db.execute(select, (name,)).fetchall():
                    own = f"WHERE space = {space}"
                    _copy_rows(db, "spaces", "INSERT", own)
                    count = _copy_rows(db, "memories", "INSERT", own)
                    for table in ("vectors", "links", "changes"):
                        _copy_rows(db, table, "INSERT", own)
                    logs[name] = count, last, db.execute(_COPIED_LOG, (space,)).fetchall()
            _copy_rows(db, "meta", "REPLACE")
            db.execute("UPDATE counter SET value = (SELECT value FROM present.counter)")
            return logs
    finally:
        db.execute("DETACH present")


def _copy_rows(db: sqlite3.Connection, table: str, verb: str, where: str = "") -> int:
    """Copy the rows of a table; the number of them."""
    own = ", ".join(name for _, name, *_ in db.execute(f"PRAGMA main.table_info({table})"))
    copying = f"{verb} INTO main.{table} ({own}) SELECT {own} FROM present.{table} {where}"
    return db.execute(copying).rowcount


def first_damage(db: sqlite3.Connection) -> str | None:
    """The first damage of a file that SQLite or a checksum finds; None if all is well."""
    [found] = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        return str(found).replace("\n", " ")
    define(db, "checksum", -1, checksum)
    for table in CHECKED:
        columns = {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
        if "checksum" not in columns:  # of an older schema, without checksums yet
            continue
        is_damaged = f"checksum IS NOT {checksum_of(table, columns)}"
        if db.execute(f"SELECT 1 FROM {table} WHERE {is_damaged} LIMIT 1").fetchone():
            return f"a row of {table}"
    return None


def remove_logs(path: str) -> None:
    """Remove the logs beside a file that belong to no file any more."""
    for end in _LOG_FILES:
        with suppress(FileNotFoundError):
            os.unlink(path + end)


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the system into `StoreError`s that name the file."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise StoreError(f"{path}: {reason}; nothing was written there") from problem
    except sqlite3.Error as problem:
        raise translated_error(str(path), problem) from problem


def check_target(target: Path, overwrite: bool) -> None:
    """Refuse a path at which no file can be made, or one that is not to be replaced."""
    with translate_os_errors(target):
        is_folder, exists, is_file = target.is_dir(), target.exists(), target.is_file()
        has_folder = target.parent.is_dir()
    if is_folder:
        raise InvalidInput("path", f"{target} is a folder", "name a file in it")
    if not has_folder:
        raise InvalidInput("path", f"there is no folder {target.parent}", "make it first")
    if exists and not is_file:
        raise InvalidInput("path", f"{target} is a device or a pipe", "name another file")
    if exists and not overwrite:
        raise _exists(target)


def _exists(target: Path) -> InvalidInput:
    remedy = "name another file, or replace it with overwrite=True (--overwrite)"
    return InvalidInput("path", f"{target} exists", remedy)


@contextmanager
def _partial_file(target: Path) -> Iterator[Path]:
    """A file beside the target for its owner alone, removed if it is not put in place."""
    handle, name = mkstemp(PARTIAL, f".{target.name}.", target.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        remove_logs(name)
        Path(name).unlink(missing_ok=True)


def _copy_pages(
    source: sqlite3.Connection, copy: sqlite3.Connection, progress: Progress | None
) -> None:
    """Copy all pages of one state of the file; a read transaction keeps others from changing it."""

    def report(status: int, left: int, total: int) -> None:
        if progress is not None:
            progress(total - left, total)

    source.execute("BEGIN")
    try:
        source.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        source.backup(copy, pages=_PAGES_AT_ONCE, progress=report, sleep=0.0)
    finally:
        source.execute("ROLLBACK")


def _finish(copy: sqlite3.Connection) -> int:
    """Make a copy one file without a log, which no log of another fits; return its memories."""
    copy.execute("PRAGMA journal_mode = DELETE")
    columns = {name for _, name, *_ in copy.execute("PRAGMA table_info(counter)")}
    if "state" in columns:
        [schema] = copy.execute("PRAGMA user_version").fetchone()
        copy.execute(next_state(schema))
    [memories] = copy.execute("SELECT count(*) FROM memories").fetchone()
    return int(memories)


def _put_in_place(partial: Path, target: Path, overwrite: bool) -> None:
    """Let the file appear at its path, whole. What was logged there is of the former file."""
    if overwrite:
        os.replace(partial, target)
        remove_logs(str(target))
        remove_snapshots(str(target))
        return
    try:
        os.link(partial, target)
    except FileExistsError:  # made meanwhile
        raise _exists(target) from None
    except OSError as problem:
        if problem.errno not in (errno.EPERM, errno.ENOTSUP, errno.EACCES):
            raise
        os.replace(partial, target)  # the file system knows no links


def _sync(path: Path) -> None:
    """Write a file or the names in a folder to the disk."""
    with suppress(PermissionError):  # of folders, on Windows
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
