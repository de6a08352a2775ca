"""Reads of stored values: columns, records, links, neighbors, listings and statistics, as steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.passages import is_vector_name
from salience.records.fields import FIELDS, GRAPH
from salience.records.link_graph import LinkGraph
from salience.records.record import Link, MemoryRecord
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import HashColumn
from salience.retrieval.query import Query
from salience.retrieval.vector_sets import VectorSets
from salience.stores import codec
from salience.stores.postgres.search.read_cache import Neighborhood
from salience.stores.postgres.search.route_search import SearchContext
from salience.stores.postgres.search.row_reader import PREVIOUS_FEATURES, stored_names
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql.columns import codec_values_of
from salience.stores.postgres.sql.filters import compile_filter, folded_column
from salience.stores.postgres.sql.links import (
    neighbors_condition,
    reachable_condition,
    rows_condition,
    select_links,
    select_neighbors,
)
from salience.stores.postgres.wire.commands import Statement, Steps, concurrently

_READ_AHEAD_HOPS = 2  # links that are followed ahead
_LINK_COLUMNS = "source, target, type, weight, created_at"


class StoreReader:
    """Answers to operations about stored values, within one search."""

    def __init__(self, context: SearchContext, distributed: bool = False) -> None:
        self._context = context
        self._cache = context.cache
        self._reader = context.reader
        self._row_ids = context.row_ids
        self._snapshots = context.snapshots
        self._size = "citus_total_relation_size" if distributed else "pg_total_relation_size"

    def _with_speakers(self, namespace: str) -> Steps[NamespaceSnapshot]:
        """A snapshot with the speakers of a namespace and their nicknames."""
        snapshot = self._snapshots.latest_since_write(namespace)
        if snapshot is None and namespace not in self._cache.snapshots:
            latest = self._snapshots.latest(namespace)
            delta, greetings = yield [latest.delta_query(), latest.greetings_query()]
            snapshot = self._context.advance(latest, delta).with_greetings(greetings)
            self._cache.snapshots[namespace] = snapshot
        snapshot = self._cache.snapshots.get(namespace) or snapshot
        assert snapshot is not None
        if snapshot.greetings_version < snapshot.named:  # another process has written since
            [greetings] = yield [snapshot.greetings_query()]
            snapshot = snapshot.with_greetings(greetings)
            self._snapshots.update([snapshot])
            if namespace in self._cache.snapshots:
                self._cache.snapshots[namespace] = snapshot
        return snapshot

    # Memories

    def fetch_columns(self, op: operations.FetchColumns) -> Steps[dict[str, NDArray[Any]]]:
        """Columns of rows."""
        names = [name for name in op.names if name not in GRAPH]
        graph = [name for name in op.names if name in GRAPH]
        parts = [self._reader.load(op.rows, stored_names(names) | {"id"})]
        if "position" in names or not PREVIOUS_FEATURES.isdisjoint(names):
            parts.append(self._load_session_columns(op.rows, names))
        yield from concurrently(parts)
        columns = self._reader.columns(op.rows, names)
        if graph:
            columns.update((yield from self._graph_columns(op.rows, graph)))
        return columns

    def _load_session_columns(self, rows: Rows, names: Sequence[str]) -> Steps[None]:
        """Read what columns about the session of rows need."""
        for namespace, _, _ in self._row_ids.by_namespace(rows):
            yield from self._context.current(namespace)
        if not PREVIOUS_FEATURES.isdisjoint(names):
            previous = self._reader.previous_rows(rows)
            yield from self._reader.load_features(previous[previous >= 0])

    def _graph_columns(self, rows: Rows, names: Sequence[str]) -> Steps[dict[str, NDArray[Any]]]:
        columns = {name: np.full(len(rows), np.nan) for name in names}
        for namespace, _, at in self._row_ids.by_namespace(rows):
            graph = yield from self._graph(namespace)
            exist = self._cache.rows.exist(rows[at])
            ids = self._cache.rows.columns(rows[at][exist], ("id",))["id"].tolist()
            for name in names:
                values = np.full(len(at), np.nan)
                values[exist] = graph.column(name, ids)
                columns[name][at] = values
        return columns

    def _graph(self, namespace: str) -> Steps[LinkGraph]:
        """The graph of the links of a namespace, read if its version is another one."""
        snapshot = yield from self._context.current(namespace)
        graph = self._snapshots.graph(namespace, snapshot.linked)
        if graph is None:
            [links] = yield [
                Statement(
                    "SELECT l.source, l.target, l.type, l.created_at FROM links l "
                    "JOIN memories s ON s.namespace = l.namespace AND s.id = l.source "
                    "JOIN memories t ON t.namespace = l.namespace AND t.id = l.target "
                    "WHERE l.namespace = %s",
                    (namespace,),
                )
            ]
            living = {end for source, target, *_ in links for end in (source, target)}
            graph = LinkGraph(links, living)
            self._snapshots.store_graph(namespace, snapshot.linked, graph)
        return graph

    def read_records(self, op: operations.ReadRecords) -> Steps[list[MemoryRecord | None]]:
        """The records of rows."""
        yield from self._reader.load_contents(op.rows)
        return self._reader.records(op.rows)

    def read_texts(self, op: operations.ReadTexts) -> Steps[list[str | None]]:
        """The contents of rows."""
        yield from self._reader.load_contents(op.rows)
        contents: list[str | None] = self._cache.rows.columns(op.rows, ("content",))[
            "content"
        ].tolist()
        return contents

    def fetch_vectors(self, op: operations.FetchVectors) -> Steps[NDArray[np.float32]]:
        """The vectors of a name of rows."""
        for namespace, *_ in self._row_ids.by_namespace(op.rows[:1]):
            yield from self._context.current(namespace)
        stored = self._context.stored_name(op.name)
        yield from self._reader.load_vectors(op.rows, stored)
        return self._cache.rows.vectors(stored, op.rows)

    # Links and session neighbors

    def links_between(self, op: operations.LinksBetween) -> Steps[list[operations.Edge]]:
        """The links from and to rows, as far as both ends pass the filter."""
        edges: list[operations.Edge] = []
        for namespace, numbers, at in self._row_ids.by_namespace(op.rows):
            snapshot = self._cache.snapshots.get(namespace)
            has_links = snapshot is None or snapshot.linked
            if namespace not in op.query.namespaces or not has_links:
                continue
            neighborhood = self._cache.neighborhood_within(op.query.where)
            rows = set(op.rows[at].tolist())
            if neighborhood.linked >= rows:
                edges += [
                    e
                    for e in neighborhood.edges
                    if (e.source in rows or e.target in rows) and op.type in (None, e.type)
                ]
                continue
            which = rows_condition(numbers)
            [links] = yield [select_links(namespace, which, op.query.where, op.type)]
            edges += self._edges(namespace, links)
        return edges

    def _edges(self, namespace: str, links: Sequence[Any]) -> list[operations.Edge]:
        ends = self._row_ids.encode(namespace, [ends for *ends, _, _ in links]).reshape(-1, 2)
        return [
            operations.Edge(source, target, weight, type)
            for (source, target), (_, _, weight, type) in zip(ends.tolist(), links, strict=True)
        ]

    def session_neighbors(self, op: operations.SessionNeighbors) -> Steps[Rows]:
        """The rows right before and after rows in their sessions: shape (2, rows)."""
        neighborhood = self._cache.neighborhood_within(op.query.where)
        missing = [row for row in op.rows.tolist() if row not in neighborhood.beside]
        ids = np.array(missing, dtype=np.int64)
        for namespace, numbers, _ in self._row_ids.by_namespace(ids):
            select = select_neighbors(namespace, rows_condition(numbers), op.query.where)
            [neighbors] = yield [select]
            self._add_neighbors(neighborhood, namespace, neighbors)
        sides = [neighborhood.beside.get(row, (-1, -1)) for row in op.rows.tolist()]
        return np.array(sides, dtype=np.int64).reshape(-1, 2).T

    def _add_neighbors(
        self, neighborhood: Neighborhood, namespace: str, neighbors: Sequence[Any]
    ) -> None:
        for number, *sides in neighbors:
            ids = self._row_ids.encode(namespace, [number, *(side or 0 for side in sides)])
            row, *beside = ids.tolist()
            before, after = (id if side else -1 for id, side in zip(beside, sides, strict=True))
            neighborhood.beside[row] = before, after

    def read_neighborhood(self, query: Query, rows: Rows) -> Steps[None]:
        """Read the links and neighbors that a profile will ask about, of the best rows."""
        neighborhood = self._cache.neighborhood_within(query.where)
        parts: list[Steps[Any]] = []
        for namespace, numbers, _ in self._row_ids.by_namespace(rows):
            if "links" in query.around and self._cache.snapshots[namespace].linked:
                parts.append(self._read_links(neighborhood, namespace, numbers, query))
            if "beside" in query.around:
                parts.append(self._read_neighbors(neighborhood, namespace, numbers, query))
        yield from concurrently(parts)

    def _read_links(
        self, neighborhood: Neighborhood, namespace: str, numbers: Rows, query: Query
    ) -> Steps[None]:
        reachable = reachable_condition(namespace, numbers, _READ_AHEAD_HOPS)
        rows, links = yield from concurrently(
            [
                self._reader.load_matching(namespace, reachable),
                _answer(select_links(namespace, reachable, query.where)),
            ]
        )
        neighborhood.linked.update(rows.tolist())
        neighborhood.edges += self._edges(namespace, links)

    def _read_neighbors(
        self, neighborhood: Neighborhood, namespace: str, numbers: Rows, query: Query
    ) -> Steps[None]:
        beside = neighbors_condition(namespace, numbers, query.where)
        _, neighbors = yield from concurrently(
            [
                self._reader.load_matching(namespace, beside),
                _answer(select_neighbors(namespace, rows_condition(numbers), query.where)),
            ]
        )
        self._add_neighbors(neighborhood, namespace, neighbors)

    def links_of(self, op: operations.LinksOf) -> Steps[list[Link]]:
        """The links of memories, by source, target and type."""
        clause = "" if op.ids is None else " AND (source = ANY(%s::text[]) OR target = ANY(%s))"
        ids = () if op.ids is None else (list(op.ids), list(op.ids))
        [links] = yield [
            Statement(
                f"SELECT {_LINK_COLUMNS} FROM links WHERE namespace = %s{clause} "
                "ORDER BY source, target, type",
                (op.namespace, *ids),
            )
        ]
        return [
            Link(op.namespace, source, target, type, weight, codec.decode("created_at", at))
            for source, target, type, weight, at in links
        ]

    # Rows

    def find_by_text_hash(self, op: operations.FindByTextHash) -> Steps[dict[int, tuple[int, ...]]]:
        """The rows of texts by their hashes."""
        return (yield from self._rows_by_key(op.namespace, "text_key", op.keys))

    def find_by_attribute(
        self, op: operations.FindByAttribute
    ) -> Steps[dict[int, tuple[int, ...]]]:
        """The rows of facts by the hashes of the attributes that they state."""
        return (yield from self._rows_by_key(op.namespace, "attribute_key", op.keys))

    def _rows_by_key(
        self, namespace: str, column: HashColumn, keys: Sequence[int]
    ) -> Steps[dict[int, tuple[int, ...]]]:
        [answer] = yield [
            Statement(
                f'SELECT {column}, "row" FROM memories WHERE namespace = %s '
                f'AND {column} = ANY(%s::bigint[]) ORDER BY "row"',
                (namespace, list(keys)),
            )
        ]
        rows: dict[int, tuple[int, ...]] = {}
        offset = self._row_ids.offset(namespace) if answer else 0
        for key, number in answer:
            rows[key] = (*rows.get(key, ()), number + offset)
        return rows

    def rows_in_write_order(self, op: operations.RowsInWriteOrder) -> Steps[Rows]:
        """All rows, the one written first in front."""
        [[[numbers]]] = yield [
            Statement(
                'SELECT array_agg("row" ORDER BY sequence) FROM memories WHERE namespace = %s',
                (op.namespace,),
            )
        ]
        return self._row_ids.encode(op.namespace, () if numbers is None else numbers)

    def rows_by_id(self, op: operations.RowsById) -> Steps[dict[str, int]]:
        """The rows of ids that are there."""
        [answer] = yield [
            Statement(
                'SELECT id, "row" FROM memories WHERE namespace = %s AND id = ANY(%s::text[])',
                (op.namespace, list(op.ids)),
            )
        ]
        rows = self._row_ids.encode(op.namespace, [number for _, number in answer]).tolist()
        by_id = dict(zip((id for id, _ in answer), rows, strict=True))
        return {id: by_id[id] for id in op.ids if id in by_id}

    def unembedded(self, op: operations.Unembedded) -> Steps[Rows]:
        """Rows that lack a vector of a name."""
        long_only = "AND m.passages IS NOT NULL " if is_vector_name(op.name) else ""
        [kept] = yield [Statement("SELECT value FROM meta WHERE key = 'vectors'")]
        sets = VectorSets.from_json(kept[0][0] if kept else None)
        [answer] = yield [
            Statement(
                f'SELECT m."row" FROM memories m WHERE m.namespace = %s {long_only}AND NOT EXISTS '
                "(SELECT FROM vectors v WHERE v.namespace = m.namespace AND v.name = %s "
                'AND v."row" = m."row") ORDER BY m."row" LIMIT %s',
                (op.namespace, sets.stored_name(op.name, beside=op.beside), op.limit),
            )
        ]
        return self._row_ids.encode(op.namespace, [number for (number,) in answer])

    # Listings and statistics

    def list_records(self, op: operations.ListRecords) -> Steps[operations.Listing]:
        """Memories that pass a filter, in an order, after a place."""
        [rows] = yield [select_page(op)]
        memories = []
        for sequence, *values in rows:
            stored = codec_values_of(values)
            place = operations.Place(stored["created_at"], sequence)
            memories.append((codec.record_of(op.namespace, stored), place))
        return operations.Listing.of(memories, op.limit)

    def count_records(self, op: operations.CountRecords) -> Steps[int]:
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
        [[[count]]] = yield [statement]
        return int(count)

    def list_names(self, op: operations.ListNames) -> Steps[list[operations.NameTally]]:
        """The tags or entities of memories that pass a filter."""
        condition, folded = compile_filter(op.where, "m"), folded_column(op.field)
        [rows] = yield [
            Statement(
                "SELECT item.folded, mode() WITHIN GROUP (ORDER BY item.name), "
                f'count(DISTINCT m."row") FROM memories m, '
                f"unnest(m.{folded}, m.{op.field}) AS item (folded, name) "
                f"WHERE m.namespace = %s AND m.{folded} IS NOT NULL AND {condition.sql} "
                "AND starts_with(item.folded, %s) AND item.folded > %s "
                f"GROUP BY item.folded ORDER BY item.folded LIMIT {op.limit:d}",
                (op.namespace, *condition.parameters, op.prefix, op.after),
            )
        ]
        return [operations.NameTally(*row) for row in rows]

    def stats(self, op: operations.ReadStats, replica_bytes: int) -> Steps[dict[str, Any]]:
        """Counts, and for the whole store sizes; `replica_bytes` are those of this process."""
        clause, parameters = "true", tuple[Any, ...]()
        if op.namespaces:
            clause, parameters = "namespace = ANY(%s::text[])", (list(op.namespaces),)
        size = Statement(
            f"SELECT sum({self._size}(oid))::bigint FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = 'salience'::regnamespace"
        )
        counts, links, embedder, *sizes = yield [
            Statement(
                f"SELECT namespace, living FROM spaces WHERE living > 0 AND {clause} ORDER BY 1",
                parameters,
            ),
            Statement(f"SELECT count(*) FROM links WHERE {clause}", parameters),
            Statement("SELECT value FROM meta WHERE key = 'embedder'"),
            *([] if op.namespaces else [size]),
        ]
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
            figures |= {
                "file_mb": round(int(stored or 0) / 1e6, 3),
                "index_mb": round((self._snapshots.nbytes + replica_bytes) / 1e6, 3),
            }
        return figures


def _answer(statement: Statement) -> Steps[list[Any]]:
    [answer] = yield [statement]
    return list(answer)


def select_page(op: operations.ListRecords) -> Statement:
    """The sequence numbers and fields of the memories of a listing, and of the one after it."""
    condition = compile_filter(op.where, "m")
    way, beyond = ("ASC", ">") if op.order == "oldest" else ("DESC", "<")
    later = f" AND (m.created_at, m.sequence) {beyond} (%s::float8, %s::bigint)"
    columns = ", ".join("m.metadata::text" if n == "metadata" else f"m.{n}" for n in FIELDS)
    return Statement(
        f"SELECT m.sequence, {columns} FROM memories m WHERE m.namespace = %s "
        f"AND {condition.sql}{'' if op.after is None else later} "
        f"ORDER BY m.created_at {way}, m.sequence {way} LIMIT {op.limit + 1:d}",
        (op.namespace, *condition.parameters, *(op.after or ())),
    )
