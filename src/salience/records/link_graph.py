"""What the links of a namespace tell about each memory: in-degree, newest link, cut vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from salience.records.block_cut_tree import BlockCutTree

LinkTimes = Iterable[tuple[str, str, float]]
"""Links as (source, target, created_at in seconds)."""
_MOST_CHANGED = 0.1  # share of the memories beyond which links are read anew altogether


class LinkGraph:
    """The links between living memories, by id; a link from a memory to itself counts for nothing.

    A link to what is no memory (yet) counts from the time there is one. In-degrees and times are
    kept as links come and go; cut vertices are those of `BlockCutTree`.
    """

    def __init__(self, links: LinkTimes, living: Iterable[str]) -> None:
        self._living = set(living)
        self._out: dict[str, dict[str, float]] = {}  # by source: when each target was last linked
        self._in: dict[str, dict[str, float]] = {}
        self._came: set[str] = set()
        self._gone: set[str] = set()
        self._relinked: set[str] = set()
        self._blocks = BlockCutTree(self.neighbors)
        for source, target, at in links:
            if source != target and source in self._living and target in self._living:
                known = self._out.get(source, {}).get(target, at)
                self._set(source, target, max(at, known))
        self._blocks.disconnect(self._out)  # works out everything when first asked

    # Keeping current

    def removed(self, ids: Iterable[str]) -> None:
        """Memories are gone, or about to come again under their ids."""
        for id in ids:
            (self._came.discard if id in self._came else self._gone.add)(id)

    def added(self, ids: Iterable[str]) -> None:
        """There are new memories."""
        for id in ids:
            if id in self._gone:  # an edit keeps its links, an erasure did not
                self._gone.discard(id)
                self._relinked.add(id)
            else:
                self._came.add(id)

    def relinked(self, ids: Iterable[str]) -> None:
        """Links from these memories were made, changed or removed."""
        self._relinked.update(ids)

    @property
    def outdated(self) -> bool:
        """Whether so much has changed that building it anew is less work."""
        changed = len(self._came) + len(self._gone) + len(self._relinked)
        return changed > max(1000, len(self._living) * _MOST_CHANGED)

    def settle(self, read: Callable[[Sequence[str]], LinkTimes]) -> None:
        """Take in what has changed; `read` gives the links from and to some memories."""
        for id in self._gone:
            self._drop(id)
        asked = self._came | (self._relinked - self._gone)
        self._living |= self._came
        self._came, self._gone, self._relinked = set(), set(), set()
        if not asked:
            return
        now: dict[tuple[str, str], float] = {}
        for source, target, at in read(sorted(asked)):
            if source != target and source in self._living and target in self._living:
                now[source, target] = max(at, now.get((source, target), at))
        for id in sorted(asked):
            known = [(id, target) for target in self._out.get(id, ())]
            known += [(source, id) for source in self._in.get(id, ())]
            for source, target in known:
                if (source, target) not in now:
                    del self._out[source][target], self._in[target][source]
                    if source not in self._out.get(target, ()):
                        self._blocks.disconnect((source, target))
        for (source, target), at in sorted(now.items()):
            if self._set(source, target, at):
                self._blocks.connect(source, target)

    def _set(self, source: str, target: str, at: float) -> bool:
        """Put in a link; whether its two ends were not linked before."""
        targets = self._out.setdefault(source, {})
        fresh = target not in targets and source not in self._out.get(target, ())
        targets[target] = at
        self._in.setdefault(target, {})[source] = at
        return fresh

    def _drop(self, id: str) -> None:
        self._living.discard(id)
        near = list(self.neighbors(id))
        for target in self._out.pop(id, {}):
            del self._in[target][id]
        for source in self._in.pop(id, {}):
            del self._out[source][id]
        if near:
            self._blocks.disconnect((id, *near))

    # Looking up

    def neighbors(self, id: str) -> Iterator[str]:
        """The memories that one links to or that link to it; twice where both do."""
        return chain(self._out.get(id, ()), self._in.get(id, ()))

    @property
    def cuts(self) -> frozenset[str]:
        """The memories whose removal would part the graph that they hold together."""
        return self._blocks.cuts

    def column(self, name: str, ids: Sequence[str]) -> NDArray[np.float64]:
        """One of `fields.GRAPH` for some memories, or `linked`, 1 for one with any link."""
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
        """Memory held, roughly."""
        links = sum(map(len, self._out.values()))
        return self._blocks.nbytes + 100 * len(self._living) + 600 * len(self._out) + 200 * links
