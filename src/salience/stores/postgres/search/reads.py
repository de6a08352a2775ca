"""What is kept of memories: answers to operations about rows, ids, listings and links, as steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.records.fields import FIELDS, GRAPH
from salience.records.link_graph import LinkGraph
from salience.records.record import Link, MemoryRecord
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.retrieval.query import Query
from salience.stores import codec, cursor
from salience.stores.access_queue import Batch
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.search.read_cache import Neighborhood, SearchCache
from salience.stores.postgres.search.routes import Routes
from salience.stores.postgres.search.row_reader import PREVIOUS_FEATURES, RowReader, stored_names
from salience.stores.postgres.search.snapshot import NamespaceSnapshot, SnapshotCache
from salience.stores.postgres.sql.columns import codec_values_of
from salience.stores.postgres.sql.filters import compile_filter
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
    """Answers about what is kept, within what one thread has in sight."""

    def __init__(
        self,
        numbers: RowIds,
        spaces: SnapshotCache,
        sight: SearchCache,
        waiting: Callable[[str], Sequence[Batch]],
        distributed: bool = False,
    ) -> None:
        self._size = "citus_total_relation_size" if distributed else "pg_total_relation_size"
        self._numbers = numbers
        self._spaces = spaces
        self._sight = sight
        self._reader = RowReader(numbers, waiting)
        self._routes = Routes(self._reader)

    def known(self, namespace: str) -> NamespaceSnapshot:
        """What is known of a namespace, as of what is in sight."""
        return self._sight.known.get(namespace) or self._spaces.known(namespace)

    def current(self, namespace: str) -> Steps[NamespaceSnapshot]:
        """The namespace as of this search."""
        known = self._sight.known.get(namespace)
        if known is None:
            before = self._spaces.known(namespace)
            known = self._routes.see(self._sight, before, (yield before.news()))
        return known

    def people(self, namespace: str) -> Steps[NamespaceSnapshot]:
        """The namespace with who speaks in it and what they are called."""
        known = self._spaces.settled(namespace)
        if known is None and namespace not in self._sight.known:
            before = self._spaces.known(namespace)
            *news, greeted = yield [*before.news(), before.greetings()]
            known = self._routes.see(self._sight, before, news).greeted_by(greeted)
            self._sight.known[namespace] = known
        known = self._sight.known.get(namespace) or known
        assert known is not None
        if known.heard < known.named:  # somebody else has written since it was read
            known = known.greeted_by((yield [known.greetings()])[0])
            self._spaces.learn([known])
            if namespace in self._sight.known:
                self._sight.known[namespace] = known
        return known

    # Memories

    def fetch(self, op: operations.FetchColumns) -> Steps[dict[str, NDArray[Any]]]:
        names = [name for name in op.names if name not in GRAPH]
        graph = [name for name in op.names if name in GRAPH]
        parts = [self._reader.load(self._sight, op.rows, stored_names(names) | {"id"})]
        if "position" in names or not PREVIOUS_FEATURES.isdisjoint(names):
            parts.append(self._beside(op.rows, names))
        yield from concurrently(parts)
        found = self._reader.columns(self._sight, op.rows, names)
        if graph:
            found.update((yield from self._graph(op.rows, graph)))
        return found

    def _beside(self, rows: Rows, names: Sequence[str]) -> Steps[None]:
        """See what stands before rows in their sessions."""
        for namespace, _, _ in self._numbers.parts(rows):
            yield from self.current(namespace)
        if not PREVIOUS_FEATURES.isdisjoint(names):
            previous = self._reader.previous(self._sight, rows)
            previous = previous[previous >= 0]
            yield from self._reader.features(self._sight, previous)

    def _graph(self, rows: Rows, names: Sequence[str]) -> Steps[dict[str, NDArray[Any]]]:
        found = {name: np.full(len(rows), np.nan) for name in names}
        for namespace, _, places in self._numbers.parts(rows):
            known = yield from self.current(namespace)
            graph = self._spaces.graph(namespace, known.linked)
            if graph is None:
                [links] = yield [
                    Statement(
                        "SELECT l.source, l.target, l.created_at FROM links l "
                        "JOIN memories s ON s.namespace = l.namespace AND s.id = l.source "
                        "JOIN memories t ON t.namespace = l.namespace AND t.id = l.target "
                        "WHERE l.namespace = %s",
                        (namespace,),
                    )
                ]
                living = {end for source, target, _ in links for end in (source, target)}
                graph = LinkGraph(links, living)
                self._spaces.keep_graph(namespace, known.linked, graph)
            there = self._sight.seen.there(rows[places])
            ids = self._sight.seen.columns(rows[places][there], ("id",))["id"].tolist()
            for name in names:
                values = np.full(len(places), np.nan)
                values[there] = graph.column(name, ids)
                found[name][places] = values
        return found

    def read(self, op: operations.ReadRecords) -> Steps[list[MemoryRecord | None]]:
        yield from self._reader.contents(self._sight, op.rows)
        return self._reader.records(self._sight, op.rows)

    def texts(self, op: operations.ReadTexts) -> Steps[list[str | None]]:
        yield from self._reader.contents(self._sight, op.rows)
        found: list[str | None] = self._sight.seen.columns(op.rows, ("content",))[
            "content"
        ].tolist()
        return found

    def vectors(self, op: operations.FetchVectors) -> Steps[NDArray[np.float32]]:
        yield from self._reader.vectors(self._sight, op.rows, op.name)
        return self._sight.seen.vectors(op.name, op.rows)

    def linked(self, op: operations.LinksBetween) -> Steps[list[operations.Edge]]:
        edges: list[operations.Edge] = []
        for namespace, rows, places in self._numbers.parts(op.rows):
            known = self._sight.known.get(namespace)
            if namespace not in op.query.namespaces or (known is not None and not known.linked):
                continue
            around, given = self._sight.around_within(op.query.where), op.rows[places]
            if not around.linked.issuperset(given.tolist()):
                asked = select_links(namespace, rows_condition(rows), op.query.where)
                [found] = yield [asked]
                edges += self._edges(namespace, found)
                continue
            mine = set(given.tolist())
            edges += [e for e in around.edges if e.source in mine or e.target in mine]
        return edges

    def _edges(self, namespace: str, found: Sequence[Any]) -> list[operations.Edge]:
        ends = self._numbers.rows(namespace, [ends for *ends, _, _ in found]).reshape(-1, 2)
        return [
            operations.Edge(source, target, weight, type)
            for (source, target), (_, _, weight, type) in zip(ends.tolist(), found, strict=True)
        ]

    def beside(self, op: operations.SessionNeighbors) -> Steps[Rows]:
        around = self._sight.around_within(op.query.where)
        missing = [row for row in op.rows.tolist() if row not in around.beside]
        for namespace, rows, _ in self._numbers.parts(np.array(missing, dtype=np.int64)):
            [found] = yield [select_neighbors(namespace, rows_condition(rows), op.query.where)]
            self._see_beside(around, namespace, found)
        sides = [around.beside.get(row, (-1, -1)) for row in op.rows.tolist()]
        return np.array(sides, dtype=np.int64).reshape(-1, 2).T

    def _see_beside(self, around: Neighborhood, namespace: str, found: Sequence[Any]) -> None:
        for row, *sides in found:
            mine, *others = self._numbers.rows(namespace, [row, *(s or 0 for s in sides)]).tolist()
            before, behind = (o if s else -1 for o, s in zip(others, sides, strict=True))
            around.beside[mine] = before, behind

    # Read ahead

    def look_around(self, query: Query, rows: Rows) -> Steps[None]:
        """See what the profile will ask of what is around the best rows."""
        around = self._sight.around_within(query.where)
        parts: list[Steps[Any]] = []
        for namespace, within, _ in self._numbers.parts(rows):
            if "links" in query.around and self._sight.known[namespace].linked:
                parts.append(self._see_links(around, namespace, within, query))
            if "beside" in query.around:
                parts.append(self._see_sides(around, namespace, within, query))
        yield from concurrently(parts)

    def _see_links(
        self, around: Neighborhood, namespace: str, rows: Rows, query: Query
    ) -> Steps[None]:
        reach = reachable_condition(namespace, rows, _READ_AHEAD_HOPS)
        given, found = yield from concurrently(
            [
                self._reader.found(self._sight, namespace, reach),
                _one_answer(select_links(namespace, reach, query.where)),
            ]
        )
        around.linked.update(given.tolist())
        around.edges += self._edges(namespace, found)

    def _see_sides(
        self, around: Neighborhood, namespace: str, rows: Rows, query: Query
    ) -> Steps[None]:
        _, found = yield from concurrently(
            [
                self._reader.found(
                    self._sight, namespace, neighbors_condition(namespace, rows, query.where)
                ),
                _one_answer(select_neighbors(namespace, rows_condition(rows), query.where)),
            ]
        )
        self._see_beside(around, namespace, found)

    def same(self, op: operations.FindByTextHash) -> Steps[dict[int, tuple[int, ...]]]:
        [kept] = yield [
            Statement(
                'SELECT text_key, "row" FROM memories WHERE namespace = %s '
                'AND text_key = ANY(%s::bigint[]) ORDER BY "row"',
                (op.namespace, list(op.keys)),
            )
        ]
        found: dict[int, tuple[int, ...]] = {}
        for key, row in kept:
            [global_row] = self._numbers.rows(op.namespace, [row]).tolist()
            found[key] = (*found.get(key, ()), global_row)
        return found

    def order(self, op: operations.RowsInWriteOrder) -> Steps[Rows]:
        [[[rows]]] = yield [
            Statement(
                'SELECT array_agg("row" ORDER BY sequence) FROM memories WHERE namespace = %s',
                (op.namespace,),
            )
        ]
        return self._numbers.rows(op.namespace, () if rows is None else rows)

    def find(self, op: operations.RowsById) -> Steps[dict[str, int]]:
        [found] = yield [
            Statement(
                'SELECT id, "row" FROM memories WHERE namespace = %s AND id = ANY(%s::text[])',
                (op.namespace, list(op.ids)),
            )
        ]
        rows = self._numbers.rows(op.namespace, [row for _, row in found]).tolist()
        by_id = dict(zip((id for id, _ in found), rows, strict=True))
        return {id: by_id[id] for id in op.ids if id in by_id}

    def listing(self, op: operations.ListRecords) -> Steps[operations.Page]:
        after = cursor.parse_cursor(op.cursor)
        condition = compile_filter(op.where, "m")
        page = ""
        keyset: tuple[Any, ...] = ()
        if after is not None:
            page = " AND (m.created_at < %s OR (m.created_at = %s AND m.id > %s))"
            keyset = (-after[0], -after[0], after[1])
        columns = ", ".join("m.metadata::text" if n == "metadata" else f"m.{n}" for n in FIELDS)
        statements = []
        for namespace in op.namespaces:
            given = (namespace, *condition.parameters)
            statements += [
                Statement(
                    f"SELECT count(*) FROM memories m WHERE m.namespace = %s AND {condition.sql}",
                    given,
                ),
                Statement(
                    f'SELECT m."row", {columns} FROM memories m WHERE m.namespace = %s '
                    f"AND {condition.sql}{page} ORDER BY m.created_at DESC, m.id "
                    f"LIMIT {op.limit + 1}",
                    (*given, *keyset),
                ),
            ]
        answers = yield statements
        total = sum(count for [[count]] in answers[::2])
        records = [
            codec.record_of(namespace, codec_values_of(values))
            for namespace, rows in zip(op.namespaces, answers[1::2], strict=True)
            for _, *values in rows
        ]
        records.sort(key=_page_key)
        shown = records[: op.limit]
        more = len(records) > op.limit
        last = cursor.encode_cursor(_page_key(shown[-1])) if more and shown else None
        return operations.Page(tuple(shown), total, last)

    def unembedded(self, op: operations.Unembedded) -> Steps[Rows]:
        [found] = yield [
            Statement(
                'SELECT m."row" FROM memories m WHERE m.namespace = %s AND NOT EXISTS (SELECT '
                "FROM vectors v WHERE v.namespace = m.namespace AND v.name = %s "
                'AND v."row" = m."row") ORDER BY m."row" LIMIT %s',
                (op.namespace, op.name, op.limit),
            )
        ]
        return self._numbers.rows(op.namespace, [row for (row,) in found])

    def neighbors(self, op: operations.LinksOf) -> Steps[list[Link]]:
        clause = "" if op.ids is None else " AND (source = ANY(%s::text[]) OR target = ANY(%s))"
        ids = () if op.ids is None else (list(op.ids), list(op.ids))
        [found] = yield [
            Statement(
                f"SELECT {_LINK_COLUMNS} FROM links WHERE namespace = %s{clause} "
                "ORDER BY source, target, type",
                (op.namespace, *ids),
            )
        ]
        return [
            Link(op.namespace, source, target, type, weight, codec.decode("created_at", at))
            for source, target, type, weight, at in found
        ]

    def stats(
        self, op: operations.ReadStats, replica_bytes: int, loading: int
    ) -> Steps[dict[str, Any]]:
        """Counts and sizes; `replica_bytes` and `loading` tell of the replicas of this process."""
        clause, chosen = ("", ()) if not op.namespaces else (" AND namespace = ANY(%s::text[])",
                                                             (list(op.namespaces),))  # fmt: skip
        counts, links, size, embedder = yield [
            Statement(
                f"SELECT namespace, living FROM spaces WHERE living > 0{clause} ORDER BY 1", chosen
            ),
            Statement("SELECT count(*) FROM links"),
            Statement(
                f"SELECT sum({self._size}(oid))::bigint FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace = 'salience'::regnamespace"
            ),
            Statement("SELECT value FROM meta WHERE key = 'embedder'"),
        ]
        known = dict(counts)
        if op.namespaces:
            known = {name: known.get(name, 0) for name in op.namespaces}
        return {
            "memories": sum(known.values()),
            "namespaces": known,
            "embedder": embedder[0][0] if embedder else None,
            "index_mb": round((self._spaces.nbytes + replica_bytes) / 1e6, 3),
            "being_read": loading,  # namespaces
            "store": "postgresql",
            "links": links[0][0],
            "file_mb": round(int(size[0][0] or 0) / 1e6, 3),
        }


def _one_answer(statement: Statement) -> Steps[list[Any]]:
    [answer] = yield [statement]
    return list(answer)


def _page_key(record: MemoryRecord) -> cursor.Place:
    return -float(codec.encode("created_at", record.created_at)), record.id
