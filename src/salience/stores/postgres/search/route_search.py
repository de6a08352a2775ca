"""One route over one namespace on the server: what each class of routes has to answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import Route
from salience.stores.access_queue import Batch
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.search.read_cache import SearchCache
from salience.stores.postgres.search.row_reader import RowReader
from salience.stores.postgres.search.snapshot import NamespaceSnapshot, SnapshotCache
from salience.stores.postgres.wire.commands import Steps

R = TypeVar("R", bound=Route)


class SearchContext:
    """The snapshots and rows that one search works with, and what it has read of them."""

    def __init__(
        self,
        row_ids: RowIds,
        snapshots: SnapshotCache,
        cache: SearchCache,
        pending: Callable[[str], Sequence[Batch]],
    ) -> None:
        self.row_ids = row_ids
        self.snapshots = snapshots
        self.cache = cache
        self.reader = RowReader(row_ids, cache, pending)

    def snapshot(self, namespace: str) -> NamespaceSnapshot:
        """The snapshot of this search; if there is none yet, the latest of the process."""
        return self.cache.snapshots.get(namespace) or self.snapshots.latest(namespace)

    def stored_name(self, vector: str) -> str:
        """The name under which this search reads the vectors of a name."""
        snapshot = next(iter(self.cache.snapshots.values()), None)
        sets = self.snapshots.sets if snapshot is None else snapshot.sets
        return sets.stored_name(vector)

    def advance(self, snapshot: NamespaceSnapshot, delta: Sequence[Any]) -> NamespaceSnapshot:
        """The snapshot of this search: the first to get the answer to its delta query decides."""
        current = self.cache.snapshots.get(snapshot.namespace)
        if current is None:
            current = self.cache.snapshots[snapshot.namespace] = snapshot.advance(delta)
        return current

    def current(self, namespace: str) -> Steps[NamespaceSnapshot]:
        """The snapshot of this search, read if there is none yet."""
        current = self.cache.snapshots.get(namespace)
        if current is None:
            latest = self.snapshots.latest(namespace)
            [delta] = yield [latest.delta_query()]
            current = self.advance(latest, delta)
        return current


class RouteSearch(ABC, Generic[R]):
    """The candidates of one class of routes, and their scores."""

    @abstractmethod
    def search(
        self, context: SearchContext, namespace: str, route: R, query: Query, depth: int | None
    ) -> Steps[tuple[Rows, Floats]]:
        """Ids of rows that hold the best `depth` (None: all), and their exact scores.

        The first round trip has to bring the snapshot of the search up to date.
        """

    @abstractmethod
    def score(
        self, context: SearchContext, namespace: str, route: R, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """The exact scores of rows of a namespace, candidates or not; NaN where one has none."""

    def check(self, snapshot: NamespaceSnapshot, route: R, query: Query) -> None:
        """Refuse a query that cannot be compared with what a namespace holds."""

    def reads_previous(self, route: R) -> bool:
        """True if a ranking over this route likely asks about the turns before the hits."""
        return False

    def read_ahead(
        self, context: SearchContext, route: R, query: Query, rows: Rows
    ) -> Steps[None] | None:
        """Steps that read what a ranking likely asks about the hits; None for nothing."""
        return None
