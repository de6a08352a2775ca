"""Copying between stores: memories with their vectors, links, history and notes, and a check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from salience.display.result import Result
from salience.errors import StoreError
from salience.records.events import Event
from salience.records.record import Draft, Embedding, Link
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.stores import open_store
from salience.stores.protocol import Store

_CHUNK_MEMORIES = 1_000  # copied in one transaction
_COPYING_NOTE = "copying"  # the note on a namespace of the target that is not complete yet
_CHECKSUM_MODULUS = 1 << 128

Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, repr=False)
class Copied(Result):
    """The contents of a copied namespace; the checksum is of everything in it."""

    namespace: str
    memories: int
    links: int
    events: int
    checksum: str


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some memories with everything that is stored of them."""

    drafts: tuple[Draft, ...]
    events: tuple[Event, ...]
    former: tuple[tuple[int, str, Embedding], ...]


def copy(source: str, target: str, progress: Progress | None = None) -> tuple[Copied, ...]:
    """Copy all namespaces of a store to another, and compare the two.

    Memories and events keep their order. If it is interrupted, another call continues it. What is
    written to the source meanwhile may be missed; the comparison shows that.

    Raises:
        StoreError: a namespace of the target holds memories of its own, or differs in the end.
        EmbedderMismatch: the target's vectors come from another embedder.
    """
    report = progress or (lambda what, done, total: None)
    one = open_store(source)
    try:
        other = open_store(target)
        try:
            return tuple(
                _NamespaceCopy(one, other, namespace, report).run()
                for namespace in one.batch([operations.ReadStats(())])[0]["namespaces"]
            )
        finally:
            other.close()
    finally:
        one.close()


class _NamespaceCopy:
    """The copying of one namespace."""

    def __init__(self, source: Store, target: Store, namespace: str, report: Progress) -> None:
        self._source = source
        self._target = target
        self._namespace = namespace
        self._report = report

    def run(self) -> Copied:
        """Copy what is missing, and compare the two."""
        self._begin()
        expected = self._copied()
        actual = _namespace_checksum(self._target, self._namespace, self._report)
        if actual != expected:
            raise StoreError(
                f"the namespace {self._namespace!r} of the target differs from the source: "
                f"{actual.to_dict()} in the place of {expected.to_dict()}; copy it again when "
                "nobody writes to the source, into an empty namespace"
            )
        [noted] = self._target.batch([operations.Notes(self._namespace)])
        _note(self._target, self._namespace, _COPYING_NOTE, None, noted.get(_COPYING_NOTE))
        return expected

    def _begin(self) -> None:
        name = self._namespace
        notes, figures = self._target.batch([operations.Notes(name), operations.ReadStats((name,))])
        if _COPYING_NOTE in notes:
            return
        if figures["memories"]:
            raise StoreError(
                f"the namespace {name!r} of the target holds {figures['memories']:,} memories "
                "already; copy into another store, or erase them first"
            )
        _note(self._target, name, _COPYING_NOTE, "1", None)

    def _copied(self) -> Copied:
        """Copy everything; return the figures of the source."""
        name, embedder = self._namespace, self._source.embedder()
        links: list[Link]
        links, notes = self._source.batch([operations.LinksOf(name), operations.Notes(name)])
        figures = _Checksum(name)
        for part, done, total in _chunks(self._source, name):
            figures.add(part)
            ids = tuple(draft.record.id for draft in part.drafts)
            [there] = self._target.batch([operations.RowsById(name, ids)])
            self._put(part, there, embedder)
            self._report(f"copying {name}", done, total)
        for start in range(0, len(links), _CHUNK_MEMORIES):
            part_links = tuple(links[start : start + _CHUNK_MEMORIES])
            [refused] = self._target.batch(
                [operations.Put((), links=part_links, past=operations.ImportedHistory(name))]
            )
            assert not refused
        [target_notes] = self._target.batch([operations.Notes(name)])
        for key, value in notes.items():
            if target_notes.get(key) != value:
                _note(self._target, name, key, value, target_notes.get(key))
        return figures.finished(links, notes)

    def _put(self, part: _Chunk, there: dict[str, int], embedder: str | None) -> None:
        drafts = tuple(draft for draft in part.drafts if draft.record.id not in there)
        events = tuple(event for event in part.events if event.id not in there)
        if not drafts:
            return
        if there:  # what is of all memories came with the first of them
            events = tuple(event for event in events if event.id is not None)
        places = {event.seq for event in events}
        former = tuple(each for each in part.former if each[0] in places)
        put = operations.Put(
            drafts,
            embedder=embedder,
            past=operations.ImportedHistory(self._namespace, events, former),
        )
        [refused] = self._target.batch([put])
        if refused:
            raise StoreError(f"somebody else writes to the target: {refused[0]!r} is there already")


def _note(store: Store, namespace: str, key: str, value: str | None, was: str | None) -> None:
    store.batch([operations.Note(namespace, key, value, was)])


def _chunks(store: Store, namespace: str) -> Iterator[tuple[_Chunk, int, int]]:
    """The memories in the order they were first written, with the number done, and of all."""
    [order] = store.batch([operations.RowsInWriteOrder(namespace)])
    [names] = store.batch([operations.VectorNames((namespace,))])
    [former] = store.batch([operations.FormerVectors(namespace)])
    total = len(order)
    for start in range(0, max(total, 1), _CHUNK_MEMORIES):
        rows = order[start : start + _CHUNK_MEMORIES]
        yield (
            _read_chunk(store, namespace, rows, sorted(names or ()), former, whole=start == 0),
            min(start + _CHUNK_MEMORIES, total),
            total,
        )


def _read_chunk(
    store: Store,
    namespace: str,
    rows: Rows,
    names: Sequence[str],
    former: Sequence[tuple[int, str, Embedding]],
    *,
    whole: bool,
) -> _Chunk:
    ops: list[operations.Op] = [
        operations.ReadRecords(rows),
        *(operations.FetchVectors(rows, name) for name in names),
    ]
    records, *matrices = store.batch(ops)
    drafts = []
    for place, record in enumerate(records):
        if record is None:
            continue
        vectors = {
            name: matrix[place]
            for name, matrix in zip(names, matrices, strict=True)
            if matrix.shape[1] and not np.isnan(matrix[place, 0])
        }
        drafts.append(Draft(record, vectors))
    ids = tuple(draft.record.id for draft in drafts)
    [events] = store.batch([operations.Events(namespace, ids=ids)])
    chunk_events = tuple(event for event in events if whole or event.id is not None)
    places = {event.seq for event in chunk_events}
    return _Chunk(tuple(drafts), chunk_events, tuple(each for each in former if each[0] in places))


class _Checksum:
    """Counts, and a sum of digests, which does not depend on their order."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._memories = self._events = self._sum = 0

    def add(self, part: _Chunk) -> None:
        """Add some memories."""
        for draft in part.drafts:
            self._digest("memory", draft.record.to_dict())
            for name, vector in draft.vectors.items():
                self._digest(
                    "vector", [draft.record.id, name, vector.astype("<f2").tobytes().hex()]
                )
        for event in part.events:
            self._digest("event", event.to_dict())
        for seq, name, vector in part.former:
            self._digest("former", [seq, name, vector.astype("<f2").tobytes().hex()])
        self._memories += len(part.drafts)
        self._events += len(part.events)

    def finished(self, links: Sequence[Link], notes: dict[str, str]) -> Copied:
        """The figures of everything, with links and notes."""
        for link in links:
            at = link.created_at.isoformat()
            self._digest("link", [link.source, link.target, link.type, link.weight, at])
        for key, value in notes.items():
            if key != _COPYING_NOTE:
                self._digest("note", [key, value])
        return Copied(
            self._namespace, self._memories, len(links), self._events, f"{self._sum:032x}"
        )

    def _digest(self, kind: str, value: Any) -> None:
        text = json.dumps([kind, value], sort_keys=True, ensure_ascii=False, default=dict)
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self._sum = (self._sum + int.from_bytes(digest, "big")) % _CHECKSUM_MODULUS


def _namespace_checksum(store: Store, namespace: str, report: Progress) -> Copied:
    """The figures of a namespace."""
    figures = _Checksum(namespace)
    for part, done, total in _chunks(store, namespace):
        figures.add(part)
        report(f"checking {namespace}", done, total)
    links, notes = store.batch([operations.LinksOf(namespace), operations.Notes(namespace)])
    return figures.finished(links, notes)
