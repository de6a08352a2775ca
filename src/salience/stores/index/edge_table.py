"""All links of a namespace as arrays, for searches that follow links of many memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.retrieval.candidates import Rows
from salience.retrieval.edges import Edges

StoredEdge = tuple[str, str, float, str]
"""A link as (source, target, weight, type)."""


class EdgeTable:
    """The links whose ends both exist, by ordinal."""

    def __init__(self, links: Sequence[StoredEdge], ordinal_of: Mapping[str, int]) -> None:
        """`ordinal_of` gives the ordinal of each memory by its id."""
        columns: Iterable[Any] = zip(*links, strict=True) if links else ((), (), (), ())
        sources, targets, weights, types = columns
        source, target = (
            np.fromiter((ordinal_of.get(id, -1) for id in ids), np.int64, len(ids))
            for ids in (sources, targets)
        )
        self._missing = {id for id in {*sources, *targets} if id not in ordinal_of}
        weight, type = np.array(weights, dtype=np.float64), np.array(types, dtype=object)
        self._edges = Edges(source, target, weight, type).take((source >= 0) & (target >= 0))
        self._counts = self._counted()

    def _counted(self) -> NDArray[np.intp]:
        """The number of links from and to each memory, up to the last one with a link."""
        return np.bincount(np.append(self._edges.source, self._edges.target))

    def count(self, ordinals: NDArray[np.int64]) -> int:
        """The number of links from and to some memories."""
        return int(self._counts[ordinals[ordinals < len(self._counts)]].sum())

    def lacks(self, ids: Iterable[str]) -> bool:
        """Test whether a link left out earlier has one of these ids as an end."""
        return not self._missing.isdisjoint(ids)

    def relink(
        self, ids: Sequence[str], links: Sequence[StoredEdge], ordinal_of: Mapping[str, int]
    ) -> None:
        """Replace the links from some memories; `links` are those from and to them."""
        changed = set(ids)
        fresh = EdgeTable([link for link in links if link[0] in changed], ordinal_of)
        sources = [ordinal_of[id] for id in ids if id in ordinal_of]
        others = self._edges.take(~np.isin(self._edges.source, sources))
        self._missing |= fresh._missing
        self._edges = others.joined(fresh._edges)
        self._counts = self._counted()

    def between(self, ordinals: NDArray[np.int64], passing: NDArray[np.bool_], rows: Rows) -> Edges:
        """The links from and to some memories where both ends pass, by the rows of both."""
        selected = np.zeros(len(passing), dtype=bool)
        selected[ordinals] = True
        source, target = self._edges.source, self._edges.target
        edges = self._edges.take(
            (selected[source] | selected[target]) & passing[source] & passing[target]
        )
        return Edges(rows[edges.source], rows[edges.target], edges.weight, edges.type)
