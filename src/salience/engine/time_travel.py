"""Time travel: a namespace as it was at a time, reconstructed from its present and its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np

from salience.language.features import FEATURES
from salience.lazily import dataclass, replace
from salience.records.events import (
    Event,
    events_by_memory,
    gives_new_row,
    link_time,
    record_at,
    visible_at,
)
from salience.records.record import Draft, Edit, Embedding, Link, MemoryRecord
from salience.retrieval.operations import (
    AsOf,
    Dimensions,
    Events,
    FetchColumns,
    FetchVectors,
    FormerVectors,
    ListRecords,
    Put,
    RowsById,
)
from salience.retrieval.plan import Plan, T, ask
from salience.stores import open_store
from salience.stores.protocol import Store
from salience.write.embedding import embed_texts
from salience.write.items import EMBEDDED_FIELDS, WriteContext, embedded_text, follows_text

READ_PAGE_ROWS = 10_000
_WRITTEN_AT_ONCE = 2_000  # memories of the past; other threads run in between
ReplacedVectors = Mapping[int, Mapping[str, Embedding]]
"""Vectors that edits replaced, by the edit's `seq` in the log and by name."""


@dataclass(frozen=True)
class _PastMemory:
    """A memory as it was: the `seq` of its write and of the event that gave it its row then."""

    written: int
    placed: int
    draft: Draft


def as_of(plan: Plan[T], namespaces: Sequence[str], at: datetime) -> Plan[T]:
    """Run a plan with every operation answered as it would have been at a time."""
    ops = next(plan)
    while True:
        try:
            answers = yield from ask(AsOf(tuple(namespaces), at, tuple(ops)))
        except Exception as problem:  # handed to the plan, which re-raises what it cannot use
            ops = plan.throw(problem)
        else:
            try:
                ops = plan.send(answers)
            except StopIteration as end:
                return end.value


def snapshot_at(namespaces: Sequence[str], at: datetime, scope: WriteContext) -> Plan[Store]:
    """Build a store in memory that holds what the namespaces held at a time.

    Contents are followed back over later edits, vectors to the ones that these replaced; accesses,
    status and judgements are worked out from the events until then, and so are links. What was
    erased since is not in it. A text whose vector is not kept any more is embedded again.
    """
    store = open_store("ram://")
    for namespace in namespaces:
        memories, links = yield from _contents_at(namespace, at, scope)
        _write_in_row_order(store, memories, scope.embedder)
        store.batch([Put((), links)])
    return store


def _write_in_row_order(
    store: Store, memories: Sequence[_PastMemory], embedder: str | None
) -> None:
    """Write memories so that their rows and their order of first writing are those of the past.

    A memory that was edited is written in its place and again where the edit gave it a new row.
    """
    steps: list[tuple[int, Draft]] = []
    for memory in memories:
        if memory.placed == memory.written:
            steps.append((memory.written, memory.draft))
            continue
        record, vectors = memory.draft.record, memory.draft.vectors
        before = replace(record, version=record.version - 1)  # the second write adds one
        steps.append((memory.written, replace(memory.draft, record=before)))
        steps.append((memory.placed, Edit(record, vectors, known=memory.draft.known)))
    steps.sort(key=itemgetter(0))
    for _, run in groupby((draft for _, draft in steps), key=type):
        while drafts := tuple(islice(run, _WRITTEN_AT_ONCE)):
            store.batch([Put(drafts, embedder=embedder)])


def _contents_at(
    namespace: str, at: datetime, scope: WriteContext
) -> Plan[tuple[list[_PastMemory], tuple[Link, ...]]]:
    """Read the memories and links that a namespace held at a time."""
    log, replaced = yield [Events(namespace), FormerVectors(namespace)]
    replaced_vectors: dict[int, dict[str, Embedding]] = {}
    for seq, name, vector in replaced:
        replaced_vectors.setdefault(seq, {})[name] = vector
    events_of, links = events_by_memory(log), _links_at(namespace, log, at)
    del log
    records = yield from _present_records(namespace)
    rows_of = yield from ask(RowsById(namespace, tuple(record.id for record in records)))
    vectors_of = yield from _present_vectors(namespace, rows_of)
    known_of = yield from _worked_out(rows_of)
    memories: list[_PastMemory] = []
    unembedded: list[Draft] = []
    records.reverse()
    while records:  # everything is freed bit by bit: at once it would hold up other threads
        record = records.pop()
        events = events_of.pop(record.id, [])
        visible = visible_at(events, at)
        if any(event.type == "write" for event in visible):
            edits = [event for event in events if event.type == "edit" and event.at > at]
            present = vectors_of.pop(record.id, {})
            vectors, is_lost = _vectors_before(present, edits, replaced_vectors)
            known = {} if _changes_text(edits) else known_of.get(record.id, {})
            draft = Draft(record_at(record, events, visible), vectors, known=known)
            placed = max(event.seq for event in visible if gives_new_row(event))
            memories.append(_PastMemory(events[0].seq, placed, draft))
            if is_lost:
                unembedded.append(draft)
    embedded = yield from _embedded_again(unembedded, scope)
    return [
        replace(memory, draft=embedded.get(memory.draft.record.id, memory.draft))
        for memory in memories
    ], links


def _present_records(namespace: str) -> Plan[list[MemoryRecord]]:
    records: list[MemoryRecord] = []
    after = None
    while True:
        page = yield from ask(ListRecords(namespace, limit=READ_PAGE_ROWS, after=after))
        records += page.records
        after = page.last
        if after is None:
            return records


def _changes_text(edits: Iterable[Event]) -> bool:
    return any("content" in edit.payload.get("was", ()) for edit in edits)


def _worked_out(rows_of: Mapping[str, int]) -> Plan[dict[str, dict[str, Any]]]:
    """The stored values that follow from the present texts of memories, by id and name.

    To work them out again would take most of the time that the past takes.
    """
    rows = np.array(sorted(rows_of.values()), dtype=np.int64)
    columns = yield from ask(FetchColumns(rows, (*FEATURES, "attribute_key")))
    features = np.array([columns[name] for name in FEATURES], dtype=np.float32).T
    states = ~np.isnan(np.asarray(columns["attribute_key"], dtype=np.float64))
    known: dict[int, dict[str, Any]] = {}
    for row, own, stated in zip(rows.tolist(), features, states.tolist(), strict=True):
        if not np.isnan(own[0]):  # else it was erased meanwhile
            known[row] = {"features": own.tobytes()}
            if not stated:
                known[row]["attribute_key"] = None  # a key has more bits than a column keeps
    return {id: known[row] for id, row in rows_of.items() if row in known}


def _present_vectors(
    namespace: str, rows_of: Mapping[str, int]
) -> Plan[dict[str, dict[str, Embedding]]]:
    """The present vectors of memories, by id and name."""
    names = yield from ask(Dimensions(namespace))
    present_ids = list(rows_of)
    rows = np.array([rows_of[id] for id in present_ids], dtype=np.int64)
    order = np.argsort(rows)
    vectors_of: dict[str, dict[str, Embedding]] = {id: {} for id in present_ids}
    for name in sorted(names):
        vectors = yield from ask(FetchVectors(rows[order], name))
        for place, vector in zip(order.tolist(), vectors, strict=True):
            if vector.size and not np.isnan(vector[0]):
                vectors_of[present_ids[place]][name] = vector
    return vectors_of


def _vectors_before(
    present: Mapping[str, Embedding], edits: Sequence[Event], replaced_vectors: ReplacedVectors
) -> tuple[dict[str, Embedding], bool]:
    """The vectors of a memory before some edits; True if that of its content is not kept."""
    vectors, is_lost = dict(present), False
    for edit in reversed(edits):
        added = edit.payload.get("vectors", ())
        replaced = replaced_vectors.get(edit.seq, {})
        if not EMBEDDED_FIELDS.isdisjoint(edit.payload.get("was", ())):
            is_lost = is_lost or ("content" in vectors and "content" not in (*added, *replaced))
            vectors = {name: v for name, v in vectors.items() if not follows_text(name)}
        vectors = {name: v for name, v in vectors.items() if name not in added}
        vectors.update(replaced)
    return vectors, is_lost and "content" not in vectors


def _embedded_again(drafts: Sequence[Draft], scope: WriteContext) -> Plan[dict[str, Draft]]:
    """Drafts with the vectors of their contents computed again, by id."""
    vectors, _ = yield from embed_texts((embedded_text(draft.record) for draft in drafts), scope)
    return {
        draft.record.id: replace(draft, vectors={**draft.vectors, "content": vectors[text]})
        for draft in drafts
        if (text := embedded_text(draft.record)) in vectors
    }


def _links_at(namespace: str, log: Iterable[Event], at: datetime) -> tuple[Link, ...]:
    """The links at a time."""
    links: dict[tuple[str, str, str], Link] = {}
    for event in log:
        if event.type != "link" or event.at > at or event.id is None:
            continue
        target, type_, weight = (event.payload[name] for name in ("target", "link", "weight"))
        key = (event.id, target, type_)
        links.pop(key, None)
        if weight is not None:
            links[key] = Link(namespace, event.id, target, type_, weight, link_time(event))
    return tuple(links.values())
