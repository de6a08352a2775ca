"""The embedded store: durable records on one side, an in-memory index per namespace on the other.

Writes go to the records; an index reads them from its change feed, as it reads the writes of
other processes. Data flows one way, so an index can be dropped and reloaded at any time. Only
accesses are counted in the index before the feed brings them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import SalienceError, StoreClosed, StoreError
from salience.records.fields import FIELDS
from salience.records.filters import Filter
from salience.records.record import MemoryRecord
from salience.retrieval import operations
from salience.retrieval.candidates import Rows
from salience.retrieval.edges import Edges
from salience.retrieval.erasure import Erasure
from salience.retrieval.turnstile import Turnstile
from salience.stores.index.change_feed import IndexVersion
from salience.stores.index.edge_table import StoredEdge
from salience.stores.index.memory_table import MANY_LINKS
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index_reader import IndexReader

if TYPE_CHECKING:  # a remote memory needs no SQLite
    from salience.stores.sqlite.backup import CopiedLog
    from salience.stores.sqlite.records import SqliteRecords

_log = logging.getLogger(__name__)
_PAGE_ATTEMPTS = 100  # at reading a page while others edit its memories


class _BatchState(threading.local):
    """The state of the records that the batch of a thread reads; None if it has to be asked."""

    version: IndexVersion | None = None


class EmbeddedStore(IndexReader):
    """A store in this process: records, and indexes over them.

    What has no method here is answered by that of the records.
    """

    def __init__(self, records: SqliteRecords) -> None:
        super().__init__()
        self._records = records
        self._epochs: dict[str, int] = {}  # of each index when it was last refreshed
        self._state = _BatchState()
        self._closed = False
        self.turnstile = Turnstile()  # of searches, which compute in this process
        self.placed: Mapping[str, Mapping[str, int]] = {}  # see `MemoryTable.placed`
        self._process = os.getpid()

    def batch(self, batch: Sequence[operations.Op]) -> list[Any]:
        """Answer every operation, in order."""
        self._check_open()
        self._state.version = None
        try:
            return [*map(self._answer, batch)]
        except SalienceError:
            raise
        except Exception as problem:  # damaged values can make anything fail
            self._records.refuse_damage(problem)
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        if self._process != os.getpid():  # threads that hold its locks are not here
            raise StoreError("the store was opened before a fork; open it again in this process")

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        self._check_open()
        return self._records.embedder()

    def preview(self) -> EmbeddedStore:
        """A store of the same memories that searches the vectors beside the searched ones."""
        self._check_open()
        return EmbeddedStore(self._records.preview())

    def copied(
        self, namespaces: Sequence[str], placed: Mapping[str, Mapping[str, int]]
    ) -> tuple[EmbeddedStore, dict[str, CopiedLog]] | None:
        """A store in memory of what namespaces of a file hold, whose rows are `placed`.

        With it is what there is in their logs. Nobody waits for it.
        """
        found = self._records.copied(namespaces)
        if found is None:
            return None
        records, logs = found
        store = EmbeddedStore(records)
        store.placed = placed
        with store._lock:
            for namespace in namespaces:
                store._index(namespace)
        records.snapshots = None  # which are not its own
        return store, logs

    def flush(self) -> None:
        """Write the accesses that wait."""
        self._check_open()
        self._records.flush()

    def close(self) -> None:
        """Flush and release everything; in a forked copy, do nothing."""
        if not self._closed and self._process == os.getpid():
            self._closed = True
            self._worker.close()
            try:
                self._save_what_is_left(self._indexes)
            finally:
                with self._lock:
                    for namespace in list(self._indexes):
                        self._drop(namespace)
                self._records.close()

    def _answer(self, op: operations.Op) -> Any:
        if not isinstance(op, operations.OfNamespaces | operations.Collect):
            self._state.version = None  # these of a batch are of one state, others may write
        answer = getattr(self, op.method, None) or self._records.answer
        return answer(op)

    # Indexes

    def _drop(self, namespace: str) -> None:
        super()._drop(namespace)
        self._epochs.pop(namespace, None)

    def _index(self, namespace: str) -> NamespaceIndex:
        """The index of a namespace, brought up to date."""
        version = self._state.version
        if version is None:
            version = self._state.version = self._records.version()
        index = self._indexes.get(namespace)
        if index is None or self._epochs[namespace] != version.epoch:
            snapshots = self._records.snapshots
            if index is None:
                index = NamespaceIndex(self._records, namespace)
                index.table.placed = self.placed.get(namespace)
                if snapshots is not None:
                    snapshots.restore(index.table)
            if index.table.refresh() and snapshots is not None and not index.table.left_out:
                snapshots.save(index.table)
            self._epochs[namespace] = version.epoch
            self._keep(namespace, index)
        else:
            index.table.skip_to(version.seq)
            self._use(namespace)
        return index

    def _keep_through_erasing(self, namespace: str) -> None:
        """Load an index that has a snapshot, so that another can be written after an erasure."""
        snapshots = self._records.snapshots
        with self._lock:
            if snapshots is None or namespace in self._indexes or not snapshots.noted(namespace):
                return
            index = NamespaceIndex(self._records, namespace)
            snapshots.restore(index.table)
            if len(index.table):
                self._epochs[namespace] = -1  # before any
                self._keep(namespace, index)

    def _save_what_is_left(self, namespaces: Iterable[str]) -> None:
        """Write again the snapshots of namespaces that went with an erasure."""
        snapshots = self._records.snapshots
        if snapshots is None:
            return
        for namespace in snapshots.lost & self._indexes.keys() & {*namespaces}:
            table = self._indexes[namespace].table
            try:
                table.refresh()
                if table.living:
                    snapshots.save(table.compacted())
            except Exception as problem:  # the next process loads everything
                _log.info("no snapshot of %r was written: %s", namespace, problem)

    def _erased(self, namespace: str) -> None:
        """Write the snapshot of a namespace again after an erasure, unless it was so lately."""
        snapshots = self._records.snapshots
        if snapshots is not None and snapshots.is_due(namespace):
            with self._lock:
                self._save_what_is_left([namespace])

    def _candidates(self, rows: Rows, missing: NDArray[np.bool_]) -> Iterator[NamespaceIndex]:
        """The loaded indexes; then those of rows still missing, whose indexes were dropped."""
        yield from reversed(self._indexes.values())
        left = rows[missing].tolist()
        records = self._records.read(left, sound=True).values() if left else ()
        for namespace in sorted({record.namespace for record in records} - self._indexes.keys()):
            yield self._index(namespace)

    # Operations

    def delete(self, op: operations.Delete) -> Erasure:
        if op.ids is not None or op.where is not None:
            self._keep_through_erasing(op.namespace)
        erasure = self._records.delete(op)
        self._erased(op.namespace)
        return erasure

    def log(self, op: operations.Log) -> tuple[str, ...]:
        if op.erased:
            self._keep_through_erasing(op.namespace)
        missing = self._records.log(op)
        self._erased(op.namespace)
        return missing

    def read_records(self, op: operations.ReadRecords) -> list[MemoryRecord | None]:
        rows = op.rows.tolist()
        records = self._records.read(rows, op.sound, op.fields or (*FIELDS,))
        missing = [row for row in rows if row not in records] if op.sound else []
        if missing:
            with self._lock:
                damaged = self._records.present(missing)
                for index in self._indexes.values():
                    index.table.leave_out(sorted(damaged))
        return [records.get(row) for row in rows]

    def links_between(self, op: operations.LinksBetween) -> Sequence[operations.Edge] | Edges:
        parts: list[Sequence[operations.Edge] | Edges] = []
        with self._lock:
            for index, rows, _ in self._indexes_of(op.rows):
                if index.namespace not in op.query.namespaces:
                    continue
                read = partial(self._records.edges, index.namespace)
                if op.type is not None:
                    edges = index.edges_of_type(rows, op.type, partial(read, None))
                    parts.append(self._passing(index, edges, op.query.where))
                    continue
                of_many = index.edges_of_many(rows, op.query.where, read)
                if of_many is None:
                    few = self._records.edges(index.namespace, index.ids_of(rows))
                    if len(few) > MANY_LINKS:  # those of a hub are not read again
                        index.table.edges(read)
                    parts.append(self._passing(index, few, op.query.where))
                else:
                    parts.append(of_many)
        return parts[0] if len(parts) == 1 else [edge for part in parts for edge in part]

    def _passing(
        self, index: NamespaceIndex, edges: Sequence[StoredEdge], where: Filter | None
    ) -> list[operations.Edge]:
        """The links whose ends pass the filter, by row."""
        if not edges:
            return []
        ends = {end for edge in edges for end in edge[:2]}
        row_of = self._records.rows_by_id(operations.RowsById(index.namespace, tuple(sorted(ends))))
        rows = np.array(sorted(row_of.values()), dtype=np.int64)
        passing = set(rows[index.table.passing(rows, where)].tolist())
        return [
            operations.Edge(row_of[source], row_of[target], weight, type)
            for source, target, weight, type in edges
            if {row_of.get(source), row_of.get(target)} <= passing
        ]

    def list_records(self, op: operations.ListRecords) -> operations.Listing:
        for _ in range(_PAGE_ATTEMPTS):
            page = self._page(op)
            if page is not None:
                return operations.Listing.of(page, op.limit)
            self._state.version = None  # an edit has given one of them another row meanwhile
        raise StoreError("these memories keep changing; try again")

    def _page(
        self, op: operations.ListRecords
    ) -> list[tuple[MemoryRecord, operations.Place]] | None:
        """The memories of a page and the one after it; None if not all of them could be read."""
        if op.where is None:
            return self._records.page(op.namespace, op.order, op.after, op.limit + 1)
        with self._lock:
            table = self._index(op.namespace).table
            page = table.page(op.where, op.order, op.after, op.limit + 1)
        records = self._records.read([row for row, _ in page])
        if len(records) < len(page):
            return None
        return [(records[row], place) for row, place in page]

    def count_records(self, op: operations.CountRecords) -> int:
        if op.where is None:
            return self._size(op.namespace)
        with self._lock:
            return len(self._index(op.namespace).table.matching(op.where))

    def _size(self, namespace: str) -> int:
        """The number of memories, which only a file whose index is not loaded has to count."""
        with self._lock:
            if namespace in self._indexes:
                return self._index(namespace).table.living
        return self._records.count(namespace)

    def dimensions(self, op: operations.Dimensions) -> dict[str, int]:
        with self._lock:
            if op.names is None and op.namespace in self._indexes:
                self._index(op.namespace)  # whose vectors are read next are in it by then
        dimensions: dict[str, int] = self._records.answer(op)
        return dimensions

    def touch(self, op: operations.Touch) -> None:
        if not len(op.rows):
            return
        at = op.at.timestamp()
        with self._lock:
            indexes = self._indexes_of(op.rows)  # one that is loaded later has the accesses
            if self._records.touch(op):
                for index, rows, _ in indexes:
                    index.table.touch(rows, at)

    def read_stats(self, op: operations.ReadStats) -> dict[str, Any]:
        counts = {name: self._size(name) for name in op.namespaces} or self._records.namespaces()
        figures = {
            "memories": sum(counts.values()),
            "namespaces": counts,
            "embedder": self._records.embedder(),
            **self._records.stats(op.namespaces),
        }
        if not op.namespaces:  # what all take together would tell one of the others
            with self._lock:
                for namespace in self._indexes:
                    self._measure(namespace)
            figures |= self.index_figures()
        return figures
