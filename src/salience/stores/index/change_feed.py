"""The feed that an index is built from: memories, and their changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from salience.lazily import dataclass
from salience.records.link_graph import LinkTimes


@dataclass(frozen=True)
class Changes:
    """The changes of a namespace since `after`: rows by kind, and the change the feed is at."""

    seq: int
    added: Sequence[int] = ()
    removed: Sequence[int] = ()
    patched: Sequence[int] = ()
    linked: Sequence[int] = ()  # rows of memories whose links to others changed
    reload: bool = False
    until: int | None = None  # the last row that these cover, None where that is `seq`


class IndexVersion(NamedTuple):
    """The state of the records that an index must follow.

    `epoch` changes with every change that an index must read. Accesses by this process are not
    among them, as the index counts them itself; `seq` is the change the feed is at, with them.
    """

    epoch: int
    seq: int


class ChangeFeed(Protocol):
    """Memories of a namespace and their changes; rows always ascend."""

    def changes(self, namespace: str, after: int) -> Changes:
        """The changes since `after`; with 0, only their `seq` is of use."""
        ...

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, Any]]:
        """Chunks of the memories (those of `rows`, or all): `row` and the columns named.

        Names are fields, `metadata.<key>`, `sequence`, `features` (float32 bytes) and
        `terms.<field>` (uint64 bytes). These columns leave out damaged memories; `damaged` has
        their rows, each with its id if ids are named.
        """
        ...

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes | None]]]:
        """Chunks of (name, rows, float16 bytes), rows ascending for each name; None for damage."""
        ...

    def embedder(self) -> str | None:
        """Identity of the embedder of the vectors, None if it is not known."""
        ...

    def links(self, namespace: str, ids: Sequence[str] | None = None) -> LinkTimes:
        """Links, all or from and to some ids."""
        ...
