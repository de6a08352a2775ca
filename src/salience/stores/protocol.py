"""The protocol of a store: one method that answers a batch of operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from salience.retrieval.operations import Op


@runtime_checkable
class Store(Protocol):
    """Answers operations; the only part of salience, besides embedders, that does input and output.

    Every statement names its namespaces and never sees another. The answers of a batch are in its
    order. Errors are `StoreError` or, where a value is at fault, `InvalidInput`.
    """

    def batch(self, ops: Sequence[Op]) -> Sequence[Any]:
        """Answer every operation, in order."""
        ...

    def embedder(self) -> str | None:
        """The identity of the embedder that the stored vectors came from, None before any."""
        ...

    def flush(self) -> None:
        """Write the accesses that wait."""
        ...

    def close(self) -> None:
        """Flush and release everything; further calls raise `StoreClosed`."""
        ...


@runtime_checkable
class PreviewedStore(Protocol):
    """A store that can be searched as it would be after a cut-over to another embedder."""

    def preview(self) -> Store:
        """A store for reading that searches the vectors beside those searched here."""
        ...
