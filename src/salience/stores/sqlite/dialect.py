"""The shared statements in the words of SQLite, and what is different in its tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from salience.records.fields import FIELDS
from salience.records.filters import Filter, filter_fields, passes
from salience.records.record import Embedding
from salience.stores import codec
from salience.stores.access_queue import AccessTimes, Use
from salience.stores.sqlite.row_checksums import DERIVED, Insert, checksum_of
from salience.stores.sqlite.statements import (
    checksum,
    chunks,
    column_name,
    execute_rows,
    placeholders,
    take_places,
    vector_dimensions,
)
from salience.stores.tables.commands import (
    Call,
    Command,
    Many,
    Send,
    Shared,
    Statement,
    shared,
    worded,
)
from salience.stores.tables.dialect import COLUMNS, KEYS, NewRow, lock
from salience.stores.tables.event_log import last_tombstone

CHANGES_KEPT = 200_000
"""The least number of changes kept for indexes; those further behind reload everything."""
_PATCH_MAX_ROWS = 10_000  # rows patched at once, beyond which indexes are reloaded
_VALUES_OF_MEMORIES = ("row", "sequence", *FIELDS, *DERIVED)
_values_of_memory = itemgetter(*_VALUES_OF_MEMORIES)
_INSERTS = {
    **{table: Insert(table) for table in ("spaces", *COLUMNS)},
    "memories": Insert("memories", ("space", *_VALUES_OF_MEMORIES, "derived_by")),
}
_REPLACES = {table: Insert(table, verb="REPLACE") for table in KEYS}
_TERM_BYTES = " + ".join(f"coalesce(length({column_name(name)}), 0)" for name in codec.TERMS)


class Sender:
    """Answers commands on a connection, all in its open transaction, if it has one."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __call__(self, *commands: Command) -> list[Any]:
        """The answers, one for each."""
        return [self._answer(command) for command in commands]

    def _answer(self, command: Command) -> Any:
        if isinstance(command, Call):
            return command.work(self.db)
        assert isinstance(command, Statement | Many)
        assert isinstance(command.sql, Shared)
        if isinstance(command, Statement):
            return self.db.execute(command.sql.sqlite, _values(command.parameters)).fetchall()
        return self.db.executemany(command.sql.sqlite, map(_values, command.rows))


def _values(parameters: Sequence[Any]) -> list[Any]:
    return [json.dumps(value) if type(value) is list else value for value in parameters]


def space_of(db: sqlite3.Connection, name: str) -> int:
    """The number of a namespace, 0 where there is none.

    It is looked up each time: another process may have erased the namespace and begun it again.
    """
    row = db.execute("SELECT space FROM spaces WHERE name = ?", (name,)).fetchone()
    return row[0] if row else 0


class SqliteDialect:
    """The tables of a file: rows have checksums, and changes are noted for indexes."""

    erased = ""  # its file knows

    def enter(self, namespace: str) -> Call:
        """See `Dialect.enter`."""
        return Call(partial(enter, name=namespace))

    def lock(self, namespace: str) -> Statement:
        """See `Dialect.lock`; whoever writes to the file waits anyway."""
        return lock(namespace)

    def reserve(self, namespace: str, count: int) -> Statement:
        """See `Dialect.reserve`."""
        reserve = "UPDATE spaces SET last = last + %s WHERE $own RETURNING last"
        return shared(reserve, (count, namespace))

    def advance(self, namespace: str, place: int) -> list[Command]:
        """See `Dialect.advance`."""
        advance = "UPDATE spaces SET last = max(last, %s) WHERE $own"
        return [shared(advance, (place, namespace))]

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.insert`."""
        return [Call(partial(_write, _INSERTS[table], rows))]

    def insert_memories(self, namespace: str, memories: Sequence[NewRow]) -> list[Command]:
        """See `Dialect.insert_memories`."""
        rows = [(namespace, *_values_of_memory(values), codec.deriver()) for _, values in memories]
        return self.insert("memories", rows)

    def number(
        self, heads: Mapping[str, Any], rows: Mapping[str, int], begun: Mapping[str, int],
        send: Send,
    ) -> dict[str, tuple[Iterator[int], Iterator[int] | None]]:  # fmt: skip
        """See `Dialect.number`; new memories take their sequence from the log."""
        count = sum(rows.values())
        [first] = send(Call(partial(take_numbers, count=count))) if count else [0]
        numbers = iter(range(first, first + count))
        sequences = {}
        for name in heads:
            [[[last]]] = send(self.reserve(name, begun[name])) if begun[name] else [[[0]]]
            sequences[name] = iter(range(last - begun[name] + 1, last + 1))
        return {name: (numbers, sequences[name]) for name in heads}

    def select_dimensions(self, namespace: str, names: Sequence[str] | None) -> Call:
        """See `Dialect.select_dimensions`."""
        return Call(partial(vector_dimensions, namespace=namespace, names=names))

    def replace(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.replace`."""
        return [Call(partial(_write, _REPLACES[table], rows))]

    def renew(self, table: str, where: str, keys: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.renew`."""
        renewed = f"UPDATE {table} SET checksum = {checksum_of(table)} WHERE {where}"
        return [Many(worded(renewed), keys)] if keys else []

    def set_rows(self, namespace: str, changes: Mapping[int, Mapping[str, Any]]) -> list[Command]:
        """See `Dialect.set_rows`."""
        return [Call(lambda db: set_rows(db, space_of(db, namespace), changes))]

    def note_linked(self, namespace: str, ids: Sequence[str]) -> list[Command]:
        """See `Dialect.note_linked`."""
        return [Call(partial(_note_linked, namespace, ids))]

    def select_matching(self, namespace: str, where: Filter | None, after: int, limit: int) -> Call:
        """See `Dialect.select_matching`."""
        page = "row > ? ORDER BY row LIMIT ?"
        return Call(partial(_select_passing, ("row", "id"), namespace, page, (after, limit), where))

    def select_chosen(self, namespace: str, ids: Sequence[str], where: Filter | None) -> Call:
        """See `Dialect.select_chosen`."""

        def chosen(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
            columns, of_ids = ("row", "id", "sequence"), f"id IN ({placeholders(ids)})"
            rows = _select_passing(columns, namespace, of_ids, ids, where, db)
            return [(id, row, sequence) for row, id, sequence in rows if id is not None]

        return Call(chosen)

    def count_parts(self, namespace: str, rows: Sequence[int]) -> list[Statement]:
        """See `Dialect.count_parts`."""
        of_rows = "WHERE row $any_row"
        return [
            shared(f"SELECT 'terms', sum({_TERM_BYTES}) / 8 FROM memories {of_rows}", (rows,)),
            shared(f"SELECT 'vectors', count(*) FROM vectors {of_rows}", (rows,)),
        ]

    def erase_rows(self, namespace: str, rows: Sequence[int]) -> list[Command]:
        """See `Dialect.erase_rows`."""
        return [Call(partial(erase_rows, rows=rows))]

    def erase_name(self, namespace: str) -> list[Command]:
        """See `Dialect.erase_name`."""
        return [shared("DELETE FROM spaces WHERE $own", (namespace,))]

    select_last_rows = shared("SELECT value FROM counter")

    def select_missing(self, stored_name: str, after: int | None, limit: int) -> Statement:
        """See `Dialect.select_missing`."""
        missing = (
            "SELECT spaces.name, id FROM memories JOIN spaces ON spaces.space = memories.space "
            "WHERE row > %s AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.space = "
            "memories.space AND vectors.name = %s AND vectors.row = memories.row) LIMIT %s"
        )
        return shared(missing, (after or 0, stored_name, limit))

    def lock_sets(self) -> list[Command]:
        """See `Dialect.lock_sets`; whoever writes to the file waits anyway."""
        return []

    def reload(self, namespace: str | None) -> list[Command]:
        """See `Dialect.reload`."""
        return [Call(reload_indexes)]

    def decoded(self, values: dict[str, Any]) -> dict[str, Any]:
        """See `Dialect.decoded`."""
        return values

    def vector(self, vector: Embedding) -> bytes:
        """See `Dialect.vector`."""
        return codec.encode_vector(vector)

    def embedding(self, stored: bytes) -> Embedding:
        """See `Dialect.embedding`."""
        return codec.decode_vector(stored)


DIALECT = SqliteDialect()


def _write(write: Insert, rows: Sequence[Sequence[Any]], db: sqlite3.Connection) -> None:
    """Write rows; a namespace in front of one is named by its number."""
    if write.names_namespace:
        spaces = {name: space_of(db, name) for name in {row[0] for row in rows}}
        rows = [(spaces[name], *rest) for name, *rest in rows]
    write(db, rows)


def enter(db: sqlite3.Connection, name: str) -> int:
    """The number of a namespace, a new one if it has none; numbers are never reused."""
    space = space_of(db, name)
    if space:
        return space
    space = take_numbers(db, 1)
    _INSERTS["spaces"](db, [(space, name)])
    [[[last]]] = Sender(db)(last_tombstone(name))
    if last:  # of one of that name before; its log goes on
        db.execute("UPDATE spaces SET last = ? WHERE space = ?", (last, space))
    return space


def take_numbers(db: sqlite3.Connection, count: int) -> int:
    """Take `count` new numbers; return the first."""
    [last] = db.execute("UPDATE counter SET value = value + ? RETURNING value", (count,)).fetchone()
    return int(last) - count + 1


def note_changes(db: sqlite3.Connection, kind: str, entries: Sequence[tuple[int, int]]) -> None:
    """Note changes of (space, row) entries for the indexes."""
    if not entries:
        return
    first = take_numbers(db, len(entries))
    execute_rows(
        db,
        "INSERT INTO changes VALUES {rows}",
        [(seq, space, row, kind) for seq, (space, row) in enumerate(entries, first)],
    )
    [oldest] = db.execute("SELECT min(seq) FROM changes").fetchone()
    if first - oldest > 2 * CHANGES_KEPT:  # now and then
        oldest = first - CHANGES_KEPT
        db.execute("DELETE FROM changes WHERE seq < ?", (oldest,))
        reload_indexes(db, oldest)


def reload_indexes(db: sqlite3.Connection, before: int | None = None) -> None:
    """Make indexes reload everything: all of them, or those at a change before one."""
    seq = take_numbers(db, 1) if before is None else before
    [noted] = db.execute(
        "SELECT max(CAST(value AS INTEGER)) FROM meta WHERE key = 'changes_from'"
    ).fetchone()
    write_meta(db, "changes_from", str(max(seq, noted or 0)))


def write_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    """Note something about the whole file under a key, replacing the former note."""
    _REPLACES["meta"](db, [(key, value)])


def set_rows(db: sqlite3.Connection, space: int, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Set fields by row, and note that for the indexes."""
    rows_by_fields: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row, values in changes.items():
        encoded = (codec.encode(name, value) for name, value in values.items())
        if values:
            rows_by_fields.setdefault(tuple(values), []).append((*encoded, row))
    for names, rows in rows_by_fields.items():
        assignments = ", ".join(f"{name} = ?" for name in names)
        db.executemany(f"UPDATE memories SET {assignments} WHERE row = ?", rows)
        if "metadata" in names:  # of the contents
            renew = DIALECT.renew("memories", "row = %s", [(row,) for *_, row in rows])
            Sender(db)(*renew)
    patched = [(space, row) for rows in rows_by_fields.values() for *_, row in rows]
    if len(patched) > _PATCH_MAX_ROWS:
        reload_indexes(db)
    else:
        note_changes(db, "patched", patched)


def erase_rows(db: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Erase memories with their vectors, and note that for the indexes."""
    for part in chunks(rows):
        removed = db.execute(
            f"DELETE FROM memories WHERE row IN ({placeholders(part)}) RETURNING space, row", part
        ).fetchall()
        note_changes(db, "removed", removed)


def _note_linked(namespace: str, ids: Sequence[str], db: sqlite3.Connection) -> None:
    space = space_of(db, namespace)
    for part in chunks(ids):
        rows = db.execute(
            "SELECT space, row FROM memories "
            f"WHERE space = ? AND id IN ({placeholders(part)}) ORDER BY +row",
            (space, *part),
        ).fetchall()
        note_changes(db, "linked", rows)


def _select_passing(
    columns: Sequence[str],
    namespace: str,
    condition: str,
    values: Sequence[Any],
    where: Filter | None,
    db: sqlite3.Connection,
) -> list[tuple[Any, ...]]:
    """Columns of memories; the second is None where a filter fails."""
    names = (*columns, *sorted(map(column_name, filter_fields(where))))
    memories = db.execute(
        f"SELECT {', '.join(names)} FROM memories WHERE space = ? AND {condition}",
        (space_of(db, namespace), *values),
    )

    def read(memory: tuple[Any, ...]) -> tuple[Any, ...]:
        stored = dict(zip(names, memory, strict=True))
        row, id, *rest = memory[: len(columns)]
        return row, id if passes(where, partial(codec.index_value_of, stored)) else None, *rest

    return [read(memory) for memory in memories]


# Accesses


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
