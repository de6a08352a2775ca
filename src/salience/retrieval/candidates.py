"""Candidates: the table of one search, one array per column."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Column = NDArray[Any]  # float64 (NaN = not there) or object (None = not there)
ValueLookup = Callable[[Iterable[str]], Sequence[int]]
"""From folded names to the places of the values that are, or hold, one of them."""


_NANS = np.broadcast_to(np.nan, (sys.maxsize // 8,))  # one number, shown many times


def unset_column(rows: int) -> Floats:
    """A column of numbers that no row has: one NaN, shown `rows` times; it cannot be written."""
    return _NANS[:rows]


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column of objects as places in a list of distinct values; -1 or `none` for None.

    A table over a whole namespace may have a text column without an object per row. `naming` gives
    the places of the values that are, or hold, one of some folded names.
    """

    codes: NDArray[Any]
    distinct: Sequence[Any]
    naming: ValueLookup | None = None
    none: int = -1

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_unset(self) -> bool:
        """True if None is the only value there is."""
        return self.none == 0 and len(self.distinct) == 1

    def __getitem__(self, index: Any) -> Any:
        """One value for a place, a column for an index or mask array or a slice."""
        codes = self.codes[index]
        if isinstance(codes, np.ndarray):
            return CategoricalColumn(codes, self.distinct, self.naming, self.none)
        return None if codes < 0 else self.distinct[codes]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Column:
        column = np.empty(len(self.codes), dtype=object)
        column[:] = self.tolist()
        return column

    def tolist(self) -> list[Any]:
        """The values."""
        distinct = self.distinct
        return [None if code < 0 else distinct[code] for code in self.codes.tolist()]

    def detached(self) -> CategoricalColumn:
        """The same column with the values of its own rows alone, in the same order."""
        if self.is_unset:
            return CategoricalColumn(self.codes, [None], none=0)
        present, codes = np.unique(self.codes, return_inverse=True)
        missing = int(np.count_nonzero(present < 0))  # they are the first
        distinct = [self.distinct[code] for code in present[missing:].tolist()]
        none = np.flatnonzero(present[missing:] == self.none).tolist()
        return CategoricalColumn(np.maximum(codes - missing, -1), distinct, none=[*none, -1][0])

    def without(self, gone: NDArray[np.bool_]) -> CategoricalColumn:
        """The same column with None where `gone`."""
        return replace(self, codes=np.where(gone, -1, self.codes))


def equality_key(value: Any) -> Hashable:
    """A key that equal values share and different values do not (True is not 1)."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return value
    return json.dumps(value, sort_keys=True), "json"


@dataclass(frozen=True, eq=False)
class LazyRanks:
    """The ranks (from 1) by score descending, then tie key ascending; NaN where there is no score.

    They are computed for the places that are read, not for all that were scored. `tie_keys` are
    those of `Candidates`.
    """

    scores: Floats
    tie_keys: Callable[[NDArray[Any]], Sequence[Any]]
    places: NDArray[Any]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: Any) -> Any:
        """One rank for a place, a column for an index or mask array or a slice."""
        places = self.places[index]
        if isinstance(places, np.ndarray):
            return LazyRanks(self.scores, self.tie_keys, places)
        return LazyRanks(self.scores, self.tie_keys, np.array([places])).tolist()[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        if len(self.places) > _SINGLE_RANKS:
            scored = np.flatnonzero(~np.isnan(self.scores))
            order = best_first(self.scores[scored], lambda at: self.tie_keys(scored[at]))
            ranks = np.full(len(self.scores), np.nan)
            ranks[scored[order]] = np.arange(1, len(order) + 1)
            return ranks[self.places]
        return np.array([self._rank(place) for place in self.places.tolist()], dtype=np.float64)

    def _rank(self, place: int) -> float:
        score = self.scores[place]
        if np.isnan(score):
            return np.nan
        rank = 1 + np.count_nonzero(self.scores > score)
        equal = np.flatnonzero(self.scores == score)
        if len(equal) > 1:
            keys, [own] = self.tie_keys(equal), self.tie_keys(np.array([place]))
            rank += sum((key or "") < (own or "") for key in keys)
            at = int(np.searchsorted(equal, place))
            rank += keys[:at].count(own)  # of the same key the first in the table is first
        return float(rank)

    def tolist(self) -> list[float]:
        """The ranks."""
        ranks: list[float] = self.__array__().tolist()
        return ranks


_SINGLE_RANKS = 64  # up to so many ranks are computed one by one
ColumnData = Column | CategoricalColumn | LazyRanks
"""A column as a table holds it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """A table of candidate memories.

    `rows` (int64, unique) are the store's row numbers, the key that every operation takes; each
    column has `len(rows)` entries. NaN or None means "not there", never zero. A column may be in a
    form that is cheaper where there are many rows; `table[name]` is an array in any case. `problem`
    says what the stage that left the table had to do without; `approximate` why the store may not
    have found all.
    """

    rows: Rows
    columns: Mapping[str, ColumnData] = field(default_factory=dict)
    problem: str | None = None
    approximate: str = ""

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

    def is_unset(self, name: str) -> bool:
        """Test whether a column is known to have no value in any row (see `unset_column`)."""
        return _is_unset(self.columns[name])

    def unset(self, names: Set[str]) -> frozenset[str]:
        """The columns of the table among some that are known to have no value in any row."""
        columns = self.columns
        return frozenset([name for name in names & columns.keys() if _is_unset(columns[name])])

    def tie_keys(self, places: NDArray[Any]) -> list[Any]:
        """The keys that order equally good rows at some places: id, then namespace if present."""
        ids: list[Any] = self.columns["id"][places].tolist()
        if "namespace" not in self.columns:
            return ids
        namespaces = self.columns["namespace"][places].tolist()
        return [(id or "", name or "") for id, name in zip(ids, namespaces, strict=True)]

    def sessions(self) -> list[Any]:
        """A key of each row's session, None for rows without one."""
        sessions = self["session_id"].tolist()
        if "namespace" not in self.columns:
            return sessions
        pairs = zip(sessions, self["namespace"].tolist(), strict=True)
        return [None if session is None else (name, session) for session, name in pairs]

    def take(self, index: NDArray[Any]) -> Candidates:
        """The rows at an index or mask array, in its order."""
        return Candidates(self.rows[index], {n: c[index] for n, c in self.columns.items()})

    def with_columns(self, **columns: ColumnData) -> Candidates:
        """The same rows with columns added or replaced; names with dots go in as `**{...}`."""
        return Candidates(self.rows, {**self.columns, **columns})

    def detached(self) -> Candidates:
        """The same table, without anything of the store that its columns came from."""
        columns = {
            name: column.detached() if isinstance(column, CategoricalColumn) else np.asarray(column)
            for name, column in self.columns.items()
        }
        return Candidates(self.rows, columns)

    def unlinked(self) -> Candidates:
        """The same table without the index that its columns look names up in, which takes no time.

        Unlike `detached`, it still shares the lists of distinct values.
        """
        columns = {
            name: CategoricalColumn(column.codes, column.distinct, none=column.none)
            if isinstance(column, CategoricalColumn)
            else column
            for name, column in self.columns.items()
        }
        return Candidates(self.rows, columns)

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
        """The place of a row in the table, None if it is not in it."""
        places = np.flatnonzero(self.rows == row)
        return int(places[0]) if len(places) else None


def _is_unset(column: ColumnData) -> bool:
    if isinstance(column, np.ndarray):
        return column.strides == (0,) and column.size > 0
    return isinstance(column, CategoricalColumn) and column.is_unset


def _missing(like: Column, size: int) -> Column:
    return np.full((size, *like.shape[1:]), None if like.dtype == object else np.nan, like.dtype)


def union(rankings: Sequence[Rows]) -> tuple[Rows, list[NDArray[np.intp]]]:
    """The distinct rows of several rankings, ascending, and the places of each ranking's rows."""
    if not rankings:
        return np.empty(0, dtype=np.int64), []
    first, *others = rankings
    if all(np.array_equal(first, other) for other in others) and np.all(first[1:] > first[:-1]):
        return first, [np.arange(len(first))] * len(rankings)
    rows, places = np.unique(np.concatenate(rankings), return_inverse=True)
    ends = list(accumulate(map(len, rankings)))
    return rows, [places[start:end] for start, end in pairwise([0, *ends])]


def best_first(
    scores: Floats, tie_keys: Callable[[NDArray[np.intp]], Sequence[Any]], k: int | None = None
) -> NDArray[np.intp]:
    """The places of the `k` best (all for None): by score descending, then tie key ascending.

    `tie_keys` gives the keys at some places, see `Candidates.tie_keys`; it is called only where
    scores are equal. (A memory that was erased since it was found has no key and comes first.)
    """
    wanted = len(scores) if k is None else min(k, len(scores))
    if not wanted:
        return np.empty(0, dtype=np.intp)
    if wanted * 8 < len(scores):
        least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
        top = np.flatnonzero(scores >= least)
        if wanted <= len(top) < len(scores):  # fewer where some are NaN
            return top[best_first(scores[top], lambda at: tie_keys(top[at]), wanted)]
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
        pairs: list[tuple[Any, int]] = [
            (key or "", at) for key, at in zip(tie_keys(run), run.tolist(), strict=True)
        ]
        values, needed = ranked[tied], int(np.count_nonzero(tied[:wanted]))
        ends: list[int] = (np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()
        # Equal scores by themselves: one sort of all that are tied would hold up other threads.
        for start, stop in pairwise([0, *ends, len(pairs)]):
            count = min(stop, needed) - start
            if count <= 0:
                break
            equals = pairs[start:stop]
            first = nsmallest(count, equals) if count * 8 < stop - start else sorted(equals)
            pairs[start : start + count] = first[:count]
        order[tied] = [at for _, at in pairs]
    return order[:wanted]
