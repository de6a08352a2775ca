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
    """The position of each row among ascending ones, -1 for those that are not there."""
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
    """Values read of some rows, by column; None where there is no such memory."""

    def __init__(
        self, rows: Rows, names: Sequence[str], read: Rows, cells: Sequence[Sequence[Any]]
    ) -> None:
        """`rows` (ascending) were asked for; `cells` came of those that were `read`."""
        self.rows = rows
        self.exists = np.zeros(len(rows), dtype=bool)
        at = np.searchsorted(rows, read)
        self.exists[at] = True
        if len(read) < len(rows) or (np.diff(at) < 0).any():
            in_order: list[Sequence[Any]] = [(None,) * len(names)] * len(rows)
            for place, cell in zip(at.tolist(), cells, strict=True):
                in_order[place] = cell
            cells = in_order
        columns = zip(*cells, strict=True) if len(cells) else ((),) * len(names)
        self.values: dict[str, Sequence[Any]] = dict(zip(names, columns, strict=True))
        self._columns: dict[str, Column] = {}

    def column(self, name: str) -> Column:
        """One value of all rows: numbers as float64, anything else as objects."""
        column = self._columns.get(name)
        if column is None:
            values = self.values[name]
            if name in _NUMERIC:
                column = np.array(values, dtype=np.float64)
            else:
                column = np.empty(len(values), dtype=object)
                column[:] = values
            self._columns[name] = column
        return column

    def values_of(self, row: int, names: Iterable[str]) -> dict[str, Any] | None:
        """Values of a row by name, None where there is no memory."""
        [at] = positions(self.rows, np.array([row])).tolist()
        if at < 0 or not self.exists[at]:
            return None
        return {name: self.values[name][at] for name in names}

    def update(self, row: int, changes: Mapping[str, Any]) -> None:
        """Replace values of a row."""
        [at] = positions(self.rows, np.array([row])).tolist()
        for name, value in changes.items():
            values = list(self.values[name])
            values[at] = value
            self.values[name] = values
            self._columns.pop(name, None)


@dataclass(eq=False)
class RowCache:
    """The blocks read so far, and vectors by name."""

    blocks: list[ColumnBlock] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=dict)
    _vectors: dict[str, list[tuple[Rows, NDArray[np.float32]]]] = field(default_factory=dict)

    def add(self, block: ColumnBlock) -> None:
        """Add a block that has a column of ids."""
        if not len(block.rows):
            return
        self.blocks.append(block)
        ids = zip(block.rows.tolist(), block.values["id"], strict=True)
        self.ids.update((row, id) for row, id in ids if id is not None)

    def missing(self, rows: Rows, names: Set[str]) -> Rows:
        """The rows, ascending, of which some of the named values were not read."""
        unread = distinct(rows)
        for block in self.blocks:
            if len(unread) and names <= block.values.keys():
                unread = unread[positions(block.rows, unread) < 0]
        return unread

    def exist(self, rows: Rows) -> NDArray[np.bool_]:
        """True for the rows, all of which were read, that have a memory."""
        exist = np.zeros(len(rows), dtype=bool)
        for block in self.blocks:
            at = positions(block.rows, rows)
            exist |= (at >= 0) & block.exists[at]
        return exist

    def columns(self, rows: Rows, names: Iterable[str]) -> dict[str, Column]:
        """Values of rows by name, as they were read last; None or NaN where there is no memory."""
        wanted = set(names)
        columns: dict[str, Column] = {}
        for block in self.blocks:
            shared = wanted & block.values.keys()
            at = positions(block.rows, rows) if shared else _NOWHERE
            here = at >= 0
            whole = bool(here.all())
            for name in shared if whole or here.any() else ():
                if whole:
                    columns[name] = block.column(name)[at]
                else:
                    columns.setdefault(name, _missing_column(name, len(rows)))
                    columns[name][here] = block.column(name)[at[here]]
        return {
            name: columns[name] if name in columns else _missing_column(name, len(rows))
            for name in wanted
        }

    def values(self, rows: Rows, names: Iterable[str]) -> list[dict[str, Any] | None]:
        """The values of each row by name, None where there is no memory."""
        by_row: list[dict[str, Any]] = [{} for _ in range(len(rows))]
        wanted = set(names)
        for block in self.blocks:
            shared = wanted & block.values.keys()
            for values, at in zip(by_row, positions(block.rows, rows).tolist(), strict=True):
                if at >= 0:
                    values.update((name, block.values[name][at]) for name in shared)
        exist = self.exist(rows).tolist()
        return [values if exists else None for values, exists in zip(by_row, exist, strict=True)]

    # Vectors

    def add_vectors(self, name: str, rows: Rows, vectors: NDArray[np.float32]) -> None:
        """Add vectors of rows; rows without one come with vectors of no dimensions."""
        order = np.argsort(rows)
        self._vectors.setdefault(name, []).append((rows[order], vectors[order]))

    def missing_vectors(self, name: str, rows: Rows) -> Rows:
        """The rows, ascending, whose vectors of a name were not read."""
        unread = distinct(rows)
        for among, _ in self._vectors.get(name, ()):
            unread = unread[positions(among, unread) < 0]
        return unread

    def vectors(self, name: str, rows: Rows) -> NDArray[np.float32]:
        """The vectors of rows, NaN where there is none: float32 of shape (rows, dimensions)."""
        parts = [
            (at, vectors)
            for among, vectors in self._vectors.get(name, ())
            if vectors.shape[1] and ((at := positions(among, rows)) >= 0).any()
        ]
        dimensions = max((vectors.shape[1] for _, vectors in parts), default=0)
        matrix = np.full((len(rows), dimensions), np.nan, dtype=np.float32)
        for at, vectors in parts:
            if vectors.shape[1] == dimensions:
                matrix[at >= 0] = vectors[at[at >= 0]]
        return matrix
