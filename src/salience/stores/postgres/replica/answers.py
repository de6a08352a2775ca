"""Answers out of replicas: the index of a namespace in this process.

A namespace is loaded by its first search and then kept current: a search asks for its watermark,
and then for its hits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from salience.records.fields import CHAT_CHUNKS, FIELDS, SESSION_CHUNK
from salience.records.filters import Compare
from salience.retrieval import operations
from salience.retrieval.candidates import Candidates
from salience.retrieval.edges import Edges
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import MissingColumns
from salience.stores.postgres.replica.large_namespace import LargeNamespace
from salience.stores.postgres.replica.manager import ReplicaManager
from salience.stores.postgres.replica.replica import Replica
from salience.stores.tables.commands import Send
from salience.stores.tables.reader import select_links

_SUPPLIED_AT_ONCE = 50_000  # memories whose columns are read in one round trip
_NOT_INDEXED = ("id", "content", "metadata")
SEARCHING = (operations.Collect, operations.OfNamespaces, operations.OfRows)
"""The operations that indexes answer."""


class Replicas(ReplicaManager):
    """The replicas of a process, and answers out of them."""

    def namespaces_of(self, op: operations.Op) -> Collection[str]:
        """The namespaces whose replicas answer an operation; none if the server answers it."""
        if isinstance(op, operations.Collect):
            return op.query.namespaces
        if isinstance(op, operations.OfNamespaces):
            return op.namespaces
        return self._row_ids.namespaces(op.rows) if isinstance(op, operations.OfRows) else ()

    def links_between(self, op: operations.LinksBetween) -> Sequence[operations.Edge] | Edges:
        parts: list[Edges] = []
        with self._lock:
            for index, rows, _ in self._indexes_of(op.rows):
                if index.namespace in op.query.namespaces:
                    read_edges = partial(self._replica(index.namespace).feed.edges, index.namespace)
                    edges = index.edges_between(rows, op.query.where, read_edges)
                    parts.append(edges if op.type is None else edges.take(edges.type == op.type))
        return parts[0] if len(parts) == 1 else [edge for part in parts for edge in part]

    def begin(self, batch: Sequence[operations.Op], send: Send) -> None:
        """Bring the indexes that answer some operations up to date, once a search."""
        names, search = self.named(batch), self._own
        question = next((_question(op) for op in batch if isinstance(op, operations.Collect)), None)
        begins = any(isinstance(op, operations.OfNamespaces) for op in batch)
        is_another = question is not None and search.asked not in (None, question)
        refresh = begins or is_another or not names <= search.current
        self.advance(names, send, refresh=refresh)
        search.current = names if refresh else search.current
        search.asked = None if begins else question or search.asked

    def end_search(self) -> None:
        """Let indexes be brought up to date for the next operations of this thread."""
        self._own.current = frozenset()

    def named(self, batch: Sequence[operations.Op]) -> frozenset[str]:
        """The namespaces whose indexes answer some operations."""
        return frozenset(name for op in batch for name in self.namespaces_of(op))

    def answer(self, op: Any, send: Send) -> Any:
        """Answer an operation about namespaces or rows.

        Raises:
            NotReplicated: an index has just been dropped.
        """
        if isinstance(op, operations.Collect | operations.FetchColumns):
            names = op.columns if isinstance(op, operations.Collect) else op.names
            with self._lock:
                self._columns.update(name for name in names if _is_indexed_column(name))
        large = [each for name in self.namespaces_of(op) if (each := self._own.large.get(name))]
        if large and isinstance(op, operations.OfNamespaces):
            return self._by_namespace(op, send)
        if large and isinstance(op, operations.Collect):
            return self._collect_large(op, large, send)
        for each in large:
            ids = each.own_rows(op.rows)
            if isinstance(op, operations.LinksBetween):
                each.include_linked(ids, op.type, send)
            else:
                each.include(ids, send)
        return self._with_columns(partial(getattr(self, op.method), op), send)

    def _by_namespace(self, op: Any, send: Send) -> Any:
        """Answer an operation about namespaces, some of them large."""
        parts: list[Any] = []
        for name in op.namespaces:
            large, single = self._own.large.get(name), replace(op, namespaces=(name,))
            parts.append((self if large is None else large).answer(single, send))
        if isinstance(op, operations.FindSpeakers):
            return operations.SpeakerMatches.merged(parts)
        if isinstance(op, operations.FindWords):
            absent = set.intersection(*map(set, parts))  # held by no memory of any of them
            return {w: {k: v for p in parts for k, v in p[w].items()} for w in absent}
        return frozenset().union(*parts)

    def _collect_large(
        self, op: operations.Collect, large: Sequence[LargeNamespace], send: Send
    ) -> Candidates:
        """Collect from namespaces, some of them large: the server finds candidates in these."""
        queries = op.queries()
        for _ in range(2):
            for each in large:
                each.collect(op, queries, send)
            table = self._with_columns(partial(self.collect, op), send)
            if not op.sessions or CHAT_CHUNKS.isdisjoint(table["kind"].tolist()):
                break
            queries = [op.narrowed(Compare("kind", "eq", SESSION_CHUNK))]
        return replace(table, approximate=large[-1].why)

    def _with_columns(self, answer: Callable[[], Any], send: Send) -> Any:
        """An answer; it reads columns and links that an index lacks for it."""
        supplied: list[tuple[Replica, MissingColumns]] = []
        try:
            while True:
                try:
                    return answer()
                except MissingColumns as missing:
                    supplied.append(((self._supply(missing, send)), missing))
        finally:
            for replica, given in supplied:
                replica.feed.supplied.pop((given.names, given.rows), None)

    def _supply(self, missing: MissingColumns, send: Send) -> Replica:
        """Read columns or links of memories for the feed of a replica; return the replica."""
        namespace = missing.namespace
        replica, large = self._replica(namespace), self._own.large.get(namespace)
        refreshes, pending = replica.refreshes, self._pending(namespace)
        chunks: list[feed.Chunk] = []
        if missing.links:
            rows = replica.index.table.rows
            ids = None if large is None else replica.index.ids_of(rows)
            [links] = send(select_links(namespace, ids))
        else:
            request, counter = replica.request(missing.names), replica.watermark.counter
            rows_asked = missing.rows if large is None else missing.rows or large.rows()
            parts = (
                [request.of(rows_asked)]
                if rows_asked is not None
                else [
                    request.between(after, min(after + _SUPPLIED_AT_ONCE, counter))
                    for after in range(0, counter, _SUPPLIED_AT_ONCE)
                ]
            )
            for part in parts:
                chunks.append(request.columns((send(*part)), replica.pending(pending)))
        with self._lock:
            if replica.refreshes == refreshes:  # else it may have rows now that were not read
                if missing.links:
                    replica.feed.stored_links = links
                else:
                    replica.feed.supplied[missing.names, missing.rows] = chunks
        return replica


def _question(op: operations.Collect) -> tuple[Any, ...]:
    """A key that tells a search from others."""
    return op.query.text, op.query.now, op.query.namespaces


def _is_indexed_column(name: str) -> bool:
    """True if an index holds a column of that name."""
    return (name in FIELDS and name not in _NOT_INDEXED) or name.startswith("metadata.")
