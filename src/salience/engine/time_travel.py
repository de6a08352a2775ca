"""Time travel: a namespace as it was at a time, reconstructed from its present and its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from salience.errors import StoreError
from salience.language.features import FEATURES
from salience.lazily import dataclass, replace
from salience.records.events import (
    STATE,
    USE_EVENTS,
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
    Delete,
    Dimensions,
    Events,
    FetchColumns,
    FetchVectors,
    FormerVectors,
    LinksOf,
    ListRecords,
    Put,
    ReadRecords,
    ReadStats,
    RowsById,
    SetFields,
)
from salience.retrieval.plan import Plan, T, ask
from salience.stores import EmbeddedStore, open_store
from salience.stores.codec import DAMAGES
from salience.stores.protocol import Store
from salience.stores.tables.event_log import event_of
from salience.write.embedding import embed_texts
from salience.write.items import EMBEDDED_FIELDS, WriteContext, embedded_text, follows_text

READ_PAGE_ROWS = 10_000
_WRITTEN_AT_ONCE = 2_000  # memories of the past; other threads run in between
_MOVED_AT_LEAST, _MOVED_SHARE = 1_000, 2
"""Memories that may differ between two times, of which a past is moved from one to the other: so
many, or one in so many. Beyond it, another past is built."""
ReplacedVectors = Mapping[int, Mapping[str, Embedding]]
"""Vectors that edits replaced, by the edit's `seq` in the log and by name."""


@dataclass(frozen=True)
class _PastMemory:
    """A memory as it was: the `seq` of its write and of the event that gave it its row then."""

    written: int
    placed: int
    draft: Draft

    @property
    def id(self) -> str:
        return self.draft.record.id


class Unmovable(Exception):
    """Raised for a past that must be built again."""


_Logged = tuple[int, str, str | None, float]
"""The place, type, memory and time of an event."""


class _PastLog:
    """The times of the events of a namespace, and which of them count in a store of its past."""

    def __init__(self) -> None:
        self.last = 0  # the place of the last event here
        self.ids: list[str | None] = []
        self._at = np.empty(0)
        self._is_use = self.counted = np.empty(0, dtype=bool)
        self.waiting: set[str | None] = set()  # memories with uses that count, not yet written

    def extend(self, events: Iterable[_Logged], last: int, *, counted: bool = False) -> None:
        """Add events, which count already or not, up to a place."""
        self.last = max(self.last, last)
        events = [event for event in events if event[1] != "erase"]
        self.ids += [id for _, _, id, _ in events]
        self._at = np.append(self._at, [at for *_, at in events])
        self._is_use = np.append(self._is_use, [type in USE_EVENTS for _, type, *_ in events])
        self.counted = np.append(self.counted, np.full(len(events), counted))

    def visible(self, at: datetime) -> NDArray[Any]:
        """See `visible_at`."""
        return np.where(self._is_use, self._at < at.timestamp(), self._at <= at.timestamp())


class Past:
    """A store in memory that holds what namespaces held at a time.

    Its rows are numbered as they come; `placed` has the order that they had in the past, by
    namespace and id.
    """

    def __init__(self, namespaces: Sequence[str], embedder: str | None) -> None:
        self.namespaces, self.embedder = namespaces, embedder
        self.at = datetime.max.replace(tzinfo=UTC)  # until it is first moved
        self._is_empty = True
        store = open_store("ram://")
        assert isinstance(store, EmbeddedStore)
        self.store = store
        self.placed: dict[str, dict[str, int]] = {name: {} for name in namespaces}
        store.placed = self.placed
        self.logs = {name: _PastLog() for name in namespaces}
        self.written: dict[str, dict[str, int]] = {name: {} for name in namespaces}
        """The places of first writings, by namespace and id."""
        self.memories = 0  # at present
        self.nbytes = 0  # of its rows and indexes, when it was made
        self.plans = WeakSet[Any]()  # those that rely on its rows

    def copy(self, present: Store) -> None:
        """Become the present, if it is in a file that is copied at once; its moves start there.

        Raises:
            Unmovable: the log does not have the beginning of all memories, or is damaged.
        """
        try:
            self._copy(present)
        except (StoreError, *DAMAGES) as problem:  # named by the reads of the memories one by one
            raise Unmovable from problem

    def _copy(self, present: Store) -> None:
        copied = None
        if isinstance(present, EmbeddedStore) and present.embedder() in (None, self.embedder):
            copied = present.copied(self.namespaces, self.placed)
        if copied is None:
            return
        store, logs = copied
        for name, (count, last, rows) in logs.items():
            self.logs[name].extend([row[:4] for row in rows], last, counted=True)
            placed, written, first = self.placed[name], self.written[name], self._first(name)
            for seq, type, id, at, payload in rows:
                if id is None or type not in ("write", "edit"):
                    continue
                if type == "write":
                    written[id] = seq
                if gives_new_row(event_of(seq, type, id, at, None, None, payload)):
                    placed[id] = first + seq
            if len(written) != count:
                raise Unmovable
        [stats] = store.batch([ReadStats(tuple(self.namespaces))])
        self.store, self.memories, self._is_empty = store, stats["memories"], False

    def move(self, at: datetime, scope: WriteContext) -> Plan[bool]:
        """Make it the past of another time by what differs; False, with nothing done, if most does.

        Contents are followed back over later edits, vectors to the ones that these replaced;
        accesses, status and judgements are worked out from the events until then, and so are links.
        What was erased since is not in it. A text whose vector is not kept any more is embedded
        again.

        Raises:
            Unmovable: something was erased since, or was written before what is here.
        """
        since: dict[str, tuple[list[Event], int]] = {}
        for name, log in self.logs.items():
            since[name] = yield from _since(name, log.last)
        stats = yield from ask(ReadStats(tuple(self.namespaces)))
        types = Counter(event.type for events, _ in since.values() for event in events)
        is_whole = stats["memories"] == self.memories + types["write"] and not types["erase"]
        if not self._is_empty and not is_whole:
            raise Unmovable
        self.memories = stats["memories"]
        if at == self.at and not any(events for events, _ in since.values()):
            return True
        differing: dict[str, set[Any] | None] = {}
        waiting: dict[str, set[str | None]] = {}
        for name, (events, end) in since.items():
            log = self.logs[name]
            written = [event for event in events if event.seq <= end]
            log.extend([(e.seq, e.type, e.id, e.at.timestamp()) for e in written], end)
            waiting[name] = {e.id for e in visible_at(events, at) if e.seq > end}
            places = np.flatnonzero(log.visible(at) != log.counted).tolist()
            ids = {log.ids[place] for place in places} | log.waiting | waiting[name]
            differing[name] = None if self._is_empty else ids
        most = max(_MOVED_AT_LEAST, self.memories // _MOVED_SHARE)
        if any(ids and (None in ids or len(ids) > most) for ids in differing.values()):
            return False
        for name, some in differing.items():
            if some != set():
                events, end = since[name]
                logged = [event for event in events if event.seq <= end]
                yield from self._settle(name, at, scope, some, logged)
            log = self.logs[name]
            log.counted, log.waiting = log.visible(at), waiting[name]
        self.at, self._is_empty = at, False
        if not self.nbytes:
            [figures] = self.store.batch([ReadStats()])
            self.nbytes = int((figures["file_mb"] + figures["index_mb"]) * 1e6)
        return True

    def _first(self, name: str) -> int:
        """The place before a namespace's rows, which come before those of the next one."""
        return self.namespaces.index(name) << 44

    def _settle(
        self,
        name: str,
        at: datetime,
        scope: WriteContext,
        ids: set[str] | None,
        log: list[Event],
    ) -> Plan[None]:
        """Make memories and their links what they were at a time, for some ids or all."""
        ask_store, placed, written = self.store.batch, self.placed[name], self.written[name]
        memories, links_then = yield from _contents_at(name, at, scope, ids, log)
        new = [memory for memory in memories if memory.id not in placed]
        gone = ((ids or set()) & placed.keys()) - {memory.id for memory in memories}
        if gone:  # and with them all links, of which those from other memories may stay
            [links] = ask_store([LinksOf(name, tuple(sorted(gone)))])
            ask_store([Delete(name, None, tuple(sorted(gone)))])
            links_then += tuple(link for link in links if link.source not in (ids or ()))
            for id in gone:
                del placed[id], written[id]
        if new and min(memory.written for memory in new) < max(written.values(), default=0):
            raise Unmovable
        left = [memory for memory in memories if memory.id in placed]
        first = self._first(name)
        edited = [memory for memory in left if placed[memory.id] != first + memory.placed]
        placed.update((memory.id, first + memory.placed) for memory in memories)
        stale = tuple(ask_store([Dimensions(name)])[0]) if edited else ()
        steps = [(m.placed, _edit(m, stale)) for m in edited] + _first_writings(new)
        for _, run in groupby((draft for _, draft in sorted(steps, key=itemgetter(0))), key=type):
            while drafts := tuple(islice(run, _WRITTEN_AT_ONCE)):
                ask_store([Put(drafts, embedder=scope.embedder)])
        if left:
            [rows] = ask_store([RowsById(name, tuple(memory.id for memory in left))])
            numbers = np.array([rows[memory.id] for memory in left], dtype=np.int64)
            [records] = ask_store([ReadRecords(numbers)])
            pairs = zip((memory.draft.record for memory in left), records, strict=True)
            ask_store([SetFields(name, {then.id: _differing(now, then) for then, now in pairs})])
        written.update((memory.id, memory.written) for memory in new)
        here: Sequence[Link] = []
        if ids:
            [found] = ask_store([LinksOf(name, tuple(sorted(ids)))])
            here = [link for link in found if link.source in ids]
        then = {link.key: link for link in links_then}
        others = tuple(link for link in links_then if link not in here)
        unlinks = tuple(link for link in here if link.key not in then)
        if others or unlinks:
            ask_store([Put((), others, unlinks)])


def _first_writings(memories: Iterable[_PastMemory]) -> list[tuple[int, Draft]]:
    """Drafts of new memories by their places, so that rows and first writings keep their orders.

    A memory that was edited is written in its place and again where the edit gave it a new row.
    """
    steps: list[tuple[int, Draft]] = []
    for memory in memories:
        record, draft = memory.draft.record, memory.draft
        if memory.placed != memory.written:
            steps.append((memory.placed, _edit(memory)))
            draft = replace(draft, record=replace(record, version=record.version - 1))
        steps.append((memory.written, draft))  # the second write adds one to the version
    return steps


def _edit(memory: _PastMemory, stale: tuple[str, ...] = ()) -> Edit:
    """The draft that gives a memory another row."""
    draft = memory.draft
    return Edit(draft.record, draft.vectors, known=draft.known, stale=stale)


def as_of(plan: Plan[T], namespaces: Sequence[str], at: datetime) -> Plan[T]:
    """Run a plan with every operation answered as it would have been at a time."""
    try:
        ops = next(plan)
        while True:
            try:
                answers = yield from ask(AsOf(tuple(namespaces), at, tuple(ops), plan))
            except Exception as problem:  # handed to the plan, which re-raises what it cannot use
                ops = plan.throw(problem)
            else:
                ops = plan.send(answers)
    except StopIteration as end:
        return end.value


def _since(namespace: str, place: int) -> Plan[tuple[list[Event], int]]:
    """The events after a place of the log, and the place of the last one that is written."""
    since, last = yield [Events(namespace, after=place), Events(namespace, last=1, waiting=False)]
    return since, max((place, *(event.seq for event in last)))


def _differing(now: MemoryRecord, then: MemoryRecord) -> dict[str, Any]:
    """The values of a record that another one does not have."""
    names = (*STATE, "metadata")
    return {n: value for n in names if (value := getattr(then, n)) != getattr(now, n)}


def _contents_at(
    namespace: str, at: datetime, scope: WriteContext, ids: Collection[str] | None, log: list[Event]
) -> Plan[tuple[list[_PastMemory], tuple[Link, ...]]]:
    """Read the memories and links that a namespace held at a time, those of some ids or all.

    For all, `log` is the log as far as it is written, which is emptied.
    """
    chosen = None if ids is None else tuple(sorted(ids))
    if chosen is None:
        records = yield from _present_records(namespace)
    else:
        records = yield from _records_of(namespace, chosen)
    vectors_of, known_of = yield from _made_of_texts(namespace, [record.id for record in records])
    # After all else: what happened to these meanwhile is in the log by then, and is undone, too.
    if chosen is None:
        log += yield from ask(Events(namespace, after=log[-1].seq if log else 0))
    else:
        log = yield from ask(Events(namespace, chosen))
    undone = tuple(event.seq for event in log if event.type == "edit" and event.at > at)
    replaced = yield from ask(FormerVectors(namespace, None if chosen is None else undone))
    replaced_vectors: dict[int, dict[str, Embedding]] = {}
    for seq, name, vector in replaced:
        replaced_vectors.setdefault(seq, {})[name] = vector
    events_of, links = events_by_memory(log), _links_at(namespace, log, at)
    log.clear()
    memories: list[_PastMemory] = []
    unembedded: list[Draft] = []
    records.reverse()
    while records:  # everything is freed bit by bit: at once it would hold up other threads
        record = records.pop()
        events = events_of.pop(record.id, [])
        visible = visible_at(events, at)
        if _is_written(visible):
            edits = [event for event in events if event.type == "edit" and event.at > at]
            present = vectors_of.pop(record.id, {})
            vectors, is_lost = _vectors_before(present, edits, replaced_vectors)
            derived = {} if _changes_text(edits) else known_of.get(record.id, {})
            draft = Draft(record_at(record, events, visible), vectors, known=derived)
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


def _is_written(events: Iterable[Event]) -> bool:
    return any(event.type == "write" for event in events)


def _changes_text(edits: Iterable[Event]) -> bool:
    return any("content" in edit.payload.get("was", ()) for edit in edits)


def _records_of(namespace: str, ids: tuple[str, ...]) -> Plan[list[MemoryRecord]]:
    """The records of those memories that there are, each as it is at one time."""
    records: list[MemoryRecord] = []
    while ids:
        rows_of = yield from ask(RowsById(namespace, ids))
        found = yield from ask(ReadRecords(np.array([*rows_of.values()], dtype=np.int64)))
        records += [record for record in found if record is not None]
        # The others got another row meanwhile, or are gone.
        ids = tuple(rows_of.keys() - {record.id for record in records})
    return records


def _made_of_texts(
    namespace: str, ids: Sequence[str]
) -> Plan[tuple[dict[str, dict[str, Embedding]], dict[str, dict[str, Any]]]]:
    """The present vectors of memories, and `_worked_out`, by id; each of one row."""
    vectors_of: dict[str, dict[str, Embedding]] = {}
    known_of: dict[str, dict[str, Any]] = {}
    left = tuple(ids)
    while left:
        rows_of = yield from ask(RowsById(namespace, left))
        vectors = yield from _present_vectors(namespace, rows_of)
        known = yield from _worked_out(rows_of)
        rows_then = yield from ask(RowsById(namespace, tuple(rows_of)))
        same = {id for id, row in rows_then.items() if row == rows_of[id]}
        vectors_of |= {id: vectors[id] for id in same}
        known_of |= {id: known[id] for id in same & known.keys()}
        left = tuple(rows_then.keys() - same)
    return vectors_of, known_of


def _worked_out(rows_of: Mapping[str, int]) -> Plan[dict[str, dict[str, Any]]]:
    """The stored values that follow from the present texts of memories, by id and name.

    To work them out again would take most of the time that the past takes.
    """
    rows = np.array(sorted(rows_of.values()), dtype=np.int64)
    columns = yield from ask(FetchColumns(rows, (*FEATURES, "attribute_key")))
    features = np.array([columns[name] for name in FEATURES], dtype=np.float32).T
    states = ~np.isnan(np.asarray(columns["attribute_key"], dtype=np.float64))
    derived: dict[int, dict[str, Any]] = {}
    for row, vector, stated in zip(rows.tolist(), features, states.tolist(), strict=True):
        if not np.isnan(vector[0]):  # else it was erased meanwhile
            derived[row] = {"features": vector.tobytes()}
            if not stated:
                derived[row]["attribute_key"] = None  # a key has more bits than a column keeps
    return {id: derived[row] for id, row in rows_of.items() if row in derived}


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
