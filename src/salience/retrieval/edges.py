"""Links between rows as columns, where there are too many to be objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from salience.lazily import dataclass
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.operations import Edge


@dataclass(frozen=True, eq=False)
class Edges:
    """Links between rows, one array a column; iterating gives each as an `Edge`."""

    source: Rows
    target: Rows
    weight: Floats
    type: NDArray[np.object_]

    @classmethod
    def of(cls, edges: Sequence[Edge] | Edges) -> Edges:
        """The same links as columns."""
        if isinstance(edges, Edges):
            return edges
        source, target, weight, type = zip(*edges, strict=True) if edges else ((), (), (), ())
        return cls(
            np.array(source, dtype=np.int64),
            np.array(target, dtype=np.int64),
            np.array(weight, dtype=np.float64),
            np.array(type, dtype=object),
        )

    def __len__(self) -> int:
        return len(self.source)

    def __iter__(self) -> Iterator[Edge]:
        columns = (self.source, self.target, self.weight, self.type)
        return map(Edge, *(column.tolist() for column in columns))

    def take(self, index: NDArray[np.bool_]) -> Edges:
        """The links where a mask is True."""
        return Edges(self.source[index], self.target[index], self.weight[index], self.type[index])

    def joined(self, more: Edges) -> Edges:
        """These links and others."""
        return Edges(
            np.append(self.source, more.source),
            np.append(self.target, more.target),
            np.append(self.weight, more.weight),
            np.append(self.type, more.type),
        )

    def both_ways(self) -> tuple[Rows, Rows, Floats, NDArray[np.object_]]:
        """The start, end, weight and type of every link that joins two rows, in each direction.

        A link from a row to itself joins none.
        """
        joins = self.source != self.target
        source, target = self.source[joins], self.target[joins]
        doubled = (np.append(column[joins], column[joins]) for column in (self.weight, self.type))
        weight, type = doubled
        return np.append(source, target), np.append(target, source), weight, type
