"""Answers out of indexes in memory, one index for each namespace."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
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


_OF_ROWS: Mapping[type, Callable[[NamespaceIndex, Any, Rows], Any]] = {
    operations.ScoreRows: lambda index, op, rows: index.score(op.route, op.query, rows, op.of),
    operations.TermWeights: lambda index, op, rows: (
        index.matched_terms if op.of == "matched" else index.term_weights
    )(op.route, op.query, rows),
    operations.Mentions: lambda index, op, rows: index.mentions(op.wordings, rows),
    operations.FindPassages: lambda index, op, rows: index.find_passages(op, rows),
    operations.FetchColumns: lambda index, op, rows: index.fetch(rows, op.names),
    operations.FetchVectors: lambda index, op, rows: index.vectors(rows, op.name),
    operations.SessionNeighbors: lambda index, op, rows: index.session_neighbors(
        rows, op.query.where
    ),
}
"""The answers of an index about rows that it holds."""


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

    def _of_rows(self, op: Any) -> Any:
        """The answers of all indexes about rows, joined."""
        answer = _OF_ROWS[type(op)]
        with self._lock:
            index_rows = self._indexes_of(op.rows)
            if len(index_rows) == 1 and index_rows[0][1] is op.rows:
                return answer(index_rows[0][0], op, op.rows)
            parts = [(answer(index, op, rows), places) for index, rows, places in index_rows]
        return _joined(op, parts)

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
        operations.VectorNames: _vector_names,
        operations.NearestVectors: _nearest_vectors,
        **dict.fromkeys(_OF_ROWS, _of_rows),
    }
    """The method that answers each operation."""


_Parts = Sequence[tuple[Any, slice | NDArray[np.intp]]]
"""The answers of indexes about rows, with their places among all that were asked about."""


def _joined(op: Any, parts: _Parts) -> Any:
    """One answer out of several, with nothing about the rows that are in no part."""
    size = len(op.rows)
    if isinstance(op, operations.FetchColumns):
        columns: dict[str, ColumnData] = {}
        for name in op.names:
            own = [(np.asarray(part[name]), places) for part, places in parts if name in part]
            is_object = bool(own) and own[0][0].dtype == object
            empty = None if is_object else np.nan
            columns[name] = _filled(size, empty, own) if own else empty_column(name, size)
        return columns
    if isinstance(op, operations.FindPassages):
        found = np.full(size, None, dtype=object)
        for part, places in parts:
            for place, passages in zip(np.arange(size)[places].tolist(), part, strict=True):
                found[place] = passages
        return [passages or () for passages in found]
    if isinstance(op, operations.FetchVectors):
        longest = max((part.shape[1] for part, _ in parts), default=0)
        own = [each for each in parts if each[0].shape[1] == longest]
        return _filled(size, np.nan, own, (longest,), np.float32)
    if isinstance(op, operations.SessionNeighbors):
        own = [(part.T, places) for part, places in parts]
        return _filled(size, -1, own, (2,), np.int64).T
    if isinstance(op, operations.ScoreRows):
        return _filled(size, np.nan, parts)
    shape = () if isinstance(op, operations.Mentions) else (len(op.query.reading.terms),)
    return _filled(size, 0.0, parts, shape)


def _filled(
    size: int, empty: Any, parts: _Parts, shape: tuple[int, ...] = (), dtype: Any = np.float64
) -> NDArray[Any]:
    """The values of parts at their places, and `empty` at all others."""
    if parts:
        shape, dtype = parts[0][0].shape[1:], parts[0][0].dtype
    values = np.full((size, *shape), empty, dtype=dtype)
    for part, places in parts:
        values[places] = part
    return values


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
