"""The log of a SQLite file: events are appended, applied to memories, and read."""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from typing import Any

from salience.records.events import Event, check_payload
from salience.records.fields import FIELDS
from salience.records.record import MemoryRecord
from salience.records.tombstones import Erasing
from salience.retrieval.erasure import Erasure
from salience.retrieval.operations import (
    WORK_NOTES,
    Events,
    ImportedHistory,
    Log,
    Note,
    RetrievedTexts,
)
from salience.stores import codec
from salience.stores.access_queue import Batch, Use
from salience.stores.sqlite.connection import translate_damage
from salience.stores.sqlite.erase import erase_empty_space
from salience.stores.sqlite.integrity.row_checksums import Insert, checksum_of
from salience.stores.sqlite.reader import ALL_NAMESPACES, Retrieved, SqliteReader
from salience.stores.sqlite.statements import chunks, execute_rows, placeholders, take_places
from salience.stores.sqlite.tombstones import last_tombstone, tombstones
from salience.stores.sqlite.vectors import vector_sets, write_meta

_JSON_ENCODER = json.JSONEncoder(ensure_ascii=False).encode
_CHANGES_KEPT = 200_000  # at least; indexes further behind reload everything
_EVENTS_AT_ONCE = 20_000  # events read while others wait for the connection
_PATCH_MAX_ROWS = 10_000  # rows patched at once, beyond which indexes are reloaded
_INSERT_EVENTS = Insert(
    "events", ("space", "seq", "memory", "type", "at", "actor", "session", "payload")
)
INSERT_FORMER_VECTORS = Insert("former_vectors", ("space", "memory", "event", "name", "vector"))
_INSERT_SPACES = Insert("spaces", ("space", "name"))
_KEPT_RETRIEVED = 64  # namespaces of which the last retrievals are kept in memory
_REPLACE_NOTES = Insert("notes", ("space", "key", "value"), "REPLACE")
Entry = tuple[int, int, Event]
"""The number of a namespace, the sequence number of a memory (0 for all), and an event."""


class SqliteLog(SqliteReader, ABC):
    """The events of `SqliteRecords`."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """One transaction."""

    @abstractmethod
    def _erase_memories(
        self,
        db: sqlite3.Connection,
        namespace: str,
        erasing: Erasing | None,
        key: str,
        values: Sequence[Any],
    ) -> Erasure:
        """Erase memories by a key, counted before and after."""

    @abstractmethod
    def _clear_log(self) -> None:
        """Empty the write-ahead log, which has text that was erased."""

    def _numbers(self, db: sqlite3.Connection, count: int) -> int:
        """Take `count` new numbers; return the first."""
        [last] = db.execute(
            "UPDATE counter SET value = value + ? RETURNING value", (count,)
        ).fetchone()
        return int(last) - count + 1

    def _note(self, db: sqlite3.Connection, kind: str, entries: Sequence[tuple[int, int]]) -> None:
        """Note changes of (space, row) entries for the indexes."""
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

    def _load_anew(self, db: sqlite3.Connection, seq: int) -> None:
        """Let indexes at a change before `seq` reload everything."""
        [noted] = db.execute(
            "SELECT max(CAST(value AS INTEGER)) FROM meta WHERE key = 'changes_from'"
        ).fetchone()
        write_meta(db, "changes_from", str(max(seq, noted or 0)))

    def _write_space(self, db: sqlite3.Connection, name: str) -> int:
        """The number of a namespace, a new one if it has none; no number is ever used twice."""
        space = self._space(db, name)
        if space:
            return space
        space = self._numbers(db, 1)
        _INSERT_SPACES(db, [(space, name)])
        last = last_tombstone(db, name)
        if last:  # of one of that name before; its log goes on
            db.execute("UPDATE spaces SET last = ? WHERE space = ?", (last, space))
        return space

    def _append(self, db: sqlite3.Connection, entries: Sequence[Entry]) -> list[int]:
        """Log events; return their places."""
        places = take_places(db, [space for space, *_ in entries])
        _INSERT_EVENTS(
            db,
            [
                _event_row(space, seq, sequence, event)
                for seq, (space, sequence, event) in zip(places, entries, strict=True)
            ],
        )
        return places

    def _log_history(self, db: sqlite3.Connection, past: ImportedHistory) -> None:
        """Log the events of another store, each at its place."""
        space = self._space(db, past.namespace)
        ids = sorted({event.id for event in past.events if event.id is not None})
        sequences: dict[str | None, int] = {None: 0}
        for part in chunks(ids):
            sequences.update(
                db.execute(
                    "SELECT id, sequence FROM memories "
                    f"WHERE space = ? AND id IN ({placeholders(part)})",
                    (space, *part),
                ).fetchall()
            )
        _INSERT_EVENTS(
            db,
            [_event_row(space, event.seq, sequences[event.id], event) for event in past.events],
        )
        by_place = {event.seq: sequences[event.id] for event in past.events}
        sets = vector_sets(db)
        INSERT_FORMER_VECTORS(
            db,
            [
                (space, by_place[seq], seq, sets.stored_name(name), codec.encode_vector(vector))
                for seq, name, vector in past.vectors
            ],
        )
        last = max(by_place, default=0)
        db.execute("UPDATE spaces SET last = max(last, ?) WHERE space = ?", (last, space))

    def rows_in_write_order(self, namespace: str) -> list[int]:
        """Rows in the order in which their memories were first written."""
        with self._reading() as db:
            cursor = db.execute(
                "SELECT row FROM memories WHERE space = ? ORDER BY sequence",
                (self._space(db, namespace),),
            )
            return [row for (row,) in cursor]

    def log(self, op: Log) -> tuple[str, ...]:
        """Append events and apply them in one transaction; or return the ids in the way."""
        self._accesses.flush()
        with self._writing() as db:
            states = self._states(db, self._space(db, op.namespace), op.ids)
            refused = op.refused_ids(states, self._those_that_were(db, op))
            if not refused:
                if op.erased and op.erasing is not None:
                    self._erase_memories(db, op.namespace, op.erasing, "id", op.erased)
                self._log_events(db, op, states)
        if op.erased and not refused:
            self._clear_log()
        return refused

    def _log_events(
        self, db: sqlite3.Connection, op: Log, states: dict[str, dict[str, Any]]
    ) -> None:
        """Append events and apply them to the states of memories by id."""
        space = self._space(db, op.namespace)
        if not space:
            return
        changed, entries = op.applied(states)
        self._set(db, space, changed)
        self._append(db, [(space, *entry) for entry in entries])

    def _those_that_were(self, db: sqlite3.Connection, op: Log) -> dict[str, MemoryRecord]:
        """The memories that events depend on as they are now, by id."""
        stored = self._values_by_id(db, op.namespace, [was.id for was in op.were])
        with translate_damage(self.path):
            return {id: codec.record_of(op.namespace, v) for id, v in stored.items()}

    def _values_by_id(
        self, db: sqlite3.Connection, namespace: str, ids: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """All stored values of memories, by id."""
        names = ("row", "sequence", *FIELDS)
        stored = {}
        for part in chunks(ids):
            cursor = db.execute(
                f"SELECT {', '.join(names)} FROM memories JOIN spaces USING (space) "
                f"WHERE name = ? AND id IN ({placeholders(part)})",
                (namespace, *part),
            )
            for row in cursor:
                values = dict(zip(names, row, strict=True))
                stored[values["id"]] = values
        return stored

    def _stored_ids(
        self, db: sqlite3.Connection, namespace: str, ids: Sequence[str] | None
    ) -> set[str]:
        """Those of some ids (all for None) that memories have."""
        space = self._space(db, namespace)
        stored: set[str] = set()
        for part in chunks(ids) if ids is not None else [()]:
            where = "" if ids is None else f" AND id IN ({placeholders(part)})"
            found = db.execute(f"SELECT id FROM memories WHERE space = ?{where}", (space, *part))
            stored.update(id for (id,) in found)
        return stored

    def notes(self, namespace: str) -> dict[str, str]:
        """The notes of a namespace, by key."""
        with self._reading() as db:
            space = self._space(db, namespace)
            cursor = db.execute("SELECT key, value FROM notes WHERE space = ?", (space,))
            return dict(cursor.fetchall())

    def note(self, op: Note) -> bool:
        """Set a note, if it is as it was; return whether it was."""
        with self._writing() as db:
            space = self._write_space(db, op.namespace)
            [value] = db.execute(
                "SELECT max(value) FROM notes WHERE space = ? AND key = ?", (space, op.key)
            ).fetchone()
            if value != op.was:
                return False
            if op.value is None:
                db.execute("DELETE FROM notes WHERE space = ? AND key = ?", (space, op.key))
                if op.key in WORK_NOTES:  # they were kept for it
                    erase_empty_space(db, space)
            else:
                _REPLACE_NOTES(db, [(space, op.key, op.value)])
        return True

    def set_fields(self, namespace: str, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Set patchable fields by id without an event."""
        self._accesses.flush()
        with self._writing() as db:
            space = self._space(db, namespace)
            states = self._states(db, space, sorted(values))
            self._set(db, space, {states[id]["row"]: values[id] for id in states})

    def _states(
        self, db: sqlite3.Connection, space: int, ids: Sequence[str] | None
    ) -> dict[str, dict[str, Any]]:
        """The fields that events may change, with `row` and `sequence`, by id (all for None)."""
        names = ("id", "row", "sequence", *codec.EVENT_FIELDS)
        select = f"SELECT {', '.join(names)} FROM memories WHERE space = ?"
        states: dict[str, dict[str, Any]] = {}
        for part in chunks(ids) if ids is not None else [()]:
            where = "" if ids is None else f" AND id IN ({placeholders(part)})"
            for values in db.execute(select + where, (space, *part)):
                stored = dict(zip(names, values, strict=True))
                with translate_damage(self.path):
                    state = codec.decode_state(stored)
                row, sequence = stored["row"], stored["sequence"]
                states[stored["id"]] = {**state, "row": row, "sequence": sequence}
        return states

    def _set(
        self, db: sqlite3.Connection, space: int, changes: Mapping[int, Mapping[str, Any]]
    ) -> None:
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
                renewed = f"UPDATE memories SET checksum = {checksum_of('memories')} WHERE row = ?"
                db.executemany(renewed, [(row,) for *_, row in rows])
        patched = [(space, row) for rows in rows_by_fields.values() for *_, row in rows]
        if len(patched) > _PATCH_MAX_ROWS:
            self._load_anew(db, self._numbers(db, 1))
        else:
            self._note(db, "patched", patched)

    def events(self, op: Events) -> list[Event]:
        """The log, oldest first; uses that wait to be written come last.

        A whole log is read in pages, so that others need not wait for the connection for long.
        """
        waiting = self._accesses.waiting(ALL_NAMESPACES)
        select, values = _event_conditions(op)
        bound = op.first if op.last is None else op.last
        in_pages = op.ids is None and op.keys is None and bound is None
        limit = _EVENTS_AT_ONCE if in_pages else bound
        order = f" ORDER BY seq{' DESC' if op.last is not None else ''}"
        order += "" if limit is None else f" LIMIT {limit:d}"
        rows: list[tuple[Any, ...]] = []
        unwritten: Sequence[Event] = ()
        told: list[Event] = []
        after, is_end = op.after, False
        while not is_end:
            page: list[tuple[Any, ...]] = []
            with self._snapshot() as db:
                space = self._space(db, op.namespace)
                for part in [None] if op.ids is None else self._sequences(db, space, op):
                    of_part = "" if part is None else f" AND memory IN ({placeholders(part)})"
                    parameters = (space, after, *values, *(part or ()))
                    page += db.execute(select + of_part + order, parameters)
                is_end = not in_pages or len(page) < _EVENTS_AT_ONCE
                if is_end and op.has_tombstones:
                    told = tombstones(db, op.namespace, op.after)
                if is_end and op.keys is None and op.waiting:
                    unwritten = self._unwritten(db, space, op, waiting)
            rows += page
            after = page[-1][0] if page else after
        with translate_damage(self.path):
            rows.sort(key=itemgetter(0))
            events = [
                _event_of(seq, type_, id, *rest)
                for seq, type_, memory, id, *rest in rows
                if not memory or id  # the others are of memories that are gone
            ]
        if told:
            events = sorted([*events, *told], key=lambda event: event.seq)
        events += unwritten
        return op.bounded(events)

    def retrieved_texts(self, op: RetrievedTexts) -> dict[str, str]:
        """The texts that searches have returned since a time, by id (see `RetrievedTexts`)."""
        waiting, since = self._accesses.waiting(ALL_NAMESPACES), op.since.timestamp()
        with self._snapshot() as db:
            space = self._space(db, op.namespace)
            known = self._last_retrieved(db, space, op.last)
            recent = {memory for _, at, memory in known.uses if at >= since}
            for part in chunks([*recent - known.memories.keys()]):
                select = f"sequence IN ({placeholders(part)})"
                for sequence, *memory in db.execute(
                    f"SELECT sequence, row, id, content FROM memories WHERE space = ? AND {select}",
                    (space, *part),
                ):
                    known.memories[sequence] = tuple(memory)
            texts = dict(known.memories[each][1:] for each in recent & known.memories.keys())
            rows = {
                row
                for rows, at, type_, *_ in self._waiting_uses(db, waiting)
                if type_ == "retrieval" and at >= since
                for row in rows
            }
            texts.update(each[1:] for each in _rows_of(db, space, rows, "id, content"))
        return texts

    def _last_retrieved(self, db: sqlite3.Connection, space: int, events: int) -> Retrieved:
        """The retrievals among the last events of a namespace; only what is new is read.

        The memories are those read before that are there as they were.
        """
        known = self._retrieved.pop(space, None) or Retrieved()
        changes = self._changes(db, space, known.change)
        if changes.reload:
            known = Retrieved()
        [last] = db.execute("SELECT max(last) FROM spaces WHERE space = ?", (space,)).fetchone()
        first = (last or 0) - events
        known.uses = [use for use in known.uses if use[0] > first]
        known.uses += db.execute(
            "SELECT seq, at, memory FROM events WHERE space = ? AND seq > ? AND type = 'retrieval'",
            (space, max(first, known.event)),
        )
        used, gone = {memory for *_, memory in known.uses}, set(changes.removed)
        known.memories = {
            memory: values
            for memory, values in known.memories.items()
            if memory in used and values[0] not in gone
        }
        known.change, known.event = changes.seq, last or 0
        self._retrieved[space] = known
        if len(self._retrieved) > _KEPT_RETRIEVED:
            del self._retrieved[next(iter(self._retrieved))]
        return known

    def _unwritten(
        self, db: sqlite3.Connection, space: int, op: Events, waiting: Sequence[Batch]
    ) -> list[Event]:
        """Uses that wait to be written, as events at the places that they would get now.

        To write them first would let a read wait for other processes, or fail on a full disk.
        """
        uses = self._waiting_uses(db, waiting)
        if not uses:
            return []
        first = db.execute("SELECT last + 1 FROM spaces WHERE space = ?", (space,)).fetchone()
        ids = dict(_rows_of(db, space, {row for rows, *_ in uses for row in rows}, "id"))
        used = [(ids[row], use) for use in uses for row in use[0] if row in ids]
        return [
            _event_of(place, type_, id, at, actor, session, None)
            for place, (id, (_, at, type_, actor, session)) in enumerate(used, *(first or ()))
            if place > op.after
            and (op.ids is None or id in op.ids)
            and (op.types is None or type_ in op.types)
        ]

    @staticmethod
    def _waiting_uses(db: sqlite3.Connection, waiting: Sequence[Batch]) -> list[Use]:
        """The uses that the records lack."""
        if not waiting:
            return []
        [seq] = db.execute("SELECT value FROM counter").fetchone()
        return [use for batch in waiting if batch.waits(seq) for use in tuple(batch.uses)]

    def _sequences(self, db: sqlite3.Connection, space: int, op: Events) -> Iterable[Sequence[int]]:
        """The sequence numbers of the memories of `op.ids`, and 0 for events of all memories."""
        sequences = [0]
        for part in chunks(op.ids or ()):
            sequences += [
                sequence
                for (sequence,) in db.execute(
                    "SELECT sequence FROM memories "
                    f"WHERE space = ? AND id IN ({placeholders(part)})",
                    (space, *part),
                )
            ]
        return chunks(sequences)

    def former_vectors(self, namespace: str) -> list[tuple[int, str, bytes]]:
        """Vectors that edits replaced, as (the edit's place in the log, name, float16 bytes)."""
        with self._snapshot() as db:
            sets = self._sets(db)
            former = db.execute(
                "SELECT event, name, vector FROM former_vectors WHERE space = ? "
                "ORDER BY event, name",
                (self._space(db, namespace),),
            ).fetchall()
        return [
            (event, name, blob)
            for event, stored, blob in former
            if (name := sets.searched_name(stored)) is not None
        ]


def _rows_of(
    db: sqlite3.Connection, space: int, rows: Collection[int], columns: str
) -> Iterator[tuple[Any, ...]]:
    """The rows of a namespace that are there, each with some columns behind its number."""
    for part in chunks(sorted(rows)):
        yield from db.execute(
            f"SELECT row, {columns} FROM memories "  # by row: `+` keeps it from the index by id
            f"WHERE +space = ? AND row IN ({placeholders(part)})",
            (space, *part),
        ).fetchall()


def _event_conditions(op: Events) -> tuple[str, list[Any]]:
    """The statement that selects events of a namespace after a place, and its other values."""
    select = (
        "SELECT seq, type, memory, memories.id, at, actor, session, payload FROM events "
        "LEFT JOIN memories ON memories.space = events.space AND sequence = memory "
        "WHERE events.space = ? AND seq > ?"
    )
    values: list[Any] = []
    for column, allowed in (
        ("type", op.types),
        ("json_extract(payload, '$.key')", op.keys),
    ):
        if allowed is not None:
            select += f" AND {column} IN ({placeholders(allowed)})"
            values += allowed
    if op.keys is not None:  # the condition of the index over keys
        select += " AND payload IS NOT NULL AND json_extract(payload, '$.key') IS NOT NULL"
    return select, values


def _event_row(space: int, seq: int, sequence: int, event: Event) -> tuple[Any, ...]:
    """The row of an event of the memory of a sequence number."""
    payload = _JSON_ENCODER(event.payload) if event.payload else None
    at = codec.encode("created_at", event.at)
    return (space, seq, sequence, event.type, at, event.actor, event.session, payload)


def _event_of(
    seq: int, type_: Any, id: str | None, at: float, actor: str | None, session: str | None,
    payload: str | None,
) -> Event:  # fmt: skip
    moment = codec.decode("created_at", at)
    if moment is None:
        raise ValueError("an event without its time")
    values = codec.decode("metadata", payload)
    if values or type_ in ("feedback", "link"):
        check_payload(type_, values)
    return Event(type_, id, moment, actor, session, values, seq)
