"""Parts of a write to a SQLite file: rows of memories, accesses, the choice of what is erased."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from salience.lazily import dataclass, field
from salience.records.fields import FIELDS
from salience.records.filters import Filter, filter_fields, passes
from salience.records.record import Draft
from salience.retrieval.operations import Put
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.access_queue import AccessTimes, Use
from salience.stores.sqlite.dialect import (
    SqliteDialect,
    erase_rows,
    note_changes,
    take_numbers,
)
from salience.stores.sqlite.integrity.row_checksums import DERIVED, Insert
from salience.stores.sqlite.statements import (
    checksum,
    chunks,
    column_name,
    execute_rows,
    placeholders,
    take_places,
)
from salience.stores.sqlite.vectors import vector_dimensions, vector_sets, vectors_by_row
from salience.stores.tables.commands import Call, Command, Send, Statement
from salience.stores.tables.erase import ErasedMemory
from salience.stores.tables.put import NamespaceBatch, PreparedDrafts

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


class AccessedMemory(NamedTuple):
    """The place of an accessed memory."""

    space: int
    sequence: int


def update_accesses(
    db: sqlite3.Connection, accesses: Mapping[int, AccessTimes]
) -> dict[int, AccessedMemory]:
    """Count accesses in, by row; return the memories that are there."""
    stored: list[tuple[int, int, int, bytes | None]] = []
    for part in chunks(sorted(accesses)):
        stored += db.execute(
            "SELECT row, space, sequence, accesses FROM memories "
            f"WHERE row IN ({placeholders(part)}) ORDER BY row",
            part,
        ).fetchall()
    changes = []
    for row, _, _, times_before in stored:
        count, times = accesses[row]
        changes.append((row, count, times[0], codec.add_accesses(times_before, times)))
    execute_rows(
        db,
        "WITH new (row, count, last, accesses) AS (VALUES {rows}) UPDATE memories SET "
        "access_count = access_count + new.count, accesses = new.accesses, "
        "last_accessed = max(coalesce(last_accessed, new.last), new.last) "
        "FROM new WHERE memories.row = new.row",
        changes,
    )
    return {row: AccessedMemory(space, sequence) for row, space, sequence, _ in stored}


def log_uses(
    db: sqlite3.Connection, uses: Sequence[Use], memories: Mapping[int, AccessedMemory]
) -> None:
    """Log uses of memories that are there."""
    events = [
        (memories[row], type_, at, actor, session)
        for rows, at, type_, actor, session in uses
        for row in rows
        if row in memories
    ]
    places = take_places(db, [memory.space for memory, *_ in events])
    execute_rows(
        db,
        "INSERT INTO events (space, seq, memory, type, at, actor, session, checksum) VALUES {rows}",
        [
            (*row, checksum(*row))
            for row in (
                (memory.space, seq, memory.sequence, *event)
                for seq, (memory, *event) in zip(places, events, strict=True)
            )
        ],
    )


_MEMORY_COLUMNS = ("row", "space", "sequence", *FIELDS, *DERIVED)
_INSERT_MEMORIES = Insert("memories", _MEMORY_COLUMNS)
_INSERT_VECTORS = Insert("vectors", ("space", "name", "row", "vector"))
_INSERT_FORMER_VECTORS = Insert("former_vectors", ("space", "memory", "event", "name", "vector"))


@dataclass(eq=False)
class SqliteBatch(NamespaceBatch):
    """The rows of a write to one namespace of a file."""

    space: int = 0
    memories: list[list[Any]] = field(default_factory=list)
    vectors: list[tuple[Any, ...]] = field(default_factory=list)
    moved_vectors: list[tuple[int, str, int]] = field(default_factory=list)
    """Old row, name, new row."""
    former_vectors: list[tuple[int, int, str, int]] = field(default_factory=list)
    """Old row, sequence of the memory, name, index of the event."""

    def add(
        self, draft: Draft, values: dict[str, Any], handed: Sequence[str], lost: Sequence[str]
    ) -> None:
        """See `NamespaceBatch.add`."""
        row, before = values["row"], self.replaced.get(draft.record.id)
        if before is not None:
            at, of = len(self.log_entries), (before["row"], before["sequence"])
            self.moved_vectors += [(of[0], name, row) for name in handed]
            self.former_vectors += [(*of, name, at) for name in lost]
        values.update(space=self.space)
        self.memories.append([values[name] for name in _MEMORY_COLUMNS])
        self.vectors += [
            (self.space, self.sets.stored_name(name), row, codec.encode_vector(vector))
            for name, vector in draft.vectors.items()
        ]

    def commands(self, last: int) -> list[Command]:
        """See `NamespaceBatch.commands`."""
        return [Call(partial(self._write, last - len(self.log_entries) + 1))]

    def _write(self, first: int, db: sqlite3.Connection) -> None:
        """Write the rows; `first` is the place of the first event."""
        old_rows = [values["row"] for values in self.replaced.values()]
        old = vectors_by_row(db, old_rows)
        erase_rows(db, old_rows)
        moved = [(self.space, name, new, old[row][name]) for row, name, new in self.moved_vectors]
        _INSERT_MEMORIES(db, self.memories)
        _INSERT_VECTORS(db, [*self.vectors, *moved])
        _INSERT_FORMER_VECTORS(
            db,
            [
                (self.space, memory, first + at, name, old[row][name])
                for row, memory, name, at in self.former_vectors
            ],
        )


class _PutDialect(SqliteDialect):
    """See `tables.put.PutDialect`."""

    def begin(self, op: Put) -> list[Command]:
        return []

    def enter_changing(self, namespace: str) -> Call:
        return self.enter(namespace)

    def select_vectors(self, namespace: str, ids: Sequence[str]) -> Statement:
        return Statement(
            "SELECT vectors.row, name FROM memories JOIN vectors ON vectors.row = memories.row "
            "WHERE memories.namespace = %s AND id = ANY(%s::text[])",
            (namespace, list(ids)),
        )

    def select_dimensions(self, namespace: str, names: Sequence[str]) -> Call:
        def dimensions(db: sqlite3.Connection) -> list[tuple[str, int]]:
            sets = vector_sets(db)
            found = vector_dimensions(db, namespace, names, sets)
            return [(sets.stored_name(name), size) for name, size in found.items()]

        return Call(dimensions)

    def batch(self, namespace: str, head: int, sets: VectorSets) -> SqliteBatch:
        return SqliteBatch(namespace, sets, space=head)

    def number(
        self, prepared: PreparedDrafts, batches: Mapping[str, SqliteBatch], send: Send
    ) -> None:
        [first] = send(Call(partial(take_numbers, count=len(prepared)))) if prepared else [0]
        rows = iter(range(first, first + len(prepared)))
        drafts = Counter(draft.record.namespace for draft, _ in prepared)
        for name, batch in batches.items():
            new = drafts[name] - len(batch.replaced)
            [[[last]]] = send(self.reserve(name, new)) if new else [[[0]]]
            batch.rows, batch.sequences = rows, iter(range(last - new + 1, last + 1))

    def note_links(self, op: Put, batches: Mapping[str, SqliteBatch]) -> list[Command]:
        sources: dict[str, dict[str, None]] = {}
        for link in (*op.unlinks, *op.links):
            sources.setdefault(link.namespace, {})[link.source] = None
        return [
            Call(partial(_note_linked, batches[name].space, list(ids)))
            for name, ids in sources.items()
        ]


PUT_DIALECT = _PutDialect()


def _note_linked(space: int, ids: Sequence[str], db: sqlite3.Connection) -> None:
    """Note memories for the indexes, whose links have come or gone."""
    for part in chunks(ids):
        rows = db.execute(
            "SELECT space, row FROM memories "
            f"WHERE space = ? AND id IN ({placeholders(part)}) ORDER BY +row",
            (space, *part),
        ).fetchall()
        note_changes(db, "linked", rows)


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
