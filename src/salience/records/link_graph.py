"""The graph of the links of a namespace: in-degrees, newest links and cut vertices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salience.records.block_cut_tree import BlockCutTree
from salience.records.record import OPPOSING_LINKS

LinkTimes = Iterable[tuple[str, str, str, float]]
"""Links as (source, target, type, created_at in seconds)."""
_MAX_CHANGED_SHARE = 0.1  # of the memories; beyond it all links are read again
_MAX_CHANGED_MEMORIES = 1000  # or this number of them, if it is more


class _Support(NamedTuple):
    """The links from one memory to another that support it: their number, and the newest's time.

    Where all of them oppose it, the number is 0 and the time NaN.
    """

    links: int
    newest: float

    def joined(self, other: _Support) -> _Support:
        return _Support(self.links + other.links, float(np.fmax(self.newest, other.newest)))


_OPPOSED = _Support(0, np.nan)


class LinkGraph:
    """The links between existing memories, by id; a link from a memory to itself is ignored.

    A link to an id that no memory has counts as soon as one has it. Links of `OPPOSING_LINKS` are
    links, but count neither for in-degrees and times nor for cut vertices; two types of link from
    one memory to another count as two. In-degrees and times are updated as links come and go; cut
    vertices are those of `BlockCutTree`.
    """

    def __init__(self, links: LinkTimes, existing: Iterable[str]) -> None:
        self._existing = set(existing)
        self._out: dict[str, dict[str, _Support]] = {}  # by source, then by target
        self._in: dict[str, dict[str, _Support]] = {}  # by target, then by source
        self._new: set[str] = set()
        self._removed: set[str] = set()
        self._relinked: set[str] = set()
        self._changed: dict[str, set[str]] = {}  # by column, of those that `changed` was asked of
        self._blocks = BlockCutTree(self.neighbors)
        for (source, target), support in self._supports(links).items():
            self._set(source, target, support)
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
        """Apply the changes noted; `read` returns the links from and to some memories.

        An error of it leaves them noted.
        """
        affected = self._new | (self._relinked - self._removed)
        stored = read(sorted(affected)) if affected else ()
        for id in self._removed:
            self._drop(id)
        self._existing |= self._new
        self._new, self._removed, self._relinked = set(), set(), set()
        if not affected:
            return
        current = self._supports(stored)
        for id in sorted(affected):
            links = [(id, target) for target in self._out.get(id, ())]
            links += [(source, id) for source in self._in.get(id, ())]
            for source, target in links:
                if (source, target) not in current:
                    was_connected = self._connected(source, target)
                    del self._out[source][target], self._in[target][source]
                    self._note((source, target))
                    if was_connected and not self._connected(source, target):
                        self._blocks.disconnect((source, target))
        for (source, target), support in sorted(current.items()):
            was_connected = self._connected(source, target)
            self._set(source, target, support)
            is_connected = self._connected(source, target)
            if is_connected and not was_connected:
                self._blocks.connect(source, target)
            elif was_connected and not is_connected:
                self._blocks.disconnect((source, target))

    def _supports(self, links: LinkTimes) -> dict[tuple[str, str], _Support]:
        """The links between existing memories by their ends."""
        supports: dict[tuple[str, str], _Support] = {}
        for source, target, type, at in links:
            if source != target and source in self._existing and target in self._existing:
                support = _OPPOSED if type in OPPOSING_LINKS else _Support(1, at)
                before = supports.get((source, target))
                supports[source, target] = support if before is None else before.joined(support)
        return supports

    def _set(self, source: str, target: str, support: _Support) -> None:
        self._out.setdefault(source, {})[target] = support
        self._in.setdefault(target, {})[source] = support
        self._note((source, target))

    def _note(self, ids: Collection[str]) -> None:
        for changed in self._changed.values():
            changed.update(ids)

    def _connected(self, one: str, other: str) -> bool:
        """Test whether one of two memories supports the other."""
        there = self._out.get(one, {}).get(other, _OPPOSED)
        back = self._out.get(other, {}).get(one, _OPPOSED)
        return there.links + back.links > 0

    def _drop(self, id: str) -> None:
        self._existing.discard(id)
        near = list(self.neighbors(id))
        targets, sources = self._out.pop(id, {}), self._in.pop(id, {})
        for target in targets:
            del self._in[target][id]
        for source in sources:
            del self._out[source][id]
        self._note((id, *targets, *sources))
        if near:
            self._blocks.disconnect((id, *near))

    # Looking up

    def neighbors(self, id: str) -> Iterator[str]:
        """The memories that one supports or that support it; twice if both is true."""
        supports = chain(self._out.get(id, {}).items(), self._in.get(id, {}).items())
        return (other for other, support in supports if support.links)

    def changed(self, name: str) -> set[str]:
        """The memories whose values in a column may have changed since the last call for it.

        The first call gives none; what counts by then is what there is by then.
        """
        if name == "is_cut_vertex":
            return self._blocks.changed()
        changed = self._changed.get(name, set())
        self._changed[name] = set()
        return changed

    def column(self, name: str, ids: Sequence[str]) -> NDArray[np.float64]:
        """A column of `fields.GRAPH` for some memories, or `linked`: 1 for those with any link."""
        if not self._in:
            return np.full(len(ids), np.nan if name == "newest_link" else 0.0)
        if name == "is_cut_vertex":
            return np.fromiter(map(self._blocks.is_cut, ids), np.float64, len(ids))
        if name == "linked":
            linked = (bool(self._out.get(id) or self._in.get(id)) for id in ids)
            return np.fromiter(linked, np.float64, len(ids))
        values = np.full(len(ids), 0.0 if name == "in_degree" else np.nan)
        for place in [place for place, id in enumerate(ids) if id in self._in]:  # few have any
            supports = self._in[ids[place]].values()
            if name == "in_degree":
                values[place] = sum(support.links for support in supports)
            else:
                values[place] = max((s.newest for s in supports if s.links), default=np.nan)
        return values

    @property
    def nbytes(self) -> int:
        """Memory used, roughly, in bytes."""
        links = sum(map(len, self._out.values()))
        return self._blocks.nbytes + 100 * len(self._existing) + 600 * len(self._out) + 280 * links
