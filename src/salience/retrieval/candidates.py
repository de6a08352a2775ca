"""Candidates: the working table of one search, one array per column."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Column = NDArray[Any]  # float64 (NaN = not there) or object (None = not there)
ValueLookup = Callable[[Iterable[str]], Sequence[int]]
"""From folded names to the places of the values that are, or hold, one of them."""


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column of objects as places in a list of distinct values; -1 or `none` for None.

    A table over a whole namespace may have a text column without making an object per row. `naming`
    gives the places of the values that are, or hold, one of some folded names.
    """

    codes: NDArray[Any]
    distinct: Sequence[Any]
    naming: ValueLookup | None = None
    none: int = -1

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Any:
        """One value for a place, a column for an index or mask array or a slice."""
        codes = self.codes[index]
        if isinstance(codes, np.ndarray):
            return CategoricalColumn(codes, self.distinct, self.naming, self.none)
        return None if codes < 0 else self.distinct[codes]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Column:
        found = np.empty(len(self.codes), dtype=object)
        found[:] = self.tolist()
        return found

    def tolist(self) -> list[Any]:
        """The values."""
        distinct = self.distinct
        return [None if code < 0 else distinct[code] for code in self.codes.tolist()]

    def without(self, gone: NDArray[np.bool_]) -> CategoricalColumn:
        """The same with None where `gone`."""
        return replace(self, codes=np.where(gone, -1, self.codes))


def equality_key(value: Any) -> Hashable:
    """What two equal values share and two different ones do not (True is not 1)."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return value
    return json.dumps(value, sort_keys=True), "json"


@dataclass(frozen=True, eq=False)
class LazyRanks:
    """The ranks (from 1) that scores give, by score descending, then name; NaN where there is none.

    They are worked out for the places that are asked for, not for all that were scored. `names`
    are those of `Candidates.tie_keys`.
    """

    scores: Floats
    names: Callable[[NDArray[Any]], Sequence[Any]]
    places: NDArray[Any]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        """One rank for a place, a column for an index or mask array or a slice."""
        places = self.places[index]
        if isinstance(places, np.ndarray):
            return LazyRanks(self.scores, self.names, places)
        return LazyRanks(self.scores, self.names, np.array([places])).tolist()[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        held = np.flatnonzero(~np.isnan(self.scores))
        if len(self.places) > _SINGLE_RANKS:
            order = best_first(self.scores[held], lambda at: self.names(held[at]))
            ranks = np.full(len(self.scores), np.nan)
            ranks[held[order]] = np.arange(1, len(order) + 1)
            return ranks[self.places]
        return np.array([self._rank(place) for place in self.places.tolist()], dtype=np.float64)

    def _rank(self, place: int) -> float:
        score = self.scores[place]
        if np.isnan(score):
            return np.nan
        rank = 1 + np.count_nonzero(self.scores > score)
        equal = np.flatnonzero(self.scores == score)
        if len(equal) > 1:
            names, [mine] = self.names(equal), self.names(np.array([place]))
            own, at = mine or "", int(np.searchsorted(equal, place))
            rank += sum((name or "") < own for name in names)
            rank += names[:at].count(mine)  # of the same name the first in the table is first
        return float(rank)

    def tolist(self) -> list[float]:
        """The ranks."""
        found: list[float] = self.__array__().tolist()
        return found


_SINGLE_RANKS = 64  # ranks worked out one by one
ColumnData = Column | CategoricalColumn | LazyRanks
"""A column as a table holds it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """A table of candidate memories.

    `rows` (int64, unique) are the store's row numbers, the key that every operation takes; each
    column has `len(rows)` entries. NaN or None means "not there", never zero. A column may be held
    in a form that is cheaper where there are many rows; `table[name]` is an array in any case.
    `read` says how many memories the store read to find the rows, and of how many.
    """

    rows: Rows
    columns: Mapping[str, ColumnData] = field(default_factory=dict)
    read: tuple[int, int] | None = None

    @classmethod
    def empty(cls) -> Candidates:
        """A table without rows and columns."""
        return cls(np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Column:
        return np.asarray(self.columns[name])

    def floats(self, name: str) -> Floats:
        """A column as float64; None becomes NaN."""
        return np.asarray(self.columns[name], dtype=np.float64)

    def tie_keys(self, places: NDArray[Any]) -> list[Any]:
        """What equally good rows at some places are ordered by: id, then namespace if known."""
        ids: list[Any] = self.columns["id"][places].tolist()
        if "namespace" not in self.columns:
            return ids
        spaces = self.columns["namespace"][places].tolist()
        return [(id or "", space or "") for id, space in zip(ids, spaces, strict=True)]

    def sessions(self) -> list[Any]:
        """What is the same for rows of one session, None for those of none."""
        sessions = self["session_id"].tolist()
        if "namespace" not in self.columns:
            return sessions
        both = zip(sessions, self["namespace"].tolist(), strict=True)
        return [None if session is None else (space, session) for session, space in both]

    def take(self, index: NDArray[Any]) -> Candidates:
        """The rows chosen by an index or mask array, in its order."""
        return Candidates(self.rows[index], {n: c[index] for n, c in self.columns.items()})

    def with_columns(self, **columns: ColumnData) -> Candidates:
        """The same rows with columns added or replaced; names with dots go in as `**{...}`."""
        return Candidates(self.rows, {**self.columns, **columns})

    def joined(self, other: Candidates) -> Candidates:
        """These rows and then those of another table; NaN or None for a column that it lacks."""
        columns = {
            name: np.concatenate([self[name], other[name]])
            if name in other.columns
            else np.concatenate([self[name], _missing(self[name], len(other))])
            for name in self.columns
        }
        return Candidates(np.concatenate([self.rows, other.rows]), columns)

    def position(self, row: int) -> int | None:
        """Where a row stands in the table, or None."""
        found = np.flatnonzero(self.rows == row)
        return int(found[0]) if len(found) else None


def _missing(like: Column, size: int) -> Column:
    return np.full((size, *like.shape[1:]), None if like.dtype == object else np.nan, like.dtype)


def union(rankings: Sequence[Rows]) -> tuple[Rows, list[NDArray[np.intp]]]:
    """The distinct rows of several rankings, ascending, and where each ranking's rows went."""
    if not rankings:
        return np.empty(0, dtype=np.int64), []
    first, *others = rankings
    if all(np.array_equal(first, other) for other in others) and np.all(first[1:] > first[:-1]):
        return first, [np.arange(len(first))] * len(rankings)
    rows, where = np.unique(np.concatenate(rankings), return_inverse=True)
    ends = list(accumulate(map(len, rankings)))
    return rows, [where[start:end] for start, end in pairwise([0, *ends])]


def best_first(
    scores: Floats, names: Callable[[NDArray[np.intp]], Sequence[Any]], k: int | None = None
) -> NDArray[np.intp]:
    """The places of the `k` best (all for None): by score descending, then by name ascending.

    `names` gives the names at some places; it is asked only where scores are equal: ids, or ids
    with namespaces. (There is none for a memory that was erased since it was found; it comes
    first.)
    """
    wanted = len(scores) if k is None else min(k, len(scores))
    if not wanted:
        return np.empty(0, dtype=np.intp)
    if wanted * 8 < len(scores):
        least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
        top = np.flatnonzero(scores >= least)
        if wanted <= len(top) < len(scores):  # fewer where some are NaN
            return top[best_first(scores[top], lambda at: names(top[at]), wanted)]
    order = np.argsort(-scores)
    ranked = scores[order]
    if wanted < len(order):  # what equals the last one wanted may take its place
        end = np.count_nonzero(ranked >= ranked[wanted - 1])
        if end >= wanted:
            order, ranked = order[:end], ranked[:end]
    equal = ranked[1:] == ranked[:-1]
    if np.count_nonzero(equal):
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] = equal
        tied[:-1] |= equal
        run = order[tied]
        keys = zip((-ranked[tied]).tolist(), names(run), run.tolist(), strict=True)
        order[tied] = [place for _, _, place in sorted((s, name or "", at) for s, name, at in keys)]
    return order[:wanted]
