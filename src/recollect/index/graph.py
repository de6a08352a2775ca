"""What the links of a namespace tell about each memory: in-degree, newest link, cut vertices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recollect.candidates import Floats


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """The links between living memories, by id; a link from a memory to itself counts for nothing.

    `in_degree` counts the memories that link to one, `newest` is when the last of them did.
    """

    in_degree: Mapping[str, int]
    newest: Mapping[str, float]
    neighbors: Mapping[str, Set[str]]

    @classmethod
    def of(cls, links: Iterable[tuple[str, str, float]], living: Set[str]) -> LinkGraph:
        """From (source, target, created_at) triples, without those that lead to nothing."""
        sources: dict[str, set[str]] = {}
        newest: dict[str, float] = {}
        neighbors: dict[str, set[str]] = {}
        for source, target, at in links:
            if source == target or source not in living or target not in living:
                continue
            sources.setdefault(target, set()).add(source)
            newest[target] = max(at, newest.get(target, at))
            neighbors.setdefault(source, set()).add(target)
            neighbors.setdefault(target, set()).add(source)
        return cls({id: len(found) for id, found in sources.items()}, newest, neighbors)

    @cached_property
    def cuts(self) -> frozenset[str]:
        """The memories whose removal would part the graph that they hold together."""
        return articulation_points(self.neighbors)

    def column(self, name: str, ids: Sequence[str]) -> Floats:
        """One of `fields.GRAPH` for some memories."""
        if name == "newest_link":
            return np.array([self.newest.get(id, np.nan) for id in ids], dtype=np.float64)
        told: Mapping[str, float] = self.in_degree if name == "in_degree" else self._cut
        return np.array([told.get(id, 0.0) for id in ids], dtype=np.float64)

    @cached_property
    def _cut(self) -> dict[str, float]:
        return dict.fromkeys(self.cuts, 1.0)


def articulation_points(neighbors: Mapping[str, Set[str]]) -> frozenset[str]:
    """The vertices without which an undirected graph has more components than with them.

    Depth first without recursion, so that a chain of any length is no trouble; in O(V + E).

    Source: Hopcroft and Tarjan, Algorithm 447: efficient algorithms for graph manipulation, 1973.
    """
    found: set[str] = set()
    entered: dict[str, int] = {}
    low: dict[str, int] = {}  # the earliest vertex reached from below by one link back
    for root in neighbors:
        if root in entered:
            continue
        entered[root] = low[root] = len(entered)
        branches = 0
        path = [(root, iter(neighbors[root]))]
        while path:
            vertex, rest = path[-1]
            parent = path[-2][0] if len(path) > 1 else None
            for other in rest:
                if other not in entered:
                    entered[other] = low[other] = len(entered)
                    path.append((other, iter(neighbors[other])))
                    break
                if other != parent:
                    low[vertex] = min(low[vertex], entered[other])
            else:
                path.pop()
                if parent == root:
                    branches += 1
                elif parent is not None and low[vertex] >= entered[parent]:
                    found.add(parent)
                if parent is not None:
                    low[parent] = min(low[parent], low[vertex])
        if branches > 1:
            found.add(root)
    return frozenset(found)
