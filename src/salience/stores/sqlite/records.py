"""Records in one SQLite file, which any number of processes may use at once."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakSet

from salience.errors import StoreError
from salience.records.events import Event, edit_event, link_event, unlink_event, write_event
from salience.records.fields import FIELDS, LEXICAL
from salience.records.filters import Filter, filter_fields, passes
from salience.records.record import Draft, Link
from salience.retrieval.operations import STAGED, Put, Touch
from salience.stores import codec
from salience.stores.access_queue import AccessQueue, Batch
from salience.stores.sqlite.connection import (
    connect,
    file_identity,
    prepare_schema,
    transaction,
    translate_damage,
    translate_errors,
)
from salience.stores.sqlite.event_log import Entry, SqliteLog
from salience.stores.sqlite.reader import (
    ALL_NAMESPACES,
    chunks,
    column_name,
    dimensions,
    embedder,
    execute_rows,
    placeholders,
    vectors_of,
)

_CHANGES_KEPT = 200_000
_MAX_USER_VERSION = 2**31 - 1  # of the numbers that SQLite keeps in the head of a file
_ERASE_WAIT_MS = 500  # milliseconds that an erasure waits for others to finish reading
_MEMORY_COLUMNS = (
    "row", "space", "sequence", *FIELDS, "features", "greets", "text_key",
    *(f"terms.{name}" for name in LEXICAL),
)  # fmt: skip
_INSERT_MEMORY = (
    f"INSERT INTO memories ({', '.join(name.replace('.', '_') for name in _MEMORY_COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_MEMORY_COLUMNS))})"
)


class SqliteRecords(SqliteLog):
    """The records of one file; `:memory:` keeps them in this process.

    Reads and writes have a connection each, so that a search never waits for a commit. Every
    write is one transaction, on disk when the call returns.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        super().__init__()
        self.path = path
        read_only = read_only or (os.path.isfile(path) and not os.access(path, os.W_OK))
        self.read_only = read_only
        self._reader = connect(path, read_only)
        try:
            prepare_schema(self._reader, path, read_only)
            shared = path == ":memory:" or read_only
            self._writer = self._reader if shared else connect(path, False)
        except BaseException:
            self._reader.close()
            raise
        self._place = None if path == ":memory:" else os.path.abspath(path)
        self._identity = file_identity(self._place) if self._place else None
        self._read_lock = threading.RLock()
        self._write_lock = self._read_lock if shared else threading.RLock()
        self._writes = 0
        self._batches = 0  # of accesses that were begun to be written
        self._lingering = False  # whether the log holds erased text
        self._accesses = AccessQueue(
            self._write_accesses, delayed=path != ":memory:", at_exit=path != ":memory:"
        )
        _OPEN_RECORDS.add(self)

    # Writing

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun by taking the file's write lock; undone on any error."""
        self._check_writable()
        with self._write_lock, translate_errors(self.path):
            try:
                with transaction(self._writer, "IMMEDIATE") as db:
                    self._check_place()
                    yield db
                    self._writes += 1  # before the commit, after which an interrupt may come
            except BaseException:
                self._counted = (0, 0)
                raise
            if self._lingering:
                with suppress(StoreError):  # what was to be written is
                    self._truncate_log(0)

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.path} is open for reading only; nothing was written")

    def _check_place(self) -> None:
        """Refuse to write into a file that nobody will find any more."""
        if self._place and file_identity(self._place) != self._identity:
            raise StoreError(
                f"{self.path}: was deleted, moved or replaced while it was open; nothing was "
                "written. Put it back, or close this store and open the file anew"
            )

    def put(self, op: Put) -> tuple[str, ...]:
        """Write all in one transaction, or nothing and the ids that stand in the way."""
        prepared = [(draft, codec.encode_draft(draft)) for draft in op.drafts]
        self._accesses.flush()
        with self._writing() as db:
            old = self._existing(db, op.drafts)
            keys = [(draft.record.namespace, draft.record.id) for draft in op.drafts]
            if op.replace:
                with translate_damage(self.path):
                    refused = codec.conflicting_ids(op, old)
            else:
                twice = [key for key, count in Counter(keys).items() if count > 1]
                refused = [key[1] for key in keys if key in old] + [key[1] for key in twice]
            if refused:
                return tuple(refused)
            codec.check_vectors(op, embedder(db), partial(dimensions, db))
            if not op.replace:
                known = self._known_keys(db, op.drafts)
                if known:
                    return known
            missing = self._happen(db, op.also.namespace, op.also.events) if op.also else ()
            if missing:
                return missing
            self._insert(db, prepared, old, op)
            self._unlink(db, op.unlinks, op.actor)
            self._link(db, op.links, op.actor, logged=op.past is None)
            if op.past is not None:
                self._remember(db, op.past)
            if op.embedder and any(draft.vectors for draft in op.drafts):
                db.execute("INSERT OR IGNORE INTO meta VALUES ('embedder', ?)", (op.embedder,))
        return ()

    def _existing(
        self, db: sqlite3.Connection, drafts: Sequence[Draft]
    ) -> dict[tuple[str, str], dict[str, Any]]:
        """What is kept of the memories that have the drafts' ids, by namespace and id."""
        wanted: dict[str, list[str]] = {}
        for draft in drafts:
            wanted.setdefault(draft.record.namespace, []).append(draft.record.id)
        names = ("row", "sequence", *(name for name in FIELDS if name != "id"))
        found = {}
        for namespace, ids in wanted.items():
            for part in chunks(ids):
                cursor = db.execute(
                    f"SELECT id, {', '.join(names)} FROM memories JOIN spaces USING (space) "
                    f"WHERE name = ? AND id IN ({placeholders(part)})",
                    (namespace, *part),
                )
                for id, *values in cursor:
                    found[namespace, id] = dict(zip(names, values, strict=True), id=id)
        return found

    def _insert(
        self,
        db: sqlite3.Connection,
        prepared: Sequence[tuple[Draft, dict[str, Any]]],
        old: Mapping[tuple[str, str], dict[str, Any]],
        op: Put,
    ) -> None:
        """Write memories, and what happened to them."""
        spaces = self._write_spaces(db, {draft.record.namespace for draft, _ in prepared})
        rows = [before["row"] for before in old.values()]
        kept = vectors_of(db, rows)
        self._erase(db, rows)
        first = self._numbers(db, len(prepared))
        memories, vectors = [], []
        entries: list[Entry] = []
        former: list[tuple[int, int, str, bytes]] = []  # by memory and edit
        for row, (draft, values) in enumerate(prepared, first):
            key = (draft.record.namespace, draft.record.id)
            space = spaces[key[0]]
            values.update(row=row, space=space, sequence=row)
            blobs: dict[str, bytes] = {}
            if key in old:
                before = old[key]
                values.update(codec.merge_accesses(values, before), sequence=before["sequence"])
                had = kept.get(before["row"], {})
                fresh = draft.vectors.keys() - had.keys()
                with translate_damage(self.path):
                    was = codec.record_of(key[0], before)
                event = edit_event(was, draft.record, op.actor, fresh)
                stay, gone = codec.split_vectors(op, draft, had)
                blobs.update((name, had[name]) for name in stay)
                former += [(before["sequence"], len(entries), name, had[name]) for name in gone]
            else:
                event = write_event(draft, op.actor)
            if op.past is None:
                entries.append((space, values["sequence"], event))
            blobs.update((name, codec.encode_vector(v)) for name, v in draft.vectors.items())
            memories.append([values[name] for name in _MEMORY_COLUMNS])
            vectors += [(space, name, row, blob) for name, blob in blobs.items()]
        db.executemany(_INSERT_MEMORY, memories)
        db.executemany("INSERT INTO vectors VALUES (?, ?, ?, ?)", vectors)
        logged = self._append(db, entries)
        db.executemany(
            "INSERT INTO former_vectors VALUES (?, ?, ?, ?)",
            [(sequence, logged + at, name, blob) for sequence, at, name, blob in former],
        )

    def _known_keys(self, db: sqlite3.Connection, drafts: Sequence[Draft]) -> tuple[str, ...]:
        """The ids of drafts whose key an event has already."""
        return tuple(
            draft.record.id
            for draft in drafts
            if "key" in draft.note
            and db.execute(
                "SELECT 1 FROM events JOIN spaces USING (space) WHERE name = ? "
                "AND payload IS NOT NULL AND json_extract(payload, '$.key') IS NOT NULL "
                "AND json_extract(payload, '$.key') = ?",
                (draft.record.namespace, draft.note["key"]),
            ).fetchone()
        )

    def _write_spaces(self, db: sqlite3.Connection, names: set[str]) -> dict[str, int]:
        return {name: self._write_space(db, name) for name in sorted(names)}

    def _note(self, db: sqlite3.Connection, kind: str, entries: Sequence[tuple[int, int]]) -> None:
        """Tell indexes what happened to (space, row) entries."""
        if not entries:
            return
        first = self._numbers(db, len(entries))
        execute_rows(
            db,
            "INSERT INTO changes VALUES {rows}",
            [(seq, space, row, kind) for seq, (space, row) in enumerate(entries, first)],
        )
        [oldest] = db.execute("SELECT min(seq) FROM changes").fetchone()
        if first - oldest > 2 * _CHANGES_KEPT:  # now and then
            oldest = first - _CHANGES_KEPT
            db.execute("DELETE FROM changes WHERE seq < ?", (oldest,))
            self._load_anew(db, oldest)

    def _erase(self, db: sqlite3.Connection, rows: Sequence[int]) -> None:
        for part in chunks(rows):
            found = db.execute(
                f"DELETE FROM memories WHERE row IN ({placeholders(part)}) RETURNING space, row",
                part,
            ).fetchall()
            self._note(db, "removed", found)

    def _link(
        self,
        db: sqlite3.Connection,
        links: Sequence[Link],
        actor: str | None,
        logged: bool,
    ) -> None:
        spaces = self._write_spaces(db, {link.namespace for link in links})
        db.executemany(
            "INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?, ?, ?)",
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
        events = [(link.namespace, link_event(link, actor)) for link in links]
        self._note_linked(db, events, logged)

    def _unlink(self, db: sqlite3.Connection, links: Sequence[Link], actor: str | None) -> None:
        gone = [
            (link.namespace, unlink_event(link, actor))
            for link in links
            if db.execute(
                "DELETE FROM links WHERE source = ? AND target = ? AND type = ? "
                "AND space = (SELECT space FROM spaces WHERE name = ?)",
                (link.source, link.target, link.type, link.namespace),
            ).rowcount
        ]
        self._note_linked(db, gone)

    def _note_linked(
        self, db: sqlite3.Connection, events: Sequence[tuple[str, Event]], logged: bool = True
    ) -> None:
        """Log events of links, and tell the indexes of their namespaces."""
        sources: dict[str, dict[str | None, None]] = {}
        for namespace, event in events:
            sources.setdefault(namespace, {})[event.id] = None
        memories: dict[tuple[str, str | None], tuple[int, int]] = {}
        for namespace, ids in sources.items():
            for part in chunks(list(ids)):
                found = db.execute(
                    "SELECT space, row, sequence, id FROM memories JOIN spaces USING (space) "
                    f"WHERE name = ? AND id IN ({placeholders(part)}) ORDER BY row",
                    (namespace, *part),
                ).fetchall()
                memories.update(
                    ((namespace, id), (space, sequence)) for space, _, sequence, id in found
                )
                self._note(db, "linked", [each[:2] for each in found])
        if not logged:
            return
        self._append(
            db,
            [
                (*memories[namespace, event.id], event)
                for namespace, event in events
                if (namespace, event.id) in memories
            ],
        )

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[int, bytes]) -> None:
        """Give rows a vector; indexes are loaded anew."""
        with self._writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO vectors SELECT space, ?, row, ? FROM memories "
                "JOIN spaces USING (space) WHERE spaces.name = ? AND row = ?",
                [(name, blob, namespace, row) for row, blob in vectors.items()],
            )
            if not name.startswith(STAGED):
                self._load_anew(db, self._numbers(db, 1))

    def adopt_vectors(self, source: str, target: str, embedder: str) -> bool:
        """Rename vectors once all memories have them; indexes are loaded anew."""
        with self._writing() as db:
            missing = db.execute(
                "SELECT 1 FROM memories WHERE NOT EXISTS (SELECT 1 FROM vectors "
                "WHERE vectors.space = memories.space AND name = ? "
                "AND vectors.row = memories.row) LIMIT 1",
                (source,),
            ).fetchone()
            if missing:
                return False
            begin = f"{source}|"
            staged = db.execute(
                "SELECT DISTINCT name FROM vectors WHERE substr(name, 1, ?) = ?",
                (len(begin), begin),
            ).fetchall()
            pairs = [(source, target), *((name, name.removeprefix(begin)) for (name,) in staged)]
            for name, replaced in pairs:
                db.execute("DELETE FROM vectors WHERE name = ?", (replaced,))
                db.execute("UPDATE vectors SET name = ? WHERE name = ?", (replaced, name))
                # These cannot be compared with the others any more.
                db.execute("DELETE FROM former_vectors WHERE name = ?", (replaced,))
            # What other attempts left behind
            db.execute("DELETE FROM vectors WHERE substr(name, 1, 1) = ?", (STAGED,))
            db.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (embedder,))
            self._load_anew(db, self._numbers(db, 1))
        return True

    def _load_anew(self, db: sqlite3.Connection, seq: int) -> None:
        """Tell indexes from before `seq` that changes do not lead from their state to this one."""
        db.execute(
            "INSERT INTO meta VALUES ('changes_from', ?) ON CONFLICT DO UPDATE "
            "SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))",
            (str(seq),),
        )

    def touch(self, op: Touch) -> bool:
        """Queue a use of each row; written within a second. Reading-only stores keep none."""
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

        An interrupt may come right after the commit. Like all else in the transaction, the number
        that a connection keeps for its temporary tables is taken back when that is undone.
        """
        with self._write_lock, translate_errors(self.path), transaction(self._writer) as db:
            [number] = db.execute("PRAGMA temp.user_version").fetchone()
        return int(number)

    def _write_batch(self, batch: Batch) -> None:
        self._batches = self._batches % _MAX_USER_VERSION + 1
        with self._writing() as db:
            db.execute(f"PRAGMA temp.user_version = {self._batches:d}")
            [before] = db.execute("SELECT value FROM counter").fetchone()
            known: list[tuple[int, int, int, bytes | None]] = []
            waiting = batch.rows
            for part in chunks(sorted(waiting)):
                known += db.execute(
                    f"SELECT row, space, sequence, accesses FROM memories WHERE row IN "
                    f"({placeholders(part)}) ORDER BY row",
                    part,
                ).fetchall()
            changed = []
            for row, _, _, accesses in known:
                count, times = waiting[row]
                with translate_damage(self.path):
                    changed.append((row, count, times[0], codec.add_accesses(accesses, times)))
            execute_rows(
                db,
                "WITH new (row, count, last, accesses) AS (VALUES {rows}) UPDATE memories SET "
                "access_count = access_count + new.count, accesses = new.accesses, "
                "last_accessed = max(coalesce(last_accessed, new.last), new.last) "
                "FROM new WHERE memories.row = new.row",
                changed,
            )
            self._note(db, "patched", [(space, row) for row, space, _, _ in known])
            memories = {row: (space, sequence) for row, space, sequence, _ in known}
            first = self._numbers(db, sum(len(rows) for rows, *_ in batch.uses))
            uses = [
                (memories[row], type_, at, actor, session)
                for rows, at, type_, actor, session in batch.uses
                for row in rows
                if row in memories
            ]
            execute_rows(
                db,
                "INSERT INTO events (space, seq, memory, type, at, actor, session) VALUES {rows}",
                [
                    (space, seq, memory, *use)
                    for seq, ((space, memory), *use) in enumerate(uses, first)
                ],
            )
            [batch.seq] = db.execute("SELECT value FROM counter").fetchone()
            # Told before it is committed: a search may look right afterwards.
            first, last = self._counted
            self._counted = (first if last == before else before), int(batch.seq)

    def delete(
        self,
        namespace: str,
        *,
        rows: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        where: Filter | None = None,
    ) -> int:
        """Erase memories, their vectors and links; how many. Freed pages are overwritten."""
        self._accesses.flush()
        with self._writing() as db:
            space = self._space(db, namespace)
            names = ("id", "row", "sequence", *sorted(map(column_name, filter_fields(where))))
            select = f"SELECT {', '.join(names)} FROM memories WHERE space = ?"
            key, chosen = ("row", rows) if ids is None else ("id", ids)
            gone = []
            if chosen is None:
                db.execute("DELETE FROM notes WHERE space = ?", (space,))
                # What happened to all
                db.execute("DELETE FROM events WHERE space = ? AND memory = 0", (space,))
                gone = db.execute(select, (space,)).fetchall()
            for part in chunks(chosen or ()):
                gone += db.execute(f"{select} AND {key} IN ({placeholders(part)})", (space, *part))
            with translate_damage(self.path):
                gone = [
                    each[:3]
                    for each in gone
                    if passes(
                        where, partial(codec.index_value_of, dict(zip(names, each, strict=True)))
                    )
                ]
            for id, _, sequence in gone:
                for end in ("source", "target"):
                    db.execute(f"DELETE FROM links WHERE space = ? AND {end} = ?", (space, id))
                for table in ("events", "former_vectors"):
                    db.execute(f"DELETE FROM {table} WHERE memory = ?", (sequence,))
                db.execute(
                    "DELETE FROM events WHERE space = ? AND type = 'link' "
                    "AND json_extract(payload, '$.target') = ?",
                    (space, id),
                )
            self._erase(db, [row for _, row, _ in gone])
            # A name may tell as much as a text: that of a namespace goes with the last of it.
            nothing = " AND ".join(
                f"NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.space = spaces.space)"
                for table in ("memories", "vectors", "links", "events", "notes")
            )
            db.execute(f"DELETE FROM spaces WHERE space = ? AND {nothing}", (space,))
        if gone:
            self._lingering = True
            with suppress(StoreError):  # they are erased; the next write tries again
                self._truncate_log(_ERASE_WAIT_MS)
        return len(gone)

    def _truncate_log(self, patience: int) -> None:
        """Fold the write-ahead log into the file, so that erased text does not linger in it.

        While somebody reads what is in it that cannot be done; the next write tries again.
        """
        with self._write_lock, translate_errors(self.path):
            db = self._writer
            [usual] = db.execute("PRAGMA busy_timeout").fetchone()
            db.execute(f"PRAGMA busy_timeout = {patience}")
            try:
                [busy, *_] = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                db.execute(f"PRAGMA busy_timeout = {usual}")
            self._lingering = bool(busy)

    def flush(self) -> None:
        """Write queued touches."""
        self._accesses.flush()

    def close(self) -> None:
        """Write queued touches and close the file."""
        try:
            self._accesses.close()
        finally:
            with self._write_lock, self._read_lock:
                self._writer.close()
                self._reader.close()

    def disown(self) -> None:
        """Close what a forked process has of the file, where no thread of its parent was using it.

        SQLite would take the locks of these connections for this process's own, and let others
        fold away the log that it goes on writing to.
        """
        sides = ((self._write_lock, self._writer), (self._read_lock, self._reader))
        for lock, db in sides:
            if lock.acquire(blocking=False):
                db.close()
                lock.release()


_OPEN_RECORDS: WeakSet[SqliteRecords] = WeakSet()


def _disown_all() -> None:
    for records in list(_OPEN_RECORDS):
        records.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
