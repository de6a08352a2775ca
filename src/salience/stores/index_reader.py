"""What is answered out of indexes in memory, one for each namespace."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.retrieval import operations
from salience.retrieval.candidates import Held, Rows, best_first
from salience.stores.index.columns import empty_column
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index.routes import route_search

_PARALLEL_SEARCH_MIN_ROWS = 300_000  # memories from which on a second thread is worth its waiting

_IndexRows = tuple[NamespaceIndex, Rows, slice | NDArray[np.intp]]


class IndexReader:
    """Indexes of the namespaces used lately, and answers out of them."""

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit
        self._indexes: OrderedDict[str, NamespaceIndex] = OrderedDict()
        self._sizes: dict[str, int] = {}  # bytes of each index when it was last refreshed
        self._held = 0  # and of all of them
        self._lock = threading.RLock()
        self._last_holding: tuple[Rows, list[_IndexRows]] | None = None
        self._helper = WorkerThread()

    @abstractmethod
    def _index(self, namespace: str) -> NamespaceIndex:
        """The current index of a namespace."""

    @abstractmethod
    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        """The indexes that may hold some of the rows, likely ones first.

        While it goes on, rows that were found are not `missing` any more.
        """

    def _keep(self, namespace: str, index: NamespaceIndex) -> None:
        """Keep an index, the one used last; drop those used longest ago while all are too large."""
        self._indexes[namespace] = index
        self._indexes.move_to_end(namespace)
        size = index.table.nbytes
        self._held += size - self._sizes.get(namespace, 0)
        self._sizes[namespace] = size
        while self._held > self._memory_limit and len(self._indexes) > 1:
            self._drop(next(iter(self._indexes)))

    def _drop(self, namespace: str) -> None:
        """Forget the index of a namespace."""
        if self._indexes.pop(namespace, None) is not None:
            self._held -= self._sizes.pop(namespace)

    def _holding(self, rows: Rows) -> list[_IndexRows]:
        """The indexes that hold some of the rows, with those rows and their places.

        The operations of a batch are about the same rows, so the last answer is kept.
        """
        if self._last_holding is not None and self._last_holding[0] is rows:
            return self._last_holding[1]
        found: list[_IndexRows] = []
        missing = np.ones(len(rows), dtype=bool)
        for index in self._candidates(rows, missing):
            here = missing & index.table.contains(rows)
            if here.all():
                found.append((index, rows, slice(None)))
                break
            if here.any():
                found.append((index, rows[here], np.flatnonzero(here)))
                missing &= ~here
                if not missing.any():
                    break
        self._last_holding = (rows, found)
        return found

    # Routes

    def _searches(self, searches: Sequence[operations.SearchRoute]) -> list[operations.Ranking]:
        """All routes of a search, or of several."""
        if searches and self._divisible(searches):
            return self._side_by_side(searches)
        return [self._search(op) for op in searches]

    def _divisible(self, searches: Sequence[operations.SearchRoute]) -> bool:
        """Whether one query is compared with many vectors, and something else is looked for too."""
        query = searches[0].query
        if len(query.namespaces) > 1 or any(op.query is not query for op in searches):
            return False
        return (
            len(self._indexes.get(query.namespaces[0], ())) >= _PARALLEL_SEARCH_MIN_ROWS
            and len({route_search(op.route).runs_in_thread for op in searches}) == 2
        )

    def _side_by_side(self, searches: Sequence[operations.SearchRoute]) -> list[operations.Ranking]:
        """Compare vectors in a second thread while this one looks for words.

        The two share which memories pass the filter, so that is worked out before.
        """
        compared = {
            at: op for at, op in enumerate(searches) if route_search(op.route).runs_in_thread
        }
        with self._lock:  # the index may not change until both are done
            query = searches[0].query
            index = self._index(query.namespaces[0])
            index.table.mask(query.where)
            others = self._helper.begin(
                lambda: {at: _ranking(op, [index]) for at, op in compared.items()}
            )
            try:
                found = {
                    at: _ranking(op, [index])
                    for at, op in enumerate(searches)
                    if at not in compared
                }
            finally:
                found_by_vector = others()
        found.update(found_by_vector)
        return [found[at] for at in range(len(searches))]

    def _names(self, op: operations.FindSpeakers) -> operations.SpeakerMatches:
        with self._lock:
            found = [self._index(namespace).find_speakers(op) for namespace in op.namespaces]
        return operations.SpeakerMatches.together(found)

    def _search(self, op: operations.SearchRoute) -> operations.Ranking:
        with self._lock:
            return _ranking(op, [self._index(namespace) for namespace in op.query.namespaces])

    def _score(self, op: operations.ScoreRows) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.score(op.route, op.query, rows, op.of),
            lambda: np.full(len(op.rows), np.nan),
        )

    def _matched(self, op: operations.MatchedTerms) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.matched_terms(op.route, op.query, rows),
            lambda: np.zeros((len(op.rows), len(op.query.reading.terms))),
        )

    def _mentions(self, op: operations.Mentions) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.mentions(op.wordings, rows),
            lambda: np.zeros(len(op.rows)),
        )

    def _by_row(
        self,
        rows: Rows,
        answer: Callable[[NamespaceIndex, Rows], NDArray[np.float64]],
        nothing: Callable[[], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """What each index answers about its rows; `nothing` is what there is of those of none."""
        with self._lock:
            holding = self._holding(rows)
            if len(holding) == 1 and holding[0][1] is rows:
                return answer(holding[0][0], rows)
            found = nothing()
            for index, own, places in holding:
                found[places] = answer(index, own)
        return found

    def _fetch(self, op: operations.FetchColumns) -> dict[str, Held]:
        with self._lock:
            holding = self._holding(op.rows)
            if len(holding) == 1 and holding[0][1] is op.rows:
                return holding[0][0].fetch(op.rows, op.names)
            columns: dict[str, NDArray[Any]] = {}
            for index, rows, places in holding:
                for name, held in index.fetch(rows, op.names).items():
                    values = np.asarray(held)
                    if name not in columns:
                        empty = None if values.dtype == object else np.nan
                        shape = (len(op.rows), *values.shape[1:])
                        columns[name] = np.full(shape, empty, dtype=values.dtype)
                    columns[name][places] = values
            for name in op.names:
                columns.setdefault(name, empty_column(name, len(op.rows)))
            return dict(columns)

    def _vectors(self, op: operations.FetchVectors) -> NDArray[np.float32]:
        with self._lock:
            parts = [
                (places, index.vectors(rows, op.name))
                for index, rows, places in self._holding(op.rows)
            ]
        wide = max((part.shape[1] for _, part in parts), default=0)
        found = np.full((len(op.rows), wide), np.nan, dtype=np.float32)
        for places, part in parts:
            if part.shape[1] == wide:
                found[places] = part
        return found

    def _vector_names(self, op: operations.VectorNames) -> frozenset[str] | None:
        with self._lock:
            indexes = [self._index(namespace) for namespace in op.namespaces]
            if not any(index.table.living for index in indexes):
                return None
            return frozenset[str]().union(*(index.vector_names for index in indexes))

    def _beside(self, op: operations.SessionNeighbors) -> Rows:
        found = np.full((2, len(op.rows)), -1, dtype=np.int64)
        with self._lock:
            for index, rows, places in self._holding(op.rows):
                found[:, places] = index.session_neighbors(rows, op.query.where)
        return found

    def _alike(self, op: operations.NearestVectors) -> list[tuple[int, float] | None]:
        with self._lock:
            return self._index(op.namespace).nearest_vectors(
                op.name, op.vectors, op.least, op.where
            )

    INDEXED: ClassVar[dict[type, Any]] = {
        operations.TopK: lambda indexed, op: None,  # it has every column at hand
        operations.FindSpeakers: _names,
        operations.SearchRoute: _search,
        operations.ScoreRows: _score,
        operations.MatchedTerms: _matched,
        operations.Mentions: _mentions,
        operations.FetchColumns: _fetch,
        operations.FetchVectors: _vectors,
        operations.VectorNames: _vector_names,
        operations.SessionNeighbors: _beside,
        operations.NearestVectors: _alike,
    }
    """How operations are answered."""


def _ranking(op: operations.SearchRoute, indexes: Sequence[NamespaceIndex]) -> operations.Ranking:
    """What a route finds in some namespaces together."""
    found = [index.search(op.route, op.query, op.depth, op.ordered) for index in indexes]
    if len(found) == 1:
        return operations.Ranking(*found[0])
    rows = np.concatenate([rows for rows, _ in found])
    scores = np.concatenate([scores for _, scores in found])
    if op.depth is None and not op.ordered:
        return operations.Ranking(rows, scores)
    if op.route.newest_first:  # newest first, wherever it is
        order = np.argsort(-rows)[: op.depth]
        return operations.Ranking(rows[order], scores[order])
    each = zip(indexes, found, strict=True)
    names = [(id, index.namespace) for index, (own, _) in each for id in index.ids_of(own)]
    order = best_first(scores, lambda at: [names[place] for place in at.tolist()], op.depth)
    return operations.Ranking(rows[order], scores[order])


_Found = TypeVar("_Found")


class WorkerThread:
    """One thread, started when there is something for it to do.

    Two threads are faster than one where most of the work is done by NumPy, which lets go of
    Python's lock in long loops.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, work: Callable[[], _Found]) -> Callable[[], _Found]:
        """Begin some work; what is returned waits for its result, or raises what it raised."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "salience-helper")
        try:
            return self._pool.submit(work).result
        except RuntimeError:  # the interpreter is shutting down
            return work

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
