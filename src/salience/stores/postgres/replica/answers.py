"""Answers out of replicas: the ranking is that of the server.

A namespace that is searched again and again is loaded once and then kept current: a search asks for
its watermark, and then for its hits. Everything else, and whatever does not fit into memory, is
searched by the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from salience.records.fields import FIELDS
from salience.records.filters import filter_fields
from salience.retrieval import operations
from salience.retrieval.routes import Lexical
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.index_reader import IndexReader
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import MissingColumns
from salience.stores.postgres.replica.manager import ReplicaManager
from salience.stores.postgres.replica.replica import LinkTable, NotReplicated
from salience.stores.postgres.wire.commands import Steps

_NOT_INDEXED = ("id", "content", "metadata")
_NAMESPACE_OPERATIONS = (
    operations.FindSpeakers,
    operations.FindWords,
    operations.FindNames,
    operations.VectorNames,
)
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

    def cover(self, op: operations.Op, namespaces: frozenset[str]) -> bool:
        """True if the replicas of some namespaces can answer an operation."""
        if isinstance(op, _NAMESPACE_OPERATIONS):
            return bool(namespaces) and namespaces.issuperset(op.namespaces)
        if isinstance(op, _ROW_OPERATIONS):
            if isinstance(op, operations.FetchColumns) and "content" in op.names:
                return False
            return bool(namespaces) and namespaces.issuperset(self._row_ids.namespaces(op.rows))
        return False

    def _links_between(self, op: operations.LinksBetween) -> list[operations.Edge]:
        links: list[operations.Edge] = []
        with self._lock:
            for index, rows, _ in self._indexes_of(op.rows):
                if index.namespace not in op.query.namespaces:
                    continue
                edges = self._links_of(index).of(rows)
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
        supplied: str | None = None
        while True:
            try:
                result = answer()
            except MissingColumns as missing:
                supplied = missing.namespace
                yield from self._supply(missing)
                continue
            if supplied is not None and supplied in self._replicas:
                self._replicas[supplied].feed.columns = None
            return result

    def _supply(self, missing: MissingColumns) -> Steps[None]:
        """Read columns or links of all memories for the feed of a replica."""
        namespace = missing.namespace
        with self._lock:
            replica = self._replicas.get(namespace)
        if replica is None:
            raise NotReplicated(namespace)
        refreshes, pending = replica.refreshes, self._pending(namespace)
        request = replica.request(missing.names)
        answers = yield (
            [feed.select_links(namespace)]
            if missing.links
            else request.between(0, replica.watermark.counter)
        )
        with self._lock:
            if replica.refreshes != refreshes:  # the index may have rows now that were not read
                return
            if missing.links:
                [replica.feed.stored_links] = answers
            else:
                replica.feed.columns = request.columns(answers, replica.pending(pending))


def is_answered_by_index(op: operations.SearchRoute) -> bool:
    """True if a search needs nothing but what an index holds."""
    if "content" in filter_fields(op.query.where):
        return False
    reading = op.query.reading
    operators = isinstance(op.route, Lexical) and op.route.operators
    return not (operators and (reading.phrases or reading.prefixes))


def _is_indexed_column(name: str) -> bool:
    """True if an index holds a column of that name."""
    return (name in FIELDS and name not in _NOT_INDEXED) or name.startswith("metadata.")
