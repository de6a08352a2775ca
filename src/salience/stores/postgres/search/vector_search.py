"""Vectors: the server finds the nearest, and their cosines are computed exactly here."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import ClassVar

import numpy as np

from salience.errors import EmbedderMismatch, InvalidInput
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import Vector
from salience.stores.index.vector_index import EXACT_BELOW
from salience.stores.postgres.search.route_search import RouteSearch, SearchContext
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql.passages import select_nearest_by_passage
from salience.stores.postgres.sql.vectors import (
    exact_cosines,
    is_cut_among_ties,
    parse_cosines,
    select_cosines,
    select_nearest,
    select_vectors,
    select_with_vector,
    select_within,
)
from salience.stores.postgres.wire.commands import Steps, concurrently
from salience.stores.postgres.wire.types import float_array

_log = logging.getLogger(__name__)


@lru_cache(maxsize=1024)  # said once of each
def _warn_of_missing_index(namespace: str, name: str) -> None:
    _log.warning(
        "the namespace %r has no index of its vectors %r, and compares all; run `salience index`",
        namespace,
        name,
    )


class VectorSearch(RouteSearch[Vector]):
    """Cosines with the query's vector."""

    uses_indexes: ClassVar[bool] = True
    """False to compare all vectors even where there is an index of them."""

    def search(
        self,
        context: SearchContext,
        namespace: str,
        route: Vector,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        """See `RouteSearch.search`."""
        latest = context.snapshot(namespace)
        nearest = yield from self._search(context, latest, route, query, depth)
        current = context.snapshot(namespace)
        if current.sets.underscored != latest.sets.underscored:  # another set is searched by now
            nearest = yield from self._search(context, current, route, query, depth)
        return nearest

    def _search(
        self,
        context: SearchContext,
        latest: NamespaceSnapshot,
        route: Vector,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        """The rows and scores among the vectors that are searched according to a snapshot."""
        no_direction = query.vector is None or not query.vector.any()
        if no_direction and depth is not None:  # none is nearer than another
            [delta] = yield [latest.delta_query()]
            context.advance(latest, delta)
            return np.empty(0, dtype=np.int64), np.empty(0)
        if query.vector is None:
            return (yield from self._with_vector(context, latest, route, query))
        self.check(latest, route, query)
        if depth is not None:
            nearest = yield from self._nearest(context, latest, route, query, depth)
        elif latest.vector_count(latest.sets.stored_name(route.vector)) > EXACT_BELOW:
            nearest = yield from self._all_cosines(context, latest, route, query)
        else:
            nearest = yield from self._all(context, latest, route, query)
        namespace = latest.namespace
        if route.passages and context.snapshot(namespace).passage_vectors:
            return (yield from self._by_passages(context, namespace, route, query, depth, nearest))
        return nearest

    def _by_passages(
        self,
        context: SearchContext,
        namespace: str,
        route: Vector,
        query: Query,
        depth: int | None,
        nearest: tuple[Rows, Floats],
    ) -> Steps[tuple[Rows, Floats]]:
        """The nearest rows, of which a long one is as near as the nearest of its passages."""
        names = context.snapshot(namespace).passage_vectors
        [answer] = yield [select_nearest_by_passage(namespace, names, query, depth)]
        rows = context.row_ids.encode(namespace, [row for (row,) in answer])
        rows = np.union1d(nearest[0], rows)
        numbers = next(iter(context.row_ids.by_namespace(rows)))[1] if len(rows) else rows
        scores = yield from self.score(context, namespace, route, query, numbers)
        similar = scores >= route.min_similarity
        return rows[similar], scores[similar]

    def _nearest(
        self,
        context: SearchContext,
        latest: NamespaceSnapshot,
        route: Vector,
        query: Query,
        depth: int,
    ) -> Steps[tuple[Rows, Floats]]:
        """The nearest rows, by an index or exactly; of equally near ones all."""
        namespace, stored = latest.namespace, latest.sets.stored_name(route.vector)
        count = latest.vector_count(stored)
        indexed = count if self.has_index(latest, route) else None
        if indexed is None and self.uses_indexes and count > EXACT_BELOW:
            _warn_of_missing_index(namespace, route.vector)
        delta, *_, [[numbers, packed, distances]] = yield [
            latest.delta_query(),
            *select_nearest(namespace, stored, query, depth, indexed),
        ]
        self.check(context.advance(latest, delta), route, query)
        if distances is not None and is_cut_among_ties(float_array(distances), depth):
            farthest = float_array(distances)[depth - 1]
            [[[numbers, packed]]] = yield [select_within(namespace, stored, query, farthest)]
        return self._scored(context, latest, route, query, numbers, packed)

    def _all(
        self, context: SearchContext, latest: NamespaceSnapshot, route: Vector, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        """Every row that has a vector; all vectors are read."""
        stored = latest.sets.stored_name(route.vector)
        delta, [[numbers, packed]] = yield [
            latest.delta_query(),
            select_vectors(latest.namespace, stored, query),
        ]
        self.check(context.advance(latest, delta), route, query)
        return self._scored(context, latest, route, query, numbers, packed)

    def _scored(
        self,
        context: SearchContext,
        latest: NamespaceSnapshot,
        route: Vector,
        query: Query,
        numbers: Rows | None,
        packed: bytes | None,
    ) -> tuple[Rows, Floats]:
        """Rows whose vectors were read, with exact cosines."""
        assert query.vector is not None
        stored = latest.sets.stored_name(route.vector)
        rows = context.reader.add_vectors(latest.namespace, stored, numbers, packed)
        scores = exact_cosines(context.cache.rows.vectors(stored, rows), query.vector)
        similar = scores >= route.min_similarity
        return rows[similar], scores[similar]

    def _all_cosines(
        self, context: SearchContext, latest: NamespaceSnapshot, route: Vector, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        """Every row that has a vector, with the cosine that the server computes, within 1e-6.

        Up to EXACT_BELOW vectors are read instead, and compared to the last bit.
        """
        namespace, stored = latest.namespace, latest.sets.stored_name(route.vector)
        delta, answer = yield [
            latest.delta_query(),
            select_cosines(namespace, stored, query),
        ]
        self.check(context.advance(latest, delta), route, query)
        numbers, scores = parse_cosines(answer)
        rows = context.row_ids.encode(namespace, numbers)
        context.cache.cosines[namespace, stored] = (rows, scores)
        similar = scores >= route.min_similarity
        return rows[similar], scores[similar]

    def _with_vector(
        self, context: SearchContext, latest: NamespaceSnapshot, route: Vector, query: Query
    ) -> Steps[tuple[Rows, Floats]]:
        """Every row that has a vector, with a score of 0: the query has none to compare it with."""
        delta, [[numbers]] = yield [
            latest.delta_query(),
            select_with_vector(latest.namespace, latest.sets.stored_name(route.vector), query),
        ]
        context.advance(latest, delta)
        rows = context.row_ids.encode(latest.namespace, () if numbers is None else numbers)
        scores = np.zeros(len(rows))
        similar = scores >= route.min_similarity
        return rows[similar], scores[similar]

    def score(
        self, context: SearchContext, namespace: str, route: Vector, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """See `RouteSearch.score`."""
        snapshot = yield from context.current(namespace)
        if query.vector is None:
            return np.full(len(rows), np.nan)
        self.check(snapshot, route, query)
        ids = context.row_ids.encode(namespace, rows)
        if route.passages:
            yield from context.reader.load_passage_vectors(ids)
        stored = snapshot.sets.stored_name(route.vector)
        compared = context.cache.cosines.get((namespace, stored))
        if compared is not None and np.isin(ids, compared[0]).all():
            cosines = compared[1][np.searchsorted(compared[0], ids)]
        else:
            yield from context.reader.load_vectors(ids, stored)
            cosines = exact_cosines(context.cache.rows.vectors(stored, ids), query.vector)
        if route.passages:
            cosines = np.fmax(cosines, context.reader.passage_cosines(ids, query.vector))
        return cosines

    def check(self, snapshot: NamespaceSnapshot, route: Vector, query: Query) -> None:
        """Refuse a query whose vector cannot be compared with those stored.

        Raises:
            EmbedderMismatch: they come from another embedder.
            InvalidInput: they have another length.
        """
        if query.vector is None:
            return
        query_dimensions = len(query.vector)
        dimensions = snapshot.dimensions.get(route.vector, query_dimensions)
        # Another process may have re-embedded the memories since this one opened the store.
        embedder = query.embedder if route.vector == "content" else None
        searched = snapshot.sets.searched
        if embedder is not None and searched not in (None, embedder):
            raise EmbedderMismatch(str(searched), embedder)
        if dimensions == query_dimensions:
            return
        if route.vector == "content":
            raise EmbedderMismatch(
                f"{dimensions} dimensions", f"one of {query_dimensions}; open it again"
            )
        raise InvalidInput(
            f"vectors.{route.vector}",
            f"have {dimensions} dimensions, and the query's vector has {query_dimensions}",
            "use the embedder that they come from",
        )

    def has_index(self, snapshot: NamespaceSnapshot, route: Vector) -> bool:
        """True if a search over a route asks an index."""
        stored = snapshot.sets.stored_name(route.vector)
        return self.uses_indexes and snapshot.has_vector_index(stored)

    def read_ahead(
        self, context: SearchContext, route: Vector, query: Query, rows: Rows
    ) -> Steps[None] | None:
        """See `RouteSearch.read_ahead`."""
        if query.vector is None:
            return None
        vectors = context.reader.load_vectors(rows, context.stored_name(route.vector))
        if not route.passages:
            return vectors
        return _both(vectors, context.reader.load_passage_vectors(rows))


def _both(first: Steps[None], second: Steps[None]) -> Steps[None]:
    yield from concurrently([first, second])
