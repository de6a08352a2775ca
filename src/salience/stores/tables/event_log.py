"""The event log: events are appended, applied to memories, and read; tombstones are among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from salience.records.events import CONTINUED, Event, check_payload, replay
from salience.records.fields import CHAT_CHUNKS, CHUNK
from salience.records.record import Embedding
from salience.records.tombstones import Erasing, Tombstone, name_hash
from salience.retrieval.operations import (
    Events,
    FormerVectors,
    ImportedHistory,
    Log,
    SetFields,
)
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.tables.commands import Abandon, Command, Send, Statement, shared
from salience.stores.tables.dialect import (
    SELECT_SETS,
    Dialect,
    lock,
    parse_sets,
    payload_text,
    records_by_id,
    select_states,
    select_stored,
    states_by_id,
)

_EVENTS_AT_ONCE = 20_000  # events read while others wait for the connection
_COLUMNS = (
    "events.seq, events.type, events.memory, coalesce(first.id, later.id), events.at, "
    "events.actor, events.session, events.$payload"
)
_MEMORY_OF_EVENT = (  # most have the row that they began with, for which PostgreSQL has an index
    "LEFT JOIN memories AS first ON first.$namespace = events.$namespace "
    "AND first.$row = events.memory AND first.sequence = events.memory "
    "LEFT JOIN memories AS later ON later.$namespace = events.$namespace "
    "AND later.sequence = events.memory AND later.$row <> later.sequence"
)
LogEntry = tuple[int, Event]
"""The sequence number of a memory (0 for all), and an event of it."""


# Writing


def log(op: Log, dialect: Dialect, send: Send) -> tuple[str, ...]:
    """Append events and apply them; or do nothing and return the ids in the way."""
    keys = dict(op.keys)
    _, reserved, rows, now, *used = send(
        dialect.lock(op.namespace),
        dialect.reserve(op.namespace, len(op.events)),
        select_states(op.namespace, op.ids),
        select_stored(op.namespace, [was.id for was in op.were]),
        *([select_keys(op.namespace, keys)] if keys else ()),
    )
    states = states_by_id(rows, dialect)
    refused = tuple(keys[key] for answer in used for (key,) in answer)
    refused += op.refused_ids(states, records_by_id(op.namespace, now, dialect))
    if refused:
        raise Abandon(refused)
    write_events(op, states, reserved, dialect, send)
    return ()


def select_keys(namespace: str, keys: Iterable[str]) -> Statement:
    """Read those of some idempotency keys that an event of the namespace has."""
    return shared(
        "SELECT $key FROM events $events_by_key WHERE $own AND payload IS NOT NULL "
        "AND $key IS NOT NULL AND $key $any_text",
        (namespace, list(keys)),
    )


def write_events(
    op: Log, states: Mapping[str, dict[str, Any]], reserved: Sequence[Any], dialect: Dialect,
    send: Send,
) -> None:  # fmt: skip
    """Apply events to the states of memories, and append them at the reserved places."""
    for [last] in reserved:
        changed, entries = op.applied(states)
        send(
            *dialect.set_rows(op.namespace, changed),
            *append_events(op.namespace, last, entries, dialect),
        )


def set_fields(op: SetFields, dialect: Dialect, send: Send) -> None:
    """Set fields by id without an event."""
    _, rows = send(lock(op.namespace), select_states(op.namespace, sorted(op.values)))
    states = states_by_id(rows, dialect)
    changes = {states[id]["row"]: op.values[id] for id in states}
    send(*dialect.set_rows(op.namespace, changes))


def append_events(
    namespace: str, last: int, entries: Sequence[LogEntry], dialect: Dialect
) -> list[Command]:
    """Log events, the last of them at the place `last`."""
    first = last - len(entries) + 1
    rows = [
        _event_row(namespace, place, sequence, event)
        for place, (sequence, event) in enumerate(entries, first)
    ]
    return dialect.insert("events", rows)


def import_history(
    past: ImportedHistory, sequences: Mapping[str, int], sets: VectorSets, dialect: Dialect
) -> list[Command]:
    """Log events of another store at their places, with the vectors that edits replaced."""
    of = {event.seq: 0 if event.id is None else sequences[event.id] for event in past.events}
    events = [_event_row(past.namespace, event.seq, of[event.seq], event) for event in past.events]
    former = [
        (past.namespace, of[seq], seq, sets.stored_name(name), dialect.vector(vector))
        for seq, name, vector in past.vectors
    ]
    return [
        *dialect.insert("events", events),
        *dialect.insert("former_vectors", former),
        *dialect.advance(past.namespace, max((past.last, *of))),
    ]


def _event_row(namespace: str, seq: int, sequence: int, event: Event) -> tuple[Any, ...]:
    """The row of an event of the memory of a sequence number."""
    at = codec.encode("created_at", event.at)
    payload = payload_text(event.payload)
    return (namespace, seq, sequence, event.type, at, event.actor, event.session, payload)


# Reading


def events(op: Events, send: Send, until: int | None = None) -> list[Event]:
    """The log, oldest first, up to a place.

    It reads a whole log in pages: others need not wait long for the connection.
    """
    select, values = _selected(op, send, until)
    bound = op.first if op.last is None else op.last
    in_pages = op.ids is None and op.keys is None and bound is None
    limit = _EVENTS_AT_ONCE if in_pages else bound
    select += f" ORDER BY events.seq{' DESC' if op.last is not None else ''}"
    select += "" if limit is None else f" LIMIT {limit:d}"
    tombstones = [_select_tombstones(op)] if op.has_tombstones else []
    rows: list[Sequence[Any]] = []
    after, is_end = op.after, False
    while not is_end:
        page, *erasures = send(shared(select, (op.namespace, after, *values)), *tombstones)
        rows += page
        is_end = not in_pages or len(page) < _EVENTS_AT_ONCE
        after = page[-1][0] if page else after
    logged = [
        event_of(seq, type, id, *rest)
        for seq, type, memory, id, *rest in (reversed(rows) if op.last is not None else rows)
        if not memory or id is not None  # the others are of memories that are gone
    ]
    for rows in filter(None, erasures):
        logged = sorted([*logged, *_tombstones(rows)], key=lambda event: event.seq)
    return op.bounded(logged)


def _selected(op: Events, send: Send, until: int | None) -> tuple[str, list[Any]]:
    """The statement that selects events of a namespace after a place, and its other values."""
    by = "$events_by_memory" if op.ids is not None else "$events_by_key" if op.keys else ""
    select = f"SELECT {_COLUMNS} FROM events {by} {_MEMORY_OF_EVENT} WHERE events.$own "
    select += "AND events.seq > %s"
    values: list[Any] = []
    if until is not None:
        select += " AND events.seq <= %s"
        values.append(until)
    if op.types is not None:
        select += " AND events.type $any_text"
        values.append(list(op.types))
    if op.keys is not None:  # with the condition of the index over keys
        select += " AND events.payload IS NOT NULL AND $key IS NOT NULL AND $key $any_text"
        values.append(list(op.keys))
    if op.ids is not None:
        select_sequence = "SELECT sequence FROM memories WHERE $own AND id $any_text"
        [sequences] = send(shared(select_sequence, (op.namespace, list(op.ids))))
        select += " AND events.memory $any_row"
        values.append([0, *(sequence for (sequence,) in sequences)])
    return select, values


def event_of(
    seq: int, type: Any, id: str | None, at: float, actor: str | None, session: str | None,
    payload: str | None,
) -> Event:  # fmt: skip
    """The event of a row."""
    moment = codec.decode("created_at", at)
    if moment is None:
        raise ValueError("an event without its time")
    values = codec.decode("metadata", payload)
    if values or type in ("feedback", "link"):
        check_payload(type, values)
    return Event(type, id, moment, actor, session, values, seq)


def recounted(log: Sequence[Sequence[Any]]) -> tuple[int, bytes] | None:
    """The edits of a memory that count, and its packed accesses, by its log, oldest first.

    A row has what `event_of` takes between the place and the payload. None if the log does not
    begin with the writing of the memory or is damaged.
    """
    try:
        events = [event_of(0, type, "", *values) for type, *values in log]
        state = replay(events).get("")
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    if state is None:
        return None
    return state["write_count"], codec.encode("accesses", state["accesses"])


def unmarked_continuations(
    log: Iterable[tuple[int, str, str | None]], kind: str, content: str
) -> dict[int, str]:
    """The payloads, by place, of edits that continued a chat but lack the mark, with the mark.

    A row has the place, type and payload of an event of a memory; the oldest is the first.
    """
    if kind not in (*CHAT_CHUNKS, CHUNK):
        return {}
    noted: dict[int, str] = {}
    for seq, type, stored in sorted(log, reverse=True):
        payload = json.loads(stored or "{}") if type == "edit" else {}
        before = payload.get("was", {}).get("content")
        if isinstance(before, str):
            goes_on = content.startswith(before) and not CONTINUED.items() <= payload.items()
            if goes_on and (text := payload_text({**payload, **CONTINUED})):
                noted[seq] = text
            content = before
    return noted


def former_vectors(
    op: FormerVectors, dialect: Dialect, previews: bool, send: Send
) -> list[tuple[int, str, Embedding]]:
    """The vectors that edits replaced, each with the place of the edit in the log, and its name."""
    own = () if op.edits is None else (list(op.edits),)
    rows, stored_sets = send(
        shared(
            "SELECT event, name, vector FROM former_vectors WHERE $own "
            + ("AND event $any_number " if own else "")
            + "ORDER BY event, name",
            (op.namespace, *own),
        ),
        SELECT_SETS,
    )
    _, sets = parse_sets(stored_sets)
    sets = sets.previewed() if previews else sets
    return [
        (event, name, dialect.embedding(vector))
        for event, stored, vector in rows
        if (name := sets.searched_name(stored)) is not None
    ]


# Tombstones: who erased how many memories when, under a hash of the namespace


def _select_tombstones(op: Events) -> Statement:
    """Read the tombstones of a namespace after a place of its log, all or those of some keys."""
    keys = () if op.keys is None else (list(op.keys),)
    return shared(
        "SELECT at, actor, kind, key, body, memories, seq FROM erasures WHERE namespace = %s "
        f"AND seq > %s{' AND key $any_text' if keys else ''}",
        (name_hash(op.namespace), op.after, *keys),
    )


def _tombstones(rows: Iterable[Sequence[Any]]) -> list[Event]:
    return [
        Erasing(codec.decode("created_at", at), *how).event(memories, seq)
        for at, *how, memories, seq in rows
    ]


def tombstones(
    new: Sequence[Tombstone], namespaces: Iterable[str], dialect: Dialect, send: Send
) -> list[Tombstone]:
    """All tombstones of the store, after adding some of another; logs go on behind these."""
    select = shared(f"SELECT {', '.join(Tombstone._fields)} FROM erasures")
    [rows] = send(select)
    if new:
        stored = {(namespace, seq) for namespace, seq, *_ in rows}
        send(*dialect.insert("erasures", [each for each in new if each[:2] not in stored]))
        for name in namespaces:
            [[[last]]] = send(last_tombstone(name))
            send(*(dialect.advance(name, last) if last else ()))
        [rows] = send(select)
    return [Tombstone(*row) for row in rows]


def last_tombstone(namespace: str) -> Statement:
    """Read the place of the last tombstone of a namespace, 0 for none."""
    return shared(
        "SELECT coalesce(max(seq), 0) FROM erasures WHERE namespace = %s",
        (name_hash(namespace),),
    )


def forget_actor(namespace: str, user_id: str, dialect: Dialect, send: Send) -> None:
    """Remove the name of a user from the tombstones of a namespace."""
    hashed = name_hash(namespace)
    [renamed] = send(
        shared(
            "UPDATE erasures SET actor = NULL WHERE namespace = %s AND actor = %s RETURNING seq",
            (hashed, user_id),
        )
    )
    where = "namespace = %s AND seq = %s"
    send(*dialect.renew("erasures", where, [(hashed, seq) for (seq,) in renamed]))
