"""Answers out of indexes in memory, one index for each namespace."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.retrieval import operations
from salience.retrieval.candidates import ColumnData, Rows, best_first
from salience.stores.index.columns import empty_column
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index.routes import route_search

T = TypeVar("T")


class WorkerThread:
    """One thread, started with the first work for it.

    Two threads are faster than one where NumPy does most of the work: in long loops it releases
    Python's global lock.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def start(self, work: Callable[[], T]) -> Callable[[], T]:
        """Start some work; return a function that waits for its result, or raises its error."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "salience-worker")
        try:
            return self._pool.submit(work).result
        except RuntimeError:  # the interpreter is shutting down
            return work

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


_PARALLEL_SEARCH_MIN_ROWS = 300_000  # memories above which a second thread pays off

_IndexRows = tuple[NamespaceIndex, Rows, slice | NDArray[np.intp]]
"""An index, the rows that it holds of those asked for, and their places among these."""


_log = logging.getLogger(__name__)


class IndexReader(ABC):
    """Keeps the indexes of the namespaces used last, up to a memory limit, and reads them."""

    def __init__(self, memory_limit: int) -> None:
        self._memory_limit = memory_limit
        self._indexes: OrderedDict[str, NamespaceIndex] = OrderedDict()
        self._sizes: dict[str, int] = {}  # bytes of each index when it was last refreshed
        self._index_bytes = 0  # the sum of these
        self._lock = threading.RLock()
        self._last_index_rows: tuple[Rows, list[_IndexRows]] | None = None
        self._worker = WorkerThread()

    @abstractmethod
    def _index(self, namespace: str) -> NamespaceIndex:
        """The index of a namespace, brought up to date."""

    @abstractmethod
    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        """The indexes that may hold some of the rows, likely ones first.

        `missing` is True for the rows that none of the indexes so far holds.
        """

    def _keep(self, namespace: str, index: NamespaceIndex) -> None:
        """Keep an index, and drop those used longest ago while all together are too large."""
        self._indexes[namespace] = index
        self._indexes.move_to_end(namespace)
        size = index.table.nbytes
        self._index_bytes += size - self._sizes.get(namespace, 0)
        self._sizes[namespace] = size
        while self._index_bytes > self._memory_limit and (oldest := self._spare()) is not None:
            _log.info("the index of the namespace %r is dropped to make room", oldest)
            self._drop(oldest)

    def _spare(self) -> str | None:
        """The namespace whose index gives way next; None if none may."""
        return next(iter(self._indexes)) if len(self._indexes) > 1 else None

    def _drop(self, namespace: str) -> None:
        """Drop the index of a namespace."""
        if self._indexes.pop(namespace, None) is not None:
            self._index_bytes -= self._sizes.pop(namespace)

    def _indexes_of(self, rows: Rows) -> list[_IndexRows]:
        """The indexes that hold some of the rows, with these rows and their places.

        The operations of a batch are about the same rows, so the last answer is kept.
        """
        if self._last_index_rows is not None and self._last_index_rows[0] is rows:
            return self._last_index_rows[1]
        index_rows: list[_IndexRows] = []
        missing = np.ones(len(rows), dtype=bool)
        for index in self._candidates(rows, missing):
            here = missing & index.table.contains(rows)
            if here.all():
                index_rows.append((index, rows, slice(None)))
                break
            if here.any():
                index_rows.append((index, rows[here], np.flatnonzero(here)))
                missing &= ~here
                if not missing.any():
                    break
        self._last_index_rows = (rows, index_rows)
        return index_rows

    # Routes

    def _searches(self, searches: Sequence[operations.SearchRoute]) -> list[operations.Ranking]:
        """The rankings of the routes of one search, or of several."""
        if searches and self._is_worth_two_threads(searches):
            return self._search_in_two_threads(searches)
        return [self._search(op) for op in searches]

    def _is_worth_two_threads(self, searches: Sequence[operations.SearchRoute]) -> bool:
        """Test whether one query compares many vectors, and searches by something else as well."""
        query = searches[0].query
        texts = {(op.query.text, op.query.namespaces) for op in searches}
        if len(query.namespaces) > 1 or len(texts) > 1:
            return False
        return (
            len(self._indexes.get(query.namespaces[0], ())) >= _PARALLEL_SEARCH_MIN_ROWS
            and len({route_search(op.route).runs_in_thread for op in searches}) == 2
        )

    def _search_in_two_threads(
        self, searches: Sequence[operations.SearchRoute]
    ) -> list[operations.Ranking]:
        """Compare vectors in a second thread, while this one searches by words.

        Both need the masks of the filters, so these are worked out before.
        """
        in_thread = {
            place: op for place, op in enumerate(searches) if route_search(op.route).runs_in_thread
        }
        with self._lock:  # the index may not change until both are done
            query = searches[0].query
            index = self._index(query.namespaces[0])
            for where in {op.query.where for op in searches}:
                index.table.mask(where)
            thread_rankings = self._worker.start(
                lambda: {place: _ranking(op, [index]) for place, op in in_thread.items()}
            )
            try:
                rankings = {
                    place: _ranking(op, [index])
                    for place, op in enumerate(searches)
                    if place not in in_thread
                }
            finally:
                others = thread_rankings()
        rankings.update(others)
        return [rankings[place] for place in range(len(searches))]

    def _search(self, op: operations.SearchRoute) -> operations.Ranking:
        with self._lock:
            return _ranking(op, [self._index(namespace) for namespace in op.query.namespaces])

    # Values by row

    def _score(self, op: operations.ScoreRows) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.score(op.route, op.query, rows, op.of),
            lambda: np.full(len(op.rows), np.nan),
        )

    def _matched_terms(self, op: operations.MatchedTerms) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.matched_terms(op.route, op.query, rows),
            lambda: np.zeros((len(op.rows), len(op.query.reading.terms))),
        )

    def _term_weights(self, op: operations.TermWeights) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.term_weights(op.route, op.query, rows),
            lambda: np.zeros((len(op.rows), len(op.query.reading.terms))),
        )

    def _mentions(self, op: operations.Mentions) -> NDArray[np.float64]:
        return self._by_row(
            op.rows,
            lambda index, rows: index.mentions(op.wordings, rows),
            lambda: np.zeros(len(op.rows)),
        )

    def _find_passages(
        self, op: operations.FindPassages
    ) -> list[tuple[operations.FoundPassage, ...]]:
        found: list[tuple[operations.FoundPassage, ...]] = [()] * len(op.rows)
        with self._lock:
            for index, rows, places in self._indexes_of(op.rows):
                own = range(len(op.rows)) if isinstance(places, slice) else places.tolist()
                for place, passages in zip(own, index.find_passages(op, rows), strict=True):
                    found[place] = passages
        return found

    def _by_row(
        self,
        rows: Rows,
        answer: Callable[[NamespaceIndex, Rows], NDArray[np.float64]],
        default: Callable[[], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """The answers of the indexes about their rows; those of `default` for all other rows."""
        with self._lock:
            index_rows = self._indexes_of(rows)
            if len(index_rows) == 1 and index_rows[0][1] is rows:
                return answer(index_rows[0][0], rows)
            values = default()
            for index, own_rows, places in index_rows:
                values[places] = answer(index, own_rows)
        return values

    def _fetch(self, op: operations.FetchColumns) -> dict[str, ColumnData]:
        with self._lock:
            index_rows = self._indexes_of(op.rows)
            if len(index_rows) == 1 and index_rows[0][1] is op.rows:
                return index_rows[0][0].fetch(op.rows, op.names)
            columns: dict[str, NDArray[Any]] = {}
            for index, rows, places in index_rows:
                for name, column in index.fetch(rows, op.names).items():
                    values = np.asarray(column)
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
                for index, rows, places in self._indexes_of(op.rows)
            ]
        dimensions = max((part.shape[1] for _, part in parts), default=0)
        vectors = np.full((len(op.rows), dimensions), np.nan, dtype=np.float32)
        for places, part in parts:
            if part.shape[1] == dimensions:
                vectors[places] = part
        return vectors

    def _session_neighbors(self, op: operations.SessionNeighbors) -> Rows:
        neighbors = np.full((2, len(op.rows)), -1, dtype=np.int64)
        with self._lock:
            for index, rows, places in self._indexes_of(op.rows):
                neighbors[:, places] = index.session_neighbors(rows, op.query.where)
        return neighbors

    # Answers about namespaces

    def _find_speakers(self, op: operations.FindSpeakers) -> operations.SpeakerMatches:
        with self._lock:
            matches = [self._index(namespace).find_speakers(op) for namespace in op.namespaces]
        return operations.SpeakerMatches.merged(matches)

    def _find_words(self, op: operations.FindWords) -> operations.NearWords:
        with self._lock:
            indexes = [self._index(namespace) for namespace in op.namespaces]
            occurs = np.logical_or.reduce([index.occur(op.words, op.fields) for index in indexes])
            absent = tuple(w for w, here in zip(op.words, occurs, strict=True) if not here)
            return operations.near_words(
                replace(op, words=absent),
                lambda words: operations.Holders.merged(
                    [index.holders(words, op.fields) for index in indexes]
                ),
            )

    def _find_names(self, op: operations.FindNames) -> frozenset[str]:
        with self._lock:
            indexes = [self._index(namespace) for namespace in op.namespaces]
            return frozenset().union(*(index.find_names(op) for index in indexes))

    def _list_names(self, op: operations.ListNames) -> list[operations.NameTally]:
        with self._lock:
            return self._index(op.namespace).list_names(op)

    def _vector_names(self, op: operations.VectorNames) -> frozenset[str] | None:
        with self._lock:
            indexes = [self._index(namespace) for namespace in op.namespaces]
            if not any(index.table.living for index in indexes):
                return None
            return frozenset[str]().union(*(index.vector_names for index in indexes))

    def _nearest_vectors(self, op: operations.NearestVectors) -> list[tuple[int, float] | None]:
        with self._lock:
            index = self._index(op.namespace)
            return index.nearest_vectors(op)

    ANSWERS: ClassVar[dict[type, Any]] = {
        operations.FindSpeakers: _find_speakers,
        operations.FindWords: _find_words,
        operations.FindNames: _find_names,
        operations.ListNames: _list_names,
        operations.SearchRoute: _search,
        operations.ScoreRows: _score,
        operations.MatchedTerms: _matched_terms,
        operations.TermWeights: _term_weights,
        operations.Mentions: _mentions,
        operations.FindPassages: _find_passages,
        operations.FetchColumns: _fetch,
        operations.FetchVectors: _vectors,
        operations.VectorNames: _vector_names,
        operations.SessionNeighbors: _session_neighbors,
        operations.NearestVectors: _nearest_vectors,
    }
    """The method that answers each operation."""


def _ranking(op: operations.SearchRoute, indexes: Sequence[NamespaceIndex]) -> operations.Ranking:
    """The ranking of a route over some namespaces together."""
    parts = [index.search(op.route, op.query, op.depth, op.ordered) for index in indexes]
    if len(parts) == 1:
        return operations.Ranking(*parts[0])
    rows = np.concatenate([rows for rows, _ in parts])
    scores = np.concatenate([scores for _, scores in parts])
    if op.depth is None and not op.ordered:
        return operations.Ranking(rows, scores)
    if op.route.newest_first:
        order = np.argsort(-rows)[: op.depth]
        return operations.Ranking(rows[order], scores[order])
    keys = [
        (id, index.namespace)
        for index, (own_rows, _) in zip(indexes, parts, strict=True)
        for id in index.ids_of(own_rows)
    ]
    order = best_first(scores, lambda places: [keys[p] for p in places.tolist()], op.depth)
    return operations.Ranking(rows[order], scores[order])
