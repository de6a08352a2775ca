"""Records: the durable side of an embedded store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from salience.records.access_key import AccessKey
from salience.records.events import Event
from salience.records.filters import Filter
from salience.records.record import Link, MemoryRecord
from salience.retrieval import operations
from salience.retrieval.erasure import Erasure
from salience.retrieval.operations import HashColumn
from salience.retrieval.safety import Backup, Finding
from salience.retrieval.vector_sets import VectorSetsFigures
from salience.stores.index.change_feed import ChangeFeed, IndexVersion
from salience.stores.index.edge_table import StoredEdge


class RecordStore(ChangeFeed, Protocol):
    """The durable side of an embedded store."""

    def version(self) -> IndexVersion:
        """The state that a current index has, whichever process has written it."""
        ...

    def put(self, op: operations.Put) -> tuple[str, ...]:
        """Write everything in one transaction; or nothing, and return the conflicting ids.

        A link replaces the one between the same two of the same type.

        Raises:
            EmbedderMismatch: the stored vectors come from another embedder.
            InvalidInput: a vector is not as long as the namespace's others of its name.
        """
        ...

    def dimensions(self, namespace: str, names: Iterable[str]) -> dict[str, int]:
        """The length of the vectors of these names, of those that there are."""
        ...

    def log(self, op: operations.Log) -> tuple[str, ...]:
        """Append events and apply them in one transaction; or return the ids in the way."""
        ...

    def events(self, op: operations.Events) -> list[Event]:
        """The log, oldest first."""
        ...

    def former_vectors(self, namespace: str) -> list[tuple[int, str, bytes]]:
        """Vectors that edits replaced, as (the edit's place in the log, name, float16 bytes)."""
        ...

    def set_fields(self, namespace: str, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Set patchable fields by id (as records have them) without an event."""
        ...

    def touch(self, op: operations.Touch) -> bool:
        """Count a use of each row, maybe written later; return False if the store keeps none."""
        ...

    def delete(
        self,
        namespace: str,
        *,
        rows: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        where: Filter | None = None,
        user_id: str | None = None,
    ) -> Erasure:
        """Erase memories by row or id (else all) with all they have, counted before and after.

        Those that do not pass the filter by then stay. The name of a user is taken out of the
        events of other memories, too.

        Raises:
            StoreError: something was left, so that this was undone.
        """
        ...

    def rewrite(self) -> str:
        """Write everything anew, so that no trace of what was erased is left; say what was done."""
        ...

    def refuse_damage(self, problem: Exception) -> None:
        """Raise a `StoreError` if something is damaged, as the problem may come from that."""
        ...

    def rows_by_key(
        self, namespace: str, column: HashColumn, keys: Sequence[int]
    ) -> dict[int, tuple[int, ...]]:
        """Rows by a hash of their text, outside of any session, or of the attribute they state."""
        ...

    def rows_in_write_order(self, namespace: str) -> list[int]:
        """Rows in the order in which their memories were first written."""
        ...

    def page(
        self, namespace: str, order: operations.Order, after: operations.Place | None, limit: int
    ) -> list[tuple[MemoryRecord, operations.Place]]:
        """The first memories after a place, in an order, as they all are at one time."""
        ...

    def count(self, namespace: str) -> int:
        """The number of memories."""
        ...

    def rows_by_id(self, namespace: str, ids: Sequence[str]) -> dict[str, int]:
        """Rows by id."""
        ...

    def read(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Records by row."""
        ...

    def links_of(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories (all for None), by source, target and type."""
        ...

    def edges(self, namespace: str, ids: Sequence[str] | None = None) -> list[StoredEdge]:
        """Links as (source, target, weight, type), of the same memories in the same order."""
        ...

    def notes(self, namespace: str) -> dict[str, str]:
        """The notes of a namespace, by key."""
        ...

    def note(self, op: operations.Note) -> bool:
        """Set a note, if it is as it was; return whether it was."""
        ...

    def keys(self, ids: Sequence[str] | None) -> list[AccessKey]:
        """Access keys, all or of some ids, oldest first."""
        ...

    def put_key(self, key: AccessKey) -> bool:
        """Write a new access key or the next version of one; return whether it was written."""
        ...

    def use_key(self, op: operations.UseKey) -> None:
        """Note the last use of an access key, if the store can be written."""
        ...

    def vector_names(self, namespace: str) -> frozenset[str] | None:
        """The names of the vectors of a namespace that are searched; None without memories."""
        ...

    def unembedded(self, namespace: str, name: str, limit: int, beside: bool) -> list[int]:
        """Rows without a vector of that name, searched or of the set beside, ascending."""
        ...

    def put_vectors(
        self,
        namespace: str,
        name: str,
        vectors: Mapping[int, bytes],
        embedder: str | None,
        beside: bool,
    ) -> None:
        """Give rows a vector of an embedder; indexes load everything anew, unless it is beside.

        Raises:
            StoreError: the set beside is another embedder's.
        """
        ...

    def vector_sets(self) -> VectorSetsFigures:
        """The sets of vectors, and how far the one beside is."""
        ...

    def cut_over(self, embedder: str) -> bool:
        """Search the set beside if all memories have its vectors; return whether they do.

        Indexes load anew.
        """
        ...

    def preview(self) -> RecordStore:
        """The same records, read as if the set beside were searched."""
        ...

    def drop_vectors(self) -> None:
        """Erase the set of vectors beside."""
        ...

    def namespaces(self) -> dict[str, int]:
        """The number of memories of each namespace."""
        ...

    def stats(self, namespaces: Sequence[str]) -> dict[str, Any]:
        """The number of links in namespaces; for (), of all, and figures about the whole store."""
        ...

    def back_up(self, op: operations.BackUp) -> Backup:
        """Copy everything to a file, checked."""
        ...

    def check(self, op: operations.CheckStore) -> tuple[Finding, ...]:
        """Look for damage, and mend what can be."""
        ...

    def embedder(self) -> str | None:
        """Identity of the embedder of the stored vectors."""
        ...

    def flush(self) -> None:
        """Write what is queued."""
        ...

    def close(self) -> None:
        """Flush and release."""
        ...
