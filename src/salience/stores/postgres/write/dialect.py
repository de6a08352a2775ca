"""The tables of PostgreSQL, and writes of events and accesses to them."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from salience.records.fields import FIELDS
from salience.records.filters import Filter
from salience.records.record import ACCESSES_KEPT, Embedding, MemoryRecord
from salience.stores import codec
from salience.stores.access_queue import Batch
from salience.stores.postgres.sql.columns import (
    DERIVED,
    TERMS,
    VERSION,
    WHOLE_NUMBERS,
    codec_values,
    names_of,
    terms_of,
)
from salience.stores.postgres.sql.filters import compile_filter
from salience.stores.postgres.sql.vectors import select_dimensions
from salience.stores.postgres.wire.types import vector_matrix
from salience.stores.tables.commands import Command, Copy, Many, Send, Statement
from salience.stores.tables.dialect import COLUMNS, KEYS, NewRow
from salience.stores.tables.event_log import last_tombstone

_INSERT_MAX_ROWS = 24  # up to so many, rows share a round trip instead of going by COPY
_COLUMN_TYPES = {
    "text": "text",
    "number": "float8",
    "time": "float8",
    "list": "text[]",
    "times": "float8[]",
    "json": "text",
}
_OTHER_TYPES = {
    **dict.fromkeys(("row", "memory", "memories"), "int4"),
    **dict.fromkeys(("seq", "event"), "int8"),
    **dict.fromkeys(("at", "weight", "created_at"), "float8"),
    "vector": "halfvec",
    "ids": "bytea",
}
"""The types of columns that are not texts."""
_COLUMNS: dict[str, dict[str, str]] = {
    "memories": {
        "namespace": "text",
        "row": "int4",
        "sequence": "int4",
        **{name: _COLUMN_TYPES[field.type] for name, field in FIELDS.items()},
        **DERIVED,
    },
    "words": {"namespace": "text", "row": "int4", **dict.fromkeys(TERMS, "bytea")},
    **{
        table: {name: _OTHER_TYPES.get(name, "text") for name in names}
        for table, names in COLUMNS.items()
    },
}
"""The columns of the tables that rows are written to, with their types."""
# Of a namespace that was erased meanwhile nothing is written, not even its name.
_ADVANCE_CLOCK = (
    "INSERT INTO clocks AS c (namespace, seq) SELECT namespace, %s FROM spaces WHERE namespace = %s"
    " ON CONFLICT (namespace) DO UPDATE SET seq = c.seq + excluded.seq RETURNING seq"
)
_LOCK_NAMESPACE = (
    f"INSERT INTO spaces (namespace, counter, {VERSION}, changes_from) VALUES (%s, 0, %s, %s) "
    "ON CONFLICT (namespace) DO UPDATE SET counter = spaces.counter RETURNING counter"
)
_RAISE_VERSION = f"UPDATE spaces SET {VERSION} = {VERSION} + 1 WHERE namespace = %s"
_CHANGES_KEPT = 10_000  # versions of a namespace; replicas further behind are loaded again
_PATCH_MAX_ROWS = 10_000  # rows patched at once, beyond which replicas are loaded again
_CLEANUP_SHARE = 0.01  # of the changes clear away old ones
RELOAD_REPLICAS = (
    f"UPDATE spaces SET {VERSION} = {VERSION} + 1, changes_from = {VERSION} + 1 "
    f"WHERE namespace = %s RETURNING {VERSION}"
)
"""Makes replicas of a namespace load it again; the answer is empty if it does not exist."""

DELETED = (
    "The rows are deleted, and no statement finds them. PostgreSQL overwrites their bytes only "
    "some time after VACUUM has freed their room, which it does by itself sooner or later; "
    "rewrite=True, for the owner of the tables, rewrites them at once. The write-ahead log, the "
    "replicas and the backups of the server have the bytes for as long as they are kept."
)
_TERM_BYTES = " + ".join(
    f"coalesce(octet_length({name.removeprefix('terms.')}), 0)" for name in codec.TERMS
)
_OF_ROWS = '"row" = ANY(%s::integer[])'
NAMESPACE_TABLES = (
    "memories", "words", "vectors", "links", "former_vectors", "notes", "events",
)  # fmt: skip
"""The tables that have rows of a namespace beside its name, its counters and its changes."""
ALL_TABLES = (*NAMESPACE_TABLES, "changes", "indexes", "clocks", "attempts", "spaces")


class PostgresDialect:
    """The tables of a database, in which `spaces` is locked and `clocks` has the places of logs."""

    erased = DELETED

    def enter(self, namespace: str) -> Statement:
        """See `Dialect.enter`."""
        return lock_namespace(namespace)

    def lock(self, namespace: str) -> Statement:
        """See `Dialect.lock`."""
        return self.enter(namespace)

    def reserve(self, namespace: str, count: int) -> Statement:
        """See `Dialect.reserve`."""
        return Statement(_ADVANCE_CLOCK, (count, namespace))

    def advance(self, namespace: str, place: int) -> list[Command]:
        """See `Dialect.advance`."""
        advance = (
            "INSERT INTO clocks AS c (namespace, seq) VALUES (%s, %s) "
            "ON CONFLICT (namespace) DO UPDATE SET seq = greatest(c.seq, excluded.seq)"
        )
        return [Statement(advance, (namespace, place))]

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.insert`."""
        columns = _COLUMNS[table]
        if len(rows) > _INSERT_MAX_ROWS:
            return [Copy(table, tuple(columns), tuple(columns.values()), rows)]
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join(
            "%s::json" if name in ("metadata", "payload") else f"%s::{kind}"
            for name, kind in columns.items()
        )
        return [Many(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)] if rows else []

    def insert_memories(self, namespace: str, memories: Sequence[NewRow]) -> list[Command]:
        """See `Dialect.insert_memories`."""
        columns, terms = zip(*(_rows_of(namespace, *memory) for memory in memories), strict=True)
        count = (
            "UPDATE spaces SET counter = counter + %s, living = living + %s WHERE namespace = %s"
        )
        return [
            *self.insert("memories", columns),
            *self.insert("words", terms),
            Statement(count, (len(memories), len(memories), namespace)),
        ]

    def number(
        self, heads: Mapping[str, Any], rows: Mapping[str, int], begun: Mapping[str, int],
        send: Send,
    ) -> dict[str, tuple[Iterator[int], Iterator[int] | None]]:  # fmt: skip
        """See `Dialect.number`; the log of a new namespace goes on behind its tombstones."""
        for name in [name for name, [[counter]] in heads.items() if not counter]:
            [[[last]]] = send(last_tombstone(name))
            send(*(self.advance(name, last) if last else ()))
        return {name: (itertools.count(counter + 1), None) for name, [[counter]] in heads.items()}

    def select_dimensions(self, namespace: str, names: Sequence[str] | None) -> Statement:
        """See `Dialect.select_dimensions`."""
        return select_dimensions(namespace, names)

    def replace(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.replace`."""
        columns, keys = [f'"{name}"' for name in COLUMNS[table]], KEYS[table]
        marks = ", ".join(["%s"] * len(columns))
        values = ", ".join(f"{name} = excluded.{name}" for name in columns[keys:])
        write = (
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) "
            f"ON CONFLICT ({', '.join(columns[:keys])}) DO UPDATE SET {values}"
        )
        return [Many(write, rows)] if rows else []

    def renew(self, table: str, where: str, keys: Sequence[Sequence[Any]]) -> list[Command]:
        """See `Dialect.renew`."""
        return []

    def set_rows(self, namespace: str, changes: Mapping[int, Mapping[str, Any]]) -> list[Command]:
        """See `Dialect.set_rows`."""
        commands = _set_rows(namespace, changes)
        return [*commands, *note_changes(namespace, "patched", [*changes])] if commands else []

    def note_linked(self, namespace: str, ids: Sequence[str]) -> list[Command]:
        """See `Dialect.note_linked`."""
        of_ids = 'SELECT "row" FROM memories WHERE namespace = %s AND id = ANY(%s::text[])'
        return note_changes(namespace, "linked", Statement(of_ids, (namespace, ids)))

    def select_matching(
        self, namespace: str, where: Filter | None, after: int, limit: int
    ) -> Statement:
        """See `Dialect.select_matching`."""
        condition = compile_filter(where, "m")
        return Statement(
            'SELECT m."row", m.id FROM memories m WHERE m.namespace = %s AND m."row" > %s '
            f'AND {condition.sql} ORDER BY m."row" LIMIT %s',
            (namespace, after, *condition.parameters, limit),
        )

    def select_chosen(self, namespace: str, ids: Sequence[str], where: Filter | None) -> Statement:
        """See `Dialect.select_chosen`; one that another process changes is looked at again."""
        condition = compile_filter(where, "m")
        return Statement(
            'SELECT m.id, m."row", m.sequence FROM memories m WHERE m.namespace = %s '
            f'AND {condition.sql} AND m.id = ANY(%s::text[]) ORDER BY m."row" FOR UPDATE',
            (namespace, *condition.parameters, list(ids)),
        )

    def count_parts(self, namespace: str, rows: Sequence[int]) -> list[Statement]:
        """See `Dialect.count_parts`."""
        return [
            Statement(
                f"SELECT 'terms', sum({_TERM_BYTES})::bigint / 8 FROM words "
                f"WHERE namespace = %s AND {_OF_ROWS}",
                (namespace, rows),
            ),
            Statement(
                f"SELECT 'vectors', count(*) FROM vectors WHERE namespace = %s AND {_OF_ROWS}",
                (namespace, rows),
            ),
        ]

    def erase_rows(self, namespace: str, rows: Sequence[int]) -> list[Command]:
        """See `Dialect.erase_rows`."""
        parameters = (namespace, rows)
        return [
            Statement(
                "UPDATE spaces SET living = living - %s WHERE namespace = %s",
                (len(rows), namespace),
            ),
            *(
                Statement(f"DELETE FROM {table} WHERE namespace = %s AND {_OF_ROWS}", parameters)
                for table in ("memories", "words", "vectors")
            ),
            *note_changes(namespace, "removed", rows),
        ]

    def erase_name(self, namespace: str) -> list[Command]:
        """See `Dialect.erase_name`."""
        return [
            Statement(f"DELETE FROM {table} WHERE namespace = %s", (namespace,))
            for table in ALL_TABLES
        ]

    select_last_rows = Statement("SELECT json_object_agg(namespace, counter)::text FROM spaces")

    def select_missing(self, stored_name: str, after: str | None, limit: int) -> Statement:
        """See `Dialect.select_missing`."""
        return Statement(
            "SELECT m.namespace, m.id FROM spaces s JOIN memories m ON m.namespace = s.namespace "
            'AND m."row" > coalesce((%s::json ->> s.namespace)::integer, 0) WHERE NOT EXISTS '
            "(SELECT FROM vectors v WHERE v.namespace = m.namespace AND v.name = %s "
            'AND v."row" = m."row") LIMIT %s',
            (after or "{}", stored_name, limit),
        )

    def lock_sets(self) -> list[Command]:
        """See `Dialect.lock_sets`; whoever locks a row of the table waits, on every node."""
        return [Statement("LOCK TABLE spaces IN EXCLUSIVE MODE")]

    def reload(self, namespace: str | None) -> list[Command]:
        """See `Dialect.reload`; replicas see themselves what is searched after a cut-over."""
        return [Statement(RELOAD_REPLICAS, (namespace,))] if namespace is not None else []

    def decoded(self, values: dict[str, Any]) -> dict[str, Any]:
        """See `Dialect.decoded`."""
        return codec_values(values)

    def vector(self, vector: Embedding) -> Embedding:
        """See `Dialect.vector`."""
        return vector

    def embedding(self, stored: bytes) -> Embedding:
        """See `Dialect.embedding`."""
        return vector_matrix([stored])[0]


DIALECT = PostgresDialect()


def lock_namespace(namespace: str) -> Statement:
    """Lock a namespace, a new one if it does not exist; the answer is its counter.

    Other writes to it wait, and it is read as they leave it. The first version is a time: a
    namespace that comes again after its erasure has none of its former versions.
    """
    born = time.time_ns() // 1_000
    return Statement(_LOCK_NAMESPACE, (namespace, born, born))


def _rows_of(
    namespace: str, record: MemoryRecord, values: dict[str, Any]
) -> tuple[list[Any], list[Any]]:
    """The rows of a memory in `memories` and in `words`."""
    stored = {
        **values,
        "namespace": namespace,
        "tags": list(record.tags) or None,
        "entities": list(record.entities) or None,
        "accesses": list(codec.unpack_times(values["accesses"])),
        **names_of(record),
        **{name: float(values[name]) for name in WHOLE_NUMBERS},
    }
    terms = [namespace, values["row"], *terms_of(values)]
    return [stored[name] for name in _COLUMNS["memories"]], terms


def note_changes(namespace: str, kind: str, rows: Sequence[int] | Statement) -> list[Command]:
    """Note changes of rows, as the next version of a namespace, for replicas of it."""
    if not isinstance(rows, Statement):
        if len(rows) > _PATCH_MAX_ROWS and kind == "patched":
            return [Statement(RELOAD_REPLICAS, (namespace,))]
        rows = Statement("SELECT unnest(%s::integer[])", (list(rows),))
    note = (
        f'INSERT INTO changes SELECT s.namespace, s.{VERSION}, own."row", %s FROM spaces s, '
        f'({rows.sql}) AS own ("row") WHERE s.namespace = %s'
    )
    commands: list[Command] = [
        Statement(_RAISE_VERSION, (namespace,)),
        Statement(note, (kind, *rows.parameters, namespace)),
    ]
    if random.random() < _CLEANUP_SHARE:
        of_old = f"seq <= (SELECT {VERSION} - %s FROM spaces WHERE namespace = %s)"
        kept = (namespace, _CHANGES_KEPT, namespace)
        commands += [
            Statement(
                "UPDATE spaces SET changes_from = greatest(changes_from, (SELECT max(seq) FROM "
                f"changes WHERE namespace = %s AND {of_old})) WHERE namespace = %s",
                (*kept, namespace),
            ),
            Statement(f"DELETE FROM changes WHERE namespace = %s AND {of_old}", kept),
        ]
    return commands


def _set_rows(namespace: str, changes: Mapping[int, Mapping[str, Any]]) -> list[Command]:
    """Set fields by row; rows with the same fields share a statement."""
    rows_by_fields: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row, values in changes.items():
        if values:
            stored = [_stored_value(name, value) for name, value in values.items()]
            rows_by_fields.setdefault(tuple(values), []).append((*stored, row))
    commands: list[Command] = []
    for names, rows in rows_by_fields.items():
        if "accesses" in names or len(rows) <= _INSERT_MAX_ROWS:
            assignments = ", ".join(f"{name} = %s::{_type(name)}" for name in names)
            commands.append(
                Many(
                    f"UPDATE memories SET {assignments} WHERE namespace = %s "
                    'AND "row" = %s::integer',
                    [(*values, namespace, row) for *values, row in rows],
                )
            )
            continue
        columns = list(zip(*rows, strict=True))
        arrays = ", ".join(f"%s::{_COLUMNS['memories'][name]}[]" for name in names)
        assignments = ", ".join(
            f"{name} = u.{name}" + ("::json" if name == "metadata" else "") for name in names
        )
        commands.append(
            Statement(
                f"UPDATE memories AS m SET {assignments} FROM unnest({arrays}, %s::integer[]) "
                f'AS u({", ".join(names)}, "row") WHERE m.namespace = %s AND m."row" = u."row"',
                (*map(list, columns), namespace),
            )
        )
    return commands


def _type(name: str) -> str:
    return "json" if name == "metadata" else _COLUMNS["memories"][name]


def _stored_value(name: str, value: Any) -> Any:
    stored = codec.encode(name, value)
    return list(codec.unpack_times(stored)) if name == "accesses" else stored


def write_accesses(batches: Mapping[str, Batch], send: Send) -> None:
    """Count accesses by namespace."""
    commands: list[Command] = []
    for namespace, batch in sorted(batches.items()):
        uses = [(row, type, at, *who) for rows, at, type, *who in batch.uses for row in rows]
        rows, types, times, actors, sessions = map(list, zip(*uses, strict=True))
        commands += [
            DIALECT.reserve(namespace, len(uses)),
            Statement(
                "UPDATE memories AS m SET access_count = access_count + u.number, last_accessed = "
                "greatest(last_accessed, u.latest), accesses = ARRAY(SELECT at FROM "
                "unnest(m.accesses || u.times) AS at ORDER BY at DESC "
                f"LIMIT {ACCESSES_KEPT}) FROM (SELECT "
                '"row", count(*) AS number, max(at) AS latest, array_agg(at) AS times FROM '
                'unnest(%s::integer[], %s::float8[]) AS used("row", at) GROUP BY "row") AS u '
                'WHERE m.namespace = %s AND m."row" = u."row"',
                (rows, times, namespace),
            ),
            Statement(
                f"INSERT INTO events ({', '.join(_COLUMNS['events'])}) "
                "SELECT m.namespace, c.seq - %s::integer + u.place, m.sequence, u.type, u.at, "
                "u.actor, u.session, NULL FROM clocks c CROSS JOIN unnest("
                "%s::integer[], %s::text[], %s::float8[], %s::text[], %s::text[]) WITH ORDINALITY "
                'AS u("row", type, at, actor, session, place) JOIN memories m ON m.namespace = '
                'c.namespace AND m."row" = u."row" WHERE c.namespace = %s',
                (len(uses), rows, types, times, actors, sessions, namespace),
            ),
        ]
    answers = send(*commands)
    # From here on the write may be committed; until then readers overlay these accesses.
    for (_, batch), clock in zip(sorted(batches.items()), answers[::3], strict=True):
        if clock:
            batch.seq = clock[0][0]


def change_nothing(send: Send) -> None:
    """Begin a change that no replica reads, and leave everything as it is."""
    change = Statement("UPDATE meta SET value = value WHERE false RETURNING 1")
    send(Statement("SELECT pg_current_xact_id()"), change)
