"""The event log: appending events, and applying them to memories."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from salience.records.events import Event
from salience.records.fields import FIELDS
from salience.records.record import ACCESSES_KEPT, MemoryRecord
from salience.retrieval import operations
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.access_queue import Batch
from salience.stores.postgres.sql.columns import WHOLE_NUMBERS, codec_values
from salience.stores.postgres.wire.commands import (
    Abandon,
    Command,
    Copy,
    Many,
    Send,
    Statement,
)
from salience.stores.postgres.wire.types import float_list, vector_matrix
from salience.stores.postgres.write.tombstones import select_tombstones, tombstones

_INSERT_MAX_ROWS = 24
_MEMORY_OF_EVENT = (  # most have the row that they began with, for which there is an index
    'LEFT JOIN memories AS first ON first.namespace = e.namespace AND first."row" = e.memory '
    "AND first.sequence = e.memory LEFT JOIN memories AS later ON later.namespace = e.namespace "
    'AND later.sequence = e.memory AND later."row" <> later.sequence'
)
_EVENT_COLUMNS = {
    "namespace": "text",
    "seq": "int8",
    "memory": "int4",
    "type": "text",
    "at": "float8",
    "actor": "text",
    "session": "text",
    "payload": "text",
}
# Of a namespace that was erased meanwhile nothing is written, not even its name.
_ADVANCE_CLOCK = (
    "INSERT INTO clocks AS c (namespace, seq) SELECT namespace, %s FROM spaces WHERE namespace = %s"
    " ON CONFLICT (namespace) DO UPDATE SET seq = c.seq + excluded.seq RETURNING seq"
)
_LOCK_NAMESPACE = (
    "INSERT INTO spaces (namespace, counter, version, born) VALUES (%s, 0, %s, %s) ON CONFLICT "
    "(namespace) DO UPDATE SET version = spaces.version + %s RETURNING counter, version"
)
STORED_COLUMNS = ("row", "sequence", *FIELDS)
"""The columns read of a memory that is replaced, or has to be as it was."""
_COLUMN_TYPES = {"text": "text", "number": "float8", "time": "float8", "json": "text"}


LogEntry = tuple[int, Event]
"""The sequence number of a memory (0 for all), and an event of it."""


def lock_namespace(namespace: str, *, changes: bool = True) -> Statement:
    """Lock a namespace, a new one if it is not there; the answer is its counter and version.

    Other writes to it wait, so that it is read as they leave it. The version stays if nothing
    `changes` for which an index has to be updated. The first version is a time, so
    that a namespace that was erased and comes again has none of its former versions.
    """
    born = time.time_ns() // 1_000
    return Statement(_LOCK_NAMESPACE, (namespace, born, born, int(changes)))


def advance_clock(namespace: str, count: int) -> Statement:
    """Reserve the next numbers of the log; the answer is the last of them, none if it is gone."""
    return Statement(_ADVANCE_CLOCK, (count, namespace))


def append_events(namespace: str, last: int, entries: Sequence[LogEntry]) -> list[Command]:
    """Log events, the last of them under the number `last`."""
    rows = [
        _event_row(namespace, last - len(entries) + 1 + at, sequence, event)
        for at, (sequence, event) in enumerate(entries)
    ]
    if not rows:
        return []
    if len(rows) > _INSERT_MAX_ROWS:
        return [Copy("events", tuple(_EVENT_COLUMNS), tuple(_EVENT_COLUMNS.values()), rows)]
    marks = ", ".join(
        "%s::json" if n == "payload" else f"%s::{k}" for n, k in _EVENT_COLUMNS.items()
    )
    return [Many(f"INSERT INTO events ({', '.join(_EVENT_COLUMNS)}) VALUES ({marks})", rows)]


def import_history(
    past: operations.ImportedHistory, sequences: Mapping[str, int], sets: VectorSets
) -> list[Command]:
    """Log events of another store under their numbers, with the vectors that edits replaced."""
    of = {event.seq: 0 if event.id is None else sequences[event.id] for event in past.events}
    commands: list[Command] = []
    if past.events:
        rows = [
            _event_row(past.namespace, event.seq, of[event.seq], event) for event in past.events
        ]
        commands.append(Copy("events", tuple(_EVENT_COLUMNS), tuple(_EVENT_COLUMNS.values()), rows))
        commands.append(
            Statement(
                "UPDATE clocks SET seq = greatest(seq, %s) WHERE namespace = %s",
                (max(of), past.namespace),
            )
        )
    if past.vectors:
        names = ("namespace", "memory", "event", "name", "vector")
        former = [
            (past.namespace, of[seq], seq, sets.stored_name(name), v)
            for seq, name, v in past.vectors
        ]
        kinds = ("text", "int4", "int8", "text", "halfvec")
        commands.append(Copy("former_vectors", names, kinds, former))
    return commands


def _event_row(namespace: str, seq: int, sequence: int, event: Event) -> tuple[Any, ...]:
    """The row of an event of the memory with a sequence number."""
    at = codec.encode("created_at", event.at)
    payload = payload_text(event.payload)
    return (namespace, seq, sequence, event.type, at, event.actor, event.session, payload)


def payload_text(payload: Mapping[str, Any]) -> str | None:
    """The payload of an event as stored."""
    return json.dumps(payload, ensure_ascii=False, default=dict) if payload else None


def lock_state(namespace: str, ids: Sequence[str] | None) -> Statement:
    """Read and lock the fields of memories (all for None) that events may change."""
    names = ", ".join("metadata::text" if n == "metadata" else n for n in codec.EVENT_FIELDS)
    where = "" if ids is None else " AND id = ANY(%s::text[])"
    return Statement(
        f'SELECT id, "row", sequence, {names} FROM memories WHERE namespace = %s{where} '
        'ORDER BY "row" FOR UPDATE',
        (namespace,) if ids is None else (namespace, list(ids)),
    )


def select_stored(namespace: str, ids: Sequence[str], *, lock: bool = False) -> Statement:
    """Read all stored values of memories, and lock them if told."""
    columns = ", ".join(
        "metadata::text" if name == "metadata" else f'"{name}"' for name in STORED_COLUMNS
    )
    return Statement(
        f"SELECT {columns} FROM memories WHERE namespace = %s AND id = ANY(%s::text[]) "
        'ORDER BY "row"' + (" FOR UPDATE" if lock else ""),
        (namespace, list(ids)),
    )


def stored_by_id(rows: Iterable[Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """The rows that `select_stored` has read, by id."""
    stored = [dict(zip(STORED_COLUMNS, values, strict=True)) for values in rows]
    return {values["id"]: values for values in stored}


def select_those_that_were(op: operations.Log) -> Statement:
    """Read the memories that events depend on; nobody else writes while the namespace is locked."""
    return select_stored(op.namespace, [was.id for was in op.were])


def records_by_id(namespace: str, rows: Iterable[Sequence[Any]]) -> dict[str, MemoryRecord]:
    """The memories that `select_stored` has read, by id."""
    return {
        id: codec.record_of(namespace, codec_values(values))
        for id, values in stored_by_id(rows).items()
    }


def states_by_id(rows: Iterable[Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """The memories that `lock_state` has read, by id."""
    states = {}
    for id, row, sequence, *values in rows:
        stored = dict(zip(codec.EVENT_FIELDS, values, strict=True))
        stored["accesses"] = codec.pack_times(float_list(stored["accesses"]))
        stored.update((name, int(stored[name])) for name in WHOLE_NUMBERS)
        states[id] = {**codec.decode_state(stored), "row": row, "sequence": sequence}
    return states


def set_rows(namespace: str, changes: Mapping[int, Mapping[str, Any]]) -> list[Command]:
    """Set fields by row; rows with the same fields share a statement."""
    rows_by_fields: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row, values in changes.items():
        if values:
            stored = [_stored_value(name, value) for name, value in values.items()]
            rows_by_fields.setdefault(tuple(values), []).append((*stored, row))
    commands: list[Command] = []
    for names, rows in rows_by_fields.items():
        if "accesses" in names or len(rows) <= _INSERT_MAX_ROWS:
            assignments = ", ".join(f"{name} = %s::{_column_type(name)}" for name in names)
            commands.append(
                Many(
                    f"UPDATE memories SET {assignments} WHERE namespace = %s "
                    'AND "row" = %s::integer',
                    [(*values, namespace, row) for *values, row in rows],
                )
            )
            continue
        columns = list(zip(*rows, strict=True))
        arrays = ", ".join(f"%s::{_COLUMN_TYPES[FIELDS[name].type]}[]" for name in names)
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


def _column_type(name: str) -> str:
    if name == "metadata":
        return "json"
    return "float8[]" if name == "accesses" else _COLUMN_TYPES[FIELDS[name].type]


def _stored_value(name: str, value: Any) -> Any:
    stored = codec.encode(name, value)
    return list(codec.unpack_times(stored)) if name == "accesses" else stored


def log(op: operations.Log, send: Send) -> tuple[str, ...]:
    """Append events and apply them; or nothing, and the ids that are not there."""
    _, [[last]], rows, now = send(
        lock_namespace(op.namespace, changes=False),
        advance_clock(op.namespace, len(op.events)),
        lock_state(op.namespace, op.ids),
        select_those_that_were(op),
    )
    states = states_by_id(rows)
    refused = op.refused_ids(states, records_by_id(op.namespace, now))
    if refused:
        raise Abandon(refused)
    changed, entries = op.applied(states)
    send(*set_rows(op.namespace, changed), *append_events(op.namespace, last, entries))
    return ()


def set_fields(op: operations.SetFields, send: Send) -> None:
    """Set fields by id without an event."""
    name = op.namespace
    lock = "UPDATE spaces SET version = version + 1 WHERE namespace = %s RETURNING version"
    [version, rows] = send(Statement(lock, (name,)), lock_state(name, sorted(op.values)))
    if not version:
        raise Abandon(None)
    states = states_by_id(rows)
    changed = [state["row"] for state in states.values()]
    send(
        *set_rows(name, {states[id]["row"]: op.values[id] for id in states}),
        Statement(  # replicas read these rows again
            'UPDATE places SET version = %s WHERE namespace = %s AND "row" = ANY(%s::integer[])',
            (version[0][0], name, changed),
        ),
    )


def write_accesses(batches: Mapping[str, Batch], send: Send) -> None:
    """Count accesses by namespace."""
    commands: list[Command] = []
    for namespace, batch in sorted(batches.items()):
        uses = [(row, type, at, *who) for rows, at, type, *who in batch.uses for row in rows]
        rows, types, times, actors, sessions = map(list, zip(*uses, strict=True))
        commands += [
            advance_clock(namespace, len(uses)),
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
                f"INSERT INTO events ({', '.join(_EVENT_COLUMNS)}) "
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


def events(op: operations.Events, send: Send) -> list[Event]:
    """The log, oldest first."""
    clauses, values = ["e.namespace = %s", "e.seq > %s"], [op.namespace, op.after]
    if op.types is not None:
        clauses.append("e.type = ANY(%s::text[])")
        values.append(list(op.types))
    if op.keys is not None:
        clauses.append("e.payload ->> 'key' = ANY(%s::text[])")
        values.append(list(op.keys))
    if op.ids is not None:
        clauses.append(
            "(e.memory = 0 OR e.memory = ANY(ARRAY(SELECT sequence FROM memories "
            "WHERE namespace = %s AND id = ANY(%s::text[]))))"
        )
        values += [op.namespace, list(op.ids)]
    bound = op.first if op.last is None else op.last
    way = "DESC" if op.first is None else "ASC"
    limit = "" if bound is None else f" LIMIT {bound:d}"
    rows, *told = send(
        Statement(
            "SELECT e.seq, e.type, e.memory, coalesce(first.id, later.id), e.at, e.actor, "
            f"e.session, e.payload::text FROM events e {_MEMORY_OF_EVENT} "
            f"WHERE {' AND '.join(clauses)} ORDER BY e.seq {way}{limit}",
            values,
        ),
        *([select_tombstones(op)] if op.has_tombstones else ()),
    )
    logged = [
        Event(
            type,
            id,
            codec.decode("created_at", at),
            actor,
            session,
            json.loads(payload) if payload else {},
            seq,
        )
        for seq, type, memory, id, at, actor, session, payload in (
            reversed(rows) if op.first is None else rows
        )
        if not memory or id is not None
    ]
    if not told or not told[0]:
        return logged
    return op.bounded(sorted([*logged, *tombstones(told[0])], key=lambda event: event.seq))


def retrieved_texts(op: operations.RetrievedTexts, send: Send) -> dict[str, str]:
    """The texts that searches have returned since a time, by id."""
    [rows] = send(
        Statement(
            "SELECT DISTINCT coalesce(first.id, later.id), coalesce(first.content, later.content) "
            "FROM (SELECT * FROM events WHERE namespace = %s ORDER BY seq DESC LIMIT %s) AS e "
            f"{_MEMORY_OF_EVENT} WHERE e.type = 'retrieval' AND e.at >= %s",
            (op.namespace, op.last, op.since.timestamp()),
        )
    )
    return {id: text for id, text in rows if id is not None}


def former_vectors(op: operations.FormerVectors, send: Send) -> list[Any]:
    """The vectors that edits replaced."""
    rows, sets = send(
        Statement(
            "SELECT event, name, vector FROM former_vectors WHERE namespace = %s "
            "ORDER BY event, name",
            (op.namespace,),
        ),
        Statement("SELECT value FROM meta WHERE key = 'vectors'"),
    )
    searched_name = VectorSets.from_json(sets[0][0] if sets else None).searched_name
    return [
        (event, name, vector_matrix([vector])[0])
        for event, stored, vector in rows
        if (name := searched_name(stored)) is not None
    ]


def change_nothing(send: Send) -> None:
    """Begin a change, which no replica takes, and leave everything as it is."""
    change = Statement("UPDATE meta SET value = value WHERE false RETURNING 1")
    send(Statement("SELECT pg_current_xact_id()"), change)


def notes(op: operations.Notes, send: Send) -> dict[str, str]:
    """The notes of a namespace by key."""
    [rows] = send(Statement("SELECT key, value FROM notes WHERE namespace = %s", (op.namespace,)))
    return dict(rows)


def note(op: operations.Note, send: Send) -> bool:
    """Set a note if its value is still the one expected; True if it was set."""
    where = (op.namespace, op.key)
    lock = [] if op.value is None else [lock_namespace(op.namespace, changes=False)]
    select = "SELECT value FROM notes WHERE namespace = %s AND key = %s FOR UPDATE"
    *_, found = send(*lock, Statement(select, where))
    if op.was != (found[0][0] if found else None):
        raise Abandon(False)
    change = Statement("DELETE FROM notes WHERE namespace = %s AND key = %s", where)
    if op.value is not None:
        change = Statement(
            "INSERT INTO notes (namespace, key, value) VALUES (%s, %s, %s) "
            "ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value",
            (*where, op.value),
        )
    send(change)
    return True
