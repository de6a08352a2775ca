"""Records in this process's memory: the executable specification of what a store keeps."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from salience.records.events import (
    Event,
    apply_with_previous,
    edit_event,
    link_event,
    unlink_event,
    write_event,
)
from salience.records.filters import Filter, passes
from salience.records.record import Draft, Link, MemoryRecord
from salience.retrieval.operations import STAGED, Events, ImportedHistory, Note, Put, Touch
from salience.stores import codec
from salience.stores.index.change_feed import Changes, IndexVersion

LinkKey = tuple[str, str, str, str]
"""Namespace, source, target, type."""


_READ_CHUNK_ROWS = 65_536


class RamReader(ABC):
    """The side of `RamRecords` that indexes read."""

    _lock: threading.RLock
    _seq: int
    _memories: dict[str, dict[int, dict[str, Any]]]
    _vectors: dict[int, dict[str, bytes]]
    _changes: dict[str, list[tuple[int, str, int]]]
    _whole_since: int

    @abstractmethod
    def neighbors(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories."""

    def changes(self, namespace: str, after: int) -> Changes:
        """What happened since `after`."""
        with self._lock:
            if after < self._whole_since:
                return Changes(self._seq, reload=True)
            if after == 0:
                return Changes(self._seq)
            fresh = [c for c in self._changes.get(namespace, []) if c[0] > after]
            memories = self._memories.get(namespace, {})
            added = []
            for row in reversed(memories):
                if row <= after:
                    break
                added.append(row)
            return Changes(
                self._seq,
                added[::-1],
                [row for _, kind, row in fresh if kind == "removed" and row <= after],
                sorted(
                    {r for _, kind, r in fresh if kind == "patched" and r <= after} & set(memories)
                ),
                sorted({r for _, kind, r in fresh if kind == "linked"}),
            )

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Chunks of memories as columns."""
        memories = self._memories.get(namespace, {})
        with self._lock:
            chosen = list(memories) if rows is None else rows
        for start in range(0, len(chosen), _READ_CHUNK_ROWS):
            part = chosen[start : start + _READ_CHUNK_ROWS]
            with self._lock:
                chunk = [memories[row] for row in part if row in memories]
                found = {
                    name: [codec.index_value_of(memory, name) for memory in chunk] for name in names
                }
            found["row"] = [memory["row"] for memory in chunk]
            if chunk:
                yield found

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Chunks of vectors, each name's with ascending rows."""
        memories = self._memories.get(namespace, {})
        by_name: dict[str, tuple[list[int], list[bytes]]] = {}
        with self._lock:
            for row in memories if rows is None else rows:
                for name, blob in self._vectors.get(row, {}).items():
                    if name.startswith(STAGED):
                        continue
                    owners, blobs = by_name.setdefault(name, ([], []))
                    owners.append(row)
                    blobs.append(blob)
        for name in sorted(by_name):
            yield name, *by_name[name]

    def links(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> list[tuple[str, str, float]]:
        """Links, all or from and to some ids, as (source, target, created_at in seconds)."""
        return [
            (link.source, link.target, codec.encode("created_at", link.created_at))
            for link in self.neighbors(namespace, ids)
        ]


class RamRecords(RamReader):
    """Dictionaries of kept values; gone with the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._seq = 0  # numbers rows and changes alike
        self._memories: dict[str, dict[int, dict[str, Any]]] = {}
        self._rows: dict[str, dict[str, int]] = {}
        self._vectors: dict[int, dict[str, bytes]] = {}
        self._sizes: dict[str, dict[str, tuple[int, int]]] = {}  # by name: length, how many
        self._links: dict[LinkKey, Link] = {}
        self._links_of: dict[tuple[str, str], set[LinkKey]] = {}  # by namespace and either end
        self._changes: dict[str, list[tuple[int, str, int]]] = {}
        self._events: dict[str, dict[int, list[Event]]] = {}  # by sequence number, 0 for all
        self._former: dict[int, dict[str, bytes]] = {}  # vectors by the edit that replaced them
        self._notes: dict[str, dict[str, str]] = {}
        self._texts: dict[str, dict[int, set[int]]] = {}  # rows by text_key
        self._embedder: str | None = None
        self._whole_since = 0  # indexes from before are to be loaded anew

    def version(self) -> IndexVersion:
        """Every change is news to the indexes."""
        return IndexVersion(self._seq, self._seq)

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        return self._embedder

    def flush(self) -> None:
        """Nothing is ever queued."""

    def close(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]

    def put(self, op: Put) -> tuple[str, ...]:
        """Write all, or nothing and the ids that stand in the way."""
        with self._lock:
            refused = self._standing(op) if op.replace else self._taken(op.drafts)
            if refused:
                return refused
            codec.check_vectors(op, self._embedder, self.dimensions)
            missing = self.log(op.also.namespace, op.also.events) if op.also else ()
            if missing:
                return missing
            for draft in op.drafts:
                self._put(draft, op)
            self._unlink(op.unlinks, op.actor)
            self._link(op.links, op.actor, logged=op.past is None)
            if op.past is not None:
                self._remember(op.past)
            if op.embedder and self._embedder is None and any(d.vectors for d in op.drafts):
                self._embedder = op.embedder
            return ()

    def dimensions(self, namespace: str, names: Iterable[str]) -> dict[str, int]:
        """The length of the vectors of these names, of those that there are."""
        sizes = self._sizes.get(namespace, {})
        return {name: sizes[name][0] for name in names if sizes.get(name, (0, 0))[1]}

    def _count_vectors(self, namespace: str, row: int, change: int) -> None:
        sizes = self._sizes.setdefault(namespace, {})
        for name, blob in self._vectors[row].items():
            _, count = sizes.get(name, (0, 0))
            sizes[name] = (len(blob) // 2, count + change)

    def _standing(self, op: Put) -> tuple[str, ...]:
        """The ids that stand in the way of replacing memories."""
        keys = [(draft.record.namespace, draft.record.id) for draft in op.drafts]
        old = {
            (name, id): self._memories[name][self._rows[name][id]]
            for name, id in keys
            if id in self._rows.get(name, {})
        }
        return tuple(codec.conflicting_ids(op, old))

    def _taken(self, drafts: Sequence[Draft]) -> tuple[str, ...]:
        seen: set[tuple[str, str]] = set()
        taken = []
        for draft in drafts:
            key = (draft.record.namespace, draft.record.id)
            if key in seen or key[1] in self._rows.get(key[0], {}) or self._known_key(draft):
                taken.append(key[1])
            seen.add(key)
        return tuple(taken)

    def _known_key(self, draft: Draft) -> bool:
        """Whether an event has the key of a draft already."""
        key = draft.note.get("key")
        return key is not None and bool(self.events(Events(draft.record.namespace, keys=(key,))))

    def _put(self, draft: Draft, op: Put) -> None:
        namespace, id = draft.record.namespace, draft.record.id
        values = codec.encode_draft(draft)
        rows = self._rows.setdefault(namespace, {})
        memories = self._memories.setdefault(namespace, {})
        old = rows.get(id)
        self._seq += 1
        row = values["row"] = values["sequence"] = self._seq
        vectors: dict[str, bytes] = {}
        if old is not None:
            before = memories[old]
            values["sequence"] = before["sequence"]
            values.update(codec.merge_accesses(values, before))
            had = self._vectors[old]
            stay, gone = codec.split_vectors(op, draft, had)
            vectors = {name: had[name] for name in stay}
            event = edit_event(
                codec.record_of(namespace, before),
                draft.record,
                op.actor,
                draft.vectors.keys() - had.keys(),
            )
            place = self._append(namespace, values["sequence"], event)
            self._former[place] = {name: had[name] for name in gone}
            self._drop(namespace, old)
        elif op.past is None:
            self._append(namespace, row, write_event(draft, op.actor))
        rows[id] = row
        memories[row] = values
        if values["text_key"] is not None:
            self._texts.setdefault(namespace, {}).setdefault(values["text_key"], set()).add(row)
        vectors.update((n, codec.encode_vector(v)) for n, v in draft.vectors.items())
        self._vectors[row] = vectors
        self._count_vectors(namespace, row, +1)

    def _drop(self, namespace: str, row: int) -> None:
        memory = self._memories[namespace].pop(row)
        if memory["text_key"] is not None:
            self._texts[namespace][memory["text_key"]].discard(row)
        del self._rows[namespace][memory["id"]]
        self._count_vectors(namespace, row, -1)
        del self._vectors[row]
        self._note(namespace, "removed", row)

    def _note(self, namespace: str, kind: str, row: int) -> None:
        self._seq += 1
        self._changes.setdefault(namespace, []).append((self._seq, kind, row))

    def _append(self, namespace: str, sequence: int, event: Event) -> int:
        """Log an event of the memory of that sequence number; its place in the log."""
        self._seq += 1
        entries = self._events.setdefault(namespace, {}).setdefault(sequence, [])
        entries.append(replace(event, seq=self._seq))
        return self._seq

    def _remember(self, past: ImportedHistory) -> None:
        """Log what happened elsewhere, each event in its place."""
        log, rows = self._events.setdefault(past.namespace, {}), self._rows.get(past.namespace, {})
        for event in past.events:
            of = 0 if event.id is None else rows[event.id]
            sequence = self._memories[past.namespace][of]["sequence"] if of else 0
            log.setdefault(sequence, []).append(event)
            self._seq = max(self._seq, event.seq)
        for seq, name, vector in past.vectors:
            self._former.setdefault(seq, {})[name] = codec.encode_vector(vector)

    def _link(self, links: Sequence[Link], actor: str | None, logged: bool) -> None:
        for link in links:
            key = (link.namespace, link.source, link.target, link.type)
            self._links[key] = link
            for end in (link.source, link.target):
                self._links_of.setdefault((link.namespace, end), set()).add(key)
        events = [(link.namespace, link_event(link, actor)) for link in links]
        self._note_linked(events, logged)

    def _unlink(self, links: Sequence[Link], actor: str | None) -> None:
        gone = []
        for link in links:
            key = (link.namespace, link.source, link.target, link.type)
            if self._links.pop(key, None):
                gone.append((link.namespace, unlink_event(link, actor)))
                for end in (link.source, link.target):
                    self._links_of[link.namespace, end].discard(key)
        self._note_linked(gone)

    def _note_linked(self, events: Iterable[tuple[str, Event]], logged: bool = True) -> None:
        """Log events of links, and tell the index of the namespace."""
        for namespace, event in events:
            row = self._rows.get(namespace, {}).get(event.id or "")
            if row is not None:
                if logged:
                    self._append(namespace, self._memories[namespace][row]["sequence"], event)
                self._note(namespace, "linked", row)

    def log(self, namespace: str, events: Sequence[Event]) -> tuple[str, ...]:
        """Append events and apply them, or nothing and the ids not there."""
        with self._lock:
            rows, memories = self._rows.get(namespace, {}), self._memories.get(namespace, {})
            missing = [e.id for e in events if e.id is not None and e.id not in rows]
            if missing:
                return tuple(dict.fromkeys(missing))
            for event in events:
                entry = event
                for row in list(memories) if event.id is None else [rows[event.id]]:
                    changes, entry = apply_with_previous(codec.decode_state(memories[row]), event)
                    self._set(namespace, row, changes)
                sequence = 0 if event.id is None else memories[rows[event.id]]["sequence"]
                self._append(namespace, sequence, entry)
            return ()

    def _set(self, namespace: str, row: int, values: Mapping[str, Any]) -> None:
        if values:
            kept = {name: codec.encode(name, value) for name, value in values.items()}
            self._memories[namespace][row].update(kept)
            self._note(namespace, "patched", row)

    def mend(self, namespace: str, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Set patchable fields by id without an event."""
        with self._lock:
            for id, row in self.find(namespace, list(values)).items():
                self._set(namespace, row, values[id])

    def events(self, op: Events) -> list[Event]:
        """The log, oldest first."""
        with self._lock:
            by_memory = self._events.get(op.namespace, {})
            if op.ids is not None:
                rows = self.find(op.namespace, op.ids).values()
                memories = self._memories.get(op.namespace, {})
                chosen = {0, *(memories[row]["sequence"] for row in rows)}
                by_memory = {s: entries for s, entries in by_memory.items() if s in chosen}
            found = [
                event
                for event in chain(*by_memory.values())
                if event.seq > op.after
                and (op.types is None or event.type in op.types)
                and (op.keys is None or event.payload.get("key") in op.keys)
            ]
        found.sort(key=lambda event: event.seq)
        return found if op.last is None else found[max(0, len(found) - op.last) :]

    def former_vectors(self, namespace: str) -> list[tuple[int, str, bytes]]:
        """What edits replaced: (the edit's place in the log, name, float16 bytes)."""
        with self._lock:
            return [
                (event.seq, name, blob)
                for event in chain(*self._events.get(namespace, {}).values())
                for name, blob in self._former.get(event.seq, {}).items()
            ]

    def touch(self, op: Touch) -> bool:
        """Count a use of each row."""
        with self._lock:
            for row in op.rows.tolist():
                for namespace, memories in self._memories.items():
                    if row in memories:
                        memory = memories[row]
                        event = Event(op.type, memory["id"], op.at, op.actor, op.session)
                        self.log(namespace, (event,))
        return True

    def delete(
        self,
        namespace: str,
        *,
        rows: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        where: Filter | None = None,
    ) -> int:
        """Erase memories, their vectors, links and events; how many there were."""
        with self._lock:
            here = self._memories.get(namespace, {})
            if ids is not None:
                rows = list(self.find(namespace, ids).values())
            if rows is None:
                self._notes.pop(namespace, None)
                self._events.get(namespace, {}).pop(0, None)  # what happened to all
            chosen = [
                row
                for row in (list(here) if rows is None else rows)
                if row in here and passes(where, partial(codec.index_value_of, here[row]))
            ]
            gone = {here[row]["id"] for row in chosen}
            self._forget(namespace, gone, {here[row]["sequence"] for row in chosen})
            for row in chosen:
                self._drop(namespace, row)
            for key in {k for id in gone for k in self._links_of.pop((namespace, id), ())}:
                del self._links[key]
                for end in key[1:3]:
                    self._links_of.get((namespace, end), set()).discard(key)
            return len(chosen)

    def _forget(self, namespace: str, ids: set[str], sequences: set[int]) -> None:
        """Take memories out of the log, and links to them out of that of others."""
        log = self._events.get(namespace, {})
        for sequence in sequences:
            for event in log.pop(sequence, ()):
                self._former.pop(event.seq, None)
        for entries in log.values():
            entries[:] = [e for e in entries if e.payload.get("target") not in ids]

    def same(self, namespace: str, keys: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Rows outside of any session by `text.text_key`."""
        here = self._texts.get(namespace, {})
        return {key: tuple(sorted(here[key])) for key in keys if here.get(key)}

    def order(self, namespace: str) -> list[int]:
        """Rows by the sequence of their memories."""
        memories = self._memories.get(namespace, {})
        return sorted(memories, key=lambda row: memories[row]["sequence"])

    def find(self, namespace: str, ids: Sequence[str]) -> dict[str, int]:
        """Rows by id."""
        rows = self._rows.get(namespace, {})
        return {id: rows[id] for id in ids if id in rows}

    def read(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Records by row."""
        found: dict[int, MemoryRecord] = {}
        with self._lock:
            for row in rows:
                for namespace, memories in self._memories.items():
                    if row in memories:
                        found[row] = codec.record_of(namespace, memories[row])
        return found

    def neighbors(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories, by source, target and type."""
        with self._lock:
            if ids is None:
                found = {key for key in self._links if key[0] == namespace}
            else:
                found = {key for id in ids for key in self._links_of.get((namespace, id), ())}
            return [self._links[key] for key in sorted(found)]

    def notes(self, namespace: str) -> dict[str, str]:
        """What is noted of a namespace."""
        with self._lock:
            return dict(self._notes.get(namespace, {}))

    def note(self, op: Note) -> bool:
        """Note something, unless what is noted is not what it was; whether it was done."""
        with self._lock:
            notes = self._notes.setdefault(op.namespace, {})
            if notes.get(op.key) != op.was:
                return False
            if op.value is None:
                notes.pop(op.key, None)
            else:
                notes[op.key] = op.value
            return True

    def unembedded(self, namespace: str, name: str, limit: int) -> list[int]:
        """Rows without a vector of that name, ascending."""
        rows = self._memories.get(namespace, {})
        return [row for row in rows if name not in self._vectors.get(row, {})][:limit]

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[int, bytes]) -> None:
        """Give rows a vector; indexes are loaded anew."""
        with self._lock:
            for row, blob in vectors.items():
                if row in self._memories.get(namespace, {}):
                    self._count_vectors(namespace, row, -1)
                    self._vectors[row] = {**self._vectors.get(row, {}), name: blob}
                    self._count_vectors(namespace, row, 1)
            if not name.startswith(STAGED):
                self._seq += 1
                self._whole_since = self._seq

    def adopt_vectors(self, source: str, target: str, embedder: str) -> bool:
        """Rename vectors once all memories have them; indexes are loaded anew."""
        with self._lock:
            if any(self.unembedded(namespace, source, 1) for namespace in self._memories):
                return False
            named = {name for vectors in self._vectors.values() for name in vectors}
            begin = f"{source}|"
            target_of = {name: name.removeprefix(begin) for name in named if name.startswith(begin)}
            target_of[source] = target
            replaced = set(target_of.values())
            for namespace, memories in self._memories.items():
                for row in memories:
                    self._count_vectors(namespace, row, -1)
                    held = self._vectors[row].items()
                    kept = {n: b for n, b in held if not n.startswith(STAGED) and n not in replaced}
                    fresh = {target_of[name]: blob for name, blob in held if name in target_of}
                    self._vectors[row] = {**kept, **fresh}
                    self._count_vectors(namespace, row, 1)
            for vectors in self._former.values():
                for name in replaced:
                    vectors.pop(name, None)  # they cannot be compared with the others any more
            self._embedder = embedder
            self._seq += 1
            self._whole_since = self._seq
            return True

    def namespaces(self) -> dict[str, int]:
        """Every namespace with how many memories it has."""
        with self._lock:
            return {name: len(rows) for name, rows in sorted(self._memories.items()) if rows}

    def stats(self) -> dict[str, Any]:
        """Figures about the whole store."""
        return {"store": "ram", "links": len(self._links)}
