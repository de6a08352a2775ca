"""Reading a SQLite file: records for operations, columns for the indexes."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.lazily import dataclass, field, replace
from salience.records.events import ACCESSES, Event
from salience.records.fields import FIELDS, LEXICAL
from salience.records.record import MemoryRecord
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import (
    Events,
    Op,
    Order,
    Place,
    ReadVectorSets,
    RetrievedTexts,
    RowsById,
    Unembedded,
)
from salience.retrieval.vector_sets import VectorSetsFigures
from salience.stores import codec
from salience.stores.access_queue import AccessQueue, Batch, Use, overlay
from salience.stores.index.change_feed import Changes, IndexVersion
from salience.stores.sqlite.connection import (
    DamagedValue,
    transaction,
    translate_damage,
    translate_errors,
    translated_error,
)
from salience.stores.sqlite.dialect import DIALECT, Sender, space_of
from salience.stores.sqlite.statements import (
    chunks,
    column_name,
    page_clause,
    placeholders,
    stored_names,
)
from salience.stores.tables import event_log
from salience.stores.tables.commands import Command, Send
from salience.stores.tables.dialect import SELECT_SETS, parse_sets
from salience.stores.tables.reader import ROWS_BY_ID, TableReader, select_links
from salience.stores.tables.vector_sets import read_figures

T = TypeVar("T")
_log = logging.getLogger(__name__)
_READ_CHUNK_ROWS = 4_096  # read at once when an index is loaded
ALL_NAMESPACES = ""  # the key of queued accesses: rows are unique in a file
_CURRENT_SEQ = "(SELECT value FROM counter)"  # the change that a statement reads at
# Rows that are new since a change, and other changes since; but not the accesses of this process,
# which its indexes have counted.
_NEW_ROWS = "FROM memories WHERE space = :space AND row > :after"
_NEW_CHANGES = (
    "FROM changes WHERE space = :space AND seq > :after AND (row <= :after OR kind = 'linked') "
    "AND NOT (seq > :first_counted AND seq <= :last_counted)"
)
# The change that the feed is at, the one since which it is complete, and whether there are any.
_FEED_STATE = (
    "SELECT value, coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'changes_from'), "
    f"0), EXISTS (SELECT 1 {_NEW_ROWS}), EXISTS (SELECT 1 {_NEW_CHANGES}) FROM counter"
)
_KEPT_RETRIEVED = 64  # namespaces of which the last retrievals are kept in memory
_ALL = tuple(FIELDS)
_CREATED_AT, _SEQUENCE = list(FIELDS).index("created_at"), len(FIELDS)  # places of its columns


@dataclass
class Retrieved:
    """The last retrievals of a namespace and the memories that they returned, as last read."""

    change: int = 0
    event: int = 0
    uses: list[tuple[int, float, int]] = field(default_factory=list)  # event, time, memory
    memories: dict[int, tuple[int, str, str]] = field(default_factory=dict)  # row, id, text


def _select(fields: Sequence[str] = _ALL) -> str:
    """The beginning of a statement that reads memories."""
    return f"SELECT {', '.join(fields)}, sequence, row, space, {_CURRENT_SEQ} FROM memories"


class FileRows:
    """The ids of rows of a file, which numbers the rows of all namespaces together."""

    def encode(self, _: str, rows: Sequence[int]) -> Rows:
        """See `RowIds.encode`."""
        codec.check_rows(sorted(rows))
        return np.array(rows, dtype=np.int64)

    def by_namespace(self, ids: Rows) -> Iterator[tuple[str, Rows, NDArray[Any]]]:
        """See `RowIds.by_namespace`; whatever the namespace, these are the rows."""
        yield ALL_NAMESPACES, ids, np.arange(len(ids))


class SqliteReader:
    """The reading half of `SqliteRecords`."""

    path: str
    _reader: sqlite3.Connection
    _read_lock: threading.RLock
    _accesses: AccessQueue

    def __init__(self) -> None:
        self.tables = TableReader(FileRows(), DIALECT)
        self._names: dict[int, str] = {}
        # By namespace and stored name: how often vectors had been dropped, and the row up to which
        # all memories have one
        self._embedded_up_to: dict[tuple[str, str], tuple[int, int]] = {}
        # SQLite's data version, which other connections change, and the changes by this one
        self._last_commit = (-1, -1)
        self._version = IndexVersion(0, 0)
        # Two changes of the feed with nothing but accesses of this process between them
        self._counted = (0, 0)
        self._retrieved: dict[int, Retrieved] = {}  # by namespace, the last used at the end

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._read_lock, translate_errors(self.path):
            yield self._reader

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads of one state of the file."""
        with self._reading() as db, transaction(db):
            yield db

    def version(self) -> IndexVersion:
        """The state that indexes must follow, and the change that the feed is at."""
        try:  # every search comes here, so without the context managers of `_reading`
            with self._read_lock:
                [version] = self._reader.execute("PRAGMA data_version").fetchone()
                commit = version, self._reader.total_changes
                if commit != self._last_commit:
                    self._last_commit = commit
                    [seq] = self._reader.execute("SELECT value FROM counter").fetchone()
                    if seq != self._version.seq:
                        first, last = self._counted
                        # The indexes count the accesses of this process themselves.
                        is_new = not (first <= self._version.seq and seq == last)
                        self._version = IndexVersion(self._version.epoch + is_new, seq)
                return self._version
        except sqlite3.Error as problem:
            raise translated_error(self.path, problem) from problem

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        return self.ask(self.tables.embedder)

    def ask(self, work: Callable[[Send], T], namespaces: Sequence[str] = ()) -> T:
        """Run what only reads: each round trip sees one state of the file."""

        def send(*commands: Command) -> list[Any]:
            with self._snapshot() as db:
                return Sender(db)(*commands)

        with translate_damage(self.path):
            return work(send)

    def answer(self, op: Op) -> Any:
        """Answer an operation, by default from the tables that all stores have.

        Raises:
            TypeError: nothing here answers it.
        """
        method = getattr(self, op.method, None)
        if method is not None:
            return method(op)
        of_tables = getattr(self.tables, op.method, None)
        if of_tables is None:
            raise TypeError(f"a store does not answer {type(op).__name__}")
        return self.ask(partial(of_tables, op))

    def _name(self, space: int) -> str | None:
        """The name of a namespace, None if it was erased just now; no number is used twice."""
        name = self._names.get(space)
        if name is None:
            with self._reading() as db:
                row = db.execute("SELECT name FROM spaces WHERE space = ?", (space,)).fetchone()
            if row is not None:
                name = self._names[space] = row[0]
        return name

    def rows_by_id(self, op: RowsById) -> dict[str, int]:
        """See `TableReader.rows_by_id`; every search that follows links comes here."""
        with self._reading() as db, translate_damage(self.path):
            rows = dict(db.execute(ROWS_BY_ID.sqlite, (op.namespace, json.dumps(op.ids))))
            codec.check_rows(sorted(rows.values()))
        return rows

    def read(
        self, rows: Sequence[int], sound: bool = False, fields: Sequence[str] = _ALL
    ) -> dict[int, MemoryRecord]:
        """Records by row, blank except for some fields; with `sound`, without unreadable ones."""
        if sound and rows:
            try:
                return self.read(rows, False, fields)
            except DamagedValue:
                half = len(rows) // 2
                parts = (rows[:half], rows[half:]) if half else ()
                return {k: v for part in parts for k, v in self.read(part, True, fields).items()}
        records: dict[int, MemoryRecord] = {}
        if not rows:
            return records
        waiting = self._accesses.waiting(ALL_NAMESPACES)
        with self._reading() as db, translate_damage(self.path):
            for part in chunks(rows):
                select = f"{_select(fields)} WHERE row IN ({placeholders(part)})"
                for values, record in self._decoded(db.execute(select, part), waiting, fields):
                    records[values[-3]] = record
        return records

    def present(self, rows: Sequence[int]) -> set[int]:
        """Those of some rows that exist, readable or not."""
        with self._reading() as db:
            return {
                row
                for part in chunks(rows)
                for (row,) in db.execute(
                    f"SELECT row FROM memories WHERE row IN ({placeholders(part)})", part
                )
            }

    def _decoded(
        self,
        memories: Iterable[tuple[Any, ...]],
        waiting: Sequence[Batch],
        fields: Sequence[str] = _ALL,
    ) -> Iterator[tuple[tuple[Any, ...], MemoryRecord]]:
        """The values that `_select` gives of memories, each with its record."""
        accessed = [batch.rows for batch in waiting] if "accesses" in fields else ()
        for values in memories:
            stored = dict(zip(fields, values, strict=False))
            row, space, seq = values[-3:]
            for rows in accessed:
                if row in rows:
                    stored.update(overlay(waiting, seq, row, stored))
                    break
            name = self._names.get(space) or self._name(space)
            if name is not None:
                yield values, codec.decode_record(name, stored)

    def page(
        self, namespace: str, order: Order, after: Place | None, limit: int
    ) -> list[tuple[MemoryRecord, Place]]:
        """The first memories after a place, in an order, as they all are at one time."""
        clause, values = page_clause(order, after, limit)
        select = f"{_select()} WHERE space = ? {clause}"
        waiting = self._accesses.waiting(ALL_NAMESPACES)
        with self._reading() as db, translate_damage(self.path):
            memories = db.execute(select, (space_of(db, namespace), *values))
            return [
                (record, Place(stored[_CREATED_AT], stored[_SEQUENCE]))
                for stored, record in self._decoded(memories, waiting)
            ]

    def count(self, namespace: str) -> int:
        """The number of memories."""
        with self._reading() as db:
            space = space_of(db, namespace)
            select = "SELECT count(*) FROM memories WHERE space = ?"
            return int(db.execute(select, (space,)).fetchone()[0])

    def edges(
        self, namespace: str, ids: Sequence[str] | None = None, type: str | None = None
    ) -> list[tuple[str, str, float, str]]:
        """Links as (source, target, weight, type), of the same memories in the same order.

        All, those from and to some ids, or those of one type.
        """
        if type is not None:
            with self._reading() as db:
                return db.execute(
                    "SELECT source, target, weight, type FROM links WHERE space = ? AND type = ? "
                    "ORDER BY source, target",
                    (space_of(db, namespace), type),
                ).fetchall()
        [links] = self.ask(lambda send: send(select_links(namespace, ids)))
        return [(source, target, weight, type) for source, target, type, _, weight in links]

    def unembedded(self, op: Unembedded) -> Rows:
        """Rows without a vector of that name, searched or of the set beside, ascending.

        It does not read rows again that are known to have one: making vectors catches up with
        writes.
        """
        with self._snapshot() as db, translate_damage(self.path):
            _, sets = parse_sets(*Sender(db)(SELECT_SETS))
            [last] = db.execute("SELECT value FROM counter").fetchone()
            key = op.namespace, sets.stored_name(op.name, beside=op.beside)
            dropped, after = self._embedded_up_to.get(key, (sets.dropped, 0))
            after = after if dropped == sets.dropped else 0
            rows = self.tables.unembedded(op, Sender(db), after)
            self._embedded_up_to[key] = sets.dropped, int(rows[0]) - 1 if len(rows) else last
            return rows

    def read_vector_sets(self, _: ReadVectorSets) -> VectorSetsFigures:
        """The sets of vectors, and how far the one beside is."""
        return self.ask(read_figures)

    def namespaces(self) -> dict[str, int]:
        """The number of memories of each namespace."""
        with self._reading() as db:
            return dict(
                db.execute(
                    "SELECT name, count(*) FROM memories JOIN spaces USING (space) "
                    "GROUP BY space ORDER BY name"
                ).fetchall()
            )

    def stats(self, namespaces: Sequence[str]) -> dict[str, Any]:
        """The number of links in namespaces; for (), of all, and the size of the file."""
        select = "SELECT count(*) FROM links"
        if namespaces:
            select += f" JOIN spaces USING (space) WHERE name IN ({placeholders(namespaces)})"
        with self._reading() as db:
            [links] = db.execute(select, tuple(namespaces)).fetchone()
            [pages] = db.execute("PRAGMA page_count").fetchone()
            [size] = db.execute("PRAGMA page_size").fetchone()
        figures = {"store": "sqlite", "links": links}
        return figures if namespaces else {**figures, "file_mb": round(pages * size / 1e6, 3)}

    # The event log, with the uses that wait to be written

    def events(self, op: Events) -> list[Event]:
        """The log, oldest first; uses that wait to be written come last."""
        waiting = self._accesses.waiting(ALL_NAMESPACES)
        if not waiting or not op.waiting or op.keys is not None:
            return self.ask(partial(event_log.events, op))
        with self._snapshot() as db:
            unwritten, last = self._unwritten(db, op, waiting)
        logged = self.ask(partial(event_log.events, op, until=last))
        return op.bounded([*logged, *unwritten])

    def _unwritten(
        self, db: sqlite3.Connection, op: Events, waiting: Sequence[Batch]
    ) -> tuple[list[Event], int]:
        """Uses that wait to be written, as events at the places that they would get now.

        Writing them first would make a read wait for other processes, or fail on a full disk. The
        second part is the last place of the log.
        """
        space, uses = space_of(db, op.namespace), self._waiting_uses(db, waiting)
        select = "SELECT coalesce(max(last), 0) FROM spaces WHERE space = ?"
        [last] = db.execute(select, (space,)).fetchone()
        ids = dict(_rows_of(db, space, {row for rows, *_ in uses for row in rows}, "id"))
        used = [(ids[row], use) for use in uses for row in use[0] if row in ids]
        events = [
            event_log.event_of(place, type_, id, at, actor, session, None)
            for place, (id, (_, at, type_, actor, session)) in enumerate(used, last + 1)
            if place > op.after
            and (op.ids is None or id in op.ids)
            and (op.types is None or type_ in op.types)
        ]
        return events, last

    @staticmethod
    def _waiting_uses(db: sqlite3.Connection, waiting: Sequence[Batch]) -> list[Use]:
        """The uses that the records lack."""
        if not waiting:
            return []
        [seq] = db.execute("SELECT value FROM counter").fetchone()
        return [use for batch in waiting if batch.waits(seq) for use in tuple(batch.uses)]

    def retrieved_texts(self, op: RetrievedTexts) -> dict[str, str]:
        """The texts that searches have returned since a time, by id (see `RetrievedTexts`)."""
        waiting, since = self._accesses.waiting(ALL_NAMESPACES), op.since.timestamp()
        with self._snapshot() as db:
            space = space_of(db, op.namespace)
            cached = self._last_retrieved(db, space, op.last)
            recent = {memory for _, at, memory in cached.uses if at >= since}
            for part in chunks([*recent - cached.memories.keys()]):
                select = f"sequence IN ({placeholders(part)})"
                for sequence, *memory in db.execute(
                    f"SELECT sequence, row, id, content FROM memories WHERE space = ? AND {select}",
                    (space, *part),
                ):
                    cached.memories[sequence] = tuple(memory)
            texts = dict(cached.memories[each][1:] for each in recent & cached.memories.keys())
            rows = {
                row
                for rows, at, type_, *_ in self._waiting_uses(db, waiting)
                if type_ == "retrieval" and at >= since
                for row in rows
            }
            texts.update(each[1:] for each in _rows_of(db, space, rows, "id, content"))
        return texts

    def _last_retrieved(self, db: sqlite3.Connection, space: int, events: int) -> Retrieved:
        """The retrievals among the last events of a namespace; it reads only what is new.

        The memories are those read before that still exist unchanged.
        """
        cached = self._retrieved.pop(space, None) or Retrieved()
        changes = self._changes(db, space, cached.change)
        if changes.reload:
            cached = Retrieved()
        [last] = db.execute("SELECT max(last) FROM spaces WHERE space = ?", (space,)).fetchone()
        first = (last or 0) - events
        cached.uses = [use for use in cached.uses if use[0] > first]
        cached.uses += db.execute(
            "SELECT seq, at, memory FROM events WHERE space = ? AND seq > ? AND type = 'retrieval'",
            (space, max(first, cached.event)),
        )
        used, removed = {memory for *_, memory in cached.uses}, set(changes.removed)
        cached.memories = {
            memory: values
            for memory, values in cached.memories.items()
            if memory in used and values[0] not in removed
        }
        cached.change, cached.event = changes.seq, last or 0
        self._retrieved[space] = cached
        if len(self._retrieved) > _KEPT_RETRIEVED:
            del self._retrieved[next(iter(self._retrieved))]
        return cached

    # The feed of indexes

    def changes(self, namespace: str, after: int) -> Changes:
        """The changes since `after`."""
        with self._snapshot() as db:
            return self._changes(db, space_of(db, namespace), after)

    def _all_changes(self, db: sqlite3.Connection, space: int, after: int) -> Changes:
        """The changes since `after`, with accesses by this process and those that wait.

        Rows may be of other namespaces.
        """
        waiting = self._accesses.waiting(ALL_NAMESPACES)
        changes = self._changes(db, space, after, counted=(0, 0))
        rows = {row for batch in waiting for row in batch.rows if row <= after}
        return replace(changes, patched=sorted(rows.union(changes.patched)))

    def _changes(
        self,
        db: sqlite3.Connection,
        space: int,
        after: int,
        counted: tuple[int, int] | None = None,
    ) -> Changes:
        """The changes of a namespace since `after`, without those that are `counted`."""
        first, last = counted or self._counted
        since = {"space": space, "after": after, "first_counted": first, "last_counted": last}
        seq, kept_from, has_rows, has_changes = db.execute(_FEED_STATE, since).fetchone()
        if after == 0 or seq == after:
            return Changes(seq)
        # The namespace was erased since, and perhaps begun again; or the feed begins later.
        if not 0 < space <= after or after < kept_from:
            return Changes(seq, reload=True)
        added, changes = [], []
        if has_rows:
            added = [row for (row,) in db.execute(f"SELECT row {_NEW_ROWS} ORDER BY row", since)]
        if has_changes:
            select = f"SELECT DISTINCT row, kind {_NEW_CHANGES} ORDER BY row"
            changes = db.execute(select, since).fetchall()
        return Changes(
            seq,
            added,
            [row for row, kind in changes if kind == "removed"],
            [row for row, kind in changes if kind == "patched"],
            [row for row, kind in changes if kind == "linked"],
        )

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, Any]]:
        """Chunks of memories as columns, rows ascending."""
        reads_accesses = not set(ACCESSES).isdisjoint(names)
        waiting = self._accesses.waiting(ALL_NAMESPACES) if reads_accesses else ()
        keys = ("row", *names, *(ACCESSES if waiting else ()), "seq")
        select = ", ".join(_CURRENT_SEQ if key == "seq" else column_name(key) for key in keys)
        for values in self._selected(namespace, select, rows):
            columns: dict[str, Any]
            columns = dict(zip(keys, map(list, zip(*values, strict=True)), strict=True))
            with translate_damage(self.path):
                codec.check_rows(columns["row"])
                try:
                    columns |= {name: codec.column(name, columns[name]) for name in names}
                except codec.DAMAGES:
                    columns = codec.sift(columns, names, self._derived)
                if waiting:
                    _overlay(columns, waiting)
            yield columns

    def _derived(self, row: int) -> dict[str, Any]:
        """The values that follow from the texts of a memory, whatever is stored."""
        with self._reading() as db:
            select = f"SELECT {', '.join(LEXICAL)} FROM memories WHERE row = ?"
            texts = db.execute(select, (row,)).fetchone()
        return codec.derived_of(dict(zip(LEXICAL, texts, strict=True)))

    def _selected(
        self, namespace: str, what: str, rows: Sequence[int] | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Columns of memories in chunks; a text that is not UTF-8 is left as bytes."""
        if rows is not None:
            for part in chunks(rows):
                with self._reading() as db:
                    chunk = _all_rows(
                        db,
                        f"SELECT {what} FROM memories WHERE row IN ({placeholders(part)}) "
                        "AND +space = ? ORDER BY row",  # `+` keeps it from other indexes
                        (*part, space_of(db, namespace)),
                    )
                if chunk:
                    yield chunk
            return
        with self._reading() as db:
            space = space_of(db, namespace)
        after = 0
        while True:
            with self._reading() as db:
                chunk = _all_rows(
                    db,
                    f"SELECT {what} FROM memories WHERE space = ? AND row > ? ORDER BY row LIMIT ?",
                    (space, after, _READ_CHUNK_ROWS),
                )
            if not chunk:
                return
            after = chunk[-1][0]
            yield chunk

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes | None]]]:
        """Chunks of vectors, each name's with ascending rows."""
        for name, owners, blobs in self._vectors_of(namespace, rows):
            with translate_damage(self.path):
                codec.check_rows(owners)
            yield name, owners, codec.sound_vectors(blobs)

    def _vectors_of(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        # Of one set from the first chunk to the last, even if the other is searched by then
        with self._snapshot() as db:
            space, (_, sets) = space_of(db, namespace), self.tables.sets(*Sender(db)(SELECT_SETS))
            names = [] if rows is not None else [*stored_names(db, space)]
        if rows is None:
            for name, stored in sorted((sets.searched_name(kept) or "", kept) for kept in names):
                if name:
                    yield from self._all_vectors(space, name, stored)
            return
        vectors: dict[str, list[tuple[int, bytes]]] = {}
        for part in chunks(rows):
            with self._reading() as db:
                stored_rows = db.execute(
                    f"SELECT row, name, vector FROM vectors WHERE row IN ({placeholders(part)}) "
                    "AND +space = ? ORDER BY row",  # `+` keeps it from another index
                    (*part, space),
                ).fetchall()
            for row, stored, blob in stored_rows:
                if (searched := sets.searched_name(stored)) is not None:
                    vectors.setdefault(searched, []).append((row, blob))
        for name in sorted(vectors):
            yield name, [row for row, _ in vectors[name]], [blob for _, blob in vectors[name]]

    def _all_vectors(
        self, space: int, name: str, stored: str
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        after = 0
        while True:
            with self._reading() as db:
                rows = db.execute(
                    "SELECT row, vector FROM vectors WHERE space = ? AND name = ? AND row > ? "
                    "ORDER BY row LIMIT ?",
                    (space, stored, after, _READ_CHUNK_ROWS),
                ).fetchall()
            if not rows:
                return
            after = rows[-1][0]
            yield name, [row for row, _ in rows], [blob for _, blob in rows]

    def links(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> list[tuple[str, str, str, float]]:
        """Links, all or from and to some ids, as (source, target, type, created_at in seconds)."""
        [links] = self.ask(lambda send: send(select_links(namespace, ids)))
        kinds = (str, str, str, float, float)
        sound = [link[:4] for link in links if all(map(isinstance, link, kinds))]
        if len(sound) < len(links):
            lost = len(links) - len(sound)
            _log.warning("%s: %d damaged links left out; see `salience doctor`", self.path, lost)
        return sound


def _all_rows(db: sqlite3.Connection, select: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement; a text that is not UTF-8 is left as bytes."""
    try:
        return db.execute(select, values).fetchall()
    except sqlite3.OperationalError as problem:
        if "utf-8" not in str(problem).lower():
            raise
        db.text_factory = _text_or_bytes
        try:
            return db.execute(select, values).fetchall()
        finally:
            db.text_factory = str


def _text_or_bytes(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _overlay(columns: Mapping[str, list[Any]], waiting: Sequence[Batch]) -> None:
    for i, (row, seq) in enumerate(zip(columns["row"], columns["seq"], strict=True)):
        stored = {name: columns[name][i] for name in ACCESSES}
        for name, value in overlay(waiting, seq, row, stored).items():
            columns[name][i] = value


def _rows_of(
    db: sqlite3.Connection, space: int, rows: Collection[int], columns: str
) -> Iterator[tuple[Any, ...]]:
    """The existing rows of a namespace, each with some columns behind its number."""
    for part in chunks(sorted(rows)):
        yield from db.execute(
            f"SELECT row, {columns} FROM memories "  # by row: `+` keeps it from the index by id
            f"WHERE +space = ? AND row IN ({placeholders(part)})",
            (space, *part),
        ).fetchall()
