"""Rewinding: a namespace as it was at a time, worked out from what is there and from its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from salience.records.events import Event, record_at, visible_at
from salience.records.record import Draft, Embedding, Link, MemoryRecord
from salience.retrieval.operations import (
    AsOf,
    Events,
    FetchVectors,
    FormerVectors,
    ListRecords,
    Put,
    RowsById,
    VectorNames,
)
from salience.retrieval.plan import Plan, T, ask
from salience.stores.embedded import EmbeddedStore
from salience.stores.protocol import Store
from salience.stores.ram import RamRecords
from salience.write.embedding import embed_texts
from salience.write.items import EMBEDDED, OF_WORDS, WriteContext, embedded_text

_PAGE = 10_000
Former = Mapping[int, Mapping[str, Embedding]]
"""Vectors that edits replaced, by the edit's place in the log and by name."""


def as_of(plan: Plan[T], namespaces: Sequence[str], at: datetime) -> Plan[T]:
    """A plan whose every operation is answered as it would have been at a time."""
    asked = next(plan)
    while True:
        try:
            answers = yield from ask(AsOf(tuple(namespaces), at, tuple(asked)))
        except Exception as problem:  # handed to the plan, which re-raises what it cannot use
            asked = plan.throw(problem)
        else:
            try:
                asked = plan.send(answers)
            except StopIteration as end:
                return end.value


def snapshot_at(namespaces: Sequence[str], at: datetime, scope: WriteContext) -> Plan[Store]:
    """The plan of a store in memory that holds what the namespaces held at a time.

    Contents are followed back over later edits, vectors to the ones that these replaced; accesses,
    status and judgements are worked out from the events until then, and so are links. What was
    erased since is not in it. A text whose vector is not kept any more is embedded again.
    """
    store = EmbeddedStore(RamRecords())
    for namespace in namespaces:
        drafts, links = yield from _held(namespace, at, scope)
        store.batch([Put(drafts, links, embedder=scope.embedder)])
    return store


def _held(
    namespace: str, at: datetime, scope: WriteContext
) -> Plan[tuple[tuple[Draft, ...], tuple[Link, ...]]]:
    """The memories and links of a namespace at a time, as they were written, the oldest first."""
    log, replaced = yield [Events(namespace), FormerVectors(namespace)]
    former: dict[int, dict[str, Embedding]] = {}
    for seq, name, vector in replaced:
        former.setdefault(seq, {})[name] = vector
    events = _by_memory(log)
    records = yield from _records(namespace)
    present = yield from _vectors(namespace, [record.id for record in records])
    drafts: list[tuple[int, Draft]] = []
    lacking: list[Draft] = []
    for record in records:
        own = events.get(record.id, [])
        kept = visible_at(own, at)
        if any(event.type == "write" for event in kept):
            later = [e for e in own if e.type == "edit" and e.at > at]
            vectors, lost = _former(present.get(record.id, {}), later, former)
            draft = Draft(record_at(record, own, kept), vectors)
            drafts.append((own[0].seq, draft))
            if lost:
                lacking.append(draft)
    ordered = [draft for _, draft in sorted(drafts, key=lambda each: each[0])]
    made = yield from _made(lacking, scope)
    links = _links(namespace, log, at)
    return tuple(made.get(draft.record.id, draft) for draft in ordered), links


def _by_memory(log: Iterable[Event]) -> dict[str, list[Event]]:
    """The events of each memory from its write on, with those that are of all, oldest first."""
    found: dict[str, list[Event]] = {}
    for event in log:
        if event.id is None:
            for own in found.values():
                own.append(event)
        elif event.type == "write":
            found[event.id] = [event]
        elif event.id in found:
            found[event.id].append(event)
    return found


def _records(namespace: str) -> Plan[list[MemoryRecord]]:
    found: list[MemoryRecord] = []
    cursor = None
    while True:
        page = yield from ask(ListRecords((namespace,), limit=_PAGE, cursor=cursor))
        found += page.records
        cursor = page.cursor
        if cursor is None:
            return found


def _vectors(namespace: str, ids: Sequence[str]) -> Plan[dict[str, dict[str, Embedding]]]:
    """The present vectors of memories, by id and name."""
    rows_of, names = yield [RowsById(namespace, tuple(ids)), VectorNames((namespace,))]
    known = list(rows_of)
    rows = np.array([rows_of[id] for id in known], dtype=np.int64)
    order = np.argsort(rows)
    found: dict[str, dict[str, Embedding]] = {id: {} for id in known}
    for name in sorted(names or ()):
        vectors = yield from ask(FetchVectors(rows[order], name))
        for place, vector in zip(order.tolist(), vectors, strict=True):
            if vector.size and not np.isnan(vector[0]):
                found[known[place]][name] = vector
    return found


def _former(
    present: Mapping[str, Embedding], later: Sequence[Event], former: Former
) -> tuple[dict[str, Embedding], bool]:
    """The vectors of a memory before its later edits, and whether that of its words was lost."""
    vectors, lost = dict(present), False
    for edit in reversed(later):
        begun = edit.payload.get("vectors", ())
        before = former.get(edit.seq, {})
        if not EMBEDDED.isdisjoint(edit.payload.get("was", ())):
            lost = lost or ("content" in vectors and "content" not in (*begun, *before))
            vectors = {name: v for name, v in vectors.items() if name not in OF_WORDS}
        vectors = {name: v for name, v in vectors.items() if name not in begun}
        vectors.update(before)
    return vectors, lost and "content" not in vectors


def _made(drafts: Sequence[Draft], scope: WriteContext) -> Plan[dict[str, Draft]]:
    """Drafts whose words had a vector that is not kept, with that vector made again, by id."""
    vectors, _ = yield from embed_texts((embedded_text(draft.record) for draft in drafts), scope)
    return {
        draft.record.id: Draft(draft.record, {**draft.vectors, "content": vectors[words]})
        for draft in drafts
        if (words := embedded_text(draft.record)) in vectors
    }


def _links(namespace: str, log: Iterable[Event], at: datetime) -> tuple[Link, ...]:
    """The links at a time."""
    found: dict[tuple[str, str, str], Link] = {}
    for event in log:
        if event.type != "link" or event.at > at or event.id is None:
            continue
        target, type_, weight = (event.payload[name] for name in ("target", "link", "weight"))
        key = (event.id, target, type_)
        found.pop(key, None)
        if weight is not None:
            found[key] = Link(namespace, event.id, target, type_, weight, event.at)
    return tuple(found.values())
