"""Values and vectors of rows that a search has read, in blocks of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.records.fields import FIELDS
from salience.retrieval.candidates import Rows

Column = NDArray[Any]
_NUMERIC = frozenset(name for name, each in FIELDS.items() if each.type in ("number", "time"))

_NOWHERE: NDArray[np.intp] = np.empty(0, dtype=np.intp)


def positions(among: Rows, rows: Rows) -> NDArray[np.intp]:
    """Where rows stand among ascending ones, -1 for those that are not there."""
    if not len(among):
        return np.full(len(rows), -1)
    at = np.searchsorted(among, rows)
    at[at == len(among)] = 0
    return np.where(among[at] == rows, at, -1)


def distinct(rows: Rows) -> Rows:
    """Distinct rows in ascending order."""
    return rows if (rows[1:] > rows[:-1]).all() else np.unique(rows)


def _missing_column(name: str, size: int) -> Column:
    numeric = name in _NUMERIC
    return np.full(size, np.nan if numeric else None, dtype=float if numeric else object)


class ColumnBlock:
    """Values that were read of some rows, by name; None where there is no such memory."""

    def __init__(
        self, rows: Rows, names: Sequence[str], found: Rows, cells: Sequence[Sequence[Any]]
    ) -> None:
        """`rows` (ascending) were asked for, and of `found` these cells came."""
        self.rows = rows
        self.there = np.zeros(len(rows), dtype=bool)
        at = np.searchsorted(rows, found)
        self.there[at] = True
        if len(found) < len(rows) or (np.diff(at) < 0).any():
            every: list[Sequence[Any]] = [(None,) * len(names)] * len(rows)
            for place, cell in zip(at.tolist(), cells, strict=True):
                every[place] = cell
            cells = every
        columns = zip(*cells, strict=True) if len(cells) else ((),) * len(names)
        self.values: dict[str, Sequence[Any]] = dict(zip(names, columns, strict=True))
        self._columns: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        """One of the values of all rows: numbers as float64, anything else as objects."""
        known = self._columns.get(name)
        if known is None:
            values = self.values[name]
            if name in _NUMERIC:
                known = np.array(values, dtype=np.float64)
            else:
                known = np.empty(len(values), dtype=object)
                known[:] = values
            self._columns[name] = known
        return known

    def of(self, row: int, names: Iterable[str]) -> dict[str, Any] | None:
        """Values of a row, None where there is no memory."""
        [place] = positions(self.rows, np.array([row])).tolist()
        if place < 0 or not self.there[place]:
            return None
        return {name: self.values[name][place] for name in names}

    def change(self, row: int, changes: Mapping[str, Any]) -> None:
        """Let values of a row be others than were read."""
        [place] = positions(self.rows, np.array([row])).tolist()
        for name, value in changes.items():
            values = list(self.values[name])
            values[place] = value
            self.values[name] = values
            self._columns.pop(name, None)


@dataclass(eq=False)
class RowCache:
    """The blocks that were read so far, and vectors by name."""

    blocks: list[ColumnBlock] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    _vectors: dict[str, list[tuple[Rows, NDArray[np.float32]]]] = field(default_factory=dict)

    def take(self, block: ColumnBlock) -> None:
        """Take in a block, which has ids."""
        if not len(block.rows):
            return
        self.blocks.append(block)
        ids = zip(block.rows.tolist(), block.values["id"], strict=True)
        self.ids.update((row, id) for row, id in ids if id is not None)

    def missing(self, rows: Rows, wanted: Set[str]) -> Rows:
        """The rows, ascending, of which some of the wanted values were not read."""
        left = distinct(rows)
        for block in self.blocks:
            if len(left) and wanted <= block.values.keys():
                left = left[positions(block.rows, left) < 0]
        return left

    def there(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether rows, which were read, have a memory."""
        found = np.zeros(len(rows), dtype=bool)
        for block in self.blocks:
            at = positions(block.rows, rows)
            found |= (at >= 0) & block.there[at]
        return found

    def columns(self, rows: Rows, names: Iterable[str]) -> dict[str, Column]:
        """Values of rows, as they were read last; None or NaN where there is no memory."""
        wanted = set(names)
        found: dict[str, Column] = {}
        for block in self.blocks:
            shared = wanted & block.values.keys()
            at = positions(block.rows, rows) if shared else _NOWHERE
            here = at >= 0
            whole = bool(here.all())
            for name in shared if whole or here.any() else ():
                if whole:
                    found[name] = block.column(name)[at]
                else:
                    found.setdefault(name, _missing_column(name, len(rows)))
                    found[name][here] = block.column(name)[at[here]]
        return {
            name: found[name] if name in found else _missing_column(name, len(rows))
            for name in wanted
        }

    def records(self, rows: Rows, names: Iterable[str]) -> list[dict[str, Any] | None]:
        """The values of rows by name, None where there is no memory."""
        found: list[dict[str, Any]] = [{} for _ in range(len(rows))]
        wanted = set(names)
        for block in self.blocks:
            shared = wanted & block.values.keys()
            for kept, place in zip(found, positions(block.rows, rows).tolist(), strict=True):
                if place >= 0:
                    kept.update((name, block.values[name][place]) for name in shared)
        there = self.there(rows).tolist()
        return [kept if it else None for kept, it in zip(found, there, strict=True)]

    # Vectors

    def see_vectors(self, name: str, rows: Rows, vectors: NDArray[np.float32]) -> None:
        """Take in vectors of rows; those without one have a vector without dimensions."""
        order = np.argsort(rows)
        self._vectors.setdefault(name, []).append((rows[order], vectors[order]))

    def unvectored(self, name: str, rows: Rows) -> Rows:
        """The rows, ascending, whose vectors of a name were not asked for."""
        left = distinct(rows)
        for among, _ in self._vectors.get(name, ()):
            left = left[positions(among, left) < 0]
        return left

    def vectors(self, name: str, rows: Rows) -> NDArray[np.float32]:
        """The vectors of rows, NaN where there is none: float32 of shape (rows, dimensions)."""
        parts = [
            (at, vectors)
            for among, vectors in self._vectors.get(name, ())
            if vectors.shape[1] and ((at := positions(among, rows)) >= 0).any()
        ]
        wide = max((vectors.shape[1] for _, vectors in parts), default=0)
        found = np.full((len(rows), wide), np.nan, dtype=np.float32)
        for at, vectors in parts:
            if vectors.shape[1] == wide:
                found[at >= 0] = vectors[at[at >= 0]]
        return found
