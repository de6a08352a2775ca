"""What an index is built from, out of records in this process's memory."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recollect.index.source import Changes
from recollect.memory import Link
from recollect.ops import STAGED
from recollect.stores import codec

_CHUNK = 65_536


class RamReader(ABC):
    """The side of `RamRecords` that indexes read."""

    _lock: threading.RLock
    _seq: int
    _memories: dict[str, dict[int, dict[str, Any]]]
    _vectors: dict[int, dict[str, bytes]]
    _changes: dict[str, list[tuple[int, str, int]]]
    _whole_since: int

    @abstractmethod
    def neighbors(self, namespace: str, ids: Sequence[str] | None) -> list[Link]:
        """Links from and to memories."""

    def changes(self, namespace: str, after: int) -> Changes:
        """What happened since `after`."""
        with self._lock:
            if after < self._whole_since:
                return Changes(self._seq, reload=True)
            if after == 0:
                return Changes(self._seq)
            fresh = [c for c in self._changes.get(namespace, []) if c[0] > after]
            memories = self._memories.get(namespace, {})
            added = []
            for row in reversed(memories):
                if row <= after:
                    break
                added.append(row)
            return Changes(
                self._seq,
                added[::-1],
                [row for _, kind, row in fresh if kind == "removed" and row <= after],
                sorted(
                    {r for _, kind, r in fresh if kind == "patched" and r <= after} & set(memories)
                ),
                sorted({r for _, kind, r in fresh if kind == "linked"}),
            )

    def load(
        self, namespace: str, names: tuple[str, ...], rows: Sequence[int] | None
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Chunks of memories as columns."""
        memories = self._memories.get(namespace, {})
        with self._lock:
            chosen = list(memories) if rows is None else rows
        for start in range(0, len(chosen), _CHUNK):
            part = chosen[start : start + _CHUNK]
            with self._lock:
                chunk = [memories[row] for row in part if row in memories]
                found = {
                    name: [codec.comparable(memory, name) for memory in chunk] for name in names
                }
            found["row"] = [memory["row"] for memory in chunk]
            if chunk:
                yield found

    def vectors(
        self, namespace: str, rows: Sequence[int] | None
    ) -> Iterator[tuple[str, list[int], list[bytes]]]:
        """Chunks of vectors, each name's with ascending rows."""
        memories = self._memories.get(namespace, {})
        by_name: dict[str, tuple[list[int], list[bytes]]] = {}
        with self._lock:
            for row in memories if rows is None else rows:
                for name, blob in self._vectors.get(row, {}).items():
                    if name.startswith(STAGED):
                        continue
                    owners, blobs = by_name.setdefault(name, ([], []))
                    owners.append(row)
                    blobs.append(blob)
        for name in sorted(by_name):
            yield name, *by_name[name]

    def links(
        self, namespace: str, ids: Sequence[str] | None = None
    ) -> list[tuple[str, str, float]]:
        """Links, all or from and to some ids, as (source, target, created_at in seconds)."""
        return [
            (link.source, link.target, codec.encode("created_at", link.created_at))
            for link in self.neighbors(namespace, ids)
        ]
