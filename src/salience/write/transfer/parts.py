"""Parts: memories with everything that is stored of them, as exports and copies take them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from salience.errors import NotEmpty
from salience.lazily import dataclass, field
from salience.records.events import Event, events_by_memory, link_time, record_at
from salience.records.record import EMPTY, Draft, Embedding, Link, MemoryRecord
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import (
    COPYING_NOTE,
    CountRecords,
    Dimensions,
    Events,
    FetchVectors,
    FormerVectors,
    ImportedHistory,
    LinksOf,
    Note,
    Notes,
    Op,
    Put,
    ReadRecords,
    ReadStats,
    RowsById,
    RowsInWriteOrder,
)
from salience.retrieval.plan import Plan, ask, drive
from salience.retrieval.questions import QUESTION_NOTE
from salience.write.embedding import MISSING_NOTE
from salience.write.items import follows_text

CHUNK_MEMORIES = 1_000  # read, and written in one transaction
FormerVector = tuple[int, str, Embedding]
"""A vector that an edit replaced: the edit's place in the log, its name, itself."""


@dataclass(frozen=True)
class Part:
    """One memory with its vectors by name, its links to others, its events and former vectors."""

    record: MemoryRecord
    vectors: Mapping[str, Embedding] = field(default_factory=lambda: EMPTY)
    links: tuple[Link, ...] = ()
    events: tuple[Event, ...] = ()
    former: tuple[FormerVector, ...] = ()


@dataclass(frozen=True)
class Outline:
    """The outline of a namespace as it was after the event at the place `until` in its log.

    `rows` are its memories in the order in which they were first written, `events` those that
    happened to all of them.
    """

    namespace: str
    until: int
    rows: Rows
    vector_names: tuple[str, ...]
    events: tuple[Event, ...]
    notes: Mapping[str, str]


def outline(namespace: str) -> Plan[Outline]:
    """The plan of reading the outline of a namespace."""
    last: Sequence[Event] = yield from ask(Events(namespace, last=1, waiting=False))
    until = last[0].seq if last else 0
    rows, names, notes, log = yield [
        RowsInWriteOrder(namespace),
        Dimensions(namespace),
        Notes(namespace),
        Events(namespace, ids=()),
    ]
    return Outline(
        namespace,
        until,
        rows,
        tuple(sorted(names)),
        tuple(event for event in log if event.id is None and event.seq <= until)
        if len(rows)
        else (),
        copied_notes(notes),
    )


def copied_notes(notes: Mapping[str, str]) -> dict[str, str]:
    """The notes that a copy takes, by key: labelled questions, and that vectors are missing.

    All others tell of work in progress, or of numbers of rows, which a copy has others of.
    """
    keys = [key for key in notes if key == MISSING_NOTE or key.startswith(QUESTION_NOTE)]
    return {key: notes[key] for key in sorted(keys)}


def _edited_rows(source: Outline, read: Collection[str]) -> Plan[Rows]:
    """Find the memories that were not read, as they got another row since the outline."""
    edits: Sequence[Event] = yield from ask(
        Events(source.namespace, types=("write", "edit"), after=source.until)
    )
    young = {event.id for event in edits if event.type == "write"}
    ids = {event.id: None for event in edits if event.id is not None and event.id not in young}
    rows = yield from ask(RowsById(source.namespace, tuple(id for id in ids if id not in read)))
    return np.array(sorted(rows.values()), dtype=np.int64)


def former_vectors(source: Outline) -> Plan[dict[int, list[FormerVector]]]:
    """The plan of reading the vectors that edits replaced, by the edit's place in the log."""
    former: dict[int, list[FormerVector]] = {}
    for vector in (yield from ask(FormerVectors(source.namespace))):
        if vector[0] <= source.until:
            former.setdefault(vector[0], []).append(vector)
    return former


def read_chunks(
    source: Outline,
    vector_names: Sequence[str],
    former: Mapping[int, Sequence[FormerVector]],
    perform: Callable[[Sequence[Op]], Sequence[Any]],
) -> Iterator[list[Part]]:
    """The memories of a namespace as they were at the outline, chunk by chunk in their order.

    Those that get another row meanwhile come last.
    """
    read: set[str] = set()
    rows = source.rows
    while len(rows):
        for start in range(0, len(rows), CHUNK_MEMORIES):
            chunk = rows[start : start + CHUNK_MEMORIES]
            parts = drive(_read_parts(source, chunk, vector_names, former), perform)
            parts = [part for part in parts if part.record.id not in read]
            read.update(part.record.id for part in parts)
            yield parts
        rows = drive(_edited_rows(source, read), perform)


def _read_parts(
    source: Outline,
    rows: Rows,
    vector_names: Sequence[str],
    former: Mapping[int, Sequence[FormerVector]],
) -> Plan[list[Part]]:
    """The plan of reading the memories of some rows as they were at the outline.

    Rows that are gone or younger are left out. What happened to a memory since is taken back; its
    vectors are then left out if it was edited.
    """
    reads: list[Op] = [ReadRecords(rows), *(FetchVectors(rows, name) for name in vector_names)]
    records, *matrices = yield reads
    ids = tuple(record.id for record in records if record is not None)
    # After the records: what happened to these is in the log by then.
    log, links = yield [Events(source.namespace, ids=ids), LinksOf(source.namespace, ids)]
    events_of = events_by_memory(log)
    links_of: dict[str, list[Link]] = {}
    for link in sorted(links, key=lambda link: (link.target, link.type)):
        links_of.setdefault(link.source, []).append(link)
    parts = []
    for place, record in enumerate(records):
        events = [] if record is None else events_of.get(record.id, [])
        if record is None or (events and events[0].seq > source.until):
            continue
        vectors = {
            name: matrix[place]
            for name, matrix in zip(vector_names, matrices, strict=True)
            if matrix.shape[1] and not np.isnan(matrix[place, 0])
        }
        own = Part(record, vectors, tuple(links_of.get(record.id, ())), tuple(events))
        parts.append(_at_outline(own, source.until, former))
    return parts


def _at_outline(part: Part, until: int, former: Mapping[int, Sequence[FormerVector]]) -> Part:
    """A memory without the events since, and what they changed."""
    record, vectors, links = part.record, part.vectors, part.links
    visible = [event for event in part.events if event.seq <= until]
    since = part.events[len(visible) :]
    if since:
        record = record_at(record, part.events, visible)
        if any(event.type == "edit" for event in since):
            vectors = {name: v for name, v in vectors.items() if not follows_text(name)}
        if any(event.type == "link" for event in since):
            links = _links_before(part, until)
    own = tuple(event for event in visible if event.id is not None)
    replaced = tuple(vector for event in own for vector in former.get(event.seq, ()))
    return Part(record, vectors, links, own, replaced)


def _links_before(part: Part, until: int) -> tuple[Link, ...]:
    """The links of a memory before those that were made and removed since."""
    links = {(link.target, link.type): link for link in part.links}
    changed = {
        (event.payload["target"], event.payload["link"])
        for event in part.events
        if event.type == "link" and event.seq > until
    }
    for key in changed:
        links.pop(key, None)
    for event in part.events:
        if event.type != "link" or event.seq > until:
            continue
        target, type, weight = (event.payload[name] for name in ("target", "link", "weight"))
        if (target, type) in changed:
            links.pop((target, type), None)
            if weight is not None:
                record = part.record
                links[target, type] = Link(
                    record.namespace, record.id, target, type, weight, link_time(event)
                )
    return tuple(links[key] for key in sorted(links))


def write_parts(
    namespace: str,
    parts: Sequence[Part],
    events: Sequence[Event],
    last: int,
    embedder: str | None,
) -> Plan[tuple[str, ...]]:
    """The plan of writing memories with their past, in one transaction: the ids that are taken.

    `events` are those of all memories of the namespace, which are written if it has none yet;
    `last` is the last place of its log.
    """
    ids = tuple(part.record.id for part in parts)
    present = yield from ask(RowsById(namespace, ids))
    missing = [part for part in parts if part.record.id not in present]
    if not missing:
        return ()
    log = [event for part in missing for event in part.events]
    if events and not (yield from ask(CountRecords(namespace))):
        log += events
    return (
        yield from ask(
            Put(
                tuple(Draft(part.record, part.vectors) for part in missing),
                tuple(link for part in missing for link in part.links),
                embedder=embedder,
                past=ImportedHistory(
                    namespace,
                    tuple(sorted(log, key=lambda event: event.seq)),
                    tuple(vector for part in missing for vector in part.former),
                    last,
                ),
            )
        )
    )


def begin(namespace: str, origin: str) -> Plan[None]:
    """The plan of beginning to write to a namespace from elsewhere, or of going on with that.

    `origin` tells one source from another.

    Raises:
        NotEmpty: it holds memories of its own, or some of another source.
    """
    notes, figures = yield [Notes(namespace), ReadStats((namespace,))]
    unfinished = notes.get(COPYING_NOTE)
    if figures["memories"] and unfinished != origin:
        of = "of another source, which was broken off" if unfinished else "already"
        raise NotEmpty(
            f"the namespace {namespace!r} holds {figures['memories']:,} memories {of}; "
            "take another namespace or store, or erase them first"
        )
    if unfinished != origin:
        yield from ask(Note(namespace, COPYING_NOTE, origin, unfinished))


def finish(copied: Mapping[str, Mapping[str, str]]) -> Plan[None]:
    """The plan of ending that, once all of a copy is written: each namespace gets its notes.

    Until all have them, the copy can be gone on with.
    """
    marks: Mapping[str, Mapping[str, None]] = {name: {COPYING_NOTE: None} for name in copied}
    for notes_of in (copied, marks):
        for namespace, notes in notes_of.items():
            current = yield from ask(Notes(namespace))
            for key, value in notes.items():
                if current.get(key) != value:
                    yield from ask(Note(namespace, key, value, current.get(key)))
