"""Namespaces that a process keeps in its own memory, in indexes like those of the embedded stores.

What is searched again and again is read once and then kept current: a search asks whether there is
news, and then for its hits. Everything else, and what does not fit, is searched by the server; the
ranking is the same.
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
from salience.stores.postgres.replica.feed import ColumnRequest, MissingColumns
from salience.stores.postgres.replica.manager import LinkTable, NotReplicated, ReplicaManager
from salience.stores.postgres.wire.commands import Steps

_NOT_INDEXED = ("id", "content", "metadata")
_ROW_OPERATIONS = (
    operations.ScoreRows,
    operations.MatchedTerms,
    operations.Mentions,
    operations.FetchColumns,
    operations.FetchVectors,
    operations.SessionNeighbors,
    operations.LinksBetween,
)


class Replicas(ReplicaManager):
    """Answers about the namespaces that a process keeps."""

    def cover(self, op: operations.Op, kept: frozenset[str]) -> bool:
        """Whether the indexes of the namespaces `kept` can answer an operation."""
        if isinstance(op, (operations.FindSpeakers, operations.VectorNames)):
            return bool(kept) and kept.issuperset(op.namespaces)
        if isinstance(op, _ROW_OPERATIONS):
            if isinstance(op, operations.FetchColumns) and "content" in op.names:
                return False
            return bool(kept) and kept.issuperset(self._row_ids.namespaces(op.rows))
        return False

    def _linked(self, op: operations.LinksBetween) -> list[operations.Edge]:
        found: list[operations.Edge] = []
        with self._lock:
            for index, rows, _ in self._indexes_of(op.rows):
                if index.namespace not in op.query.namespaces:
                    continue
                edges = self._net(index).of(rows)
                ends = np.array(sorted({end for edge in edges for end in edge[:2]}), dtype=np.int64)
                passing = set(ends[index.table.passing(ends, op.query.where)].tolist())
                found += [edge for edge in edges if passing.issuperset(edge[:2])]
        return found

    def _net(self, index: NamespaceIndex) -> LinkTable:
        space = self._spaces.get(index.namespace)
        if space is None or space.index is not index:
            raise NotReplicated(index.namespace)
        if space.net is None:
            rows = index.table.matching(None)
            row_of = dict(zip(index.ids_of(rows), rows.tolist(), strict=True))
            space.net = LinkTable(space.feed.links_by_weight(index.namespace), row_of)
        return space.net

    ANSWERS: ClassVar[dict[type, Any]] = {**IndexReader.ANSWERS, operations.LinksBetween: _linked}

    def answer(self, op: operations.Op) -> Steps[Any]:
        """Answer an operation that is covered.

        Raises:
            Gone: a namespace has just been dropped.
        """
        if isinstance(op, operations.FetchColumns):
            with self._lock:
                self._asked.update(name for name in op.names if _is_indexed_column(name))
        return (yield from self._supplied(lambda: self.ANSWERS[type(op)](self, op)))

    def rankings(
        self, searches: Sequence[operations.SearchRoute]
    ) -> Steps[list[operations.Ranking]]:
        """Answer the routes of a search.

        Raises:
            Gone: a namespace has just been dropped.
        """
        return (yield from self._supplied(lambda: self._searches(searches)))

    def _supplied(self, answer: Callable[[], Any]) -> Steps[Any]:
        """An answer; what an index lacks for it is read."""
        supplied: str | None = None
        while True:
            try:
                found = answer()
            except MissingColumns as lacking:
                supplied = lacking.namespace
                yield from self._supply(lacking)
                continue
            if supplied is not None and supplied in self._spaces:
                self._spaces[supplied].feed.whole = None
            return found

    def _supply(self, lacking: MissingColumns) -> Steps[None]:
        name = lacking.namespace
        with self._lock:
            space = self._spaces.get(name)
        if space is None:
            raise NotReplicated(name)
        fed, waiting = space.fed, self._waiting(name)
        reading = ColumnRequest(name, self._row_ids.offset(name), lacking.names)
        answers = yield (
            [feed.select_links(name)] if lacking.links else reading.between(0, space.head.counter)
        )
        with self._lock:
            if space.fed != fed:  # what was read may lack what the index has now
                return
            if lacking.links:
                [space.feed.given_links] = answers
            else:
                every = dict.fromkeys((*waiting, *self._waiting(name)))
                space.feed.whole = reading.columns(answers, every)


def is_answered_by_index(op: operations.SearchRoute) -> bool:
    """Whether a search needs nothing but what an index holds."""
    if "content" in filter_fields(op.query.where):
        return False
    reading = op.query.reading
    operators = isinstance(op.route, Lexical) and op.route.operators
    return not (operators and (reading.phrases or reading.prefixes))


def _is_indexed_column(name: str) -> bool:
    """Whether an index holds it as a column."""
    return (name in FIELDS and name not in _NOT_INDEXED) or name.startswith("metadata.")
