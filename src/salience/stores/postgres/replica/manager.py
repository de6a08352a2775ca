"""Which namespaces a process keeps in its own memory, reading them and keeping them current."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput, StoreError
from salience.records.events import ACCESSES
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.stores.access_queue import Batch
from salience.stores.index.change_feed import Changes
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index_reader import IndexReader
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import (
    ColumnRequest,
    MissingColumns,
    ReplicaFeed,
    Watermark,
)
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.wire.commands import Steps

MEMORY_VARIABLE = "SALIENCE_POSTGRES_MEMORY_MB"
"""The environment's setting of how much memory a process gives to what it keeps; 0 for none.

By default it is a quarter of the machine's or container's, and at most 4,096.
"""
_DEFAULT_MAX_MB = 4096
_CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_LOAD_AFTER_ONE_ROWS = (
    5_000  # memories up to which a namespace is read after one search of it, else after two
)
_BYTES_PER_MEMORY = 2_000  # bytes that an index takes for a memory, roughly
_LARGEST_SHARE = 2  # the largest namespace kept takes a half
_SEARCHES_BEFORE_EVICTION = 8  # searches of a namespace before another one gives way to it
_LOAD_CHUNK_ROWS = 32_768  # rows read at once
_MAX_DELTA_ROWS = 16_384  # new memories up to which an index is kept current, not read anew
_LOAD_DELAY_SECONDS = (
    0.2  # seconds before a thread begins to read: a program that asks once has ended then
)
_CLOSE_WAIT_SECONDS = 10.0  # seconds to wait for what is being read when the store is closed
_MAX_ADVANCES = 8  # to bring an index up to date before somebody else does

Read = Callable[[Callable[[], Steps[Any]], Sequence[str]], Any]


def memory_limit() -> int:
    """The bytes that a process gives to what it keeps.

    Raises:
        InvalidInput: the environment's setting is no number.
    """
    given = os.environ.get(MEMORY_VARIABLE)
    if given is None:
        return min(machine_memory() // 4, _DEFAULT_MAX_MB << 20)
    if not given.isascii() or not given.isdigit():
        raise InvalidInput(
            MEMORY_VARIABLE, f"is {given!r}", "give a whole number of megabytes, 0 for none"
        )
    return int(given) << 20


def machine_memory(limits: Sequence[str] = _CGROUP_FILES) -> int:
    """The bytes of memory that the machine has, or its container may use.

    `limits` are files that may hold what a container may use. Where a system does not tell, 4 GiB.
    """
    found = [4 << 30]
    if hasattr(os, "sysconf"):  # everywhere but on Windows
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in limits:
        with suppress(OSError, ValueError):  # none, or "max"
            found.append(int(Path(path).read_text(encoding="ascii")))
    return min(found)


class NotReplicated(LookupError):
    """A namespace is not kept any more: the server has to be asked."""


class LinkTable:
    """The links of a namespace, in their order, by the rows that they join."""

    def __init__(self, links: Iterable[Sequence[Any]], row_of: Mapping[str, int]) -> None:
        self._edges: list[operations.Edge] = []
        self._places: dict[int, list[int]] = {}
        for source, target, _, weight, type_ in links:
            if source in row_of and target in row_of:
                edge = operations.Edge(row_of[source], row_of[target], weight, type_)
                for end in dict.fromkeys(edge[:2]):
                    self._places.setdefault(end, []).append(len(self._edges))
                self._edges.append(edge)

    def of(self, rows: Rows) -> list[operations.Edge]:
        """The links from and to some rows."""
        places = {place for row in rows.tolist() for place in self._places.get(row, ())}
        return [self._edges[place] for place in sorted(places)]


@dataclass(eq=False)
class _Replica:
    """An index, what it is fed with, and up to where it is current."""

    index: NamespaceIndex
    feed: ReplicaFeed
    head: Watermark
    fed: int = 0  # how often
    net: LinkTable | None = None  # the links, where they were asked for


class ReplicaManager(IndexReader):
    """Which namespaces a process keeps, and their indexes; `read` runs steps that only read.

    With `at_once` a namespace is read when it is searched first, and the search waits for it.
    """

    def __init__(
        self,
        row_ids: RowIds,
        waiting: Callable[[str], Sequence[Batch]],
        read: Read,
        limit: int,
        at_once: bool = False,
    ) -> None:
        super().__init__(limit)
        self._row_ids = row_ids
        self._waiting = waiting
        self._read = read
        self._at_once = at_once
        self._spaces: dict[str, _Replica] = {}
        self._asked: set[str] = set()  # columns that searches have read
        self._searched: Counter[str] = Counter()
        self._wished: list[str] = []  # what is to be read
        self._reader: threading.Thread | None = None
        self._closed = threading.Event()

    # What is kept

    def hold(self, namespaces: Iterable[str]) -> bool:
        """Whether all of some namespaces are kept."""
        return all(name in self._indexes for name in namespaces)

    def note_searches(self, namespaces: Mapping[str, int]) -> None:
        """Note which namespaces the server searched, and how many memories live in each."""
        for name, living in namespaces.items():
            if not self._fits(living):
                continue
            with self._lock:
                self._searched[name] += 1
                full = self._index_bytes + living * _BYTES_PER_MEMORY > self._memory_limit
                enough = (
                    _SEARCHES_BEFORE_EVICTION
                    if full
                    else 1
                    if living <= _LOAD_AFTER_ONE_ROWS
                    else 2
                )
                if self._searched[name] >= enough:
                    self._wish(name)

    def _fits(self, living: int) -> bool:
        return 0 < living * _BYTES_PER_MEMORY * _LARGEST_SHARE <= self._memory_limit

    def _wish(self, namespace: str) -> None:
        """Have a namespace read, by a thread beside the searches."""
        with self._lock:
            if self._closed.is_set() or namespace in self._wished or namespace in self._indexes:
                return
            self._wished.append(namespace)
            if self._reader is None:
                self._reader = threading.Thread(
                    target=self._fulfil, name="salience-reader", daemon=True
                )
                self._reader.start()

    def _fulfil(self) -> None:
        self._closed.wait(_LOAD_DELAY_SECONDS)
        while True:
            with self._lock:
                if self._closed.is_set() or not self._wished:
                    self._reader = None
                    return
                namespace = self._wished[0]
            try:
                self._read(partial(self._load, namespace), (namespace,))
            except BaseException as problem:
                with self._lock:
                    self._searched.pop(namespace, None)
                    if not isinstance(problem, StoreError):
                        self._reader = None  # the next wish gets another thread
                        raise
                # Else the server searches it on, and says what is wrong.
            finally:
                with self._lock:
                    self._wished.remove(namespace)

    def _load(self, namespace: str) -> Steps[None]:
        """Read all of a namespace, unless it is too large."""
        [answer] = yield [feed.select_watermark(namespace, Watermark(), accesses=False)]
        found = feed.parse_watermark(answer)
        if not self._fits(found.living):
            return
        with self._lock:
            columns = sorted(self._asked)
        space = _Replica(NamespaceIndex(fed := ReplicaFeed(), namespace, columns), fed, found)
        reading = ColumnRequest(
            namespace, self._row_ids.offset(namespace), space.index.table.loaded_columns
        )
        for after in range(found.erased, found.counter, _LOAD_CHUNK_ROWS):
            until = min(after + _LOAD_CHUNK_ROWS, found.counter)
            waiting = self._waiting(namespace)
            answers = yield [
                *reading.between(after, until),
                feed.select_vectors(namespace, after, until),
            ]
            if self._closed.is_set():
                return
            self._take_in(space, reading, answers, waiting, until)
        with self._lock:
            if not self._closed.is_set() and namespace not in self._spaces:  # else that is newer
                self._spaces[namespace] = space
                self._keep(namespace, space.index)

    def _take_in(
        self,
        space: _Replica,
        reading: ColumnRequest,
        answers: Sequence[Any],
        waiting: Sequence[Batch],
        until: int,
        **changes: Any,
    ) -> None:
        """Let an index have new memories, and other changes."""
        namespace = space.index.namespace
        *rows, given = answers
        every = dict.fromkeys((*waiting, *self._waiting(namespace)))
        fresh = space.feed.fresh = reading.columns(rows, every)
        space.feed.given_vectors = feed.parse_vectors(given, self._row_ids.offset(namespace))
        space.feed.given_embedder = feed.parse_embedder(given)
        space.fed += 1
        space.feed.coming = Changes(
            space.fed, fresh["row"], until=self._row_ids.offset(namespace) + until, **changes
        )
        space.index.table.refresh()
        space.feed.emptied()
        space.net = None

    def _drop(self, namespace: str) -> None:
        super()._drop(namespace)
        self._spaces.pop(namespace, None)
        self._searched.pop(namespace, None)

    def _index(self, namespace: str) -> NamespaceIndex:
        index = self._indexes.get(namespace)
        if index is None:
            raise NotReplicated(namespace)
        return index

    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        for name in self._row_ids.namespaces(rows):
            yield self._index(name)

    # Keeping current

    def advance(self, namespaces: Iterable[str], load: bool = False) -> Steps[frozenset[str]]:
        """Bring the replicas of some namespaces up to date; none where one is not held.

        With `load` those that are not held are read first, if they fit.
        """
        names = sorted(namespaces)
        if (load or self._at_once) and self._memory_limit:
            for name in names:
                if name not in self._indexes:
                    yield from self._load(name)
        ready = yield from self._prepared(names)
        return frozenset(names if ready else ())

    def _prepared(self, namespaces: Sequence[str]) -> Steps[bool]:
        for _ in range(_MAX_ADVANCES):
            with self._lock:
                spaces = [self._spaces.get(name) for name in namespaces]
            kept = [space for space in spaces if space is not None]
            if len(kept) < len(spaces) or not kept:
                return False
            before = [space.head for space in kept]
            answers = yield [
                feed.select_watermark(space.index.namespace, space.head, self._counts(space))
                for space in kept
            ]
            heads = [feed.parse_watermark(answer) for answer in answers]
            if not any(map(Watermark.moved, before, heads)):
                return self._seen(kept, before, heads)
            if (yield from self._advance(kept, before, heads)):
                return self.hold(namespaces)
        return False

    @staticmethod
    def _counts(space: _Replica) -> bool:
        """Whether an index has columns that accesses change."""
        return not set(space.index.table.patchable_columns).isdisjoint(ACCESSES)

    def _seen(
        self, spaces: Sequence[_Replica], before: Sequence[Watermark], heads: Sequence[Watermark]
    ) -> bool:
        with self._lock:
            for space, old, new in zip(spaces, before, heads, strict=True):
                if space.head is old:
                    space.head = new
                if space.index.namespace in self._indexes:
                    self._indexes.move_to_end(space.index.namespace)
            return self.hold(space.index.namespace for space in spaces)

    def _advance(
        self, spaces: Sequence[_Replica], before: Sequence[Watermark], heads: Sequence[Watermark]
    ) -> Steps[bool]:
        """Take in what is newer; False where there is more to do."""
        moved = [
            (space, old, new)
            for space, old, new in zip(spaces, before, heads, strict=True)
            if old.moved(new)
        ]
        for space, old, new in moved:
            if old.broken(new) or new.counter - old.counter > _MAX_DELTA_ROWS:
                name = space.index.namespace
                with self._lock:
                    self._drop(name)
                if not self._at_once:
                    self._wish(name)
                    return True
                yield from self._load(name)
                return False
        asked = [self._news(space, old, new) for space, old, new in moved]
        waiting = [self._waiting(space.index.namespace) for space, _, _ in moved]
        answers = iter((yield [each for _, _, statements in asked for each in statements]))
        with self._lock:
            for (space, old, new), (reading, patched, statements), waits in zip(
                moved, asked, waiting, strict=True
            ):
                mine = [next(answers) for _ in statements]
                name = space.index.namespace
                index = space.index
                if space.head is not old or self._spaces.get(name) is not space:
                    return False
                if (reading.asked, patched.asked) != (
                    index.table.loaded_columns,
                    index.table.patchable_columns,
                ):
                    return False  # it has got another column
                self._change(space, reading, patched, mine, waits, new)
        return True

    def _news(
        self, space: _Replica, old: Watermark, new: Watermark
    ) -> tuple[ColumnRequest, ColumnRequest, list[Any]]:
        """What to ask for what is newer."""
        name = space.index.namespace
        offset = self._row_ids.offset(name)
        reading = ColumnRequest(name, offset, space.index.table.loaded_columns)
        patched = ColumnRequest(name, offset, space.index.table.patchable_columns)
        return (
            reading,
            patched,
            [
                feed.select_erased(name, old),
                *patched.changed(old, self._counts(space)),
                *reading.between(old.counter, new.counter),
                feed.select_vectors(name, old.counter, new.counter),
            ],
        )

    def _change(
        self,
        space: _Replica,
        reading: ColumnRequest,
        patched: ColumnRequest,
        answers: Sequence[Any],
        waiting: Sequence[Batch],
        new: Watermark,
    ) -> None:
        name = space.index.namespace
        gone, *rest = answers
        every = dict.fromkeys((*waiting, *self._waiting(name)))
        changed = space.feed.changed = patched.columns(rest[:2], every)
        removed = [row + self._row_ids.offset(name) for (row,) in gone]
        if new.linked != space.head.linked:
            space.index.table.forget_links()
            space.feed.given_links = None
        try:
            self._take_in(
                space,
                reading,
                rest[2:],
                waiting,
                new.counter,
                removed=removed,
                patched=changed["row"],
            )
        except BaseException as problem:
            self._drop(name)
            if not isinstance(
                problem, MissingColumns
            ):  # so many are gone that it has to be read anew
                raise
            return
        space.head = new
        self._keep(name, space.index)

    def touch(self, namespace: str, rows: Rows, at: float) -> None:
        """Count a use of rows, ahead of the log."""
        with self._lock:
            index = self._indexes.get(namespace)
            if index is not None:
                index.table.touch(rows[index.table.contains(rows)], at)

    def forget(self, namespaces: Iterable[str]) -> None:
        """Keep some namespaces no longer."""
        with self._lock:
            for name in namespaces:
                self._drop(name)

    def close(self) -> None:
        """Keep nothing any more."""
        with self._lock:
            self._closed.set()
            reader = self._reader
            self.forget(list(self._indexes))
        if reader is not None:
            reader.join(_CLOSE_WAIT_SECONDS)
        self._worker.close()

    @property
    def loading(self) -> int:
        """How many namespaces are being read, or are to be."""
        return len(self._wished)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._index_bytes
