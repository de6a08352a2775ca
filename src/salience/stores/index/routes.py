"""Routes over the memories of a namespace held in memory: one class for each class of routes.

`register` adds one for a route from outside the package. Where a route scores every memory and
those above a threshold are its candidates, subclass `DenseSearch`, which needs one method:

    class ShortTexts(DenseSearch[MyRoute]):
        def scores(self, table, route, query):
            return np.array([...])  # one score for each memory, by ordinal

    register(MyRoute, ShortTexts())
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import by_kernel
from salience.errors import EmbedderMismatch, InvalidInput
from salience.records.record import Embedding
from salience.retrieval.candidates import Floats
from salience.retrieval.query import Query
from salience.retrieval.routes import (
    ExactMatch,
    Lexical,
    MatchAll,
    Route,
    TimeWindow,
    Trigram,
    Vector,
)
from salience.stores.index.columns import CodedColumn, NumberColumn, TimesColumn
from salience.stores.index.memory_table import MemoryTable, Ordinals
from salience.stores.index.vector_index import VectorIndex
from salience.stores.index.words.bm25 import WordScores

Mask = NDArray[np.bool_]
R = TypeVar("R", bound=Route)


class RouteSearch(ABC, Generic[R]):
    """The candidates of one class of routes, and their scores."""

    runs_in_thread: ClassVar[bool] = False
    """True if a search in a large namespace spends its time in NumPy, beside other threads."""

    @abstractmethod
    def search(
        self, table: MemoryTable, route: R, query: Query, depth: int | None, mask: Mask | None
    ) -> tuple[Ordinals, Floats]:
        """Ordinals, ascending, that hold the best `depth` (None: all), and their exact scores.

        `mask` is True for the memories that may be candidates; None for all of them.
        """

    @abstractmethod
    def score(self, table: MemoryTable, route: R, query: Query, ordinals: Ordinals) -> Floats:
        """The exact scores of memories, candidates or not; NaN where one has none."""


class DenseSearch(RouteSearch[R]):
    """A route that scores every memory of the namespace; those above a threshold are candidates."""

    @abstractmethod
    def scores(self, table: MemoryTable, route: R, query: Query) -> Floats:
        """The score of every memory, by ordinal."""

    def min_score(self, route: R) -> float:
        """The least score of a candidate; at 0 a candidate has a score above it."""
        return 0.0

    def search(
        self, table: MemoryTable, route: R, query: Query, depth: int | None, mask: Mask | None
    ) -> tuple[Ordinals, Floats]:
        """See `RouteSearch.search`."""
        dense, least = self.kept_scores(table, route, query), self.min_score(route)
        ordinals, scores = np.empty(len(dense), dtype=np.int64), np.empty(len(dense))
        rows = None if depth is None else max(1, min(depth, len(dense)))
        count = by_kernel("best", np.ascontiguousarray(dense), mask, least, rows, ordinals, scores)
        if count is not NotImplemented:
            return ordinals[:count], scores[:count]
        passing = dense >= least if least > 0.0 else dense > 0.0
        if mask is not None:
            passing &= mask
        ordinals = np.flatnonzero(passing)
        scores = dense[ordinals]
        if depth is not None and len(scores) > depth:
            bound = np.partition(scores, len(scores) - depth)[len(scores) - depth]
            best = scores >= bound
            return ordinals[best], scores[best]
        return ordinals, scores

    def score(self, table: MemoryTable, route: R, query: Query, ordinals: Ordinals) -> Floats:
        """See `RouteSearch.score`."""
        return self.kept_scores(table, route, query)[ordinals]

    def kept_scores(self, table: MemoryTable, route: R, query: Query) -> Floats:
        """`scores`, computed once for a query."""
        by_route = table.route_scores(query)
        if route not in by_route:
            by_route[route] = self.scores(table, route, query)
        return by_route[route]


class LexicalSearch(DenseSearch[Lexical]):
    """BM25 or ts_rank over the postings."""

    def scores(self, table: MemoryTable, route: Lexical, query: Query) -> Floats:
        """See `DenseSearch.scores`; the index of words keeps the last, for queries of its words."""
        return word_scores(table, route, query).scores

    kept_scores = scores


def word_scores(table: MemoryTable, route: Lexical, query: Query) -> WordScores:
    """The score of every memory on a lexical route, with the occurrences behind it."""
    return table.words.scores(
        route, query.reading, table.rows, table.alive, table.sessions, table.passages
    )


class TrigramSearch(DenseSearch[Trigram]):
    """The best trigram similarity of the query, or of an entity in it, with some columns."""

    def min_score(self, route: Trigram) -> float:
        """See `DenseSearch.min_score`."""
        return route.min_similarity

    def scores(self, table: MemoryTable, route: Trigram, query: Query) -> Floats:
        """See `DenseSearch.scores`."""
        best = np.zeros(len(table))
        texts = (query.name_text, *(sorted(query.entities) if route.entities else ()))
        for name in route.fields:
            column = table.column(name)
            if not isinstance(column, CodedColumn):
                raise InvalidInput("trigram.fields", f"{name} is not a text field")
            index = table.trigram_index(name, column)
            for text in texts:
                best = np.maximum(best, index.similarities(text)[column.codes])
        return best


class ExactMatchSearch(DenseSearch[ExactMatch]):
    """1 for a memory with a field equal to the query or to a name in it."""

    def scores(self, table: MemoryTable, route: ExactMatch, query: Query) -> Floats:
        """See `DenseSearch.scores`."""
        names = query.aliases.spellings({query.aliases.key(query.name_text), *query.entities})
        scores = np.zeros(len(table))
        for name in route.fields:
            if name == "id":
                scores[table.exact_index(name, table.ids).places(names)] = 1.0
                continue
            column = table.column(name)
            if isinstance(column, NumberColumn | TimesColumn):
                raise InvalidInput("exact.fields", f"{name} is not a text field")
            codes = table.exact_index(name, column.distinct).places(names)
            scores[np.isin(column.codes, codes)] = 1.0
        return scores


class VectorSearch(RouteSearch[Vector]):
    """Cosines with the query's vector."""

    runs_in_thread = True

    def search(
        self, table: MemoryTable, route: Vector, query: Query, depth: int | None, mask: Mask | None
    ) -> tuple[Ordinals, Floats]:
        """See `RouteSearch.search`."""
        vectors = _comparable_vectors(table, route, query)
        no_direction = query.vector is None or not query.vector.any()
        if vectors is None or (no_direction and depth is not None):  # none is nearer than another
            return np.empty(0, dtype=np.int64), np.empty(0)
        if query.vector is None:
            ordinals = vectors.holders(mask)
            scores = np.zeros(len(ordinals))
        elif depth is None:
            ordinals, scores = vectors.all(query.vector, mask)
        else:
            ordinals = vectors.nearest(query.vector, depth, mask)
            scores = vectors.cosines(query.vector, ordinals)
        if route.passages and query.vector is not None:
            ordinals, scores = _with_passages(table, query.vector, ordinals, scores, depth, mask)
        if route.min_similarity > -1.0:
            similar = scores >= route.min_similarity
            return ordinals[similar], scores[similar]
        return ordinals, scores

    def score(self, table: MemoryTable, route: Vector, query: Query, ordinals: Ordinals) -> Floats:
        """See `RouteSearch.score`."""
        vectors = _comparable_vectors(table, route, query)
        if vectors is None or query.vector is None:
            return np.full(len(ordinals), np.nan)
        cosines = vectors.cosines(query.vector, ordinals)
        if route.passages:
            best = _best_cosines(table, query.vector)
            cosines = cosines if best is None else np.fmax(cosines, best[ordinals])
        return cosines


def _with_passages(
    table: MemoryTable,
    query: Embedding,
    ordinals: Ordinals,
    scores: Floats,
    depth: int | None,
    mask: Mask | None,
) -> tuple[Ordinals, Floats]:
    """The nearest memories; a long one is as near as its nearest passage."""
    best = _best_cosines(table, query)
    if best is None:
        return ordinals, scores
    memories = table.passages.memories
    passing = memories[~np.isnan(best[memories])]
    if mask is not None:
        passing = passing[mask[passing]]
    if depth is not None and len(passing) > depth:
        bound = np.partition(best[passing], len(passing) - depth)[len(passing) - depth]
        passing = passing[best[passing] >= bound]
    both = np.union1d(ordinals, passing)
    whole = table.vectors["content"].cosines(query, both)
    return both, np.fmax(whole, best[both])


def _best_cosines(table: MemoryTable, query: Embedding) -> Floats | None:
    """The cosine of the nearest passage of each memory by ordinal, NaN where it has none."""
    cosines = table.passages.cosines(query)
    if cosines is None:
        return None
    best = np.full(len(table), np.nan)
    best[table.passages.memories] = table.passages.best(cosines)
    return best


def _comparable_vectors(table: MemoryTable, route: Vector, query: Query) -> VectorIndex | None:
    """The vectors to compare the query's with; None where no memory alive has one."""
    vectors = table.vectors.get(route.vector)
    if vectors is None or query.vector is None:
        return vectors
    dimensions, query_dimensions = vectors.dimensions, len(query.vector)
    embedders = (table.embedder, query.embedder)
    mismatch = route.vector == "content" and None not in embedders and embedders[0] != embedders[1]
    if dimensions == query_dimensions and not mismatch:
        return vectors
    if not vectors.any_of(table.alive):
        return None
    if mismatch:
        raise EmbedderMismatch(str(table.embedder), str(query.embedder))
    if route.vector == "content":
        # Another process has re-embedded the memories since this one opened the store.
        raise EmbedderMismatch(
            f"{dimensions} dimensions", f"one of {query_dimensions}; open it again"
        )
    raise InvalidInput(
        f"vectors.{route.vector}",
        f"have {dimensions} dimensions, and the query's vector has {query_dimensions}",
        "use the embedder that they come from",
    )


class MatchAllSearch(RouteSearch[MatchAll]):
    """Every memory, with a score of 0."""

    def search(
        self,
        table: MemoryTable,
        route: MatchAll,
        query: Query,
        depth: int | None,
        mask: Mask | None,
    ) -> tuple[Ordinals, Floats]:
        """See `RouteSearch.search`."""
        ordinals = np.arange(len(table)) if mask is None else np.flatnonzero(mask)
        return ordinals, np.zeros(len(ordinals))

    def score(
        self, table: MemoryTable, route: MatchAll, query: Query, ordinals: Ordinals
    ) -> Floats:
        """See `RouteSearch.score`."""
        return np.zeros(len(ordinals))


class TimeWindowSearch(RouteSearch[TimeWindow]):
    """Every memory from the time that the query names, with a score of 1."""

    def search(
        self,
        table: MemoryTable,
        route: TimeWindow,
        query: Query,
        depth: int | None,
        mask: Mask | None,
    ) -> tuple[Ordinals, Floats]:
        """See `RouteSearch.search`."""
        inside = self._inside(table, query)
        ordinals = np.flatnonzero(inside if mask is None else inside & mask)
        return ordinals, np.ones(len(ordinals))

    def score(
        self, table: MemoryTable, route: TimeWindow, query: Query, ordinals: Ordinals
    ) -> Floats:
        """See `RouteSearch.score`."""
        return self._inside(table, query)[ordinals].astype(np.float64)

    @staticmethod
    def _inside(table: MemoryTable, query: Query) -> Mask:
        """True for the memories created within the time that the query names."""
        time = query.reading.during
        if time is None:
            return np.zeros(len(table), dtype=bool)
        return (table.created_at >= time.start) & (table.created_at < time.end)


class _Searches(dict[type, RouteSearch[Any]]):
    """The search that answers the routes of a class.

    Raises:
        InvalidInput: none was registered for it, nor for a class above it.
    """

    def __missing__(self, route_class: type) -> RouteSearch[Any]:
        for each in route_class.__mro__:
            if each in self:
                return self[each]
        raise InvalidInput(
            "route",
            f"{route_class.__name__} is not one that this store can search by",
            "register it with salience.stores.index.routes.register",
        )


SEARCHES = _Searches(
    {
        ExactMatch: ExactMatchSearch(),
        Lexical: LexicalSearch(),
        MatchAll: MatchAllSearch(),
        TimeWindow: TimeWindowSearch(),
        Trigram: TrigramSearch(),
        Vector: VectorSearch(),
    }
)


def register(route_class: type[R], search: RouteSearch[R]) -> None:
    """Let `search` answer routes of a class, and of subclasses that have none of their own."""
    SEARCHES[route_class] = search
