"""Candidates: the working table of one search, one array per column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Column = NDArray[Any]  # float64 (NaN = not there) or object (None = not there)


@dataclass(frozen=True, eq=False)
class Candidates:
    """A table of candidate memories.

    `rows` (int64, unique) are the store's row numbers, the key that every operation takes; each
    column has `len(rows)` entries. NaN or None means "not there", never zero.
    """

    rows: Rows
    columns: Mapping[str, Column] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Candidates:
        """A table without rows and columns."""
        return cls(np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def floats(self, name: str) -> Floats:
        """A column as float64; None becomes NaN."""
        return np.asarray(self.columns[name], dtype=np.float64)

    def take(self, index: NDArray[Any]) -> Candidates:
        """The rows chosen by an index or mask array, in its order."""
        return Candidates(self.rows[index], {n: c[index] for n, c in self.columns.items()})

    def with_columns(self, **columns: Column) -> Candidates:
        """The same rows with columns added or replaced; names with dots go in as `**{...}`."""
        return Candidates(self.rows, {**self.columns, **columns})

    def joined(self, other: Candidates) -> Candidates:
        """These rows and then those of another table; NaN or None for a column that it lacks."""
        columns = {
            name: np.concatenate([column, other.columns.get(name, _nothing(column, len(other)))])
            for name, column in self.columns.items()
        }
        return Candidates(np.concatenate([self.rows, other.rows]), columns)

    def position(self, row: int) -> int | None:
        """Where a row stands in the table, or None."""
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else None


def _nothing(like: Column, size: int) -> Column:
    return np.full((size, *like.shape[1:]), None if like.dtype == object else np.nan, like.dtype)


def union(rankings: Sequence[Rows]) -> tuple[Rows, list[NDArray[np.intp]]]:
    """The distinct rows of several rankings, ascending, and where each ranking's rows went."""
    if not rankings:
        return np.empty(0, dtype=np.int64), []
    rows, where = np.unique(np.concatenate(rankings), return_inverse=True)
    bounds = np.cumsum([len(ranking) for ranking in rankings])[:-1]
    return rows, np.split(where, bounds)


def best_first(
    scores: Floats, ids: Callable[[NDArray[np.intp]], Sequence[str]], k: int | None = None
) -> NDArray[np.intp]:
    """The places of the `k` best (all for None): by score descending, then by id ascending.

    `ids` gives the ids at some places; it is asked only where scores are equal. (There is none
    for a memory that was erased since it was found; it comes first.)
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    if k is not None and k < len(order):  # what equals the last one wanted may take its place
        end = k if ranked[k] != ranked[k - 1] else np.count_nonzero(ranked >= ranked[k - 1])
        order, ranked = order[:end], ranked[:end]
    equal = ranked[1:] == ranked[:-1]
    if equal.any():
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] = equal
        tied[:-1] |= equal
        run = order[tied]
        keys = zip((-ranked[tied]).tolist(), ids(run), run.tolist(), strict=True)
        order[tied] = [place for _, _, place in sorted((s, id or "", at) for s, id, at in keys)]
    return order[:k]
