"""The graph of the links of a namespace: in-degrees, newest links and cut vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from salience.records.block_cut_tree import BlockCutTree

LinkTimes = Iterable[tuple[str, str, float]]
"""Links as (source, target, created_at in seconds)."""
_MAX_CHANGED_SHARE = 0.1  # of the memories; beyond it all links are read again
_MAX_CHANGED_MEMORIES = 1000  # or this number of them, if it is more


class LinkGraph:
    """The links between existing memories, by id; a link from a memory to itself is ignored.

    A link to an id that no memory has counts as soon as one has it. In-degrees and times are
    updated as links come and go; cut vertices are those of `BlockCutTree`.
    """

    def __init__(self, links: LinkTimes, existing: Iterable[str]) -> None:
        self._existing = set(existing)
        self._out: dict[str, dict[str, float]] = {}  # by source: when each target was last linked
        self._in: dict[str, dict[str, float]] = {}
        self._new: set[str] = set()
        self._removed: set[str] = set()
        self._relinked: set[str] = set()
        self._blocks = BlockCutTree(self.neighbors)
        for source, target, at in links:
            if source != target and source in self._existing and target in self._existing:
                newest = self._out.get(source, {}).get(target, at)
                self._set(source, target, max(at, newest))
        self._blocks.disconnect(self._out)  # everything is computed when first needed

    # Keeping current

    def removed(self, ids: Iterable[str]) -> None:
        """Note that memories were removed, or are about to be replaced under their ids."""
        for id in ids:
            (self._new.discard if id in self._new else self._removed.add)(id)

    def added(self, ids: Iterable[str]) -> None:
        """Note new memories."""
        for id in ids:
            if id in self._removed:  # an edit keeps its links, an erasure did not
                self._removed.discard(id)
                self._relinked.add(id)
            else:
                self._new.add(id)

    def relinked(self, ids: Iterable[str]) -> None:
        """Note that links from these memories were made, changed or removed."""
        self._relinked.update(ids)

    @property
    def outdated(self) -> bool:
        """True if so much has changed that building it again is less work."""
        changed = len(self._new) + len(self._removed) + len(self._relinked)
        return changed > max(_MAX_CHANGED_MEMORIES, len(self._existing) * _MAX_CHANGED_SHARE)

    def settle(self, read: Callable[[Sequence[str]], LinkTimes]) -> None:
        """Apply the changes noted; `read` returns the links from and to some memories."""
        for id in self._removed:
            self._drop(id)
        affected = self._new | (self._relinked - self._removed)
        self._existing |= self._new
        self._new, self._removed, self._relinked = set(), set(), set()
        if not affected:
            return
        current: dict[tuple[str, str], float] = {}
        for source, target, at in read(sorted(affected)):
            if source != target and source in self._existing and target in self._existing:
                current[source, target] = max(at, current.get((source, target), at))
        for id in sorted(affected):
            links = [(id, target) for target in self._out.get(id, ())]
            links += [(source, id) for source in self._in.get(id, ())]
            for source, target in links:
                if (source, target) not in current:
                    del self._out[source][target], self._in[target][source]
                    if source not in self._out.get(target, ()):
                        self._blocks.disconnect((source, target))
        for (source, target), at in sorted(current.items()):
            if self._set(source, target, at):
                self._blocks.connect(source, target)

    def _set(self, source: str, target: str, at: float) -> bool:
        """Set a link; True if its two ends were not linked before."""
        targets = self._out.setdefault(source, {})
        is_new = target not in targets and source not in self._out.get(target, ())
        targets[target] = at
        self._in.setdefault(target, {})[source] = at
        return is_new

    def _drop(self, id: str) -> None:
        self._existing.discard(id)
        near = list(self.neighbors(id))
        for target in self._out.pop(id, {}):
            del self._in[target][id]
        for source in self._in.pop(id, {}):
            del self._out[source][id]
        if near:
            self._blocks.disconnect((id, *near))

    # Looking up

    def neighbors(self, id: str) -> Iterator[str]:
        """The memories that one links to or that link to it; twice if both is true."""
        return chain(self._out.get(id, ()), self._in.get(id, ()))

    @property
    def cuts(self) -> frozenset[str]:
        """The cut vertices: memories without which a component would fall apart."""
        return self._blocks.cuts

    def column(self, name: str, ids: Sequence[str]) -> NDArray[np.float64]:
        """A column of `fields.GRAPH` for some memories, or `linked`: 1 for those with any link."""
        if name == "linked":
            return np.array([id in self._out or id in self._in for id in ids], dtype=np.float64)
        if name == "in_degree":
            return np.array([len(self._in.get(id, ())) for id in ids], dtype=np.float64)
        if name == "is_cut_vertex":
            return np.array([self._blocks.is_cut(id) for id in ids], dtype=np.float64)
        newest = [max(self._in.get(id, {}).values(), default=np.nan) for id in ids]
        return np.array(newest, dtype=np.float64)

    @property
    def nbytes(self) -> int:
        """Memory used, roughly, in bytes."""
        links = sum(map(len, self._out.values()))
        return self._blocks.nbytes + 100 * len(self._existing) + 600 * len(self._out) + 200 * links
