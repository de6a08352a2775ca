"""A replica: the index of a namespace in this process, and the watermark it has reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from salience.records.events import ACCESSES
from salience.stores.access_queue import Batch
from salience.stores.index.change_feed import Changes
from salience.stores.index.namespace_index import NamespaceIndex
from salience.stores.postgres.replica import feed
from salience.stores.postgres.replica.feed import ColumnRequest, ReplicaFeed, Watermark
from salience.stores.tables.commands import Statement

Pending = Callable[[str], Sequence[Batch]]
"""The accesses of a namespace that are not written yet."""


class NotReplicated(LookupError):
    """A namespace no longer has a replica: the server must answer."""


class Replica:
    """The index of one namespace, its feed, and the watermark up to which it is current."""

    def __init__(
        self,
        namespace: str,
        offset: int,
        columns: Sequence[str],
        watermark: Watermark,
        pending: Pending,
    ) -> None:
        """`offset` turns a row of the namespace into a row id."""
        self.feed = ReplicaFeed()
        self.index = NamespaceIndex(self.feed, namespace, columns)
        self.namespace = namespace
        self.watermark = watermark
        self.refreshes = 0
        self.offset = offset
        self._pending = pending

    @property
    def counts_accesses(self) -> bool:
        """True if the index has columns that accesses change."""
        return not set(self.index.table.patchable_columns).isdisjoint(ACCESSES)

    def request(self, names: Sequence[str]) -> ColumnRequest:
        """A request for columns of its memories."""
        return ColumnRequest(self.namespace, self.offset, names)

    def pending(self, before: Sequence[Batch]) -> dict[Batch, None]:
        """Accesses that were pending before something was read, and those pending now."""
        return dict.fromkeys((*before, *self._pending(self.namespace)))

    def add(
        self,
        request: ColumnRequest,
        answers: Sequence[Any],
        pending: Sequence[Batch],
        until: int,
        watermark: Watermark,
        **changes: Any,
    ) -> None:
        """Add the memories up to a row, and other changes, to the index."""
        *rows, vectors = answers
        fresh = self.feed.fresh = request.columns(rows, self.pending(pending))
        # Both as of the watermark up to which it was read: never one set as that of the other
        self.feed.fresh_vectors = feed.parse_vectors(vectors, self.offset, watermark.sets)
        self.feed.stored_embedder = watermark.searched_embedder
        self.refreshes += 1
        self.feed.current = Changes(
            self.refreshes, fresh["row"], until=self.offset + until, **changes
        )
        self.index.table.refresh()
        self.feed.release()


class Delta:
    """Everything newer than a replica: the statements that read it, and how it is applied."""

    def __init__(
        self, replica: Replica, since: Watermark, until: Watermark, pending: Sequence[Batch]
    ) -> None:
        self.replica = replica
        self._since = since
        self._until = until
        self._pending = pending
        self._fresh = replica.request(replica.index.table.loaded_columns)
        self._changed = replica.request(replica.index.table.patchable_columns)

    def statements(self) -> list[Statement]:
        """Read the erased rows, the changed and the new memories, and the new vectors."""
        name, since, until = self.replica.namespace, self._since, self._until
        return [
            feed.select_changes(name, since, until),
            *self._changed.changed(since, self.replica.counts_accesses),
            *self._fresh.between(since.counter, until.counter),
            feed.select_vectors(name, since.counter, until.counter, until.sets),
        ]

    def is_stale(self) -> bool:
        """True if the replica has moved on, or has another column, since this was made."""
        table = self.replica.index.table
        columns = (self._fresh.names, self._changed.names)
        return self.replica.watermark is not self._since or columns != (
            table.loaded_columns,
            table.patchable_columns,
        )

    def apply(self, answers: Sequence[Any]) -> None:
        """Add the answers to the statements to the index.

        Raises:
            MissingColumns: so much was erased that the index has to be read again.
        """
        replica = self.replica
        changes, clock, rows, *fresh = answers
        pending = replica.pending(self._pending)
        changed = replica.feed.changed = self._changed.columns((clock, rows), pending)
        removed, linked = (
            [row + replica.offset for row, kind in changes if kind == of]
            for of in ("removed", "linked")
        )
        if changes:
            replica.feed.stored_links = None
        replica.add(
            self._fresh,
            fresh,
            self._pending,
            self._until.counter,
            self._until,
            removed=removed,
            linked=linked,
            patched=changed["row"],
        )
        replica.watermark = self._until
