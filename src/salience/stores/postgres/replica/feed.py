"""The feed of a replica: statements that read a namespace or its changes, and rows as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from salience.records.events import ACCESSES, USE_EVENTS
from salience.records.fields import FIELDS, LEXICAL
from salience.records.link_graph import LinkTimes
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.access_queue import Batch, overlay
from salience.stores.index.change_feed import Changes
from salience.stores.index.edge_table import StoredEdge
from salience.stores.postgres.sql.columns import VERSION
from salience.stores.postgres.wire.types import float_list, unpack_vectors
from salience.stores.tables.commands import Statement

_SELECT_WATERMARK = f"""
SELECT s.counter, s.{VERSION}, s.changes_from, s.living,
    coalesce((SELECT seq FROM clocks WHERE namespace = %s), 0),
    EXISTS (SELECT FROM events WHERE namespace = %s AND seq > %s AND type = ANY(%s::text[])),
    extract(epoch FROM pg_postmaster_start_time())::float8,
    (SELECT value FROM meta WHERE key = 'embedder'),
    (SELECT value FROM meta WHERE key = 'vectors')
FROM spaces s WHERE s.namespace = %s
"""
_SELECT_CHANGED = """
SELECT m."row", {columns} FROM memories m WHERE m.namespace = %s AND m."row" <= %s
AND m."row" = ANY(ARRAY(
    SELECT "row" FROM changes WHERE namespace = %s AND seq > %s AND kind = 'patched'
    UNION SELECT memory FROM events WHERE namespace = %s AND seq > %s AND type = ANY(%s::text[])
    UNION SELECT later."row" FROM events e JOIN memories later ON later.namespace = %s
        AND later.sequence = e.memory AND later."row" <> later.sequence
        WHERE e.namespace = %s AND e.seq > %s AND e.type = ANY(%s::text[])
)) ORDER BY m."row"
"""
_SELECT_VECTORS = """
SELECT v.name, array_agg(v."row" ORDER BY v."row"),
    string_agg(halfvec_send(v.vector), ''::bytea ORDER BY v."row")
FROM vectors v WHERE v.namespace = %s AND NOT v.name = ANY(%s::text[]) AND {rows}
GROUP BY v.name ORDER BY v.name
"""


_STALE_FEATURES = f"octet_length(m.features) IS DISTINCT FROM {codec.FEATURES_BYTES}"
_STALE_WORDS = 'w."row" IS NULL OR ' + " OR ".join(
    f"octet_length(w.{name.removeprefix('terms.')}) %% 8 <> 0" for name in codec.TERMS
)
_TEXTS = f"json_build_array({', '.join(f'm.{name}' for name in LEXICAL)})::text"


class MissingColumns(LookupError):
    """An index asks for columns of some or all rows, or for links, not read yet."""

    def __init__(
        self,
        namespace: str,
        names: tuple[str, ...] = (),
        rows: tuple[int, ...] | None = None,
        links: bool = False,
    ) -> None:
        super().__init__(f"{namespace}: {', '.join(names) or 'links'}")
        self.namespace, self.names, self.rows, self.links = namespace, names, rows, links


Chunk = Mapping[str, list[Any]]
"""Columns of some memories, with their `row`."""


class ReplicaFeed:
    """The rows read of one namespace, handed to its index when that asks for them."""

    def __init__(self) -> None:
        self.current = Changes(0)
        self.is_loaded = False  # True once the index has memories
        self.fresh: Chunk | None = None  # new memories
        self.changed: Chunk | None = None
        self.supplied: dict[tuple[tuple[str, ...], tuple[int, ...] | None], list[Chunk]] = {}
        """The rows read because the index asked for them, by names and rows."""
        self.fresh_vectors: Sequence[tuple[str, list[int], list[bytes | None]]] = ()
        self.stored_embedder: str | None = None
        self.stored_links: list[tuple[str, str, str, float, float]] | None = None

    def changes(self, namespace: str, after: int) -> Changes:
        """See `ChangeFeed.changes`."""
        return self.current

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Chunk]:
        """See `ChangeFeed.load`."""
        if "features" in names:  # new memories, or all
            if self.fresh is None or (rows is None and self.is_loaded):
                raise MissingColumns(namespace)
            self.is_loaded = True
            yield self.fresh
        elif rows is not None and self.changed is not None:
            yield self.changed
        else:
            key = names, None if rows is None else tuple(rows)
            if key not in self.supplied:
                raise MissingColumns(namespace, *key)
            yield from self.supplied[key]

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes | None]]]:
        """See `ChangeFeed.vectors`."""
        yield from self.fresh_vectors

    def embedder(self) -> str | None:
        """See `ChangeFeed.embedder`."""
        return self.stored_embedder

    def links(self, namespace: str, ids: Sequence[str] | None = None) -> LinkTimes:
        """See `ChangeFeed.links`."""
        return [link[:4] for link in self._links(namespace, ids)]

    def edges(self, namespace: str, ids: Sequence[str] | None = None) -> Sequence[StoredEdge]:
        """The same links as `MemoryTable.edges` reads them."""
        return [(link[0], link[1], link[4], link[2]) for link in self._links(namespace, ids)]

    def _links(
        self, namespace: str, ids: Sequence[str] | None
    ) -> Sequence[tuple[str, str, str, float, float]]:
        """Links as (source, target, type, created_at, weight), by source, target and type."""
        if self.stored_links is None:
            raise MissingColumns(namespace, links=True)
        chosen = set(ids or ())
        return [link for link in self.stored_links if ids is None or chosen.intersection(link[:2])]

    def release(self) -> None:
        """Let go of the rows that the index has taken in."""
        self.fresh = self.changed = None
        self.fresh_vectors = ()


class Watermark(NamedTuple):
    """The state of a namespace that its index has reached: anything newer comes after it."""

    counter: int = 0
    version: int = 0
    changes_from: int = 0  # the version since which the changes are known
    living: int = 0
    seq: int = 0  # of the last event
    uses: bool = False  # True if memories were used since, and that is indexed
    started: float = 0.0  # when the server started; a crash may have lost its last moments
    embedder: str | None = None  # of the vectors that are searched
    vectors: str | None = None  # the sets of vectors, as JSON
    previews: bool = False  # True to search as if the set of vectors beside were the searched one

    @property
    def sets(self) -> VectorSets:
        """The sets of vectors, as they are searched."""
        sets = VectorSets.from_json(self.vectors)
        return sets.previewed() if self.previews else sets

    @property
    def searched_embedder(self) -> str | None:
        """The embedder of the searched vectors, None if it is not known."""
        return (self.previews and self.sets.searched) or self.embedder

    def moved(self, other: Watermark) -> bool:
        """True if the index must look at what was written between the two."""
        own, others = (
            (each.counter, each.version, each.started, each.embedder, each.vectors)
            for each in (self, other)
        )
        return other.uses or own != others

    def broken(self, other: Watermark) -> bool:
        """True if only reading everything leads from this to the other."""
        own, others = ((each.started, each.sets.underscored) for each in (self, other))
        return self.version < other.changes_from or own != others


def select_watermark(namespace: str, since: Watermark, accesses: bool) -> Statement:
    """Read the watermark of a namespace; uses count as changes where `accesses` are indexed."""
    return Statement(
        _SELECT_WATERMARK, (namespace, namespace, since.seq, _uses(accesses), namespace)
    )


def _uses(accesses: bool) -> list[str]:
    """The types of events that count as changes."""
    return [*USE_EVENTS] if accesses else []


def parse_watermark(answer: Sequence[Any], previews: bool = False) -> Watermark:
    """The answer to `select_watermark`."""
    return Watermark(*(answer[0] if answer else ()))._replace(previews=previews)


class ColumnRequest:
    """A request for columns of memories: the statements, and their rows as columns."""

    def __init__(self, namespace: str, offset: int, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._namespace = namespace
        self._offset = offset  # from a row of the namespace to its id
        self._counts_accesses = any(name in ACCESSES for name in names)
        self._read = tuple(dict.fromkeys((*names, *(ACCESSES if self._counts_accesses else ()))))
        self._columns = ", ".join(map(_select_expression, self._read))
        self._reads_words = any(name.startswith("terms.") for name in names)
        self._stale = " OR ".join(
            ([_STALE_FEATURES] if "features" in names else [])
            + ([_STALE_WORDS] if self._reads_words else [])
        )

    def between(self, after: int, until: int) -> list[Statement]:
        """Read the memories of a range of rows."""
        return self._select('m."row" > %s AND m."row" <= %s', after, until)

    def of(self, rows: Sequence[int]) -> list[Statement]:
        """Read the memories of some row ids."""
        stored_rows = [row - self._offset for row in rows]
        return self._select('m."row" = ANY(%s::integer[])', stored_rows)

    def _select(self, condition: str, *parameters: Any) -> list[Statement]:
        words = (
            ' LEFT JOIN words w ON w.namespace = %s AND w."row" = m."row"'
            if self._reads_words
            else ""
        )
        texts = f", CASE WHEN {self._stale} THEN {_TEXTS} END" if self._stale else ""
        rows = Statement(
            f'SELECT m."row", {self._columns}{texts} FROM memories m{words} '
            f'WHERE m.namespace = %s AND {condition} ORDER BY m."row"',
            (*(self._namespace,) * (1 + self._reads_words), *parameters),
        )
        return [self._clock(), rows]

    def changed(self, since: Watermark, accesses: bool) -> list[Statement]:
        """Read the memories that existed at a watermark and have changed since."""
        name = self._namespace
        events = (name, since.seq, _uses(accesses))
        rows = Statement(
            _SELECT_CHANGED.format(columns=self._columns),
            (name, since.counter, name, since.version, *events, name, *events),
        )
        return [self._clock(), rows]

    def _clock(self) -> Statement:
        return Statement("SELECT seq FROM clocks WHERE namespace = %s", (self._namespace,))

    def columns(self, answers: Sequence[Any], pending: Iterable[Batch]) -> dict[str, Any]:
        """The answers to either as columns, with the pending accesses counted in."""
        clock, rows = answers
        names = ("row", *self._read)
        if not rows:
            return {name: [] for name in names}
        texts = [None] * len(rows)
        if self._stale and len(rows[0]) > len(names):
            texts = [row[-1] for row in rows]
            rows = [row[:-1] for row in rows]
        columns: dict[str, Any]
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if self._counts_accesses:
            columns["accesses"] = [
                codec.pack_times(float_list(each)) for each in columns["accesses"]
            ]
            batches, seq = tuple(pending), clock[0][0] if clock else 0
            for i, row in enumerate(columns["row"] if batches else ()):
                accesses = {name: columns[name][i] for name in ACCESSES}
                for name, value in overlay(batches, seq, row, accesses).items():
                    columns[name][i] = value
        for name in self._read:
            if name.startswith("metadata."):
                key = name.removeprefix("metadata.")
                columns[name] = codec.metadata_values(columns[name], key)
            elif name in FIELDS and FIELDS[name].type == "list":
                columns[name] = [tuple(value or ()) for value in columns[name]]
        columns["row"] = [row + self._offset for row in columns["row"]]
        if any(texts):
            columns = _renewed(columns, texts)
        return columns


def _renewed(columns: dict[str, list[Any]], texts: Sequence[str | None]) -> dict[str, Any]:
    """Columns with the values that follow from texts recomputed, where texts are given."""
    of_texts = [name for name in columns if name in codec.OF_TEXTS]
    damaged: dict[int, Any] = {}
    for place, stored in enumerate(texts):
        if stored is None:
            continue
        try:
            values = {
                name: codec.encode(name, tuple(value) if isinstance(value, list) else value)
                for name, value in zip(LEXICAL, json.loads(stored), strict=True)
            }
            derived = codec.derived_of(values)
        except codec.DAMAGES:
            damaged[place] = columns["id"][place] if "id" in columns else None
            continue
        for name in of_texts:
            columns[name][place] = derived[name]
    kept = [place for place in range(len(texts)) if place not in damaged]
    return {
        **{name: [values[place] for place in kept] for name, values in columns.items()},
        "damaged": {columns["row"][place]: id for place, id in damaged.items()},
    }


def _select_expression(name: str) -> str:
    if name.startswith("terms."):
        return f"w.{name.removeprefix('terms.')}"
    return "m.metadata::text" if name.startswith("metadata.") else f"m.{name}"


def select_vectors(namespace: str, after: int, until: int, sets: VectorSets) -> Statement:
    """Read the searched vectors of a range of rows."""
    select = _SELECT_VECTORS.format(rows='v."row" > %s AND v."row" <= %s')
    return Statement(select, (namespace, sets.names_beside(), after, until))


def select_vectors_of(namespace: str, rows: Sequence[int], sets: VectorSets) -> Statement:
    """Read the searched vectors of some rows."""
    select = _SELECT_VECTORS.format(rows='v."row" = ANY(%s::integer[])')
    return Statement(select, (namespace, sets.names_beside(), rows))


def parse_vectors(
    answer: Sequence[Any], offset: int, sets: VectorSets
) -> list[tuple[str, list[int], list[bytes | None]]]:
    """The answer to `select_vectors`: (name, row ids, float16 bytes) of each name."""
    vectors: list[tuple[str, list[int], list[bytes | None]]] = []
    for stored, rows, packed in answer:
        name = sets.searched_name(stored)
        if name is None:
            continue
        blobs: list[bytes | None] = [b""] * len(rows)
        for places, block in unpack_vectors(packed, len(rows)):
            for place, vector in zip(places.tolist(), block.astype(np.float16), strict=True):
                blobs[place] = vector.tobytes()
        vectors.append((name, (rows.astype(np.int64) + offset).tolist(), blobs))
    return vectors


def select_changes(namespace: str, since: Watermark, until: Watermark) -> Statement:
    """Read the rows that were removed, or whose links changed, between two watermarks."""
    return Statement(
        'SELECT DISTINCT "row", kind FROM changes WHERE namespace = %s AND seq > %s AND seq <= %s '
        "AND kind <> 'patched' ORDER BY \"row\"",
        (namespace, since.version, until.version),
    )
