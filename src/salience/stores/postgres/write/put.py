"""The rows of a write to PostgreSQL: each namespace is locked first, and its tallies add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from salience.lazily import dataclass, field
from salience.records.record import Draft
from salience.retrieval import operations
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.postgres import schema
from salience.stores.postgres.sql.columns import WHOLE_NUMBERS, names_of, terms_of
from salience.stores.postgres.write.dialect import (
    MEMORY_COLUMNS,
    PostgresDialect,
    lock_namespace,
)
from salience.stores.tables import put as tables
from salience.stores.tables.commands import Command, Many, Send, Statement
from salience.stores.tables.event_log import last_tombstone

SHARE_SETS = "SELECT pg_advisory_xact_lock_shared(1380402262)"  # see `vector_sets`
_ADD_TALLY = (
    "INSERT INTO tallies (namespace, kind, name, number, size, version) VALUES (%s, %s, %s, %s,"
    " %s, %s) ON CONFLICT (namespace, kind, name) DO UPDATE SET number = tallies.number +"
    " excluded.number, size = greatest(excluded.size, CASE WHEN excluded.number < 0 THEN"
    " tallies.size END), version = excluded.version"
)


@dataclass(eq=False)
class NamespaceBatch(tables.NamespaceBatch):
    """The rows of each table, and the tallies of speakers and vectors."""

    counter: int = 0
    version: int = 0
    tallies: Counter[tuple[str, str]] = field(default_factory=Counter)  # changes of them
    memories: list[list[Any]] = field(default_factory=list)
    words: list[list[Any]] = field(default_factory=list)
    places: list[list[Any]] = field(default_factory=list)
    new_vectors: list[list[Any]] = field(default_factory=list)
    former_vectors: list[tuple[int, int, int, list[str]]] = field(default_factory=list)
    """Sequence of the memory, index of the event, old row, names of the vectors."""
    moved_vectors: list[tuple[int, str, str, int]] = field(default_factory=list)
    """New row, namespace, name, old row."""

    def add(
        self, draft: Draft, values: dict[str, Any], handed: Sequence[str], lost: Sequence[str]
    ) -> None:
        """See `tables.NamespaceBatch.add`."""
        record, row = draft.record, values["row"]
        before = self.replaced.get(record.id)
        if before is not None:
            own = self.namespace, before["row"]
            self.moved_vectors += [(row, own[0], name, own[1]) for name in handed]
            if lost:
                at = len(self.log_entries)
                self.former_vectors.append((before["sequence"], at, before["row"], list(lost)))
            self._count_out(before, handed)
        values.update(
            namespace=self.namespace,
            tags=list(record.tags) or None,
            entities=list(record.entities) or None,
            accesses=list(codec.unpack_times(values["accesses"])),
            **names_of(record),
        )
        values.update((name, float(values[name])) for name in WHOLE_NUMBERS)
        self.memories.append([values[name] for name in MEMORY_COLUMNS])
        self.words.append([self.namespace, row, *terms_of(values)])
        self.places.append([self.namespace, row, self.version, True])
        if record.speaker:
            self.tallies["speaker", record.speaker] += 1
        for own_name, vector in draft.vectors.items():
            name = self.sets.stored_name(own_name)
            self.new_vectors.append([self.namespace, name, row, vector])
            self.tallies["vector", name] += 1
            self.dimensions.setdefault(name, len(vector))

    def _count_out(self, before: Mapping[str, Any], handed: Iterable[str]) -> None:
        """Count an old row out, except for the vectors that are handed on."""
        if before["speaker"]:
            self.tallies["speaker", before["speaker"]] -= 1
        for name in self.replaced_vectors.get(before["row"], set()) - set(handed):
            self.tallies["vector", name] -= 1

    def commands(self, last: int) -> list[Command]:
        """See `tables.NamespaceBatch.commands`."""
        old = [values["row"] for values in self.replaced.values()]
        commands = self._replace_commands(old, last - len(self.log_entries) + 1)
        for table, rows in (
            ("memories", self.memories),
            ("words", self.words),
            ("places", self.places),
            ("vectors", self.new_vectors),
        ):
            commands += DIALECT.insert(table, rows)
        written = (self.counter + len(self.memories), len(self.memories) - len(old))
        commands.append(
            Statement(
                "UPDATE spaces SET counter = %s, living = living + %s WHERE namespace = %s",
                (*written, self.namespace),
            )
        )
        tallies = [
            (self.namespace, kind, name, number, self.dimensions.get(name, 0), self.version)
            for (kind, name), number in sorted(self.tallies.items())
            if number
        ]
        return [*commands, *([Many(_ADD_TALLY, tallies)] if tallies else [])]

    def _replace_commands(self, old: Sequence[int], first: int) -> list[Command]:
        """Erase old rows, and hand on their vectors; `first` is the place of the first event."""
        name, at_rows = self.namespace, '"row" = ANY(%s::integer[])'
        if not old:
            return []
        former = [
            (memory, first + at, name, row, names) for memory, at, row, names in self.former_vectors
        ]
        keep = (
            "INSERT INTO former_vectors SELECT namespace, %s::integer, %s::bigint, name, "
            'vector FROM vectors WHERE namespace = %s AND "row" = %s::integer '
            "AND name = ANY(%s::text[])"
        )
        move = 'UPDATE vectors SET "row" = %s WHERE namespace = %s AND name = %s AND "row" = %s'
        return [
            *([Many(keep, former)] if former else []),
            Statement(f"DELETE FROM memories WHERE namespace = %s AND {at_rows}", (name, old)),
            Statement(f"DELETE FROM words WHERE namespace = %s AND {at_rows}", (name, old)),
            Statement(
                "UPDATE places SET living = FALSE, version = %s "
                f"WHERE namespace = %s AND {at_rows}",
                (self.version, name, old),
            ),
            *([Many(move, self.moved_vectors)] if self.moved_vectors else []),
            Statement(
                "DELETE FROM vectors WHERE namespace = %s AND name IN (SELECT name FROM tallies "
                f"WHERE namespace = %s AND kind = 'vector') AND {at_rows}",
                (name, name, old),
            ),
        ]


class _PutDialect(PostgresDialect):
    """See `tables.PutDialect`."""

    def begin(self, op: operations.Put) -> list[Command]:
        return [Statement(SHARE_SETS)]

    def enter_changing(self, namespace: str) -> Statement:
        return lock_namespace(namespace)

    def select_vectors(self, namespace: str, ids: Sequence[str]) -> Statement:
        return Statement(
            'SELECT v."row", v.name FROM memories m JOIN vectors v ON v.namespace = '
            'm.namespace AND v."row" = m."row" WHERE m.namespace = %s AND m.id = '
            "ANY(%s::text[]) AND v.name IN (SELECT name FROM tallies WHERE namespace = %s "
            "AND kind = 'vector')",
            (namespace, list(ids), namespace),
        )

    def select_dimensions(self, namespace: str, names: Sequence[str]) -> Statement:
        return Statement(
            "SELECT name, size FROM tallies WHERE namespace = %s AND kind = 'vector' "
            "AND number > 0",
            (namespace,),
        )

    def batch(self, namespace: str, head: Any, sets: VectorSets) -> NamespaceBatch:
        [[counter, version]] = head
        rows = count(counter + 1)
        return NamespaceBatch(namespace, sets, rows, counter=counter, version=version)

    def number(
        self, prepared: tables.PreparedDrafts, batches: Mapping[str, NamespaceBatch], send: Send
    ) -> None:
        for name in [name for name, batch in batches.items() if not batch.counter]:
            [[[last]]] = send(last_tombstone(name))
            if last:  # of one of that name before; its log goes on
                send(*self.advance(name, last))

    def note_links(
        self, op: operations.Put, batches: Mapping[str, NamespaceBatch]
    ) -> list[Command]:
        changed = {link.namespace for link in (*op.links, *op.unlinks)}
        return [
            Statement(
                # A link to a memory that was not there yet counts from now on.
                "UPDATE spaces SET linked = version WHERE namespace = %s AND (%s OR EXISTS "
                "(SELECT FROM links WHERE namespace = %s AND target = ANY(%s::text[])))",
                (name, name in changed or bool(batch.replaced), name, list(batch.known)),
            )
            for name, batch in batches.items()
        ]


DIALECT = _PutDialect()


def put(op: operations.Put, prepared: tables.PreparedDrafts, send: Send) -> tuple[str, ...]:
    """Write everything, or nothing; the ids that stand in the way."""
    for batch in tables.put(op, prepared, DIALECT, send).values():
        after = batch.counter + len(batch.memories)
        schema.analyze_if_doubled(batch.namespace, batch.counter, after, send)
    return ()


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
