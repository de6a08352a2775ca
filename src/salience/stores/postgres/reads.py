"""Reads of stored values: records, links, listings, statistics, nearest vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from salience.errors import EmbedderMismatch, StoreError
from salience.records.events import ACCESSES
from salience.records.fields import FIELDS
from salience.records.record import MemoryRecord
from salience.retrieval import operations
from salience.retrieval.query import Query
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.access_queue import Batch, overlay
from salience.stores.index.vector_index import VectorIndex
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.sql.columns import codec_values_of
from salience.stores.postgres.sql.filters import compile_filter, folded_column
from salience.stores.postgres.sql.vectors import (
    exact_cosines,
    is_cut_among_ties,
    select_dimensions,
    select_nearest,
    select_within,
)
from salience.stores.postgres.wire.types import float_array, half_bytes, unpack_vectors
from salience.stores.tables.commands import Send, Statement
from salience.stores.tables.dialect import SELECT_SETS, Dialect
from salience.stores.tables.reader import TableReader

_SINGLE_COMPARISONS = 8  # up to so many vectors are compared with all others one by one
_PAGE_VECTORS = 20_000  # read at once to compare more with
_FIELD_COLUMNS = ", ".join("m.metadata::text" if n == "metadata" else f"m.{n}" for n in FIELDS)


def _record_of(namespace: str, stored: dict[str, Any]) -> MemoryRecord:
    """The record of stored values."""
    try:
        return codec.record_of(namespace, stored)
    except codec.DAMAGES as problem:
        raise StoreError(
            f"the memory {stored['id']} of {namespace!r} cannot be read ({problem}); "
            "`salience doctor` says what to do"
        ) from problem


class StoreReader(TableReader):
    """Answers about stored values; `pending` are accesses not written yet."""

    _row_ids: RowIds

    def __init__(
        self,
        row_ids: RowIds,
        pending: Callable[[str], Sequence[Batch]],
        index_figures: Callable[[], dict[str, float]],
        dialect: Dialect,
        *,
        previews: bool,
        distributed: bool,
    ) -> None:
        super().__init__(row_ids, dialect, previews=previews)
        self._pending = pending
        self._index_figures = index_figures
        self._size = "citus_total_relation_size" if distributed else "pg_total_relation_size"

    # Memories

    def read_records(self, op: operations.ReadRecords, send: Send) -> list[MemoryRecord | None]:
        """The records of rows."""
        parts = list(self._row_ids.by_namespace(op.rows))
        waiting = [self._pending(name) for name, *_ in parts]
        answers = iter(
            send(
                *[
                    statement
                    for name, rows, _ in parts
                    for statement in (
                        Statement("SELECT seq FROM clocks WHERE namespace = %s", (name,)),
                        Statement(
                            f'SELECT m."row", {_FIELD_COLUMNS} FROM memories m WHERE m.namespace = '
                            '%s AND m."row" = ANY(%s::integer[])',
                            (name, rows.tolist()),
                        ),
                    )
                ]
            )
        )
        records: list[MemoryRecord | None] = [None] * len(op.rows)
        for (name, rows, at), batches in zip(parts, waiting, strict=True):
            clock, results = next(answers), next(answers)
            seq = clock[0][0] if clock else 0
            by_row: dict[int, MemoryRecord] = {}
            for row, *values in results:
                stored = codec_values_of(values)
                stored |= overlay(batches, seq, row, {n: stored[n] for n in ACCESSES})
                try:
                    by_row[row] = _record_of(name, stored)
                except StoreError:
                    if not op.sound:
                        raise
            for place, row in zip(at.tolist(), rows.tolist(), strict=True):
                records[place] = by_row.get(row)
        return records

    def retrieved_texts(self, op: operations.RetrievedTexts, send: Send) -> dict[str, str]:
        """The texts that searches have returned since a time, by id."""
        [rows] = send(
            Statement(
                "SELECT DISTINCT m.id, m.content FROM (SELECT * FROM events WHERE namespace = %s "
                "ORDER BY seq DESC LIMIT %s) AS e JOIN memories m ON m.namespace = e.namespace AND "
                '(m."row" = e.memory AND m.sequence = m."row" '
                'OR m.sequence = e.memory AND m."row" <> m.sequence) '
                "WHERE e.type = 'retrieval' AND e.at >= %s",
                (op.namespace, op.last, op.since.timestamp()),
            )
        )
        return dict(rows)

    # Vectors

    def _vectors(
        self, namespace: str, names: Sequence[str], send: Send
    ) -> tuple[VectorSets, str | None, dict[str, int], dict[str, int]]:
        """The sets of vectors, their embedder; sizes of some by stored name, those indexed."""
        stored_sets, sizes, indexed = send(
            SELECT_SETS,
            select_dimensions(namespace, names),
            Statement(
                "SELECT i.name, s.living FROM indexes i JOIN spaces s "
                "ON s.namespace = %s WHERE i.namespace = %s",
                (namespace, namespace),
            ),
        )
        embedder, sets = self.sets(stored_sets)
        return sets, embedder, dict(sizes), dict(indexed)

    def nearest_vectors(
        self, op: operations.NearestVectors, send: Send
    ) -> list[tuple[int, float] | None]:
        """For each vector the row most similar to it, and the cosine."""
        sets, embedder, sizes, indexed = self._vectors(op.namespace, [op.name], send)
        if op.name == "content" and None not in (embedder, op.embedder) and embedder != op.embedder:
            raise EmbedderMismatch(str(embedder), str(op.embedder))
        stored = sets.stored_name(op.name)
        if stored not in sizes or not op.vectors:
            return [None] * len(op.vectors)
        if len(op.vectors) > _SINGLE_COMPARISONS and stored not in indexed:
            return self._nearest_by_page(op, stored, send)
        asked = [
            Query("", (op.namespace,), 0.0, where=op.where, vector=vector, embedder=op.embedder)
            for vector in op.vectors
        ]
        selects = [  # to a zero vector none is nearer than another
            select_nearest(op.namespace, stored, query, 1, indexed.get(stored))
            if query.vector is not None and query.vector.any()
            else []
            for query in asked
        ]
        answers = iter(send(*[each for select in selects for each in select]))
        found = [[next(answers) for _ in select] for select in selects]
        return [
            self._nearest(op, stored, query, own[-1][0], send) if own else None
            for query, own in zip(asked, found, strict=True)
        ]

    def _nearest(
        self,
        op: operations.NearestVectors,
        stored: str,
        query: Query,
        answer: Sequence[Any],
        send: Send,
    ) -> tuple[int, float] | None:
        """The row nearest to one vector, compared exactly."""
        assert query.vector is not None
        numbers, packed, distances = answer
        if distances is not None and is_cut_among_ties(float_array(distances), 1):
            farthest = float_array(distances)[0]
            [[[numbers, packed]]] = send(select_within(op.namespace, stored, query, farthest))
        best: tuple[float, int] | None = None
        rows = self._row_ids.encode(op.namespace, () if numbers is None else numbers)
        for at, vectors in unpack_vectors(packed, len(rows)):
            cosines = exact_cosines(vectors, query.vector)
            for row, cosine in zip(rows[at].tolist(), cosines.tolist(), strict=True):
                if cosine >= op.least and (best is None or (-cosine, row) < best):
                    best = (-cosine, row)
        return None if best is None else (best[1], -best[0])

    def _nearest_by_page(
        self, op: operations.NearestVectors, stored: str, send: Send
    ) -> list[tuple[int, float] | None]:
        """Compare many vectors with all others, read once, page by page."""
        best: list[tuple[int, float] | None] = [None] * len(op.vectors)
        queries, after = np.stack(op.vectors), 0
        where = compile_filter(op.where, "m")
        while True:
            [rows] = send(
                Statement(
                    'SELECT v."row", v.vector FROM vectors v JOIN memories m ON m.namespace = '
                    'v.namespace AND m."row" = v."row" WHERE v.namespace = %s AND v.name = %s '
                    f'AND v."row" > %s AND vector_dims(v.vector) = %s AND {where.sql} '
                    f'ORDER BY v."row" LIMIT {_PAGE_VECTORS}',
                    (op.namespace, stored, after, queries.shape[1], *where.parameters),
                )
            )
            if not rows:
                return best
            after = rows[-1][0]
            page = VectorIndex(queries.shape[1])
            page.extend(0, [half_bytes(vector) for _, vector in rows])
            ids = self._row_ids.encode(op.namespace, [number for number, _ in rows]).tolist()
            for place, hit in enumerate(page.most_alike(queries, op.least, None)):
                before = best[place]
                if hit is not None and (before is None or hit[1] > before[1]):
                    best[place] = (ids[hit[0]], hit[1])

    # Listings and statistics

    def list_records(self, op: operations.ListRecords, send: Send) -> operations.Listing:
        """Memories that pass a filter, in an order, after a place."""
        [rows] = send(select_page(op))
        memories = []
        for sequence, *values in rows:
            stored = codec_values_of(values)
            place = operations.Place(stored["created_at"], sequence)
            memories.append((_record_of(op.namespace, stored), place))
        return operations.Listing.of(memories, op.limit)

    def count_records(self, op: operations.CountRecords, send: Send) -> int:
        """The number of memories that pass a filter."""
        condition = compile_filter(op.where, "m")
        statement = Statement(
            f"SELECT count(*) FROM memories m WHERE m.namespace = %s AND {condition.sql}",
            (op.namespace, *condition.parameters),
        )
        if op.where is None:
            statement = Statement(
                "SELECT coalesce(sum(living), 0) FROM spaces WHERE namespace = %s", (op.namespace,)
            )
        [[[count]]] = send(statement)
        return int(count)

    def list_names(self, op: operations.ListNames, send: Send) -> list[operations.NameTally]:
        """The tags or entities of memories that pass a filter."""
        condition, folded = compile_filter(op.where, "m"), folded_column(op.field)
        [rows] = send(
            Statement(
                "SELECT item.folded, mode() WITHIN GROUP (ORDER BY item.name), "
                f'count(DISTINCT m."row") FROM memories m, '
                f"unnest(m.{folded}, m.{op.field}) AS item (folded, name) "
                f"WHERE m.namespace = %s AND m.{folded} IS NOT NULL AND {condition.sql} "
                "AND starts_with(item.folded, %s) AND item.folded > %s "
                f"GROUP BY item.folded ORDER BY item.folded LIMIT {op.limit:d}",
                (op.namespace, *condition.parameters, op.prefix, op.after),
            )
        )
        return [operations.NameTally(*row) for row in rows]

    def read_stats(self, op: operations.ReadStats, send: Send) -> dict[str, Any]:
        """Counts, and for the whole store sizes."""
        clause, parameters = "true", tuple[Any, ...]()
        if op.namespaces:
            clause, parameters = "namespace = ANY(%s::text[])", (list(op.namespaces),)
        size = Statement(
            f"SELECT sum({self._size}(oid))::bigint FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = 'salience'::regnamespace"
        )
        counts, links, embedder, *sizes = send(
            Statement(
                f"SELECT namespace, living FROM spaces WHERE living > 0 AND {clause} ORDER BY 1",
                parameters,
            ),
            Statement(f"SELECT count(*) FROM links WHERE {clause}", parameters),
            Statement("SELECT value FROM meta WHERE key = 'embedder'"),
            *([] if op.namespaces else [size]),
        )
        memories = dict(counts)
        if op.namespaces:
            memories = {name: memories.get(name, 0) for name in op.namespaces}
        figures = {
            "memories": sum(memories.values()),
            "namespaces": memories,
            "embedder": embedder[0][0] if embedder else None,
            "store": "postgresql",
            "links": links[0][0],
        }
        for [[stored]] in sizes:  # what all take together would tell one of the others
            figures |= {"file_mb": round(int(stored or 0) / 1e6, 3), **self._index_figures()}
        return figures


def select_page(op: operations.ListRecords) -> Statement:
    """The sequence numbers and fields of the memories of a listing, and of the one after it."""
    condition = compile_filter(op.where, "m")
    way, beyond = ("ASC", ">") if op.order == "oldest" else ("DESC", "<")
    later = f" AND (m.created_at, m.sequence) {beyond} (%s::float8, %s::bigint)"
    return Statement(
        f"SELECT m.sequence, {_FIELD_COLUMNS} FROM memories m WHERE m.namespace = %s "
        f"AND {condition.sql}{'' if op.after is None else later} "
        f"ORDER BY m.created_at {way}, m.sequence {way} LIMIT {op.limit + 1:d}",
        (op.namespace, *condition.parameters, *(op.after or ())),
    )
