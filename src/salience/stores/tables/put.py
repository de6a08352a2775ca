"""Put: from the state a write relies on to what it changes, namespace by namespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from salience.lazily import dataclass, field, replace
from salience.records.events import Event, edit_event, link_event, unlink_event, write_event
from salience.records.record import Draft, Edit, MemoryRecord
from salience.retrieval.operations import OWNER_FIELDS, KeyOfOwner, Put
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.tables.commands import Abandon, Command, Many, Send, shared, worded
from salience.stores.tables.dialect import (
    SELECT_SETS,
    Dialect,
    NewRow,
    parse_sets,
    records_by_id,
    select_states,
    select_stored,
    states_by_id,
    stored_by_id,
)
from salience.stores.tables.event_log import LogEntry, append_events, import_history, select_keys

PreparedDrafts = Sequence[tuple[Draft, dict[str, Any]]]


@dataclass(eq=False)
class NamespaceBatch:
    """All that one write does to one namespace, and the state that it relies on."""

    namespace: str
    sets: VectorSets
    head: Any  # the answer to `Dialect.enter`
    rows: Iterator[int] = field(default_factory=lambda: iter(()))  # the numbers of new rows
    sequences: Iterator[int] | None = None  # of new memories; None for those of their rows
    replaced: dict[str, dict[str, Any]] = field(default_factory=dict)  # memories by id
    replaced_vectors: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Vectors of these, by old row and stored name."""
    dimensions: dict[str, int] = field(default_factory=dict)  # by the stored names of vectors
    used_keys: set[str] = field(default_factory=set)  # of drafts that an event has already
    known: dict[str, int] = field(default_factory=dict)  # sequences of memories by id
    existing_links: set[tuple[str, ...]] = field(default_factory=set)  # from sources of unlinks
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Stored memories that events of this write change, by id; then those that it writes, too."""
    expected: dict[str, MemoryRecord] = field(default_factory=dict)
    """Stored memories that must be as they were when read, by id."""
    saying_the_same: Sequence[Sequence[tuple[str, int, KeyOfOwner]]] = ()
    """Memories as `operations.Seen` compares them, by text and by attribute."""
    log_entries: list[LogEntry] = field(default_factory=list)
    memories: list[NewRow] = field(default_factory=list)
    vectors: list[tuple[Any, ...]] = field(default_factory=list)  # namespace, name, row, vector
    former_vectors: list[tuple[int, int, str, Any]] = field(default_factory=list)
    """Sequence of the memory, index of the event, name, vector."""

    def take(self, answers: Mapping[str, Any], dialect: Dialect) -> None:
        """Take in what `_reads` has read."""
        self.replaced = stored_by_id(answers.get("replaced", ()), dialect)
        self.dimensions = dict(answers.get("dimensions", ()))
        for row, name, vector in answers.get("vectors", ()):
            self.replaced_vectors.setdefault(row, {})[name] = vector
        self.used_keys = {key for (key,) in answers.get("keys", ())}
        self.known = dict(answers.get("sources", ()))
        self.existing_links = {tuple(link) for link in answers.get("links", ())}
        self.saying_the_same = [
            [(id, row, (key, *owner)) for id, row, key, *owner in answers[column]]
            for column in ("text_key", "attribute_key")
            if column in answers
        ]
        self.states = states_by_id(answers.get("states", ()), dialect)
        self.expected = records_by_id(self.namespace, answers.get("were", ()), dialect)

    def version_of(
        self, draft: Draft, values: dict[str, Any], op: Put
    ) -> tuple[Event, list[str], list[str]]:
        """Number the next version of a memory, which takes over what no edit changes.

        The result also has its event, and the stored names of the vectors that it keeps and of
        those that become former ones.
        """
        before = self.replaced.get(draft.record.id)
        row = next(self.rows)
        values.update(row=row)
        if before is None:
            values.update(sequence=row if self.sequences is None else next(self.sequences))
            return write_event(draft, op.actor), [], []
        assert isinstance(draft, Edit)
        values.update(codec.succession(values, before, draft.note), sequence=before["sequence"])
        names = self.replaced_vectors.get(before["row"], {})
        handed, lost = codec.split_vectors(draft, sorted(names), self.sets)
        had = {self.sets.searched_name(name) for name in names}
        old = codec.record_of(self.namespace, before)
        return edit_event(old, draft, op.actor, draft.vectors.keys() - had), handed, lost

    def add(
        self,
        draft: Draft,
        values: dict[str, Any],
        handed: Sequence[str],
        lost: Sequence[str],
        dialect: Dialect,
    ) -> None:
        """Add the row of a memory and its vectors, before its event is among the entries."""
        row, before = values["row"], self.replaced.get(draft.record.id)
        vectors = {self.sets.stored_name(name): array for name, array in draft.vectors.items()}
        if before is not None:
            old = self.replaced_vectors.get(before["row"], {})
            of_old = {name: dialect.embedding(old[name]) for name in (*handed, *lost)}
            vectors |= {name: of_old[name] for name in handed}
            at = len(self.log_entries)
            self.former_vectors += [
                (before["sequence"], at, name, dialect.vector(of_old[name])) for name in lost
            ]
        self.memories.append(NewRow(draft.record, values))
        self.vectors += [
            (self.namespace, name, row, dialect.vector(vector)) for name, vector in vectors.items()
        ]

    def commands(self, last: int, dialect: Dialect) -> list[Command]:
        """Write the rows; the last of the entries is at the place `last`."""
        old = [values["row"] for values in self.replaced.values()]
        first = last - len(self.log_entries) + 1
        former = [
            (self.namespace, memory, first + at, *vector)
            for memory, at, *vector in self.former_vectors
        ]
        return [
            *(dialect.erase_rows(self.namespace, old) if old else []),
            *(dialect.insert_memories(self.namespace, self.memories) if self.memories else []),
            *dialect.insert("vectors", self.vectors),
            *dialect.insert("former_vectors", former),
        ]


def written_namespaces(op: Put) -> list[str]:
    """The namespaces of a write, in the order in which they are locked."""
    return sorted(
        {draft.record.namespace for draft in op.drafts}
        | {link.namespace for link in (*op.links, *op.unlinks)}
        | ({op.also.namespace} if op.also is not None else set())
        | ({op.past.namespace} if op.past is not None else set())
        | ({op.seen.namespace} if op.seen is not None else set())
    )


def put(
    op: Put, prepared: PreparedDrafts, dialect: Dialect, send: Send
) -> dict[str, NamespaceBatch]:
    """Write everything, or nothing; the batches of the namespaces.

    Raises:
        Abandon: with the ids that stand in the way.
    """
    batches, embedder = _begin(op, dialect, send)
    refused = _refused_ids(op, batches)
    if refused:
        raise Abandon(refused)
    codec.check_vectors(op, embedder, lambda name, names: _dimensions(batches[name], names))
    rows = Counter(draft.record.namespace for draft, _ in prepared)
    begun = {name: rows[name] - len(batch.replaced) for name, batch in batches.items()}
    heads = {name: batch.head for name, batch in batches.items()}
    for name, numbers in dialect.number(heads, rows, begun, send).items():
        batches[name].rows, batches[name].sequences = numbers
    for draft, encoded in prepared:
        _add_memory(batches[draft.record.namespace], draft, dict(encoded), op, dialect)
    changes: list[Command] = []
    if op.also is not None:
        batch = batches[op.also.namespace]
        changed, entries = op.also.applied(batch.states)
        changes = dialect.set_rows(op.also.namespace, changed)
        batch.log_entries += entries
    for batch in batches.values() if op.past is None else ():
        batch.log_entries += _link_events(batch, op)
    places = send(*[dialect.reserve(name, len(each.log_entries)) for name, each in batches.items()])
    commands: list[Command] = []
    for batch, [[last]] in zip(batches.values(), places, strict=True):
        commands += batch.commands(last, dialect)
        commands += append_events(batch.namespace, last, batch.log_entries, dialect)
    commands += [*changes, *_link_commands(op, dialect)]
    if op.past is not None:
        batch = batches[op.past.namespace]
        commands += import_history(op.past, batch.known, batch.sets, dialect)
    if op.embedder and embedder is None and any(draft.vectors for draft in op.drafts):
        commands += dialect.replace("meta", [("embedder", op.embedder)])
    send(*commands)
    return batches


def _begin(op: Put, dialect: Dialect, send: Send) -> tuple[dict[str, NamespaceBatch], str | None]:
    """Lock the namespaces, and read their state: a batch of each, and the embedder."""
    reads = {name: _reads(op, name, dialect) for name in written_namespaces(op)}
    first = [*(dialect.enter(name) for name in reads), SELECT_SETS]
    answers = send(*first, *[read for own in reads.values() for read in own.values()])
    *heads, stored_sets = answers[: len(first)]
    embedder, sets = parse_sets(stored_sets)
    rest = iter(answers[len(first) :])
    batches = {}
    for (name, selects), head in zip(reads.items(), heads, strict=True):
        batches[name] = NamespaceBatch(name, sets, head)
        batches[name].take({kind: next(rest) for kind in selects}, dialect)
    return batches, embedder


def _reads(op: Put, name: str, dialect: Dialect) -> dict[str, Command]:
    """Read the state of a namespace, as far as a write depends on it."""
    drafts = [draft for draft in op.drafts if draft.record.namespace == name]
    edits = [edit.record.id for edit in op.edits if edit.record.namespace == name]
    keys = [key for namespace, key, _ in op.keys if namespace == name]
    unlinks = [link.source for link in op.unlinks if link.namespace == name]
    sources = [link.source for link in op.links if link.namespace == name] + unlinks
    if op.past is not None and op.past.namespace == name:
        sources += {event.id for event in op.past.events if event.id is not None}
    vectors = sorted({vector_name for draft in drafts for vector_name in draft.vectors})
    reads: dict[str, Command] = {}
    if drafts:
        reads["replaced"] = select_stored(name, [each.record.id for each in drafts], locked=True)
    if edits:
        reads["vectors"] = shared(
            "SELECT vectors.$row, vectors.name, vectors.vector FROM memories "
            "JOIN vectors $vectors_by_row ON "
            "vectors.$namespace = memories.$namespace AND vectors.$row = memories.$row "
            "WHERE memories.$own AND memories.id $any_text",
            (name, edits),
        )
    if vectors:
        reads["dimensions"] = dialect.select_dimensions(name, vectors)
    if keys:
        reads["keys"] = select_keys(name, keys)
    if sources:
        reads["sources"] = shared(
            "SELECT id, sequence FROM memories WHERE $own AND id $any_text",
            (name, sources),
        )
    if unlinks:
        reads["links"] = shared(
            "SELECT source, target, type FROM links WHERE $own AND source $any_text",
            (name, unlinks),
        )
    if op.seen is not None and op.seen.namespace == name:
        for column, seen, after in op.seen.lookups():
            reads[column] = shared(
                f"SELECT id, $row, {column}, {', '.join(OWNER_FIELDS)} FROM memories "
                f"$memories_by_{column.removesuffix('_key')} WHERE $own "
                f"AND {column} $any_number AND $row > %s",
                (name, seen, after),
            )
    if op.also is not None and op.also.namespace == name:
        reads["states"] = select_states(name, op.also.ids)
        reads["were"] = select_stored(name, [was.id for was in op.also.were])
    return reads


def _refused_ids(op: Put, batches: Mapping[str, NamespaceBatch]) -> tuple[str, ...]:
    """The ids of memories that stand in the way."""
    old = {
        (name, id): stored
        for name, batch in batches.items()
        for id, stored in batch.replaced.items()
    }
    used = {(name, key) for name, batch in batches.items() for key in batch.used_keys}
    refused = codec.conflicting_ids(op, old, used)
    if op.seen is not None and not refused:
        refused = op.seen.unseen_ids(batches[op.seen.namespace].saying_the_same)
    if op.also is not None and not refused:
        batch = batches[op.also.namespace]
        refused = op.refused_events(batch.states, batch.expected)
    return refused


def _dimensions(batch: NamespaceBatch, names: Iterable[str]) -> dict[str, int]:
    """The lengths of the searched vectors of some names, as far as they exist."""
    stored = {name: batch.sets.stored_name(name) for name in names}
    return {name: batch.dimensions[own] for name, own in stored.items() if own in batch.dimensions}


def _add_memory(
    batch: NamespaceBatch, draft: Draft, values: dict[str, Any], op: Put, dialect: Dialect
) -> None:
    """Add one memory to a batch, with its event."""
    id = draft.record.id
    event, handed, lost = batch.version_of(draft, values, op)
    batch.known[id] = values["sequence"]
    if op.also is not None and (op.also.ids is None or id in op.also.ids):
        place = {"row": values["row"], "sequence": values["sequence"]}
        batch.states[id] = {**codec.decode_state(values), **place}
    batch.add(draft, values, handed, lost, dialect)
    if op.past is None:
        batch.log_entries.append((values["sequence"], event))


def _link_events(batch: NamespaceBatch, op: Put) -> Iterator[LogEntry]:
    """The links to remove and to make, as events of the memories that they come from."""
    for link in op.unlinks:
        if link.namespace == batch.namespace and link.key in batch.existing_links:
            batch.existing_links.remove(link.key)
            if link.source in batch.known:
                yield batch.known[link.source], unlink_event(link, op.actor, op.at)
    for link in op.links:
        if link.namespace == batch.namespace and link.source in batch.known:
            event = link_event(link, op.actor, op.at, brought=link.key in op.brought)
            if op.note and link is op.links[0]:
                event = replace(event, payload={**event.payload, **op.note})
            yield batch.known[link.source], event


def _link_commands(op: Put, dialect: Dialect) -> list[Command]:
    """Delete links and write others, each in the place of one of its type between the same two."""
    keys = [(each.namespace, each.source, each.target, each.type) for each in op.unlinks]
    rows = [
        (
            *(link.namespace, link.source, link.target, link.type, link.weight),
            codec.encode("created_at", link.created_at),
        )
        for link in op.links
    ]
    delete = "DELETE FROM links WHERE $own AND source = %s AND target = %s AND type = %s"
    sources: dict[str, dict[str, None]] = {}
    for link in (*op.unlinks, *op.links):
        sources.setdefault(link.namespace, {})[link.source] = None
    return [
        *([Many(worded(delete), keys)] if keys else []),
        *dialect.replace("links", rows),
        *(each for name, ids in sources.items() for each in dialect.note_linked(name, list(ids))),
    ]
