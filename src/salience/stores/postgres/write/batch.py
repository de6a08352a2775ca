"""A write to one namespace, collected before it is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from salience.records.events import link_event, unlink_event
from salience.records.record import Link, MemoryRecord
from salience.retrieval import operations
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.postgres.write.dialect import DIALECT, lock_namespace
from salience.stores.tables.commands import Command, Many, Send, Statement
from salience.stores.tables.event_log import LogEntry

_ADD_TALLY = (
    "INSERT INTO tallies (namespace, kind, name, number, size, version) VALUES (%s, %s, %s, %s,"
    " %s, %s) ON CONFLICT (namespace, kind, name) DO UPDATE SET number = tallies.number +"
    " excluded.number, size = greatest(excluded.size, CASE WHEN excluded.number < 0 THEN"
    " tallies.size END), version = excluded.version"
)


@dataclass(eq=False)
class NamespaceBatch:
    """All that one write does to one namespace."""

    namespace: str
    counter: int
    version: int
    sets: VectorSets = VectorSets()  # noqa: RUF009 - it never changes
    replaced: dict[str, dict[str, Any]] = field(default_factory=dict)  # memories by id
    replaced_vectors: dict[int, set[str]] = field(default_factory=dict)  # names by old row
    dimensions: dict[str, int] = field(default_factory=dict)  # by the stored names of vectors
    tallies: Counter[tuple[str, str]] = field(default_factory=Counter)  # changes of them
    memories: list[list[Any]] = field(default_factory=list)
    words: list[list[Any]] = field(default_factory=list)
    places: list[list[Any]] = field(default_factory=list)
    new_vectors: list[list[Any]] = field(default_factory=list)
    used_keys: set[str] = field(default_factory=set)  # of drafts that an event has already
    sequences: dict[str, int] = field(default_factory=dict)  # of new memories and link sources
    existing_links: set[tuple[str, ...]] = field(default_factory=set)  # from sources of unlinks
    event_states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Stored memories that events of this write change, by id."""
    written_states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Those of them that this write makes or edits, as it does."""
    those_that_were: dict[str, MemoryRecord] = field(default_factory=dict)
    """Stored memories that have to be as they were when they were read, by id."""
    saying_the_same: Sequence[Sequence[tuple[str, int, operations.KeyOfOwner]]] = ()
    """Memories as `operations.Seen` compares them, by text and by attribute."""
    log_entries: list[LogEntry] = field(default_factory=list)
    former_vectors: list[tuple[int, int, int, list[str]]] = field(default_factory=list)
    """Sequence of the memory, index of the event, old row, names of the vectors."""
    moved_vectors: list[tuple[int, str, str, int]] = field(default_factory=list)
    """New row, namespace, name, old row."""

    def stored_dimensions(self, name: str) -> int | None:
        """The length of the searched vectors of a name, None where there are none."""
        return self.dimensions.get(self.sets.stored_name(name))

    def remove(self, row: int, values: Mapping[str, Any], handed: Iterable[str] = ()) -> None:
        """Count an old row out, except for the vectors that are handed on."""
        if values["speaker"]:
            self.tallies["speaker", values["speaker"]] -= 1
        for name in self.replaced_vectors.get(row, set()) - set(handed):
            self.tallies["vector", name] -= 1

    def tally_commands(self) -> list[Command]:
        """Add up the tallies."""
        rows = [
            (self.namespace, kind, name, number, self.dimensions.get(name, 0), self.version)
            for (kind, name), number in sorted(self.tallies.items())
            if number
        ]
        return [Many(_ADD_TALLY, rows)] if rows else []


def log_links(batch: NamespaceBatch, op: operations.Put) -> None:
    """Log the links that are made and removed, as events of the memories that they come from."""
    for link in op.unlinks:
        if link.namespace == batch.namespace and (
            (link.source, link.target, link.type) in batch.existing_links
            and link.source in batch.sequences
        ):
            batch.log_entries.append(
                (batch.sequences[link.source], unlink_event(link, op.actor, op.at))
            )
    for link in op.links:
        if link.namespace == batch.namespace and link.source in batch.sequences:
            batch.log_entries.append(
                (batch.sequences[link.source], link_event(link, op.actor, op.at))
            )


def link_commands(op: operations.Put, batches: Mapping[str, NamespaceBatch]) -> list[Command]:
    """Write and delete links; the version of the links moves with them."""
    commands: list[Command] = []
    if op.unlinks:
        commands.append(
            Many(
                "DELETE FROM links WHERE namespace = %s AND source = %s AND target = %s "
                "AND type = %s",
                [(each.namespace, each.source, each.target, each.type) for each in op.unlinks],
            )
        )
    commands += DIALECT.replace("links", [_link_values(link) for link in op.links])
    changed = {link.namespace for link in (*op.links, *op.unlinks)}
    commands += [
        Statement(
            # A link to a memory that was not there yet counts from now on.
            "UPDATE spaces SET linked = version WHERE namespace = %s AND (%s OR EXISTS (SELECT "
            "FROM links WHERE namespace = %s AND target = ANY(%s::text[])))",
            (name, name in changed or bool(batch.replaced), name, list(batch.sequences)),
        )
        for name, batch in batches.items()
    ]
    return commands


def _link_values(link: Link) -> tuple[Any, ...]:
    created = codec.encode("created_at", link.created_at)
    return (link.namespace, link.source, link.target, link.type, link.weight, created)


MARK_RENEWED = (
    "INSERT INTO tallies SELECT namespace, 'renewed', '', 0, 0, version FROM spaces "
    "WHERE namespace = %s ON CONFLICT (namespace, kind, name) DO UPDATE "
    "SET version = excluded.version"
)
"""Lets replicas be loaded again: something that they hold was replaced."""


def renew(namespace: str, work: Callable[[int, Send], None], send: Send) -> None:
    """Lock a namespace and run work, given its next version; whoever holds it reloads."""
    [[[_, version]]] = send(lock_namespace(namespace))
    work(version, send)
    send(
        Statement(MARK_RENEWED, (namespace,)),
        Statement("UPDATE spaces SET linked = version WHERE namespace = %s", (namespace,)),
    )
