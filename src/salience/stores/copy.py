"""Copying between stores: memories with their vectors, links, history and notes, and a check.

It also repeats in a copy the erasures of the original.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from salience.display.result import Result
from salience.errors import StoreError
from salience.lazily import dataclass
from salience.records.tombstones import Tombstone, buried, name_hash
from salience.retrieval import operations
from salience.retrieval.plan import drive
from salience.stores import codec, open_store
from salience.stores.protocol import Store
from salience.write.transfer import parts

USERS = (
    "users were forgotten since the backup ({count:,} erasures): their memories are erased again, "
    "but the history of others may name them again; call delete_user once more"
)

_ORIGIN = "1"  # of what is copied: the note on a namespace that is not complete yet
_CHECKSUM_MODULUS = 1 << 128

Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and the total."""


@dataclass(frozen=True, repr=False)
class Copied(Result):
    """The contents of a copied namespace; the checksum is of everything in it."""

    namespace: str
    memories: int
    links: int
    events: int
    checksum: str


def copy(source: str, target: str, progress: Progress | None = None) -> tuple[Copied, ...]:
    """Copy all namespaces of a store to another, and compare the two.

    Memories and events keep their order. Another call continues an interrupted copy. It may miss
    what is written to the source meanwhile; the comparison shows that.

    Raises:
        StoreError: a namespace of the target holds memories of its own, or differs in the end.
        EmbedderMismatch: the target's vectors come from another embedder.
    """
    report = progress or (lambda what, done, total: None)
    source_store = open_store(source)
    try:
        target_store = open_store(target)
        try:
            done: dict[str, Copied] = {}
            notes: dict[str, Mapping[str, str]] = {}
            for namespace in source_store.batch([operations.ReadStats(())])[0]["namespaces"]:
                copying = _NamespaceCopy(source_store, target_store, namespace, report)
                done[namespace], notes[namespace] = copying.run()
            drive(parts.finish(notes), target_store.batch)
            return tuple(done.values())
        finally:
            target_store.close()
    finally:
        source_store.close()


def erase_again(
    batch: Callable[[Sequence[operations.Op]], Sequence[Any]], known: Iterable[Tombstone]
) -> tuple[int, int]:
    """Repeat the erasures of tombstones that a store lacks, and add these to it.

    The result is the number of erased memories, and of erasures of users.
    """
    places = {tombstone.place for tombstone in batch([operations.Tombstones()])[0]}
    new = [tombstone for tombstone in known if tombstone.place not in places]
    erased = 0
    names = batch([operations.ReadStats()])[0]["namespaces"]
    touched = {tombstone.namespace for tombstone in new}
    for namespace in (name for name in names if name_hash(name) in touched):
        [rows] = batch([operations.RowsInWriteOrder(namespace)])
        for start in range(0, len(rows), parts.CHUNK_MEMORIES):
            [records] = batch([operations.ReadRecords(rows[start : start + parts.CHUNK_MEMORIES])])
            ids = buried(namespace, (record.id for record in records if record), new)
            if ids:
                last = max(each.at for each in new if each.namespace == name_hash(namespace))
                at = codec.decode("created_at", last)
                [erasure] = batch([operations.Delete(namespace, None, ids, again=at)])
                erased += erasure.memories
    batch([operations.Tombstones(new)])
    return erased, sum(tombstone.kind == "forget_user" for tombstone in new)


class _NamespaceCopy:
    """The copying of one namespace."""

    def __init__(self, source: Store, target: Store, namespace: str, report: Progress) -> None:
        self._source = source
        self._target = target
        self._namespace = namespace
        self._report = report

    def run(self) -> tuple[Copied, Mapping[str, str]]:
        """Copy what is missing and compare the two; return figures and notes of the source."""
        name = self._namespace
        drive(parts.begin(name, _ORIGIN), self._target.batch)
        expected, notes = self._copied()
        actual = _namespace_checksum(self._target, name, self._report)
        if actual != expected:
            raise StoreError(
                f"the namespace {name!r} of the target differs from the source: "
                f"{actual.to_dict()} in the place of {expected.to_dict()}; copy it again when "
                "nobody writes to the source, into an empty namespace"
            )
        return expected, notes

    def _copied(self) -> tuple[Copied, Mapping[str, str]]:
        """Copy everything but the notes; return the figures of the source, and the notes."""
        name, embedder = self._namespace, self._source.embedder()
        source = drive(parts.outline(name), self._source.batch)
        figures = _Checksum(source)
        for chunk, done, total in _chunks(self._source, source):
            figures.add(chunk)
            plan = parts.write_parts(name, chunk, source.events, source.until, embedder)
            conflicts = drive(plan, self._target.batch)
            if conflicts:
                raise StoreError(f"somebody else writes to the target: {conflicts[0]!r} is there")
            self._report(f"copying {name}", done, total)
        return figures.finished(), source.notes


def _chunks(store: Store, source: parts.Outline) -> Iterator[tuple[list[parts.Part], int, int]]:
    """The memories in the order of first writing, with the number done, and the total."""
    former = drive(parts.former_vectors(source), store.batch)
    done, total = 0, len(source.rows)
    for chunk in parts.read_chunks(source, source.vector_names, former, store.batch):
        done += len(chunk)
        yield chunk, done, max(done, total)


class _Checksum:
    """Counts, and a sum of digests, which does not depend on their order."""

    def __init__(self, source: parts.Outline) -> None:
        self._source = source
        self._memories = self._links = self._sum = 0
        self._events = len(source.events)
        for event in source.events:
            self._digest("event", event.to_dict())

    def add(self, chunk: Iterable[parts.Part]) -> None:
        """Add some memories."""
        for part in chunk:
            id = part.record.id
            self._digest("memory", part.record.to_dict())
            for name, vector in part.vectors.items():
                self._digest("vector", [id, name, vector.astype("<f2").tobytes().hex()])
            for event in part.events:
                self._digest("event", event.to_dict())
            for link in part.links:
                at = link.created_at.isoformat()
                self._digest("link", [link.source, link.target, link.type, link.weight, at])
            for seq, name, vector in part.former:
                self._digest("former", [seq, name, vector.astype("<f2").tobytes().hex()])
            self._memories += 1
            self._links += len(part.links)
            self._events += len(part.events)

    def finished(self) -> Copied:
        """The figures of everything."""
        return Copied(
            self._source.namespace, self._memories, self._links, self._events, f"{self._sum:032x}"
        )

    def _digest(self, kind: str, value: Any) -> None:
        text = json.dumps([kind, value], sort_keys=True, ensure_ascii=False, default=dict)
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self._sum = (self._sum + int.from_bytes(digest, "big")) % _CHECKSUM_MODULUS


def _namespace_checksum(store: Store, namespace: str, report: Progress) -> Copied:
    """The figures of a namespace."""
    source = drive(parts.outline(namespace), store.batch)
    figures = _Checksum(source)
    for chunk, done, total in _chunks(store, source):
        figures.add(chunk)
        report(f"checking {namespace}", done, total)
    return figures.finished()
