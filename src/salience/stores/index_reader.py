"""Answers out of indexes in memory, one index for each namespace."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, shown
from salience.forks import renew_after_fork
from salience.records.fields import CHAT_CHUNKS, SESSION_CHUNK
from salience.records.filters import Compare
from salience.retrieval import operations
from salience.retrieval.candidates import (
    Candidates,
    ColumnData,
    Floats,
    Rows,
    best_places,
    ranks_of,
    union,
)
from salience.retrieval.query import Query
from salience.retrieval.routes import Route
from salience.stores.index.columns import empty_column
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index.routes import SEARCHES

T = TypeVar("T")


class WorkerThread:
    """One thread, started by its first work.

    Two threads are faster than one where NumPy does most of the work: in long loops it releases
    Python's global lock.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def start(self, work: Callable[[], T]) -> Callable[[], T]:
        """Start some work; return a function that waits for its result or raises its error."""
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
"""An index, the requested rows that it holds, and their places among the request."""


_log = logging.getLogger(__name__)


_MAX_INDEX_BYTES = 4 << 30


def index_bytes() -> int:
    """The bytes that the indexes of a process may take, by `SALIENCE_INDEX_BYTES`.

    Raises:
        InvalidInput: that is not a whole number above 0.
    """
    value = os.environ.get("SALIENCE_INDEX_BYTES", "").strip()
    if not value:
        return _MAX_INDEX_BYTES
    if not (value.isascii() and value.isdigit() and int(value)):
        remedy = "give a number of bytes above 0"
        raise InvalidInput("SALIENCE_INDEX_BYTES", f"is {shown(value)}", remedy)
    return int(value)


class IndexBudget:
    """The bytes of the indexes of all stores of a process, and their limit."""

    def __init__(self) -> None:
        self.limit = _MAX_INDEX_BYTES  # as of the store that was opened last
        self.dropped = 0  # indexes that gave way to others
        self._readers: WeakSet[IndexReader] = WeakSet()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Take a lock of its own, in the copy of a process."""
        self._lock = threading.Lock()

    def join(self, reader: IndexReader) -> None:
        """Count the indexes of a store, as long as it exists."""
        self.limit = index_bytes()
        with self._lock:
            self._readers.add(reader)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(reader.nbytes for reader in self._all())

    def make_room(self, own: IndexReader, kept: str) -> None:
        """Drop the indexes used longest ago while all together are too large.

        One of `own` stays, and so do those of stores that other threads are reading.
        """
        if self.nbytes <= self.limit:
            return
        with ExitStack() as locked:
            free: list[IndexReader] = []
            for reader in self._all():
                if reader.lock.acquire(blocking=False):
                    locked.callback(reader.lock.release)
                    free.append(reader)
            while self.nbytes > self.limit:
                spare = [(reader.spare(kept if reader is own else None), reader) for reader in free]
                oldest = min(
                    ((*found, reader) for found, reader in spare if found is not None),
                    key=lambda each: each[0],
                    default=None,
                )
                if oldest is None:
                    return
                _, namespace, reader = oldest
                reader.give_up(namespace)
                self.dropped += 1

    def _all(self) -> list[IndexReader]:
        with self._lock:
            return list(self._readers)


INDEX_BUDGET = IndexBudget()
_uses = count()


class IndexReader(ABC):
    """Keeps the indexes of the namespaces used last, up to a limit of its own, and reads them."""

    def __init__(self, own_limit: int | None = None) -> None:
        self._own_limit = own_limit
        self._indexes: OrderedDict[str, NamespaceIndex] = OrderedDict()
        self._used: dict[str, int] = {}  # when each was used last, among all of the process
        self._sizes: dict[str, int] = {}  # bytes of each index when it was last looked at
        self.nbytes = 0  # the sum of these
        self.lock = self._lock = threading.RLock()
        self._worker = WorkerThread()
        INDEX_BUDGET.join(self)

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
        self._use(namespace)
        self._measure(namespace)
        if self._own_limit is not None:
            while self.nbytes > self._own_limit and (oldest := self.spare(namespace)) is not None:
                self.give_up(oldest[1])
        INDEX_BUDGET.make_room(self, namespace)

    def _use(self, namespace: str) -> None:
        """Note that an index is used, and the size of the one before, which may have grown."""
        before = next(reversed(self._indexes))
        if before != namespace and before in self._sizes:
            self._measure(before)
        self._indexes.move_to_end(namespace)
        self._used[namespace] = next(_uses)

    def index_figures(self) -> dict[str, float]:
        """The bytes that the indexes of this store take, and those that the process allows."""
        return {
            "index_mb": round(self.nbytes / 1e6, 3),
            "index_limit_mb": round(INDEX_BUDGET.limit / 1e6, 3),
        }

    def _measure(self, namespace: str) -> None:
        size = self._indexes[namespace].table.nbytes
        self.nbytes += size - self._sizes.get(namespace, 0)
        self._sizes[namespace] = size

    def spare(self, kept: str | None = None) -> tuple[int, str] | None:
        """The last use of the index to drop next, and its namespace; None if there is none."""
        oldest = next((name for name in self._indexes if self._may_go(name, kept)), None)
        return None if oldest is None else (self._used[oldest], oldest)

    def _may_go(self, namespace: str, kept: str | None) -> bool:
        """Test whether an index may be dropped."""
        return namespace != kept

    def give_up(self, namespace: str) -> None:
        """Drop an index to make room."""
        _log.info("the index of the namespace %r is dropped to make room", namespace)
        self._drop(namespace)

    def _drop(self, namespace: str) -> None:
        """Drop the index of a namespace."""
        if self._indexes.pop(namespace, None) is not None:
            self.nbytes -= self._sizes.pop(namespace)
            del self._used[namespace]

    def _indexes_of(self, rows: Rows) -> list[_IndexRows]:
        """The indexes that hold some of the rows, with these rows and their places."""
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
        return index_rows

    def collect(self, op: operations.Collect) -> Candidates:
        with self._lock:  # the indexes may not change until all is found
            return _collected(op, [self._index(name) for name in op.query.namespaces], self._worker)

    # Values by row

    def _of_rows(self, op: Any) -> Any:
        """The answers of all indexes about rows that they hold, joined."""
        with self._lock:
            index_rows = self._indexes_of(op.rows)
            if len(index_rows) == 1 and index_rows[0][1] is op.rows:
                return getattr(index_rows[0][0], op.method)(op, op.rows)
            parts = [
                (getattr(index, op.method)(op, rows), places) for index, rows, places in index_rows
            ]
        return _joined(op, parts)

    find_passages = fetch_columns = fetch_vectors = session_neighbors = _of_rows

    # Answers about namespaces

    def find_speakers(self, op: operations.FindSpeakers) -> operations.SpeakerMatches:
        with self._lock:
            matches = [self._index(namespace).find_speakers(op) for namespace in op.namespaces]
        return operations.SpeakerMatches.merged(matches)

    def find_words(self, op: operations.FindWords) -> operations.NearWords:
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

    def find_names(self, op: operations.FindNames) -> frozenset[str]:
        with self._lock:
            indexes = [self._index(namespace) for namespace in op.namespaces]
            return frozenset().union(*(index.find_names(op) for index in indexes))

    def list_names(self, op: operations.ListNames) -> list[operations.NameTally]:
        with self._lock:
            return self._index(op.namespace).list_names(op)

    def nearest_vectors(self, op: operations.NearestVectors) -> list[tuple[int, float] | None]:
        with self._lock:
            index = self._index(op.namespace)
            return index.nearest_vectors(op)


_Parts = Sequence[tuple[Any, slice | NDArray[np.intp]]]
"""The answers of indexes about rows, with the places of these in the request."""


def _joined(op: Any, parts: _Parts) -> Any:
    """One answer out of several, empty for rows that are in no part."""
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
    own = [(part.T, places) for part, places in parts]
    return _filled(size, -1, own, (2,), np.int64).T


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


_Found = tuple[NDArray[np.int64], Floats]
"""The memories of an index that a route finds, by ordinal, and their scores."""


def _collected(
    op: operations.Collect, indexes: Sequence[NamespaceIndex], worker: WorkerThread
) -> Candidates:
    """The table that an operation asks for, out of the indexes of its namespaces."""
    searches = [_found(op, query, indexes, worker) for query in op.queries()]
    ordinals = [_union(op, index, at, searches) for at, index in enumerate(indexes)]
    if op.sessions and any(map(_holds_chunks, indexes, ordinals)):
        whole = op.narrowed(Compare("kind", "eq", SESSION_CHUNK))
        searches.append(_found(op, whole, indexes, worker))
        ordinals = [_union(op, index, at, searches) for at, index in enumerate(indexes)]
    rows = [index.table.rows[own] for index, own in zip(indexes, ordinals, strict=True)]
    is_past = indexes[0].table.placed is not None
    places = rows
    if is_past:
        places = [index.table.places[own] for index, own in zip(indexes, ordinals, strict=True)]
    tables = [index.collected(op, own) for index, own in zip(indexes, ordinals, strict=True)]
    table = Candidates(rows[0], tables[0])
    order = None
    if len(indexes) == 1 and is_past and np.any(places[0][1:] < places[0][:-1]):
        order = places[0].argsort()
        table = table.take(order)
    elif len(indexes) > 1:
        order = np.concatenate(places).argsort()
        columns = {
            name: np.concatenate([np.asarray(part[name]) for part in tables])[order]
            for name in tables[0]
        }
        table = Candidates(np.concatenate(rows)[order], columns)
    ranks: dict[str, ColumnData] = {}
    for at, route in enumerate(op.routes):
        found = [_spread(search[at], ordinals, order) for search in searches]
        if route.newest_first:
            newest = places[0] if order is None else np.concatenate(places)[order]
            found = [np.where(np.isnan(scores), np.nan, newest) for scores in found]
        name = f"{route.name}.rank"
        later = ranks_of(found, table.tie_keys)
        ranks[name] = np.asarray(later) if name in op.evidence else later  # read for all, or hits
        for note, value in route.rank_notes.items():
            noted = ~np.isnan(np.fmax.reduce(found))
            ranks[f"{name}.{note}"] = np.where(noted, value, np.nan)
    left_out = [id for index in indexes for id in index.table.left_out.values()]
    return replace(table.with_columns(**ranks), left_out=tuple(left_out))


def _found(
    op: operations.Collect,
    query: Query,
    indexes: Sequence[NamespaceIndex],
    worker: WorkerThread,
) -> list[list[_Found]]:
    """The best memories of each route in each index.

    Many vectors are compared in a second thread, while this one searches by something else.
    """

    def found(route: Route) -> list[_Found]:
        parts = [index.find(route, query, op.depth) for index in indexes]
        return _best_of_all(route, parts, indexes, op.depth)

    beside = [route for route in op.routes if SEARCHES[type(route)].runs_in_thread]
    few = len(indexes) > 1 or len(indexes[0]) < _PARALLEL_SEARCH_MIN_ROWS
    if few or not 0 < len(beside) < len(op.routes):
        return [found(route) for route in op.routes]
    indexes[0].table.mask(query.where)  # which both threads read
    of_vectors = worker.start(lambda: [*map(found, beside)])
    try:
        others = {route: found(route) for route in op.routes if route not in beside}
    finally:
        by_vector = of_vectors()
    return [*map({**others, **dict(zip(beside, by_vector, strict=True))}.__getitem__, op.routes)]


def _best_of_all(
    route: Route,
    parts: list[_Found],
    indexes: Sequence[NamespaceIndex],
    depth: int | None,
) -> list[_Found]:
    """The best of several indexes together, each of which has found its own best."""
    if depth is None or len(parts) == 1:
        return parts
    ends = np.cumsum([len(own) for own, _ in parts])
    if ends[-1] <= depth:
        return parts
    scores = np.concatenate([own for _, own in parts])
    if route.newest_first:
        named = zip(indexes, parts, strict=True)
        scores = np.concatenate([index.table.places[own] for index, (own, _) in named])
    keys = [
        (id, index.namespace)
        for index, (own, _) in zip(indexes, parts, strict=True)
        for id in index.table.ids_at(own)
    ]
    best = best_places(scores, lambda places: [keys[at] for at in places.tolist()], depth)
    is_best = np.zeros(len(scores), dtype=bool)
    is_best[best] = True
    masks = np.split(is_best, ends[:-1])
    return [(own[mask], of[mask]) for (own, of), mask in zip(parts, masks, strict=True)]


def _union(
    op: operations.Collect,
    index: NamespaceIndex,
    at: int,
    searches: Sequence[Sequence[Sequence[_Found]]],
) -> NDArray[np.int64]:
    """The ordinals of everything found in an index and of the requested rows, ascending."""
    parts = [found[at][0] for search in searches for found in search]
    if op.rows is not None:
        parts.append(np.sort(index.table.ordinals(op.rows[index.table.contains(op.rows)])))
    return union(parts)


def _holds_chunks(index: NamespaceIndex, ordinals: NDArray[np.int64]) -> bool:
    """Test whether some memories are of a chat that was stored as sessions and their turns."""
    kinds = index.table.coded("kind")
    codes = [code for kind in CHAT_CHUNKS if (code := kinds.code(kind)) >= 0]
    return bool(codes) and bool(np.isin(kinds.codes[ordinals], codes).any())


def _spread(
    found: Sequence[_Found],
    ordinals: Sequence[NDArray[np.int64]],
    order: NDArray[np.intp] | None,
) -> Floats:
    """The scores of what a route has found as a column, NaN for all else."""
    parts: list[Floats] = []
    for (matched, scores), all_here in zip(found, ordinals, strict=True):
        if matched is all_here:
            parts.append(scores)
            continue
        column = np.full(len(all_here), np.nan)
        column[all_here.searchsorted(matched)] = scores
        parts.append(column)
    return parts[0] if order is None else np.concatenate(parts)[order]
