"""Answers out of replicas: the index of a namespace in this process.

A namespace is loaded by its first search and then kept current: a search asks for its watermark,
and then for its hits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import numpy as np

from salience.records.fields import FIELDS
from salience.retrieval import operations
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index_reader import IndexReader
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import MissingColumns
from salience.stores.postgres.replica.manager import ReplicaManager
from salience.stores.postgres.replica.replica import LinkTable, NotReplicated, Replica
from salience.stores.postgres.wire.commands import Steps

_SUPPLIED_AT_ONCE = 50_000  # memories whose columns are read in one round trip
_NOT_INDEXED = ("id", "content", "metadata")
NAMESPACE_OPERATIONS = (
    operations.FindSpeakers,
    operations.FindWords,
    operations.FindNames,
    operations.VectorNames,
)
"""Operations that read the same state of a namespace as the search that they begin."""
_ROW_OPERATIONS = (
    operations.ScoreRows,
    operations.MatchedTerms,
    operations.TermWeights,
    operations.Mentions,
    operations.FindPassages,
    operations.FetchColumns,
    operations.FetchVectors,
    operations.SessionNeighbors,
    operations.LinksBetween,
)


class Replicas(ReplicaManager):
    """The replicas of a process, and answers out of them."""

    def namespaces_of(self, op: operations.Op) -> Collection[str]:
        """The namespaces whose replicas answer an operation; none if that is for the server."""
        if isinstance(op, operations.SearchRoute):
            return op.query.namespaces
        if isinstance(op, NAMESPACE_OPERATIONS):
            return op.namespaces
        if isinstance(op, operations.FetchColumns) and "content" in op.names:
            return ()
        return self._row_ids.namespaces(op.rows) if isinstance(op, _ROW_OPERATIONS) else ()

    def _links_between(self, op: operations.LinksBetween) -> list[operations.Edge]:
        links: list[operations.Edge] = []
        with self._lock:
            for index, rows, _ in self._indexes_of(op.rows):
                if index.namespace not in op.query.namespaces:
                    continue
                edges = self._links_of(index).of(rows)
                if op.type is not None:
                    edges = [edge for edge in edges if edge.type == op.type]
                ends = np.array(sorted({end for edge in edges for end in edge[:2]}), dtype=np.int64)
                passing = set(ends[index.table.passing(ends, op.query.where)].tolist())
                links += [edge for edge in edges if passing.issuperset(edge[:2])]
        return links

    def _links_of(self, index: NamespaceIndex) -> LinkTable:
        replica = self._replicas.get(index.namespace)
        if replica is None or replica.index is not index:
            raise NotReplicated(index.namespace)
        return replica.links

    ANSWERS: ClassVar[dict[type, Any]] = {
        **IndexReader.ANSWERS,
        operations.LinksBetween: _links_between,
    }

    def answer(self, op: operations.Op) -> Steps[Any]:
        """Answer an operation that the replicas cover.

        Raises:
            NotReplicated: a replica has just been dropped.
        """
        if isinstance(op, operations.FetchColumns):
            with self._lock:
                self._columns.update(name for name in op.names if _is_indexed_column(name))
        return (yield from self._with_columns(lambda: self.ANSWERS[type(op)](self, op)))

    def rankings(
        self, searches: Sequence[operations.SearchRoute]
    ) -> Steps[list[operations.Ranking]]:
        """Rank the routes of a search.

        Raises:
            NotReplicated: a replica has just been dropped.
        """
        return (yield from self._with_columns(lambda: self._searches(searches)))

    def _with_columns(self, answer: Callable[[], Any]) -> Steps[Any]:
        """An answer; columns and links that an index lacks for it are read."""
        supplied: list[tuple[Replica, MissingColumns]] = []
        try:
            while True:
                try:
                    return answer()
                except MissingColumns as missing:
                    supplied.append(((yield from self._supply(missing)), missing))
        finally:
            for replica, given in supplied:
                replica.feed.supplied.pop((given.names, given.rows), None)

    def _supply(self, missing: MissingColumns) -> Steps[Replica]:
        """Read columns or links of memories for the feed of a replica, which is given back."""
        namespace = missing.namespace
        with self._lock:
            replica = self._replicas.get(namespace)
        if replica is None:
            raise NotReplicated(namespace)
        refreshes, pending = replica.refreshes, self._pending(namespace)
        chunks: list[feed.Chunk] = []
        if missing.links:
            [links] = yield [feed.select_links(namespace)]
        else:
            request, counter = replica.request(missing.names), replica.watermark.counter
            parts = (
                [request.of(missing.rows)]
                if missing.rows is not None
                else [
                    request.between(after, min(after + _SUPPLIED_AT_ONCE, counter))
                    for after in range(0, counter, _SUPPLIED_AT_ONCE)
                ]
            )
            for part in parts:
                chunks.append(request.columns((yield part), replica.pending(pending)))
        with self._lock:
            if replica.refreshes == refreshes:  # else it may have rows now that were not read
                if missing.links:
                    replica.feed.stored_links = links
                else:
                    replica.feed.supplied[missing.names, missing.rows] = chunks
        return replica


def _is_indexed_column(name: str) -> bool:
    """True if an index holds a column of that name."""
    return (name in FIELDS and name not in _NOT_INDEXED) or name.startswith("metadata.")
