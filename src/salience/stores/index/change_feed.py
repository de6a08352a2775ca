"""Where an index gets its memories from, and what it is told of their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


@dataclass(frozen=True)
class Changes:
    """What happened in a namespace since `after`: rows by kind, and where the feed stands now."""

    seq: int
    added: Sequence[int] = ()
    removed: Sequence[int] = ()
    patched: Sequence[int] = ()
    linked: Sequence[int] = ()  # rows of memories whose links to others changed
    reload: bool = False
    until: int | None = None  # the last row that this is about, None where that is `seq`


class IndexVersion(NamedTuple):
    """`epoch` is another one whenever there is news that an index has not counted in itself.

    The accesses of this process are none; `seq` is where the feed stands, those included.
    """

    epoch: int
    seq: int


class ChangeFeed(Protocol):
    """Where an index gets its memories from; rows always ascend."""

    def changes(self, namespace: str, after: int) -> Changes:
        """What happened since `after`; 0 means from the beginning (then only `seq` counts)."""
        ...

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Chunks of the memories (those of `rows`, or all): `row` and the columns named.

        Names are fields, `metadata.<key>`, `sequence`, `features` (float32 bytes) and
        `terms.<field>` (uint64 bytes).
        """
        ...

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Chunks of (name, rows, float16 bytes), rows ascending for each name."""
        ...

    def embedder(self) -> str | None:
        """Identity of the embedder of the vectors, None where that is not known."""
        ...

    def links(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> Iterable[tuple[str, str, float]]:
        """Links, all or from and to some ids, as (source, target, created_at in seconds)."""
        ...
