"""The snapshots of the indexes of a SQLite file: where they lie, and which of them may be used.

The snapshot of a namespace lies next to the file, named by the number of the namespace in it. It is
used if `meta` in the file says that this very snapshot, by the digest of its header, was made from
a state of the file: never one of another file, nor one newer than a restored backup. The header has
the checksums of all arrays. They are compared only if inode, size or times of the snapshot have
changed; otherwise each opening would read it from end to end. SQLite trusts its own pages in the
same way, and `salience doctor` compares both.

An erasure removes the snapshots of the namespace: first from `meta`, in its transaction, then the
files, before the receipt. A snapshot being written meanwhile either has a name already and is
removed, too, or begins after that transaction and sees it. The process that has erased writes
another, of the memories that are left: at once, but not again within an hour or a hundred erasures,
and when it closes the file.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from shutil import disk_usage
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any, BinaryIO

from salience.closing import regular_file
from salience.errors import StoreError
from salience.stores.index.change_feed import Changes
from salience.stores.index.snapshot import FORMAT, Saved, SnapshotFile, write
from salience.stores.sqlite.dialect import Sender, space_of, write_meta
from salience.stores.sqlite.open_files import fcntl
from salience.stores.tables.dialect import SELECT_SETS, parse_sets

if TYPE_CHECKING:
    from salience.stores.index.memory_table import MemoryTable

LEAST_MEMORIES = 5_000
"""The number of memories from which a snapshot pays off."""
_MAX_CHANGED_SHARE = 0.1  # of the memories; with more changes since, everything is loaded again
_REWRITTEN_SECONDS, _REWRITTEN_ERASURES = 3_600.0, 100  # between two after an erasure
_LEAST_FREE = 2  # times its size that the disk has to have free
PARTIAL = ".partial"
"""The end of the name of an incomplete file."""
_ENDING = re.compile(r"-index-(\d+)(\..*\.partial)?")  # of their names, after that of the file
_log = logging.getLogger(__name__)
Transaction = Callable[[], AbstractContextManager[sqlite3.Connection]]
ChangesSince = Callable[[sqlite3.Connection, int, int], Changes]
"""All changes of a namespace, by its number, since a change; also those by this process."""


class Snapshots:
    """The snapshots of one file; none are written where `writing` is None."""

    def __init__(
        self,
        path: str,
        reading: Transaction,
        writing: Transaction | None,
        changes: ChangesSince,
    ) -> None:
        self._path = path
        self._reading = reading
        self._writing = writing if os.name == "posix" else None  # others remove no mapped file
        self._changes = changes
        self._writers: list[threading.Thread] = []
        self._forgotten: set[int] = set()  # namespaces whose files are to be removed
        self.lost: set[str] = set()  # namespaces whose snapshot went with an erasure
        self._rewritten: dict[str, tuple[float, int]] = {}  # when last, and erasures since

    # Using one

    def restore(self, table: MemoryTable) -> None:
        """Fill an empty table from the snapshot, brought up to date; leave it if none fits."""
        try:
            with self._reading() as db:
                space = space_of(db, table.namespace)
                noted, about = _noted(db, space), _about(db, table.namespace, table.loaded_columns)
            if noted is None:
                return
            with regular_file(_file_of(self._path, space)) as file:
                stamp, snapshot = _stamp(file), SnapshotFile(file)
                if snapshot.digest != noted[0] or snapshot.about != about:
                    raise ValueError("it is of something else")
                if noted[1:] != stamp and not snapshot.is_sound():
                    raise ValueError("it is damaged")
                saved = snapshot.read()
                if stamp != _stamp(file):
                    raise ValueError("it was written to meanwhile")
            with self._reading() as db:
                changes = self._changes(db, space, snapshot.attribute("seq"))
            count = len(changes.added) + len(changes.removed) + len(changes.patched)
            if changes.reload or count > len(saved.arrays[0]) * _MAX_CHANGED_SHARE:
                raise ValueError("too much has changed since")
            table.restore(saved, changes)
        except Exception as problem:  # whatever it is, the file has everything
            _log.info("%s: no snapshot of %r: %s", self._path, table.namespace, problem)

    # Writing one

    def save(self, table: MemoryTable) -> None:
        """Begin to write the snapshot of a table just loaded, if loading took long."""
        if self._writing is None or len(table) < LEAST_MEMORIES or table.dead:
            return
        work = partial(self._write, self._writing, table.namespace, table.loaded_columns)
        writer = threading.Thread(target=work, args=(Saved.of(table), table.seq), daemon=True)
        with suppress(RuntimeError):  # the interpreter is shutting down
            writer.start()
            self._writers.append(writer)

    def is_due(self, namespace: str) -> bool:
        """Count an erasure; test whether to rewrite the snapshot that went with it."""
        if namespace not in self.lost:
            return False
        now = time.monotonic()
        last, erasures = self._rewritten.get(namespace, (-math.inf, 0))
        due = now - last > _REWRITTEN_SECONDS or erasures + 1 >= _REWRITTEN_ERASURES
        self._rewritten[namespace] = (now, 0) if due else (last, erasures + 1)
        return due

    def close(self) -> None:
        """Wait for the snapshots being written."""
        while self._writers:
            self._writers.pop().join()

    def _write(
        self,
        writing: Transaction,
        namespace: str,
        columns: Sequence[str],
        saved: Saved,
        seq: int,
    ) -> None:
        try:
            with self._reading() as db:
                space = space_of(db, namespace)
            _remove_abandoned(self._path, space)
            with _partial_file(self._path, space, saved.nbytes) as (partial_path, file):
                with self._reading() as db:
                    self._check(db, namespace, space, seq)
                    about = _about(db, namespace, columns)
                digest = write(file, saved, about)
                file.flush()
                os.fsync(file.fileno())
                with writing() as db:
                    self._check(db, namespace, space, seq)
                    os.replace(partial_path, _file_of(self._path, space))
                    write_meta(db, _key(space), json.dumps([digest, *_stamp(file)]))
            self.lost.discard(namespace)
        except Exception as problem:  # a full disk, an erasure: the next process loads everything
            _log.info("%s: no snapshot of %r was written: %s", self._path, namespace, problem)

    def _check(self, db: sqlite3.Connection, namespace: str, space: int, seq: int) -> None:
        """Refuse a snapshot if some of its memories have gone since."""
        changes = self._changes(db, space, seq)
        if changes.reload or changes.removed:
            self.lost.add(namespace)
            raise ValueError("memories were erased or edited meanwhile")

    # Erasing

    def noted(self, namespace: str) -> bool:
        """Test whether there is one of a namespace."""
        with self._reading() as db:
            return _noted(db, space_of(db, namespace)) is not None

    def forget(self, db: sqlite3.Connection, namespace: str) -> None:
        """Invalidate the snapshots of a namespace, as a part of a transaction that erases."""
        space = space_of(db, namespace)
        if db.execute("DELETE FROM meta WHERE key = ?", (_key(space),)).rowcount:
            self.lost.add(namespace)
        self._forgotten.add(space)

    def remove_forgotten(self) -> None:
        """Remove the files of invalidated snapshots.

        Raises:
            StoreError: one cannot be removed.
        """
        forgotten = self._forgotten
        if forgotten:
            _remove(self._path, lambda _, space, __: space in forgotten)
            self._forgotten = set()


def remove_snapshots(path: str, name: str | None = None) -> bool:
    """Remove the snapshots next to a file, one of them by its name; True: this mends it.

    Raises:
        StoreError: one cannot be removed.
    """
    _remove(path, lambda own, *_: name in (None, own))
    return True


def damaged_snapshots(db: sqlite3.Connection, path: str) -> Iterator[tuple[str, str]]:
    """The useless snapshots next to a file, and why; and those of erased memories."""
    for name, space, is_partial in _files(path):
        if is_partial:
            continue  # is being written, or is removed by the next one
        try:
            with regular_file(name) as file:
                snapshot = SnapshotFile(file)
                noted = _noted(db, space)
                if noted is None or noted[0] != snapshot.digest:
                    yield name, "is none of this file"
                elif not snapshot.is_sound():
                    yield name, "is damaged"
                elif not _ids(db, space).issuperset(snapshot.attribute("ids")):
                    yield name, "has ids of memories that were erased"
        except (OSError, ValueError, LookupError, TypeError) as problem:
            yield name, f"cannot be read: {problem}"


def _ids(db: sqlite3.Connection, space: int) -> set[str]:
    return {id for (id,) in db.execute("SELECT id FROM memories WHERE space = ?", (space,))}


def _key(space: int) -> str:
    return f"index_snapshot:{space}"


def _noted(db: sqlite3.Connection, space: int) -> list[Any] | None:
    """The digest and the stamp of the snapshot of a namespace; None if it has none."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_key(space),)).fetchone()
    return None if row is None else json.loads(row[0])


def _about(db: sqlite3.Connection, namespace: str, columns: Sequence[str]) -> list[Any]:
    """Everything that a snapshot depends on besides the memories."""
    [schema] = db.execute("PRAGMA user_version").fetchone()
    embedder, sets = parse_sets(*Sender(db)(SELECT_SETS))
    vectors = [embedder, sorted(sets.underscored), sets.dropped]
    version = sys.modules["salience"].__version__  # imported by whoever imports this
    return [namespace, *columns, schema, vectors, sys.byteorder, version, FORMAT]


def _stamp(file: BinaryIO) -> list[int]:
    """Inode, size and times of a file: any write to it changes these."""
    status = os.fstat(file.fileno())
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _file_of(path: str, space: int) -> str:
    return f"{path}-index-{space}"


def _files(path: str) -> Iterator[tuple[str, int, bool]]:
    """The snapshots next to a file: path, namespace, and whether it is not complete."""
    folder, name = os.path.split(os.path.abspath(path))
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(name):
                match = _ENDING.fullmatch(entry.name.removeprefix(name))
                if match is not None:
                    yield entry.path, int(match[1]), match[2] is not None


def _remove(path: str, is_chosen: Callable[[str, int, bool], bool]) -> None:
    for file in list(_files(path)):
        if is_chosen(*file):
            name = file[0]
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass
            except OSError as problem:
                reason = problem.strerror or problem
                raise StoreError(
                    f"{name}: may have ids, vectors and hashed words of what is erased, and cannot "
                    f"be removed ({reason}); remove it"
                ) from problem


def _remove_abandoned(path: str, space: int) -> None:
    """Remove incomplete snapshots of a namespace that ended processes have left."""
    partials = [name for name, own, is_partial in _files(path) if own == space and is_partial]
    for name in partials:
        with suppress(FileNotFoundError), regular_file(name) as file:
            _lock(file)
    _remove(path, lambda name, *_: name in partials)


def _lock(file: BinaryIO) -> None:
    """Lock a file until it is closed, or by the end of the process."""
    assert fcntl is not None  # on Windows none are written
    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def _partial_file(path: str, space: int, size: int) -> Iterator[tuple[str, BinaryIO]]:
    """A file, by path, for those who may read the store; removed if it is not renamed."""
    target = _file_of(path, space)
    folder, name = os.path.split(target)
    if disk_usage(folder).free < _LEAST_FREE * size:
        raise OSError(errno.ENOSPC, "the disk has little room")
    handle, partial_path = mkstemp(PARTIAL, f"{name}.", folder)
    try:
        with open(handle, "wb") as file:
            _lock(file)
            store = os.stat(path)
            status = os.fstat(file.fileno())
            if (status.st_uid, status.st_gid) != (store.st_uid, store.st_gid):
                os.fchown(file.fileno(), -1 if os.geteuid() else store.st_uid, store.st_gid)
            os.fchmod(file.fileno(), store.st_mode & 0o666)
            yield partial_path, file
    finally:
        with suppress(FileNotFoundError):
            os.unlink(partial_path)
