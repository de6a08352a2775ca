"""Records in one SQLite file, shared by any number of processes."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from copy import copy
from functools import partial
from shutil import disk_usage
from typing import TypeVar

from salience.errors import DiskFull, NotWritable, StoreError
from salience.forks import renew_after_fork
from salience.records.events import Event
from salience.records.tombstones import Tombstone
from salience.retrieval.erasure import IN_MEMORY, Tally
from salience.retrieval.operations import (
    BackUp,
    CheckStore,
    CheckWritable,
    CutOver,
    Delete,
    DropVectors,
    PutVectors,
    Rewrite,
    Tombstones,
    Touch,
    UseKey,
)
from salience.retrieval.safety import Backup, Finding
from salience.stores import codec
from salience.stores.access_queue import AccessQueue, Batch
from salience.stores.sqlite.backup import (
    CopiedLog,
    back_up,
    copy_namespaces,
    first_damage,
    remove_logs,
)
from salience.stores.sqlite.checkup import check_file, check_namespace
from salience.stores.sqlite.connection import (
    BUSY_TIMEOUT_SECONDS,
    DAMAGED,
    WRITER_POLL_MS,
    Turns,
    check_schema,
    connect,
    open_file,
    prepare_schema,
    transaction,
    translate_damage,
    translate_errors,
)
from salience.stores.sqlite.dialect import (
    DIALECT,
    Sender,
    log_uses,
    note_changes,
    reload_indexes,
    update_accesses,
)
from salience.stores.sqlite.open_files import (
    OPEN_FILES,
    MovedLog,
    file_identity,
    next_state,
    only_user,
)
from salience.stores.sqlite.reader import ALL_NAMESPACES, FileRows, SqliteReader
from salience.stores.sqlite.row_checksums import (
    damage_in_sample,
)
from salience.stores.sqlite.snapshots import Snapshots, remove_snapshots
from salience.stores.tables import event_log, vector_sets
from salience.stores.tables.commands import Abandon, Call, Send
from salience.stores.tables.reader import TableReader
from salience.stores.tables.writer import TableWriter

T = TypeVar("T")
_log = logging.getLogger(__name__)
_LEAST_ROOM = 1 << 20  # bytes of a disk; with less, some writes fail, sooner or later all
_MAX_USER_VERSION = 2**31 - 1  # the largest number that SQLite's user_version holds
_ERASE_WAIT_MS = 500  # that an erasure waits for others to finish reading
_REWRITE_WAIT_MS = 30_000
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


class SqliteRecords(SqliteReader, TableWriter):
    """The records of one file; `:memory:` keeps them in this process.

    Reads and writes have a connection each: a search never waits for a commit. Every write is one
    transaction, on disk when the call returns.
    """

    dialect = DIALECT

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        super().__init__()
        self.path = path
        read_only = read_only or (os.path.isfile(path) and not os.access(path, os.W_OK))
        self.read_only = read_only
        self._full_path = None if path == ":memory:" else os.path.abspath(path)
        self._identity = open_file(path, read_only)
        try:
            self._reader = connect(path, read_only)
        except BaseException:
            self._forget_file()
            raise
        try:
            prepare_schema(self._reader, path, read_only)
            self._next_state = next_state(check_schema(self._reader, path))
            shared = path == ":memory:" or read_only
            self._writer = self._reader if shared else connect(path, False)
            if not shared:
                self._writer.execute(f"PRAGMA busy_timeout = {WRITER_POLL_MS}")
        except BaseException:
            self._reader.close()
            self._forget_file()
            raise
        self._read_lock = threading.RLock()
        self._write_lock = self._read_lock if shared else threading.RLock()
        self._turns = Turns()
        self._batches = 0  # batches of accesses whose writing has begun
        self._has_erased_text = False  # in the write-ahead log
        self._is_shared = False  # by a preview with the records that close the connection
        self._accesses = AccessQueue(self._write_accesses, at_exit=path != ":memory:")
        self.snapshots = (
            None
            if self._full_path is None
            else Snapshots(
                self._full_path,
                self._snapshot,
                None if read_only else self._writing,
                self._all_changes,
            )
        )
        renew_after_fork(self)
        self._warn_of_damage()

    def _warn_of_damage(self) -> None:
        """Look at a few memories, and say in the log if one is damaged."""
        with self._reading() as db:
            damaged = damage_in_sample(db)
        if damaged:
            ids = ", ".join(damaged)
            _log.warning("%s: damaged memories (%s); see `salience doctor`", self.path, ids)

    # Writing

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun by taking the file's write lock; undone on any error."""
        self._check_writable()
        self._turns.wait()
        with self._write_lock, translate_errors(self.path):
            try:
                with transaction(self._writer, "IMMEDIATE") as db, self._turns.taken():
                    self._check_file()
                    check_schema(db, self.path)
                    db.execute(self._next_state)
                    yield db
            except Abandon:
                raise
            except BaseException:
                self._counted = (0, 0)
                raise
            if self._has_erased_text:
                with suppress(StoreError):  # the transaction itself is committed
                    self._truncate_log(0)

    def run(self, work: Callable[[Send], T], namespaces: Sequence[str] = ()) -> T:
        """Run what writes in one transaction, which it may abandon with an answer."""
        try:
            with self._writing() as db, translate_damage(self.path):
                return work(Sender(db))
        except Abandon as end:
            answer: T = end.args[0]
            return answer

    def _check_writable(self) -> None:
        if self.read_only:
            problem = "is open for reading only"
            raise NotWritable(f"{self.path} {problem}; nothing was written", f"it {problem}")

    def _check_file(self) -> None:
        """Refuse to write into a file that is no longer at its path."""
        if self._full_path and file_identity(self._full_path) != self._identity:
            problem = "was deleted, moved or replaced while it was open"
            raise NotWritable(
                f"{self.path}: {problem}; nothing was written. Put it back; or close this store "
                f"wherever it is open, so that {self.path}-wal, its write-ahead log, is gone, and "
                "reopen the file",
                f"its file {problem}",
            )

    def check_writable(self, _: CheckWritable) -> None:
        """Commit a change of nothing, if the disk has room for more than that."""
        self._check_writable()
        if self._full_path and disk_usage(os.path.dirname(self._full_path)).free < _LEAST_ROOM:
            raise DiskFull(f"{self.path}: its disk is full; free some room")
        with self._writing():
            pass

    def use_key(self, op: UseKey) -> None:
        """Note the last use of an access key; a store open for reading notes none."""
        if not self.read_only:
            super().use_key(op)

    def put_vectors(self, op: PutVectors) -> None:
        """Give rows a vector of an embedder."""
        by_row = dict(zip(op.rows.tolist(), op.vectors, strict=True))
        vector_sets.put_vectors(op, by_row, DIALECT, self.run)

    def cut_over(self, op: CutOver) -> int | None:
        """Search the set beside, once the last few memories have its vectors."""
        return vector_sets.cut_over(op, (), DIALECT, self.ask, self.run)

    def preview(self) -> SqliteRecords:
        """The same records, read as if the set beside were searched."""
        if self._full_path is None:  # there is no second connection to them
            records = copy(self)
            records._is_shared = True
        else:
            records = SqliteRecords(self.path, read_only=True)
        records.tables = TableReader(FileRows(), DIALECT, previews=True)
        records.snapshots = None
        return records

    def copied(
        self, namespaces: Sequence[str]
    ) -> tuple[SqliteRecords, dict[str, CopiedLog]] | None:
        """Copy what namespaces hold into records in memory, with what their logs have.

        Its snapshots are those of the file. None if no second connection can see the same.
        """
        path = self._full_path
        if path is None or self.read_only or file_identity(path) != self._identity:
            return None
        records = SqliteRecords(":memory:")
        with translate_errors(path), records._reading() as db:
            logs = copy_namespaces(path, db, namespaces)
        records.snapshots = Snapshots(path, records._snapshot, None, records._all_changes)
        return records, logs

    def drop_vectors(self, _: DropVectors) -> None:
        """Erase the set of vectors beside, in short transactions."""
        sets = self.run(partial(vector_sets.begin_dropping, DIALECT))
        vector_sets.drop(sets, [*self.namespaces()], DIALECT, self.ask, self.run)

    def touch(self, op: Touch) -> bool:
        """Queue a use of each row, written within a second; a store open for reading keeps none."""
        if op.declared:
            self._check_writable()
        if not self.read_only:
            at = codec.encode("last_accessed", op.at)
            self._accesses.add(
                ALL_NAMESPACES, (op.rows.tolist(), at, op.type, op.actor, op.session)
            )
        return not self.read_only

    def _write_accesses(self, batches: Mapping[str, Batch]) -> None:
        batch = batches[ALL_NAMESPACES]
        try:
            self._write_batch(batch)
        except BaseException:
            seq, batch.seq = batch.seq, None
            if seq is not None and self._committed() == self._batches:
                batch.seq = seq
            raise

    def _committed(self) -> int:
        """The number of the last batch whose transaction was committed.

        An interrupt may come right after the commit. A rollback takes back the number that a
        connection keeps for its temporary tables, like all else in the transaction.
        """
        with self._write_lock, translate_errors(self.path), transaction(self._writer) as db:
            [number] = db.execute("PRAGMA temp.user_version").fetchone()
        return int(number)

    def _write_batch(self, batch: Batch) -> None:
        self._batches = self._batches % _MAX_USER_VERSION + 1
        with self._writing() as db:
            db.execute(f"PRAGMA temp.user_version = {self._batches:d}")
            [before] = db.execute("SELECT value FROM counter").fetchone()
            with translate_damage(self.path):
                memories = update_accesses(db, batch.rows)
            note_changes(db, "patched", [(memory.space, row) for row, memory in memories.items()])
            log_uses(db, batch.uses, memories)
            [batch.seq] = db.execute("SELECT value FROM counter").fetchone()
            # Set before the commit: a search may ask for the version right after it.
            first, last = self._counted
            self._counted = (first if last == before else before), int(batch.seq)

    def _end_erasing(self, namespace: str, *, everything: bool) -> None:
        self._clear_log()

    def _left_on_disk(self, op: Delete, tally: Tally, named: str) -> str:
        return self._disk()

    def _begin_erasing(self, namespace: str, send: Send) -> None:
        if self.snapshots is not None:
            send(Call(partial(self.snapshots.forget, namespace=namespace)))

    def tombstones(self, op: Tombstones) -> list[Tombstone]:
        """The tombstones of all namespaces, after adding some of another store."""
        return self.run(partial(event_log.tombstones, op.new, list(self.namespaces()), DIALECT))

    def _disk(self) -> str:
        """The state of the bytes of what was erased."""
        if self._full_path is None:
            return IN_MEMORY
        return IN_LOG if self._has_erased_text else OVERWRITTEN

    def _clear_log(self) -> None:
        """Empty the write-ahead log, which has text that was erased."""
        if self.snapshots is not None:
            self.snapshots.remove_forgotten()
        self._has_erased_text = True
        with self._read_lock:
            self._retrieved.clear()
        with suppress(StoreError):  # it is erased; the next write tries again
            self._truncate_log(_ERASE_WAIT_MS)

    def rewrite(self, _: Rewrite) -> str:
        """Rewrite the file, without copies of erased text left where pages were split.

        Other writers wait meanwhile. The copy is made in memory: one on the disk would be a trace
        itself.
        """
        self._accesses.flush()
        self._check_writable()
        with self._write_lock, translate_errors(self.path):
            self._check_file()
            db = self._writer
            [usual] = db.execute("PRAGMA busy_timeout").fetchone()
            [before] = db.execute("PRAGMA schema_version").fetchone()
            db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_SECONDS * 1_000:.0f}")
            try:
                db.execute("VACUUM")
            finally:
                db.execute(f"PRAGMA busy_timeout = {usual}")
            self._truncate_log(_REWRITE_WAIT_MS)
            if self._has_erased_text:
                raise StoreError(
                    f"{self.path}: was rewritten, but another process is reading the old state "
                    "in its log; what was erased goes when that has ended and somebody writes"
                )
            [after] = db.execute("PRAGMA schema_version").fetchone()
            [free] = db.execute("PRAGMA freelist_count").fetchone()
            if after == before or free:
                raise StoreError(f"{self.path}: was not rewritten; copies of texts may remain")
            if self._full_path is not None:
                remove_snapshots(self._full_path)
        return IN_MEMORY if self._full_path is None else REWRITTEN

    def _truncate_log(self, wait_ms: int) -> None:
        """Fold the write-ahead log into the file, to leave no erased text in it.

        This is impossible while somebody reads it; the next write tries again.
        """
        with self._write_lock, translate_errors(self.path):
            db = self._writer
            [usual] = db.execute("PRAGMA busy_timeout").fetchone()
            db.execute(f"PRAGMA busy_timeout = {wait_ms}")
            try:
                [busy, *_] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                db.execute(f"PRAGMA busy_timeout = {usual}")
            self._has_erased_text = bool(busy)

    def flush(self) -> None:
        """Write the accesses that wait."""
        self._accesses.flush()

    def back_up(self, op: BackUp) -> Backup:
        """Copy everything to a file, checked, while all others read and write."""
        self._accesses.flush()
        if self._full_path is None:
            with self._reading() as db:
                return back_up(db, op.path, overwrite=op.overwrite, progress=op.progress)
        self._check_file()
        with closing(connect(self.path, read_only=True)) as db:
            return back_up(db, op.path, overwrite=op.overwrite, progress=op.progress)

    def refuse_damage(self, problem: Exception) -> None:
        """Raise a `StoreError` if the file is damaged, which may cause the problem."""
        if self._full_path is None:
            return
        with closing(connect(self.path, read_only=True)) as db, translate_errors(self.path):
            damage = first_damage(db)
        if damage is not None:
            kind = type(problem).__name__
            raise StoreError(
                f"{self.path}: is damaged ({damage}), which gave a {kind} ({problem}); {DAMAGED}"
            ) from problem

    def check_store(self, op: CheckStore) -> tuple[Finding, ...]:
        """Look for damage and repair what can be repaired; `:memory:` has none."""
        if self._full_path is None:
            return ()
        if op.fix:
            self._check_writable()
        if op.namespace is not None:
            with closing(connect(self.path, read_only=True)) as db:
                return check_namespace(db, self._full_path, op.namespace)
        self._accesses.flush()
        with closing(connect(self.path, read_only=True)) as db:
            findings = check_file(
                db,
                self._full_path,
                writing=self._writing if op.fix else None,
                fold_log=self._fold_log,
                log_event=self._log_event,
            )
        if any(finding.fixed for finding in findings):
            with self._writing() as writer:
                reload_indexes(writer)
        return findings

    def _log_event(self, db: sqlite3.Connection, space: int, memory: int, event: Event) -> None:
        """Log an event of the memory with a sequence number."""
        send, name = Sender(db), str(self._name(space))
        [[[last]]] = send(DIALECT.reserve(name, 1))
        send(*event_log.append_events(name, last, [(memory, event)], DIALECT))

    def _fold_log(self) -> bool:
        """Fold the write-ahead log into the file; return whether nobody read it meanwhile."""
        self._truncate_log(_ERASE_WAIT_MS)
        return not self._has_erased_text

    def close(self) -> None:
        """Write the accesses that wait, and close the file."""
        if self._is_shared:
            return
        try:
            if self.snapshots is not None:
                self.snapshots.close()
            self._accesses.close()
        finally:
            with self._write_lock, self._read_lock:
                self._close_file()

    def _close_file(self) -> None:
        """Close the connections; the last one to a file that was moved removes its log.

        SQLite leaves the log of such a file where it is, beside the file that replaced it.
        """
        path, log = self._full_path, None
        if path and not self.read_only and file_identity(path) != self._identity:
            log = MovedLog.folded(self._writer, path)
        self._writer.close()
        self._reader.close()
        self._forget_file()
        if path and log is not None:
            with only_user(path) as is_free:
                if is_free and log.is_here():
                    remove_logs(path)

    def _forget_file(self) -> None:
        if self._full_path and self._identity:
            OPEN_FILES.remove(self._full_path, self._identity)

    def after_fork(self) -> None:
        """Close the connections of a forked copy that no thread of the parent was using.

        SQLite would mistake the parent's locks for those of this process, and let other processes
        fold away the log that the parent still writes to.
        """
        OPEN_FILES.forget()
        sides = ((self._write_lock, self._writer), (self._read_lock, self._reader))
        for lock, db in sides:
            if lock.acquire(blocking=False):
                db.close()
                lock.release()
