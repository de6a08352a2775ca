"""Candidates: the table of one search, one array per column."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from heapq import nsmallest
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.lazily import dataclass, field, replace

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Column = NDArray[Any]  # float64 (NaN = not there) or object (None = not there)
ValueLookup = Callable[[Iterable[str]], Sequence[int]]
"""From folded names to the places of the values that are, or hold, one of them."""


UNSET = np.broadcast_to(np.nan, (sys.maxsize // 8,))
"""One NaN, shown many times: `UNSET[:n]` is a column of numbers that no row has, to read alone."""


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
        distinct, codes = self.distinct, self.codes.tolist()
        if -1 in codes:
            return [None if code < 0 else distinct[code] for code in codes]
        return [*map(distinct.__getitem__, codes)]

    def detached(self) -> CategoricalColumn:
        """The same column with the values of its own rows alone, in the same order."""
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
        if len(self.places) * _FEW_SHARE >= len(self.scores):
            return self._of_all()[self.places]
        scores = self.scores[self.places]
        scored = len(self.scores) - np.count_nonzero(np.isnan(self.scores))
        if len(scores) <= _COUNTED_RANKS:
            above = np.array([np.count_nonzero(self.scores > s) for s in scores], dtype=np.int64)
            equal = np.array([np.count_nonzero(self.scores == s) for s in scores])
        else:
            ascending = np.sort(self.scores)[:scored]  # NaN last
            last = ascending.searchsorted(scores, "right")
            above, equal = scored - last, last - ascending.searchsorted(scores)
        ranks = np.where(np.isnan(scores), np.nan, 1.0 + above)
        tied = np.flatnonzero(equal > 1)
        if len(tied) * _TIED_SHARE > scored:
            return self._of_all()[self.places]
        for at in tied.tolist():
            ranks[at] += self._before(self.places[at])
        return ranks

    def _of_all(self) -> Floats:
        """The ranks of all that was scored, NaN for the others."""
        scored = (self.scores == self.scores).nonzero()[0]
        order = best_first(self.scores[scored], lambda at: self.tie_keys(scored[at]))
        ranks = np.full(len(self.scores), np.nan)
        ranks[scored[order]] = np.arange(1.0, len(order) + 1.0)
        return ranks

    def _before(self, place: int) -> int:
        """The number of rows with the score of one that come before it."""
        equal = np.flatnonzero(self.scores == self.scores[place])
        keys, [own_key] = self.tie_keys(equal), self.tie_keys(np.array([place]))
        at = int(np.searchsorted(equal, place))
        # Of the same key the first in the table is first.
        return sum((key or "") < (own_key or "") for key in keys) + keys[:at].count(own_key)

    def places_of(self, rank: int) -> NDArray[np.intp]:
        """The places in this column that have a rank: one, or none."""
        scores = self.scores[self.places]
        if np.count_nonzero(scores == scores) < rank:
            return np.empty(0, dtype=np.intp)
        tied = (scores == -np.partition(-scores, rank - 1)[rank - 1]).nonzero()[0]
        return tied[np.asarray(self[tied]) == rank]

    def tolist(self) -> list[float]:
        """The ranks."""
        ranks: list[float] = self.__array__().tolist()
        return ranks


_COUNTED_RANKS = 4  # up to which counting takes less time than a sort of all scores
_FEW_SHARE = 8  # where one rank in this many is read, all are computed
_TIED_SHARE = 128  # with one tie in this many ranks, all are sorted
_SORTED_AT_ONCE = 4_096  # rows of equal scores: few enough to hold up no other thread
ColumnData = Column | CategoricalColumn | LazyRanks
"""A column as a table holds it."""


def ranks_of(
    columns: Sequence[Floats], tie_keys: Callable[[NDArray[Any]], Sequence[Any]]
) -> ColumnData:
    """The ranks by the scores of several searches, NaN for what one has not found.

    What only a later search has found comes behind all that those before it have.
    """
    places = np.arange(len(columns[0]))
    first = LazyRanks(columns[0], tie_keys, places)
    if len(columns) == 1:
        return first
    ranks = np.asarray(first)
    for scores in columns[1:]:
        ranked = ~np.isnan(ranks)
        more = np.asarray(LazyRanks(np.where(ranked, np.nan, scores), tie_keys, places))
        ranks = np.where(ranked, ranks, np.count_nonzero(ranked) + more)
    return ranks


@dataclass(frozen=True, eq=False)
class Candidates:
    """A table of candidate memories.

    `rows` (int64, unique) are the store's row numbers, the key that every operation takes; each
    column has `len(rows)` entries. NaN or None means "not there", never zero. A column may be in a
    form that is cheaper where there are many rows; `table[name]` is an array in any case. `problem`
    says what the stage that left the table had to do without; `approximate` why the store may not
    have found all. `left_out` names the memories that are damaged and were not looked at.
    """

    rows: Rows
    columns: Mapping[str, ColumnData] = field(default_factory=dict)
    problem: str | None = None
    approximate: str = ""
    left_out: tuple[str, ...] = ()

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
        """Test whether a column is known to have no value in any row (see `UNSET`)."""
        return bool(self.unset({name}))

    def unset(self, names: Set[str]) -> frozenset[str]:
        """The columns of the table among some that are known to have no value in any row."""
        unset: list[str] = []
        for name in names & self.columns.keys():
            column = self.columns[name]
            if isinstance(column, CategoricalColumn):
                is_unset = column.none == 0 and len(column.distinct) == 1  # that is None
            else:
                is_unset = isinstance(column, np.ndarray) and column.strides == (0,)
            if is_unset and len(column):
                unset.append(name)
        return frozenset(unset)

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
        notes = self.approximate, self.left_out
        return Candidates(self.rows, {**self.columns, **columns}, None, *notes)

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

    def at_rows(self, values: Floats, rows: Rows) -> Floats:
        """Values of the rows of this table at some rows, NaN for one that is not in it."""
        if not len(self):
            return np.full(len(rows), np.nan)
        order = np.argsort(self.rows)
        places = order[np.minimum(np.searchsorted(self.rows, rows, sorter=order), len(order) - 1)]
        return np.where(self.rows[places] == rows, values[places], np.nan)

    def position(self, row: int) -> int | None:
        """The place of a row in the table, None if it is not in it."""
        places = np.flatnonzero(self.rows == row)
        return int(places[0]) if len(places) else None


def _missing(like: Column, size: int) -> Column:
    return np.full((size, *like.shape[1:]), None if like.dtype == object else np.nan, like.dtype)


def union(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The distinct numbers of several ascending arrays, ascending."""
    first, *others = parts
    if all(len(first) == len(other) and np.array_equal(first, other) for other in others):
        return first
    merged = np.concatenate(parts)
    merged.sort(kind="stable")  # which merges runs
    is_new = np.empty(len(merged), dtype=bool)
    is_new[:1] = True
    np.not_equal(merged[1:], merged[:-1], out=is_new[1:])
    return merged[is_new]


def best_places(
    scores: Floats, tie_keys: Callable[[NDArray[np.intp]], Sequence[Any]], k: int
) -> NDArray[np.intp]:
    """The places of the `k` best as `best_first` finds them, but ascending."""
    if k >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    best = (scores >= least).nonzero()[0]
    if len(best) < k:  # some are NaN
        return np.sort(best_first(scores, tie_keys, k))
    if len(best) > k:  # of those as good as the last one, the first by key
        last = (scores[best] == least).nonzero()[0]
        keys = [key or "" for key in tie_keys(best[last])]
        first = nsmallest(k - len(best) + len(last), range(len(last)), key=keys.__getitem__)
        is_best = np.ones(len(best), dtype=bool)
        is_best[last] = False
        is_best[last[first]] = True
        best = best[is_best]
    return best


def best_first(
    scores: Floats, tie_keys: Callable[[NDArray[np.intp]], Sequence[Any]], k: int | None = None
) -> NDArray[np.intp]:
    """The places of the `k` best (all for None): by score descending, then tie key ascending.

    `tie_keys` gives the keys at some places, see `Candidates.tie_keys`; it is called only where
    scores are equal. (A memory that was erased since it was found has no key and comes first.)
    """
    most = len(scores) if k is None else min(k, len(scores))
    if not most:
        return np.empty(0, dtype=np.intp)
    if most * 8 < len(scores):
        least = np.partition(scores, len(scores) - most)[len(scores) - most]
        top = np.flatnonzero(scores >= least)
        if most <= len(top) < len(scores):  # fewer where some are NaN
            return top[best_first(scores[top], lambda at: tie_keys(top[at]), most)]
    order = np.argsort(-scores)
    ranked = scores[order]
    if most < len(order):  # what equals the last one wanted may take its place
        end = np.count_nonzero(ranked >= ranked[most - 1])
        if end >= most:
            order, ranked = order[:end], ranked[:end]
    equal = ranked[1:] == ranked[:-1]
    if np.count_nonzero(equal):
        tied = np.zeros(len(order), dtype=bool)
        tied[1:] = equal
        tied[:-1] |= equal
        run = order[tied]
        if len(run) <= _SORTED_AT_ONCE:
            run = np.sort(run)
            keys = [key or "" for key in tie_keys(run)]
            by_key = run[sorted(range(len(keys)), key=keys.__getitem__)]
            order[tied] = by_key[(-scores[by_key]).argsort(kind="stable")]
            return order[:most]
        pairs: list[tuple[Any, int]] = [
            (key or "", at) for key, at in zip(tie_keys(run), run.tolist(), strict=True)
        ]
        values, needed = ranked[tied], int(np.count_nonzero(tied[:most]))
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
    return order[:most]
