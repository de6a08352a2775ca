"""The replicas that this process holds: loading them, and bringing them up to date."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import StoreError
from salience.retrieval.candidates import Rows
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index_reader import IndexReader
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import MissingColumns, Watermark
from salience.stores.postgres.replica.replica import Delta, NotReplicated, Pending, Replica
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.wire.commands import Steps

_LOAD_AFTER_ONE_ROWS = 5_000  # up to so many, a namespace is loaded after one search, else two
_BYTES_PER_MEMORY = 2_000  # that an index takes, roughly
_LARGEST_SHARE = 2  # the largest replica takes a half of the memory
_SEARCHES_BEFORE_EVICTION = 8  # of a namespace before another one gives way to it
_LOAD_CHUNK_ROWS = 4_096  # read at once
_MAX_DELTA_ROWS = 16_384  # beyond so many new memories, an index is loaded again
_LOAD_DELAY_SECONDS = 0.2  # a program that asks only once has ended by then
_CLOSE_WAIT_SECONDS = 10.0  # for a load under way when the store is closed
_MAX_ADVANCES = 8  # to bring an index up to date before other processes write again

Read = Callable[[Callable[[], Steps[Any]], Sequence[str]], Any]
"""Runs steps that only read, about some namespaces."""


class ReplicaManager(IndexReader):
    """Loads replicas of the namespaces that are searched, and keeps them current.

    With `at_once` a namespace is loaded when it is first searched, and the search waits for it.
    """

    def __init__(
        self,
        row_ids: RowIds,
        pending: Pending,
        read: Read,
        limit: int,
        at_once: bool = False,
    ) -> None:
        super().__init__(limit)
        self._row_ids = row_ids
        self._pending = pending
        self._read = read
        self._at_once = at_once
        self._replicas: dict[str, Replica] = {}
        self._columns: set[str] = set()  # that searches have read
        self._search_counts: Counter[str] = Counter()  # on the server, by namespace
        self._queue: list[str] = []  # namespaces to load
        self._loader: threading.Thread | None = None
        self._closed = threading.Event()

    def hold(self, namespaces: Iterable[str]) -> bool:
        """True if all of some namespaces have replicas."""
        return all(name in self._indexes for name in namespaces)

    # Loading

    def note_searches(self, living: Mapping[str, int]) -> None:
        """Note namespaces that the server has searched, and how many memories live in each."""
        for namespace, count in living.items():
            if not self._fits(count):
                continue
            with self._lock:
                self._search_counts[namespace] += 1
                if self._search_counts[namespace] >= self._searches_before_load(count):
                    self._enqueue(namespace)

    def _searches_before_load(self, living: int) -> int:
        if self._index_bytes + living * _BYTES_PER_MEMORY > self._memory_limit:
            return _SEARCHES_BEFORE_EVICTION
        return 1 if living <= _LOAD_AFTER_ONE_ROWS else 2

    def _fits(self, living: int) -> bool:
        return 0 < living * _BYTES_PER_MEMORY * _LARGEST_SHARE <= self._memory_limit

    def _enqueue(self, namespace: str) -> None:
        """Have a namespace loaded, by a thread beside the searches."""
        with self._lock:
            if self._closed.is_set() or namespace in self._queue or namespace in self._indexes:
                return
            self._queue.append(namespace)
            if self._loader is None:
                self._loader = threading.Thread(
                    target=self._load_queue, name="salience-loader", daemon=True
                )
                self._loader.start()

    def _load_queue(self) -> None:
        self._closed.wait(_LOAD_DELAY_SECONDS)
        while True:
            with self._lock:
                if self._closed.is_set() or not self._queue:
                    self._loader = None
                    return
                namespace = self._queue[0]
            try:
                self._read(partial(self._load, namespace), (namespace,))
            except BaseException as problem:
                with self._lock:
                    self._search_counts.pop(namespace, None)
                    if not isinstance(problem, StoreError):
                        self._loader = None  # the next namespace gets another thread
                        raise
                # The server goes on searching the namespace, and reports the error.
            finally:
                with self._lock:
                    self._queue.remove(namespace)

    def _load(self, namespace: str) -> Steps[None]:
        """Read all of a namespace, unless it is too large."""
        [answer] = yield [feed.select_watermark(namespace, Watermark(), accesses=False)]
        watermark = feed.parse_watermark(answer)
        if not self._fits(watermark.living):
            return
        with self._lock:
            columns = sorted(self._columns)
        offset = self._row_ids.offset(namespace)
        replica = Replica(namespace, offset, columns, watermark, self._pending)
        request = replica.request(replica.index.table.loaded_columns)
        for after in range(watermark.erased, watermark.counter, _LOAD_CHUNK_ROWS):
            until = min(after + _LOAD_CHUNK_ROWS, watermark.counter)
            pending = self._pending(namespace)
            answers = yield [
                *request.between(after, until),
                feed.select_vectors(namespace, after, until, watermark.sets),
            ]
            if self._closed.is_set():
                return
            replica.add(request, answers, pending, until, watermark)
        with self._lock:
            if not self._closed.is_set() and namespace not in self._replicas:  # else that is newer
                self._replicas[namespace] = replica
                self._keep(namespace, replica.index)

    # Bringing up to date

    def advance(self, namespaces: Iterable[str], load: bool = False) -> Steps[frozenset[str]]:
        """Bring the replicas of some namespaces up to date; none unless all of them have one.

        With `load`, namespaces without one are loaded first, if they fit.
        """
        names = sorted(namespaces)
        if (load or self._at_once) and self._memory_limit:
            for name in names:
                if name not in self._indexes:
                    yield from self._load(name)
        are_current = yield from self._advance(names)
        return frozenset(names if are_current else ())

    def _advance(self, namespaces: Sequence[str]) -> Steps[bool]:
        for _ in range(_MAX_ADVANCES):
            with self._lock:
                replicas = [self._replicas[n] for n in namespaces if n in self._replicas]
            if len(replicas) < len(namespaces) or not replicas:
                return False
            before = [replica.watermark for replica in replicas]
            answers = yield [
                feed.select_watermark(each.namespace, each.watermark, each.counts_accesses)
                for each in replicas
            ]
            after = [feed.parse_watermark(answer) for answer in answers]
            if not any(map(Watermark.moved, before, after)):
                return self._mark_used(replicas, before, after)
            behind = [
                (replica, old, new)
                for replica, old, new in zip(replicas, before, after, strict=True)
                if old.moved(new)
            ]
            if (yield from self._catch_up(behind)):
                return self.hold(namespaces)
        return False

    def _mark_used(
        self,
        replicas: Sequence[Replica],
        before: Sequence[Watermark],
        after: Sequence[Watermark],
    ) -> bool:
        with self._lock:
            for replica, old, new in zip(replicas, before, after, strict=True):
                if replica.watermark is old:
                    replica.watermark = new
                if replica.namespace in self._indexes:
                    self._indexes.move_to_end(replica.namespace)
            return self.hold(replica.namespace for replica in replicas)

    def _catch_up(self, behind: Sequence[tuple[Replica, Watermark, Watermark]]) -> Steps[bool]:
        """Apply the deltas of replicas between two watermarks; False if there is more to do."""
        for replica, since, until in behind:
            if since.broken(until) or until.counter - since.counter > _MAX_DELTA_ROWS:
                return (yield from self._reload(replica.namespace))
        deltas = [
            Delta(replica, since, until, self._pending(replica.namespace))
            for replica, since, until in behind
        ]
        statements = [delta.statements() for delta in deltas]
        answers = iter((yield [each for own in statements for each in own]))
        with self._lock:
            for delta, own in zip(deltas, statements, strict=True):
                own_answers = [next(answers) for _ in own]
                replica = delta.replica
                if self._replicas.get(replica.namespace) is not replica or delta.is_stale():
                    return False
                try:
                    delta.apply(own_answers)
                except BaseException as problem:
                    self._drop(replica.namespace)
                    if not isinstance(problem, MissingColumns):
                        raise
                else:
                    self._keep(replica.namespace, replica.index)
        return True

    def _reload(self, namespace: str) -> Steps[bool]:
        """Load a namespace again: at once, or by the thread while the server searches it."""
        with self._lock:
            self._drop(namespace)
        if not self._at_once:
            self._enqueue(namespace)
            return True
        yield from self._load(namespace)
        return False

    def touch(self, namespace: str, rows: Rows, at: float) -> None:
        """Count an access of rows, before it is written."""
        with self._lock:
            index = self._indexes.get(namespace)
            if index is not None:
                index.table.touch(rows[index.table.contains(rows)], at)

    # Giving up

    def forget(self, namespaces: Iterable[str]) -> None:
        """Drop the replicas of some namespaces."""
        with self._lock:
            for name in namespaces:
                self._drop(name)

    def close(self) -> None:
        """Drop every replica."""
        with self._lock:
            self._closed.set()
            loader = self._loader
            self.forget(list(self._indexes))
        if loader is not None:
            loader.join(_CLOSE_WAIT_SECONDS)
        self._worker.close()

    @property
    def loading(self) -> int:
        """The number of namespaces that are being loaded, or wait for it."""
        return len(self._queue)

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._index_bytes

    # Indexes

    def _drop(self, namespace: str) -> None:
        super()._drop(namespace)
        self._replicas.pop(namespace, None)
        self._search_counts.pop(namespace, None)

    def _index(self, namespace: str) -> NamespaceIndex:
        index = self._indexes.get(namespace)
        if index is None:
            raise NotReplicated(namespace)
        return index

    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        for name in self._row_ids.namespaces(rows):
            yield self._index(name)
