"""Records: the durable side of an embedded store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from salience.records.events import Event
from salience.records.filters import Filter
from salience.records.record import Link, MemoryRecord
from salience.retrieval import operations
from salience.stores.index.change_feed import ChangeFeed, IndexVersion


class RecordStore(ChangeFeed, Protocol):
    """The durable side of an embedded store."""

    def version(self) -> IndexVersion:
        """What an index that is current has taken in, whichever process has written it."""
        ...

    def put(self, op: operations.Put) -> tuple[str, ...]:
        """Write all in one transaction, or nothing and the ids that stand in the way.

        A link replaces the one between the same two of the same type.

        Raises:
            EmbedderMismatch: the stored vectors come from another embedder.
            InvalidInput: a vector is not as long as the namespace's others of its name.
        """
        ...

    def dimensions(self, namespace: str, names: Iterable[str]) -> dict[str, int]:
        """The length of the vectors of these names, of those that there are."""
        ...

    def log(self, namespace: str, events: Sequence[Event]) -> tuple[str, ...]:
        """Append events and apply them in one transaction, or nothing and the ids not there."""
        ...

    def events(self, op: operations.Events) -> list[Event]:
        """The log, oldest first."""
        ...

    def former_vectors(self, namespace: str) -> list[tuple[int, str, bytes]]:
        """What edits replaced: (the edit's place in the log, name, float16 bytes)."""
        ...

    def mend(self, namespace: str, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Set patchable fields by id (as records have them) without an event."""
        ...

    def touch(self, op: operations.Touch) -> bool:
        """Count a use of each row; may be written later. False where none is ever kept."""
        ...

    def delete(
        self,
        namespace: str,
        *,
        rows: Sequence[int] | None = None,
        ids: Sequence[str] | None = None,
        where: Filter | None = None,
    ) -> int:
        """Erase memories by row or id (else all), their vectors and links; how many there were.

        Those that do not pass the filter by then stay.
        """
        ...

    def same(self, namespace: str, keys: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Rows outside of any session by `text.text_key`."""
        ...

    def order(self, namespace: str) -> list[int]:
        """Rows in the order in which their memories were first written."""
        ...

    def find(self, namespace: str, ids: Sequence[str]) -> dict[str, int]:
        """Rows by id."""
        ...

    def read(self, rows: Sequence[int]) -> dict[int, MemoryRecord]:
        """Records by row."""
        ...

    def neighbors(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories."""
        ...

    def notes(self, namespace: str) -> dict[str, str]:
        """What is noted of a namespace."""
        ...

    def note(self, op: operations.Note) -> bool:
        """Note something, unless what is noted is not what it was; whether it was done."""
        ...

    def unembedded(self, namespace: str, name: str, limit: int) -> list[int]:
        """Rows without a vector of that name, ascending."""
        ...

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[int, bytes]) -> None:
        """Give rows a vector; indexes are loaded anew."""
        ...

    def adopt_vectors(self, source: str, target: str, embedder: str) -> bool:
        """Rename vectors once all memories have them; indexes are loaded anew."""
        ...

    def namespaces(self) -> dict[str, int]:
        """Every namespace with how many memories it has."""
        ...

    def stats(self) -> dict[str, Any]:
        """Figures about the whole store."""
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
