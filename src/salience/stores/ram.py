"""Records in this process's memory: the executable specification of what a store keeps."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from salience.errors import InvalidInput
from salience.language.passages import is_vector_name
from salience.records.access_key import AccessKey, oldest_first
from salience.records.events import (
    Event,
    apply_with_previous,
    edit_event,
    link_event,
    names_user,
    other_memory,
    unlink_event,
    without_mention,
    without_user,
    write_event,
)
from salience.records.filters import Filter, passes
from salience.records.record import Draft, Edit, Link, MemoryRecord
from salience.retrieval.erasure import IN_MEMORY, Erasure, checked
from salience.retrieval.operations import (
    HASH_COLUMNS,
    OWNER_FIELDS,
    WORK_NOTES,
    BackUp,
    CheckStore,
    Events,
    HashColumn,
    ImportedHistory,
    Log,
    Note,
    Order,
    Place,
    Put,
    Seen,
    Touch,
    UseKey,
)
from salience.retrieval.safety import Backup, Finding
from salience.retrieval.vector_sets import VectorSets, VectorSetsFigures
from salience.stores import codec
from salience.stores.index.change_feed import Changes, IndexVersion

_LinkKey = tuple[str, str, str, str]  # namespace, source, target, type
_READ_CHUNK_ROWS = 65_536
_LAST_ROW = math.inf  # after every row of a place


class _Links:
    """Links, found by either end."""

    def __init__(self) -> None:
        self._by_key: dict[_LinkKey, Link] = {}
        self._keys_of: dict[tuple[str, str], set[_LinkKey]] = {}  # by namespace and memory

    def count(self, namespaces: Sequence[str]) -> int:
        """The number of links in some namespaces (all for ())."""
        if not namespaces:
            return len(self._by_key)
        return sum(key[0] in namespaces for key in self._by_key)

    def add(self, link: Link) -> None:
        """Add a link, in the place of one of its type between the same two."""
        key = (link.namespace, link.source, link.target, link.type)
        self._by_key[key] = link
        for end in (link.source, link.target):
            self._keys_of.setdefault((link.namespace, end), set()).add(key)

    def remove(self, link: Link) -> bool:
        """Remove a link; return whether it was there."""
        key = (link.namespace, link.source, link.target, link.type)
        if self._by_key.pop(key, None) is None:
            return False
        for end in {link.source, link.target}:
            keys = self._keys_of[link.namespace, end]
            keys.discard(key)
            if not keys:
                del self._keys_of[link.namespace, end]
        return True

    def of(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories (all for None), by source, target and type."""
        if ids is None:
            keys = {key for key in self._by_key if key[0] == namespace}
        else:
            keys = {key for id in ids for key in self._keys_of.get((namespace, id), ())}
        return [self._by_key[key] for key in sorted(keys)]


def _without_user(event: Event, user_id: str) -> Event:
    """An event without a user who did it, or owned its memory before it."""
    if not names_user(event.payload, event.actor, user_id):
        return event
    actor = None if event.actor == user_id else event.actor
    return replace(event, actor=actor, payload=without_user(event.payload, user_id))


class RamRecords:
    """Dictionaries of stored values; gone with the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._seq = 0  # numbers rows and changes alike
        self._memories: dict[str, dict[int, dict[str, Any]]] = {}
        self._rows: dict[str, dict[str, int]] = {}
        self._vectors: dict[int, dict[str, bytes]] = {}
        self._vector_counts: dict[str, dict[str, tuple[int, int]]] = {}  # (length, number) by name
        self._links = _Links()
        self._changes: dict[str, list[tuple[int, str, int]]] = {}
        self._last: Counter[str] = Counter()  # numbers the memories and events of a namespace
        self._events: dict[str, dict[int, list[Event]]] = {}  # by sequence number, 0 for all
        self._mentions: dict[tuple[str, str], set[int]] = {}  # sequences, by the memory they name
        # Vectors by namespace and place of the edit that replaced them; imports may share a place.
        self._former: dict[tuple[str, int], dict[str, bytes]] = {}
        self._notes: dict[str, dict[str, str]] = {}
        self._keys: dict[str, AccessKey] = {}
        self._hashes: dict[tuple[str, HashColumn], dict[int, set[int]]] = {}  # rows by hash
        self._places: dict[str, list[tuple[float, int, int]]] = {}  # sorted, with the rows
        self._embedder: str | None = None
        self._sets = VectorSets()
        self._reload_before = 0  # indexes at an earlier change have to load everything anew

    def version(self) -> IndexVersion:
        """The state of the records; indexes have to read every change."""
        return IndexVersion(self._seq, self._seq)

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        return self._embedder

    def flush(self) -> None:
        """Do nothing: nothing is ever queued."""

    def close(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]

    def put(self, op: Put) -> tuple[str, ...]:
        """Write everything; or nothing, and return the conflicting ids."""
        with self._lock:
            conflicts = codec.conflicting_ids(op, self._stored(op.drafts), self._used_keys(op))
            refused = conflicts or self._unseen_ids(op.seen)
            if op.also is not None and not refused:
                refused = op.refused_events(*self._state_of(op.also))
            if refused:
                return refused
            codec.check_vectors(op, self._embedder, self.dimensions)
            for draft in op.drafts:
                self._put(draft, op)
            if op.also is not None:
                self._log_events(op.also)
            self._unlink(op)
            self._link(op)
            if op.past is not None:
                self._log_history(op.past)
            if op.embedder and self._embedder is None and any(d.vectors for d in op.drafts):
                self._embedder = op.embedder
            return ()

    def dimensions(self, namespace: str, names: Iterable[str]) -> dict[str, int]:
        """The length of the vectors of these names, of those that there are."""
        counts = self._vector_counts.get(namespace, {})
        stored = {name: counts.get(self._sets.stored_name(name), (0, 0)) for name in names}
        return {name: length for name, (length, number) in stored.items() if number}

    def _count_vectors(self, namespace: str, row: int, change: int) -> None:
        counts = self._vector_counts.setdefault(namespace, {})
        for name, blob in self._vectors[row].items():
            _, count = counts.get(name, (0, 0))
            counts[name] = (len(blob) // 2, count + change)

    def _stored(self, drafts: Sequence[Draft]) -> dict[tuple[str, str], dict[str, Any]]:
        """The stored values of memories that have the drafts' ids, by namespace and id."""
        keys = [(draft.record.namespace, draft.record.id) for draft in drafts]
        return {
            (namespace, id): self._memories[namespace][self._rows[namespace][id]]
            for namespace, id in keys
            if id in self._rows.get(namespace, {})
        }

    def _used_keys(self, op: Put) -> set[tuple[str, str]]:
        """The idempotency keys of a write that events have already, with their namespaces."""
        keys = {(namespace, key) for namespace, key, _ in op.keys}
        return {(name, key) for name, key in keys if self.events(Events(name, keys=(key,)))}

    def _unseen_ids(self, seen: Seen | None) -> tuple[str, ...]:
        """The ids of memories that say the same, and were written since that was looked at."""
        if seen is None:
            return ()
        memories = self._memories.get(seen.namespace, {})
        return seen.unseen_ids(
            [
                (memories[row]["id"], row, (key, *(memories[row][name] for name in OWNER_FIELDS)))
                for key, rows in self.rows_by_key(seen.namespace, column, keys).items()
                for row in rows
                if row > after
            ]
            for column, keys, after in seen.lookups()
        )

    def _put(self, draft: Draft, op: Put) -> None:
        namespace, id = draft.record.namespace, draft.record.id
        values = codec.encode_draft(draft)
        rows = self._rows.setdefault(namespace, {})
        memories = self._memories.setdefault(namespace, {})
        old = rows.get(id)
        self._seq += 1
        row = values["row"] = self._seq
        vectors: dict[str, bytes] = {}
        if old is not None:
            before = memories[old]
            values["sequence"] = before["sequence"]
            values.update(codec.succession(values, before))
            old_vectors = self._vectors[old]
            assert isinstance(draft, Edit)
            staying, replaced = codec.split_vectors(draft, old_vectors, self._sets)
            vectors = {name: old_vectors[name] for name in staying}
            event = edit_event(
                codec.record_of(namespace, before),
                draft,
                op.actor,
                draft.vectors.keys() - {self._sets.searched_name(name) for name in old_vectors},
            )
            place = self._append(namespace, values["sequence"], event)
            self._former[namespace, place] = {name: old_vectors[name] for name in replaced}
            self._drop(namespace, old)
        else:
            values["sequence"] = self._place(namespace)
            if op.past is None:
                self._append(namespace, values["sequence"], write_event(draft, op.actor))
        rows[id] = row
        memories[row] = values
        self._places.pop(namespace, None)
        for column in HASH_COLUMNS:
            if values[column] is not None:
                rows_by_hash = self._hashes.setdefault((namespace, column), {})
                rows_by_hash.setdefault(values[column], set()).add(row)
        vectors.update(
            (self._sets.stored_name(n), codec.encode_vector(v)) for n, v in draft.vectors.items()
        )
        self._vectors[row] = vectors
        self._count_vectors(namespace, row, +1)

    def _drop(self, namespace: str, row: int) -> None:
        memory = self._memories[namespace].pop(row)
        self._places.pop(namespace, None)
        for column in HASH_COLUMNS:
            if memory[column] is not None:
                self._hashes[namespace, column][memory[column]].discard(row)
        del self._rows[namespace][memory["id"]]
        self._count_vectors(namespace, row, -1)
        del self._vectors[row]
        self._note(namespace, "removed", row)

    def _note(self, namespace: str, kind: str, row: int) -> None:
        self._seq += 1
        self._changes.setdefault(namespace, []).append((self._seq, kind, row))

    def _append(self, namespace: str, sequence: int, event: Event) -> int:
        """Log an event of the memory of a sequence number; return its place in the log."""
        place = self._place(namespace)
        self._enter(namespace, sequence, replace(event, seq=place))
        return place

    def _place(self, namespace: str) -> int:
        """The next number of a namespace."""
        self._last[namespace] += 1
        return self._last[namespace]

    def _enter(self, namespace: str, sequence: int, event: Event) -> None:
        """Enter an event in the log, and in the index of events that name another memory."""
        self._events.setdefault(namespace, {}).setdefault(sequence, []).append(event)
        other = other_memory(event.payload)
        if other is not None:
            self._mentions.setdefault((namespace, other), set()).add(sequence)

    def _log_history(self, past: ImportedHistory) -> None:
        """Log the events of another store, each at its place."""
        rows = self._rows.get(past.namespace, {})
        memories = self._memories.get(past.namespace, {})
        for event in past.events:
            sequence = 0 if event.id is None else memories[rows[event.id]]["sequence"]
            self._enter(past.namespace, sequence, event)
            self._last[past.namespace] = max(self._last[past.namespace], event.seq)
        for seq, name, vector in past.vectors:
            former = self._former.setdefault((past.namespace, seq), {})
            former[self._sets.stored_name(name)] = codec.encode_vector(vector)

    def _link(self, op: Put) -> None:
        for link in op.links:
            self._links.add(link)
        events = [(link.namespace, link_event(link, op.actor, op.at)) for link in op.links]
        self._note_linked(events, logged=op.past is None)

    def _unlink(self, op: Put) -> None:
        removed = [link for link in op.unlinks if self._links.remove(link)]
        self._note_linked(
            [(link.namespace, unlink_event(link, op.actor, op.at)) for link in removed]
        )

    def _note_linked(self, events: Iterable[tuple[str, Event]], logged: bool = True) -> None:
        """Log events of links, and note them for the index of the namespace."""
        for namespace, event in events:
            row = self._rows.get(namespace, {}).get(event.id or "")
            if row is not None:
                if logged:
                    self._append(namespace, self._memories[namespace][row]["sequence"], event)
                self._note(namespace, "linked", row)

    def log(self, op: Log) -> tuple[str, ...]:
        """Append events and apply them; or do nothing, and return the ids in the way."""
        with self._lock:
            refused = op.refused_ids(*self._state_of(op))
            if not refused:
                if op.erased:
                    self.delete(op.namespace, ids=op.erased)
                self._log_events(op)
            return refused

    def _state_of(self, op: Log) -> tuple[Collection[str], dict[str, MemoryRecord]]:
        """The ids of a namespace, and the memories that events depend on as they are now."""
        rows, memories = self._rows.get(op.namespace, {}), self._memories.get(op.namespace, {})
        ids = [was.id for was in op.were if was.id in rows]
        return rows, {id: codec.record_of(op.namespace, memories[rows[id]]) for id in ids}

    def _log_events(self, op: Log) -> None:
        """Append events and apply them."""
        namespace = op.namespace
        rows, memories = self._rows.get(namespace, {}), self._memories.get(namespace, {})
        for event in op.events:
            entry = event
            for row in list(memories) if event.id is None else [rows[event.id]]:
                changes, entry = apply_with_previous(codec.decode_state(memories[row]), event)
                self._set(namespace, row, changes)
            sequence = 0 if event.id is None else memories[rows[event.id]]["sequence"]
            self._append(namespace, sequence, entry)

    def _set(self, namespace: str, row: int, values: Mapping[str, Any]) -> None:
        if values:
            encoded = {name: codec.encode(name, value) for name, value in values.items()}
            self._memories[namespace][row].update(encoded)
            self._note(namespace, "patched", row)

    def set_fields(self, namespace: str, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Set patchable fields by id without an event."""
        with self._lock:
            for id, row in self.rows_by_id(namespace, list(values)).items():
                self._set(namespace, row, values[id])

    def events(self, op: Events) -> list[Event]:
        """The log, oldest first."""
        with self._lock:
            by_memory = self._events.get(op.namespace, {})
            if op.ids is not None:
                rows = self.rows_by_id(op.namespace, op.ids).values()
                memories = self._memories.get(op.namespace, {})
                chosen = {0, *(memories[row]["sequence"] for row in rows)}
                by_memory = {s: entries for s, entries in by_memory.items() if s in chosen}
            events = [
                event
                for event in chain(*by_memory.values())
                if event.seq > op.after
                and (op.types is None or event.type in op.types)
                and (op.keys is None or event.payload.get("key") in op.keys)
            ]
        events.sort(key=lambda event: event.seq)
        return op.bounded(events)

    def former_vectors(self, namespace: str) -> list[tuple[int, str, bytes]]:
        """Vectors that edits replaced, as (the edit's place in the log, name, float16 bytes)."""
        with self._lock:
            return [
                (event.seq, name, blob)
                for event in chain(*self._events.get(namespace, {}).values())
                for stored, blob in self._former.get((namespace, event.seq), {}).items()
                if (name := self._sets.searched_name(stored)) is not None
            ]

    def touch(self, op: Touch) -> bool:
        """Count a use of each row."""
        with self._lock:
            for row in op.rows.tolist():
                for namespace, memories in self._memories.items():
                    if row in memories:
                        memory = memories[row]
                        event = Event(op.type, memory["id"], op.at, op.actor, op.session)
                        self.log(Log(namespace, (event,)))
        return True

    def delete(
        self,
        namespace: str,
        *,
        rows: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        where: Filter | None = None,
        user_id: str | None = None,
    ) -> Erasure:
        """Erase memories with all they have, and the name of a user; count it before and after."""
        with self._lock:
            memories = self._memories.get(namespace, {})
            everything = rows is None and ids is None
            if ids is not None:
                rows = list(self.rows_by_id(namespace, ids).values())
            erased = {
                memories[row]["id"]: row
                for row in (list(memories) if rows is None else rows)
                if row in memories and passes(where, partial(codec.index_value_of, memories[row]))
            }
            sequences = {memories[row]["sequence"] for row in erased.values()}
            is_last = everything or (bool(erased) and len(erased) == len(memories))
            kept = () if everything else WORK_NOTES if is_last else None
            count = partial(self._count, namespace, erased, sequences, kept, user_id)
            before = count()
            self._erase_events(namespace, erased.keys(), sequences, user_id)
            for row in erased.values():
                self._drop(namespace, row)
            for link in self._links.of(namespace, sorted(erased)):
                self._links.remove(link)
            if kept is not None:
                self._erase_namespace(namespace, kept)
            return checked(before, count(), IN_MEMORY)

    def rewrite(self) -> str:
        """Do nothing: what is erased is in no place."""
        return IN_MEMORY

    def refuse_damage(self, problem: Exception) -> None:
        """Do nothing: there is no file."""

    def _count(
        self,
        namespace: str,
        erased: Mapping[str, int],
        sequences: Set[int],
        kept: Sequence[str] | None,
        user_id: str | None,
    ) -> dict[str, int]:
        """The rows of each kind that are of some memories, by id, or name them or a user.

        Unless the notes that are `kept` are None, those of the whole namespace are among them.
        """
        memories, log = self._memories.get(namespace, {}), self._events.get(namespace, {})
        rows = self._rows.get(namespace, {})
        here = [memories[row] for row in erased.values() if row in memories]
        events = [event for sequence in sequences for event in log.get(sequence, ())]
        of_all = () if kept is None else log.get(0, ())
        others = {s for id in erased for s in self._mentions.get((namespace, id), ())} - sequences
        mentions = [e for s in others for e in log.get(s, ()) if other_memory(e.payload) in erased]
        if user_id is not None:
            rest = chain(*(own for sequence, own in log.items() if sequence not in sequences))
            mentions += [e for e in rest if names_user(e.payload, e.actor, user_id)]
        notes = () if kept is None else self._notes.get(namespace, {}).keys() - {*kept}
        return {
            "memories": sum(id in rows or row in memories for id, row in erased.items()),
            "terms": sum(map(codec.term_count, here)),
            "vectors": sum(len(self._vectors.get(row, ())) for row in erased.values()),
            "former_vectors": sum(len(self._former.get((namespace, e.seq), ())) for e in events),
            "links": len(self._links.of(namespace, sorted(erased))),
            "events": len(events) + len(of_all),
            "idempotency_keys": sum("key" in event.payload for event in events),
            "mentions": len({event.seq for event in mentions}),
            "notes": len(notes),
        }

    def _erase_events(
        self, namespace: str, ids: Set[str], sequences: Set[int], user_id: str | None
    ) -> None:
        """Erase the events of memories, and what names these or a user in the events of others."""
        log = self._events.get(namespace, {})
        for sequence in sequences:
            for event in log.pop(sequence, ()):
                self._former.pop((namespace, event.seq), None)
        for id in ids:
            for sequence in self._mentions.pop((namespace, id), ()):
                log.get(sequence, [])[:] = [
                    event
                    if other_memory(event.payload) != id
                    else replace(event, payload=without_mention(event.payload))
                    for event in log.get(sequence, ())
                    if event.type != "link" or other_memory(event.payload) != id
                ]
        if user_id is not None:
            for events in log.values():
                events[:] = [_without_user(event, user_id) for event in events]
            for row, memory in self._memories.get(namespace, {}).items():
                if memory["written_by"] == user_id:
                    self._set(namespace, row, {"written_by": None})

    def _erase_namespace(self, namespace: str, kept: Sequence[str]) -> None:
        """Erase what an emptied namespace has left, except for some notes."""
        self._events.get(namespace, {}).pop(0, None)  # the events of all memories
        notes = self._notes.pop(namespace, {})
        busy = {key: note for key, note in notes.items() if key in kept}
        if busy:
            self._notes[namespace] = busy
        elif not self._memories.get(namespace):
            self._last.pop(namespace, None)

    def rows_by_key(
        self, namespace: str, column: HashColumn, keys: Sequence[int]
    ) -> dict[int, tuple[int, ...]]:
        """Rows by a hash of their text, outside of any session, or of the attribute they state."""
        rows = self._hashes.get((namespace, column), {})
        return {key: tuple(sorted(rows[key])) for key in keys if rows.get(key)}

    def rows_in_write_order(self, namespace: str) -> list[int]:
        """Rows in the order in which their memories were first written."""
        memories = self._memories.get(namespace, {})
        return sorted(memories, key=lambda row: memories[row]["sequence"])

    def page(
        self, namespace: str, order: Order, after: Place | None, limit: int
    ) -> list[tuple[MemoryRecord, Place]]:
        """The first memories after a place, in an order."""
        with self._lock:
            memories = self._memories.get(namespace, {})
            places = self._places.get(namespace)
            if places is None:
                keys = ((m["created_at"], m["sequence"], row) for row, m in memories.items())
                places = self._places[namespace] = sorted(keys)
            if order == "oldest":
                start = 0 if after is None else bisect_right(places, (*after, _LAST_ROW))
                chosen = places[start : start + limit]
            else:
                end = len(places) if after is None else bisect_left(places, (*after, 0))
                chosen = places[max(0, end - limit) : end][::-1]
            return [
                (codec.record_of(namespace, memories[row]), Place(created, sequence))
                for created, sequence, row in chosen
            ]

    def count(self, namespace: str) -> int:
        """The number of memories."""
        return len(self._memories.get(namespace, ()))

    def rows_by_id(self, namespace: str, ids: Sequence[str]) -> dict[str, int]:
        """Rows by id."""
        rows = self._rows.get(namespace, {})
        return {id: rows[id] for id in ids if id in rows}

    def read(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Records by row."""
        records: dict[int, MemoryRecord] = {}
        with self._lock:
            for row in rows:
                for namespace, memories in self._memories.items():
                    if row in memories:
                        records[row] = codec.record_of(namespace, memories[row])
        return records

    def links_of(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories (all for None), by source, target and type."""
        with self._lock:
            return self._links.of(namespace, ids)

    def edges(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> list[tuple[str, str, float, str]]:
        """Links as (source, target, weight, type), of the same memories in the same order."""
        return [
            (link.source, link.target, link.weight, link.type)
            for link in self.links_of(namespace, ids)
        ]

    def notes(self, namespace: str) -> dict[str, str]:
        """The notes of a namespace, by key."""
        with self._lock:
            return dict(self._notes.get(namespace, {}))

    def note(self, op: Note) -> bool:
        """Set a note, if it is as it was; return whether it was."""
        with self._lock:
            notes = self._notes.setdefault(op.namespace, {})
            if notes.get(op.key) != op.was:
                return False
            if op.value is None:
                notes.pop(op.key, None)
                if op.key in WORK_NOTES and not self._memories.get(op.namespace):
                    self._erase_namespace(op.namespace, WORK_NOTES)  # it was kept for it
            else:
                notes[op.key] = op.value
            return True

    def keys(self, ids: Sequence[str] | None) -> list[AccessKey]:
        """Access keys, all or of some ids, oldest first."""
        with self._lock:
            return oldest_first(key for id, key in self._keys.items() if ids is None or id in ids)

    def put_key(self, key: AccessKey) -> bool:
        """Write a new access key or the next version of one; return whether it was written."""
        with self._lock:
            before = self._keys.get(key.id)
            last_used = None if before is None else before.last_used
            stored = replace(key, last_used=last_used)
            if before is not None and before.version != key.version - 1 and before != stored:
                return False
            self._keys[key.id] = stored
            return True

    def use_key(self, op: UseKey) -> None:
        """Note the last use of an access key."""
        with self._lock:
            key = self._keys.get(op.id)
            if key is not None and (key.last_used is None or key.last_used < op.at):
                self._keys[op.id] = replace(key, last_used=op.at)

    def vector_names(self, namespace: str) -> frozenset[str] | None:
        """The names of the vectors of a namespace that are searched; None without memories."""
        with self._lock:
            if not self._memories.get(namespace):
                return None
            counts = self._vector_counts.get(namespace, {}).items()
            names = (self._sets.searched_name(stored) for stored, (_, count) in counts if count)
            return frozenset(name for name in names if name is not None)

    def unembedded(self, namespace: str, name: str, limit: int, beside: bool) -> list[int]:
        """Rows without a vector of that name, ascending."""
        with self._lock:
            stored = self._sets.stored_name(name, beside=beside)
            long_only = is_vector_name(name)
            return [
                row
                for row, memory in self._memories.get(namespace, {}).items()
                if stored not in self._vectors.get(row, {})
                and (memory["passages"] or not long_only)
            ][:limit]

    def put_vectors(
        self,
        namespace: str,
        name: str,
        vectors: Mapping[int, bytes],
        embedder: str | None,
        beside: bool,
    ) -> None:
        """Give rows a vector of an embedder; indexes load everything anew."""
        with self._lock:
            if beside:
                self._sets = self._sets.with_beside(str(embedder), name)
            else:
                self._embedder = self._embedder or embedder
            stored = self._sets.stored_name(name, beside=beside)
            for row, blob in vectors.items():
                if row in self._memories.get(namespace, {}):
                    self._count_vectors(namespace, row, -1)
                    self._vectors[row] = {**self._vectors.get(row, {}), stored: blob}
                    self._count_vectors(namespace, row, 1)
            if not beside:
                self._load_anew()

    def vector_sets(self) -> VectorSetsFigures:
        """The sets of vectors, and how far the one beside is."""
        with self._lock:
            stored = self._sets.stored_name("content", beside=True)
            counts = (each.get(stored, (0, 0))[1] for each in self._vector_counts.values())
            memories = sum(self.namespaces().values())
            beside, is_former = self._sets.beside, self._sets.is_former
            return VectorSetsFigures(self._embedder, beside, is_former, memories, sum(counts))

    def cut_over(self, embedder: str) -> bool:
        """Search the set beside if all memories have its vectors; return whether they do."""
        with self._lock:
            if any(self.unembedded(name, "content", 1, True) for name in self._memories):
                return False
            self._sets = self._sets.cut_over(self._embedder, embedder)
            self._embedder = embedder
            self._load_anew()
            return True

    def preview(self) -> RamRecords:
        """The same records, read as if the set beside were searched; closing it forgets none."""
        with self._lock:
            records = copy(self)
            records._sets, records._embedder = self._sets.previewed(), self._sets.beside
            return records

    def drop_vectors(self) -> None:
        """Erase the set of vectors beside."""
        with self._lock:
            names = set(self._sets.names_beside())
            for namespace, memories in self._memories.items():
                for row in memories:
                    self._count_vectors(namespace, row, -1)
                    blobs = self._vectors[row].items()
                    self._vectors[row] = {name: blob for name, blob in blobs if name not in names}
                    self._count_vectors(namespace, row, 1)
            for vectors in self._former.values():
                for name in names:
                    vectors.pop(name, None)
            self._sets = self._sets.alone()

    def _load_anew(self) -> None:
        """Let all indexes load everything anew."""
        self._seq += 1
        self._reload_before = self._seq

    def namespaces(self) -> dict[str, int]:
        """The number of memories of each namespace."""
        with self._lock:
            return {name: len(rows) for name, rows in sorted(self._memories.items()) if rows}

    def back_up(self, op: BackUp) -> Backup:
        """Refuse it: there is no file."""
        raise InvalidInput("backup", "ram:// is no file", "write everything out with export")

    def check(self, op: CheckStore) -> tuple[Finding, ...]:
        """Find nothing: no disk damages what is in memory."""
        return ()

    def stats(self, namespaces: Sequence[str]) -> dict[str, Any]:
        """The number of links in namespaces (all for ())."""
        with self._lock:
            return {"store": "ram", "links": self._links.count(namespaces)}

    # The feed of indexes

    def changes(self, namespace: str, after: int) -> Changes:
        """The changes since `after`."""
        with self._lock:
            if after < self._reload_before:
                return Changes(self._seq, reload=True)
            if after == 0:
                return Changes(self._seq)
            entries = self._changes.get(namespace, [])
            changes = entries[bisect_right(entries, after, key=lambda entry: entry[0]) :]
            memories = self._memories.get(namespace, {})
            added = []
            for row in reversed(memories):
                if row <= after:
                    break
                added.append(row)
            return Changes(
                self._seq,
                added[::-1],
                [row for _, kind, row in changes if kind == "removed" and row <= after],
                sorted({r for _, kind, r in changes if kind == "patched" and r <= after}),
                sorted({r for _, kind, r in changes if kind == "linked"}),
            )

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Chunks of memories as columns."""
        memories = self._memories.get(namespace, {})
        with self._lock:
            rows = list(memories) if rows is None else rows
        for start in range(0, len(rows), _READ_CHUNK_ROWS):
            part = rows[start : start + _READ_CHUNK_ROWS]
            with self._lock:
                chunk = [memories[row] for row in part if row in memories]
                columns = {
                    name: [codec.index_value_of(memory, name) for memory in chunk] for name in names
                }
            columns["row"] = [memory["row"] for memory in chunk]
            if chunk:
                yield columns

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Chunks of vectors, each name's with ascending rows."""
        memories = self._memories.get(namespace, {})
        by_name: dict[str, tuple[list[int], list[bytes]]] = {}
        with self._lock:
            for row in memories if rows is None else rows:
                for stored, blob in self._vectors.get(row, {}).items():
                    name = self._sets.searched_name(stored)
                    if name is None:
                        continue
                    owners, blobs = by_name.setdefault(name, ([], []))
                    owners.append(row)
                    blobs.append(blob)
        for name in sorted(by_name):
            yield name, *by_name[name]

    def links(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> list[tuple[str, str, str, float]]:
        """Links, all or from and to some ids, as (source, target, type, created_at in seconds)."""
        return [
            (link.source, link.target, link.type, codec.encode("created_at", link.created_at))
            for link in self.links_of(namespace, ids)
        ]
