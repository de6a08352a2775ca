"""What indexes are made of, as it is read from the server: statements, and rows as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from salience.records.events import ACCESSES, USE_EVENTS
from salience.records.fields import FIELDS
from salience.retrieval.operations import STAGED
from salience.stores import codec
from salience.stores.access_queue import Batch, overlay
from salience.stores.index.change_feed import Changes
from salience.stores.postgres.wire.commands import Statement
from salience.stores.postgres.wire.types import float_list, unpack_vectors

_SELECT_WATERMARK = """
SELECT s.counter, s.version, s.erased, s.linked, s.living,
    coalesce((SELECT seq FROM clocks WHERE namespace = %s), 0),
    coalesce((SELECT version FROM tallies WHERE namespace = %s AND kind = 'renewed'), 0),
    (SELECT CASE WHEN count(*) = 0 THEN 0 WHEN bool_or(memory = 0) THEN 2 ELSE 1 END
        FROM events WHERE namespace = %s AND seq > %s AND NOT type = ANY(%s::text[])),
    extract(epoch FROM pg_postmaster_start_time())::float8
FROM spaces s WHERE s.namespace = %s
"""
_SELECT_CHANGED = """
SELECT m."row", {columns} FROM memories m WHERE m.namespace = %s AND m."row" <= %s
AND m."row" = ANY(ARRAY(
    SELECT "row" FROM places WHERE namespace = %s AND version > %s AND living
    UNION SELECT memory FROM events WHERE namespace = %s AND seq > %s AND NOT type = ANY(%s::text[])
    UNION SELECT later."row" FROM events e JOIN memories later ON later.namespace = %s
        AND later.sequence = e.memory AND later."row" <> later.sequence
        WHERE e.namespace = %s AND e.seq > %s AND NOT e.type = ANY(%s::text[])
)) ORDER BY m."row"
"""
_SELECT_VECTORS = """
SELECT v.name, array_agg(v."row" ORDER BY v."row"),
    string_agg(halfvec_send(v.vector), ''::bytea ORDER BY v."row"),
    (SELECT value FROM meta WHERE key = 'embedder')
FROM vectors v WHERE v.namespace = %s AND v.name IN (
    SELECT name FROM tallies WHERE namespace = %s AND kind = 'vector' AND number > 0
) AND v."row" > %s AND v."row" <= %s GROUP BY v.name ORDER BY v.name
"""


class MissingColumns(LookupError):
    """An index asks for what was not read yet: columns of all memories, or their links."""

    def __init__(self, namespace: str, names: tuple[str, ...] = (), links: bool = False) -> None:
        super().__init__(f"{namespace}: {', '.join(names) or 'links'}")
        self.namespace, self.names, self.links = namespace, names, links


class ReplicaFeed:
    """What was read of one namespace, handed to its index as that asks for it."""

    def __init__(self) -> None:
        self.coming = Changes(0)
        self.begun = False  # whether the index has memories
        self.fresh: Mapping[str, list[Any]] | None = None
        self.changed: Mapping[str, list[Any]] | None = None
        self.given_vectors: Sequence[tuple[str, list[int], list[bytes]]] = ()
        self.given_embedder: str | None = None
        self.whole: Mapping[str, list[Any]] | None = None
        self.given_links: list[tuple[str, str, float, float, str]] | None = None

    def changes(self, namespace: str, after: int) -> Changes:
        """See `Source.changes`."""
        return self.coming

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """See `Source.load`.

        Raises:
            Lacking: it was not read yet.
        """
        if "features" in names:  # new memories, or all
            if self.fresh is None or (rows is None and self.begun):
                raise MissingColumns(namespace)
            self.begun = True
            yield self.fresh
        elif rows is not None:
            if self.changed is None:
                raise MissingColumns(namespace)
            yield self.changed
        elif self.whole is None or not self.whole.keys() >= set(names):
            raise MissingColumns(namespace, names)
        else:
            yield self.whole

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """See `Source.vectors`."""
        yield from self.given_vectors

    def embedder(self) -> str | None:
        """See `Source.embedder`."""
        return self.given_embedder

    def links(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> Iterable[tuple[str, str, float]]:
        """See `Source.links`.

        Raises:
            Lacking: they were not read yet.
        """
        every = self.links_by_weight(namespace)
        if ids is None:
            return [each[:3] for each in every]
        wanted = set(ids)
        return [each[:3] for each in every if not wanted.isdisjoint(each[:2])]

    def links_by_weight(self, namespace: str) -> Sequence[tuple[str, str, float, float, str]]:
        """All links as (source, target, created_at, weight, type), by source, target and type.

        Raises:
            Lacking: they were not read yet.
        """
        if self.given_links is None:
            raise MissingColumns(namespace, links=True)
        return self.given_links

    def emptied(self) -> None:
        """Let go of what the index has taken in."""
        self.fresh = self.changed = self.whole = None
        self.given_vectors = ()


class Watermark(NamedTuple):
    """Where a namespace stands: what its index goes by to tell what is newer."""

    counter: int = 0
    version: int = 0
    erased: int = 0
    linked: int = 0
    living: int = 0
    seq: int = 0  # the last event
    renewed: int = 0  # the version in which vectors were last made anew
    told: int = 0  # whether events since then changed something, 2 if every memory
    started: float = 0.0  # the server, which may have lost its last moments before

    def moved(self, other: Watermark) -> bool:
        """Whether the index has to look at what was written between the two."""
        return other.told > 0 or (other.version, other.started) != (self.version, self.started)

    def broken(self, other: Watermark) -> bool:
        """Whether there is no way from this to the other but to read everything."""
        once = (self.erased, self.renewed, self.started)
        again = (other.erased, other.renewed, other.started)
        return other.told > 1 or once != again or other.counter < self.counter


def select_watermark(namespace: str, since: Watermark, accesses: bool) -> Statement:
    """Ask where a namespace stands; uses are news where `accesses` are kept."""
    skipped = [] if accesses else list(USE_EVENTS)
    return Statement(_SELECT_WATERMARK, (*(namespace,) * 3, since.seq, skipped, namespace))


def parse_watermark(answer: Sequence[Any]) -> Watermark:
    """The answer to `head`."""
    return Watermark(*answer[0]) if answer else Watermark()


class ColumnRequest:
    """A request for columns of memories, and what makes columns of its rows."""

    def __init__(self, namespace: str, offset: int, names: Sequence[str]) -> None:
        self.asked = tuple(names)
        self._namespace = namespace
        self._offset = offset  # from a row of the namespace to one as it is given out
        self._counts = any(name in ACCESSES for name in names)
        self._names = tuple(dict.fromkeys((*names, *(ACCESSES if self._counts else ()))))
        self._columns = ", ".join(map(_select_expression, self._names))
        self._worded = any(name.startswith("terms.") for name in names)

    def between(self, after: int, until: int) -> list[Statement]:
        """Ask for the memories of a range of rows."""
        worded = ' JOIN words w ON w.namespace = %s AND w."row" = m."row"' if self._worded else ""
        rows = Statement(
            f'SELECT m."row", {self._columns} FROM memories m{worded} '
            'WHERE m.namespace = %s AND m."row" > %s AND m."row" <= %s ORDER BY m."row"',
            (*(self._namespace,) * (1 + self._worded), after, until),
        )
        return [self._clock(), rows]

    def changed(self, since: Watermark, accesses: bool) -> list[Statement]:
        """Ask for the memories known at a time that were changed since."""
        name, skipped = self._namespace, [] if accesses else list(USE_EVENTS)
        told = (name, since.seq, skipped)
        rows = Statement(
            _SELECT_CHANGED.format(columns=self._columns),
            (name, since.counter, name, since.version, *told, name, *told),
        )
        return [self._clock(), rows]

    def _clock(self) -> Statement:
        return Statement("SELECT seq FROM clocks WHERE namespace = %s", (self._namespace,))

    def columns(self, answers: Sequence[Any], waiting: Iterable[Batch]) -> dict[str, list[Any]]:
        """The answers to either as columns; accesses that had not been written are counted in."""
        seqs, rows = answers
        names = ("row", *self._names)
        if not rows:
            return {name: [] for name in names}
        found = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if self._counts:
            found["accesses"] = [codec.pack_times(float_list(each)) for each in found["accesses"]]
            batches, seq = tuple(waiting), seqs[0][0] if seqs else 0
            for i, row in enumerate(found["row"] if batches else ()):
                kept = {name: found[name][i] for name in ACCESSES}
                for name, value in overlay(batches, seq, row, kept).items():
                    found[name][i] = value
        for name in self._names:
            if name.startswith("metadata."):
                key = name.removeprefix("metadata.")
                found[name] = [codec.metadata_value(value, key) for value in found[name]]
            elif name in FIELDS and FIELDS[name].type == "list":
                found[name] = [tuple(value or ()) for value in found[name]]
        found["row"] = [row + self._offset for row in found["row"]]
        return found


def _select_expression(name: str) -> str:
    if name.startswith("terms."):
        return f"w.{name.removeprefix('terms.')}"
    return "m.metadata::text" if name.startswith("metadata.") else f"m.{name}"


def select_vectors(namespace: str, after: int, until: int) -> Statement:
    """Ask for the vectors of a range of rows."""
    return Statement(_SELECT_VECTORS, (namespace, namespace, after, until))


def parse_vectors(answer: Sequence[Any], offset: int) -> list[tuple[str, list[int], list[bytes]]]:
    """The answer to `vectors`, as an index takes them in."""
    found = []
    for name, rows, packed, _ in answer:
        if name.startswith(STAGED):
            continue
        blobs: list[bytes] = [b""] * len(rows)
        for places, read in unpack_vectors(packed, len(rows)):
            for place, vector in zip(places.tolist(), read.astype(np.float16), strict=True):
                blobs[place] = vector.tobytes()
        found.append((name, (rows.astype(np.int64) + offset).tolist(), blobs))
    return found


def parse_embedder(answer: Sequence[Any]) -> str | None:
    """The answer to `vectors` says who made them, where there are any."""
    return answer[0][3] if answer else None


def select_erased(namespace: str, since: Watermark) -> Statement:
    """Ask for the rows known at a time that were erased since."""
    return Statement(
        'SELECT "row" FROM places WHERE namespace = %s AND version > %s AND NOT living '
        'AND "row" <= %s ORDER BY "row"',
        (namespace, since.version, since.counter),
    )


def select_links(namespace: str) -> Statement:
    """Ask for all links of a namespace."""
    return Statement(
        "SELECT source, target, created_at, weight, type FROM links WHERE namespace = %s "
        "ORDER BY source, target, type",
        (namespace,),
    )
