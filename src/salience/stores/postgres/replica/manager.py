"""The replicas that this process holds: loading them, and bringing them up to date."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, StoreError
from salience.retrieval.candidates import Rows
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index_reader import IndexReader
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import MissingColumns, Watermark
from salience.stores.postgres.replica.large_namespace import LargeNamespace
from salience.stores.postgres.replica.replica import Delta, NotReplicated, Pending, Replica
from salience.stores.postgres.row_ids import RowIds
from salience.stores.tables.commands import Send

MEMORY_VARIABLE = "SALIENCE_POSTGRES_MEMORY_MB"
"""The environment variable that says how much memory a process gives to replicas; 0 for none.

By default it is half of the machine's or container's, and at most 4,096.
"""
_DEFAULT_MAX_MB = 4096
_CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN_MACHINE_BYTES = 4 << 30
_BYTES_PER_MEMORY = 2_000  # that an index takes, roughly
_LARGEST_SHARE = 2  # the largest namespace takes a half of the memory


def memory_limit() -> int:
    """The bytes that a process gives to replicas.

    Raises:
        InvalidInput: the environment variable holds no number.
    """
    value = os.environ.get(MEMORY_VARIABLE)
    if value is None:
        return min(machine_memory() // 2, _DEFAULT_MAX_MB << 20)
    if not value.isascii() or not value.isdigit():
        remedy = "give a whole number of megabytes, 0 for none"
        raise InvalidInput(MEMORY_VARIABLE, f"is {value!r}", remedy)
    return int(value) << 20


def most_memories(limit: int) -> int:
    """The most memories of a namespace that a process of so many bytes holds."""
    return limit // (_BYTES_PER_MEMORY * _LARGEST_SHARE)


def machine_memory(limits: Sequence[str] = _CGROUP_FILES) -> int:
    """The bytes of memory that the machine has, or its container may use.

    `limits` are files that may hold the limit of a container. It is 4 GiB if a system does not say.
    """
    sizes = [_UNKNOWN_MACHINE_BYTES]
    if hasattr(os, "sysconf"):  # everywhere but on Windows
        sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in limits:
        with suppress(OSError, ValueError):  # no such file, or "max"
            sizes.append(int(Path(path).read_text(encoding="ascii")))
    return min(sizes)


_LOAD_CHUNK_ROWS = 4_096  # read at once
_MAX_DELTA_ROWS = 16_384  # beyond so many new memories, an index is loaded again
_MAX_ADVANCES = 100  # to bring an index up to date while other threads do the same


class _Search(threading.local):
    """The state of the search of a thread: `current` are the namespaces brought up to date for it.

    `large` are those too large for an index, `asked` is its question to the routes.
    """

    current: frozenset[str] = frozenset()
    asked: tuple[Any, ...] | None = None

    def __init__(self) -> None:
        self.large: dict[str, LargeNamespace] = {}


class ReplicaManager(IndexReader):
    """Loads the namespaces that are searched, and keeps them current.

    With `previews` they have the vectors beside the searched ones.
    """

    def __init__(
        self, row_ids: RowIds, pending: Pending, limit: int, previews: bool = False
    ) -> None:
        super().__init__(limit)
        self._limit = limit
        self._row_ids = row_ids
        self._pending = pending
        self._previews = previews
        self._replicas: dict[str, Replica] = {}
        self._columns: set[str] = set()  # that searches have read
        self._pinned: Counter[str] = Counter()  # the batches that need a namespace
        self._loading: dict[str, threading.Lock] = {}
        self._is_closed = False
        self._own = _Search()

    @contextmanager
    def pinned(self, namespaces: Collection[str]) -> Iterator[None]:
        """Keep the replicas of some namespaces, whatever room others need."""
        with self._lock:
            self._pinned.update(namespaces)
        try:
            yield
        finally:
            with self._lock:
                self._pinned.subtract(namespaces)
                self._pinned = +self._pinned

    # Loading

    def fits(self, living: int) -> bool:
        """Test whether a namespace of so many memories may be held."""
        return living <= most_memories(self._limit)

    def _load(self, namespace: str, send: Send) -> bool:
        """Read all of a namespace; False if it is too large. One thread reads, others wait."""
        [answer] = send(feed.select_watermark(namespace, Watermark(), accesses=False))
        watermark = feed.parse_watermark(answer, self._previews)
        if not self.fits(watermark.living):
            offset = self._row_ids.offset(namespace)
            large = LargeNamespace(namespace, offset, watermark, self._pending)
            self._own.large[namespace] = large
            return False
        # Whoever comes here has a connection, so nobody waits for one that waits for this.
        with self._lock:
            one_thread = self._loading.setdefault(namespace, threading.Lock())
        try:
            with one_thread:
                if namespace not in self._indexes:
                    self._read_all(namespace, send)
        finally:
            with self._lock:
                self._loading.pop(namespace, None)
        return True

    def _read_all(self, namespace: str, send: Send) -> None:
        [answer] = send(feed.select_watermark(namespace, Watermark(), accesses=False))
        watermark = feed.parse_watermark(answer, self._previews)
        with self._lock:
            columns = sorted(self._columns)
        offset = self._row_ids.offset(namespace)
        replica = Replica(namespace, offset, columns, watermark, self._pending)
        request = replica.request(replica.index.table.loaded_columns)
        for after in range(0, watermark.counter, _LOAD_CHUNK_ROWS):
            until = min(after + _LOAD_CHUNK_ROWS, watermark.counter)
            pending = self._pending(namespace)
            answers = send(
                *request.between(after, until),
                feed.select_vectors(namespace, after, until, watermark.sets),
            )
            replica.add(request, answers, pending, until, watermark)
        with self._lock:
            if not self._is_closed and namespace not in self._replicas:  # else that is newer
                self._replicas[namespace] = replica
                self._keep(namespace, replica.index)

    # Bringing up to date

    def advance(self, namespaces: Iterable[str], send: Send, *, refresh: bool = True) -> None:
        """Bring the indexes of some namespaces up to date.

        It loads missing ones; a namespace that is too large gets one for this search. Unless
        `refresh`, the others stay as they are.

        Raises:
            StoreError: other threads change them again and again.
        """
        large = self._own.large
        if refresh:
            large.clear()
        names = sorted(namespaces)
        for _ in range(_MAX_ADVANCES):
            missing = [n for n in names if n not in self._replicas and n not in large]
            for name in missing:
                self._load(name, send)
            names = [name for name in names if name not in large]
            refresh |= bool(missing)  # what others wrote while it was read
            with self._lock:
                replicas = [self._replicas[name] for name in names if name in self._replicas]
            if len(replicas) < len(names):
                continue
            if not refresh or not names:
                return
            before = [replica.watermark for replica in replicas]
            answers = send(
                *[
                    feed.select_watermark(each.namespace, each.watermark, each.counts_accesses)
                    for each in replicas
                ]
            )
            after = [feed.parse_watermark(answer, self._previews) for answer in answers]
            behind = [
                (replica, old, new)
                for replica, old, new in zip(replicas, before, after, strict=True)
                if old.moved(new)
            ]
            if not behind:
                self._mark_used(replicas, before, after)
                return
            if self._catch_up(behind, send):
                return
        raise StoreError("these memories keep changing; try again")

    def _mark_used(
        self,
        replicas: Sequence[Replica],
        before: Sequence[Watermark],
        after: Sequence[Watermark],
    ) -> None:
        with self._lock:
            for replica, old, new in zip(replicas, before, after, strict=True):
                if replica.watermark is old:
                    replica.watermark = new
                if replica.namespace in self._indexes:
                    self._use(replica.namespace)

    def _catch_up(self, behind: Sequence[tuple[Replica, Watermark, Watermark]], send: Send) -> bool:
        """Apply the deltas of replicas between two watermarks; False if there is more to do."""
        for replica, since, until in behind:
            is_far = until.counter - since.counter > _MAX_DELTA_ROWS
            if since.broken(until) or is_far or not self.fits(until.living):
                with self._lock:  # another thread may have read a newer one
                    if self._replicas.get(replica.namespace) is replica:
                        self._drop(replica.namespace)
                return False
        deltas = [
            Delta(replica, since, until, self._pending(replica.namespace))
            for replica, since, until in behind
        ]
        statements = [delta.statements() for delta in deltas]
        answers = iter(send(*[each for group in statements for each in group]))
        with self._lock:
            for delta, group in zip(deltas, statements, strict=True):
                own_answers = [next(answers) for _ in group]
                replica = delta.replica
                if self._replicas.get(replica.namespace) is not replica or delta.is_stale():
                    return False
                try:
                    delta.apply(own_answers)
                except BaseException as problem:
                    self._drop(replica.namespace)
                    if not isinstance(problem, MissingColumns):
                        raise
                    return False
                self._keep(replica.namespace, replica.index)
        return True

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
            self._is_closed = True
            self.forget(list(self._indexes))
        self._worker.close()

    # Indexes

    def _may_go(self, namespace: str, kept: str | None) -> bool:
        return not self._pinned[namespace]

    def _drop(self, namespace: str) -> None:
        super()._drop(namespace)
        self._replicas.pop(namespace, None)

    def _index(self, namespace: str) -> NamespaceIndex:
        large = self._own.large.get(namespace)
        index = self._indexes.get(namespace) if large is None else large.replica.index
        if index is None:
            raise NotReplicated(namespace)
        return index

    def _replica(self, namespace: str) -> Replica:
        large = self._own.large.get(namespace)
        replica = self._replicas.get(namespace) if large is None else large.replica
        if replica is None:
            raise NotReplicated(namespace)
        return replica

    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        for name in self._row_ids.namespaces(rows):
            yield self._index(name)
