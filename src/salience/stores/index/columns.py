"""Columns of a namespace: numbers as arrays, everything else as codes into distinct values."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.records.fields import FIELDS
from salience.records.filters import And, Compare, Filter, Not, Operator, folded, satisfies
from salience.records.record import ACCESSES_KEPT
from salience.retrieval.candidates import UNSET, CategoricalColumn, ValueLookup, equality_key
from salience.retrieval.operations import NameTally
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.snapshot import Part

Mask = NDArray[np.bool_]
Places = slice | NDArray[Any]
ALL: Places = slice(None)
_NONE = type(None)
_OBJECTS = ("text", "list", "json")


class NumberColumn(Part):
    """Numbers and times (seconds) as float64, NaN where there is none.

    The array exists from the first number on.
    """

    SAVED = ("_values", "_unset")

    def __init__(self) -> None:
        self._values = GrowableArray(np.float64)
        self._unset = 0  # memories, while none has a number

    def extend(self, values: Sequence[Any]) -> None:
        if not len(self._values.view):
            if set(map(type, values)) <= {_NONE}:
                self._unset += len(values)
                return
            self._make_array()
        before = len(self._values)
        self._values.extend(values)  # None becomes NaN
        added = self._values.view[before:]
        added[np.isinf(added)] = np.nan  # damage, which reading the memory tells

    def set(self, ordinal: int, value: Any) -> None:
        if self._unset:
            if value is None:
                return
            self._make_array()
        self._values.view[ordinal] = np.nan if value in (math.inf, -math.inf) else value

    def change(self, ordinals: NDArray[Any], by: np.ufunc, value: float) -> None:
        """Set the numbers of some memories to a function of each and a value."""
        if self._unset:
            self._make_array()
        self._values.view[ordinals] = by(self._values.view[ordinals], value)

    def _make_array(self) -> None:
        self._values.fill(np.nan, self._unset)
        self._unset = 0

    @property
    def values(self) -> NDArray[np.float64]:
        return UNSET[: self._unset] if self._unset else self._values.view

    def take(
        self, ordinals: NDArray[Any], naming: ValueLookup | None = None
    ) -> NDArray[np.float64]:
        return UNSET[: len(ordinals)] if self._unset else self._values.view[ordinals]

    def mask(self, operator: Operator, operand: Any, at: Places = ALL) -> Mask:
        values = self.values[at]
        if operator in ("ne", "nin"):
            return ~self.mask("eq" if operator == "ne" else "in", operand, at)
        if operator == "exists":
            return np.isnan(values) != operand
        if operator == "in":
            mask = np.zeros(len(values), dtype=bool)
            for item in operand:
                mask |= self.mask("eq", item, at)
            return mask
        if operator == "eq":
            return np.isnan(values) if operand is None else values == float(operand)
        if operator == "contains" or self._unset:
            return np.zeros(len(values), dtype=bool)
        comparisons = {
            "gt": np.greater, "gte": np.greater_equal, "lt": np.less, "lte": np.less_equal,
        }  # fmt: skip
        return np.asarray(comparisons[operator](values, operand))

    def only(self, ordinals: NDArray[Any]) -> NumberColumn:
        """The column of some memories."""
        column = NumberColumn()
        if self._unset:
            column._unset = len(ordinals)
        else:
            column._values.extend(self._values.view[ordinals])
        return column

    @property
    def nbytes(self) -> int:
        return self._values.nbytes


class TimesColumn(Part):
    """The latest access times, newest first, shape (memories, ACCESSES_KEPT), padded with NaN.

    A memory that was never accessed takes no room.
    """

    SAVED = ("_places", "_times")

    def __init__(self) -> None:
        self._places = GrowableArray(np.int32)  # by ordinal, -1 where there is no access
        self._times = GrowableArray(np.float64, (ACCESSES_KEPT,))

    def extend(self, values: Sequence[bytes | None]) -> None:
        kept = [value[: 8 * ACCESSES_KEPT] for value in values if value]
        places = np.full(len(values), -1, dtype=np.int32)
        if kept:
            has_times = np.fromiter(map(bool, values), bool, len(values))
            places[has_times] = len(self._times) + np.arange(len(kept))
            sizes = np.array([len(times) // 8 for times in kept], dtype=np.int64)
            rows = np.full((len(kept), ACCESSES_KEPT), np.nan)
            is_time = np.arange(ACCESSES_KEPT) < sizes[:, np.newaxis]
            rows[is_time] = np.frombuffer(b"".join(kept), dtype="<f8")
            self._times.extend(rows)
        self._places.extend(places)

    def set(self, ordinal: int, value: bytes | None) -> None:
        times = np.frombuffer(value or b"", dtype="<f8")[:ACCESSES_KEPT]
        if self._places.view[ordinal] < 0:
            if not len(times):
                return
            self._places.view[ordinal] = len(self._times.view)
            self._times.fill(np.nan, 1)
        row = self._times.view[self._places.view[ordinal]]
        row[: len(times)], row[len(times) :] = times, np.nan

    def push(self, ordinals: NDArray[Any], at: float) -> None:
        """Add an access of each of some memories."""
        new = ordinals[self._places.view[ordinals] < 0]
        self._places.view[new] = len(self._times.view) + np.arange(len(new))
        self._times.fill(np.nan, len(new))
        places = self._places.view[ordinals]
        times = np.column_stack((self._times.view[places], np.full(len(places), at)))
        self._times.view[places] = -np.sort(-times)[:, :ACCESSES_KEPT]  # NaN goes last

    def take(
        self, ordinals: NDArray[Any], naming: ValueLookup | None = None
    ) -> NDArray[np.float64]:
        places = self._places.view[ordinals]
        times = np.full((len(places), ACCESSES_KEPT), np.nan)
        if len(self._times):
            has_times = places >= 0
            times[has_times] = self._times.view[places[has_times]]
        return times

    def mask(self, operator: Operator, operand: Any, at: Places = ALL) -> Mask:
        raise TypeError("access times are not filtered by")

    def only(self, ordinals: NDArray[Any]) -> TimesColumn:
        """The column of some memories."""
        column, places = TimesColumn(), self._places.view[ordinals]
        has_times = places >= 0
        column._times.extend(self._times.view[places[has_times]])
        column._places.extend(np.where(has_times, np.cumsum(has_times) - 1, -1))
        return column

    @property
    def nbytes(self) -> int:
        return self._places.nbytes + self._times.nbytes


class CodedColumn(Part):
    """Any values as int32 codes, the places of each value in the list of distinct ones.

    The values of a snapshot are read on first use: many columns are never used.
    """

    SAVED = ("_codes", "_json")
    _READ = ("distinct", "_none", "_has_lists", "_code_of")

    def __init__(self) -> None:
        self._codes = GrowableArray(np.int32)
        self._json = np.frombuffer(b"[]", dtype=np.uint8)  # the distinct values when it was saved

    def before_saving(self) -> None:
        if "distinct" in self.__dict__:
            text = json.dumps(self.distinct, ensure_ascii=False)
            self._json = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)

    def __getattr__(self, name: str) -> Any:
        if name not in self._READ:
            raise AttributeError(name)
        self._read(json.loads(self._json.tobytes()))
        return getattr(self, name)

    def _read(self, distinct: list[Any]) -> None:
        """Hold the distinct values, and what follows from them."""
        self.distinct, self._json = distinct, self._json[:0]
        self._code_of = {equality_key(value): code for code, value in enumerate(distinct)}
        self._none = self._code_of.get(None, -1)  # the code of None
        # The elements of lists are meant by a single value, too.
        self._has_lists = any(isinstance(value, list | tuple) for value in distinct)

    def extend(self, values: Sequence[Any]) -> None:
        if len(values) == 1:
            self._codes.fill(self._coded(values[0]), 1)
            return
        if self._equal_as_they_are(values):
            code_of = {value: self._coded(value, value) for value in dict.fromkeys(values)}
            codes = np.fromiter(map(code_of.__getitem__, values), np.int32, len(values))
        else:
            codes = np.array([self._coded(value) for value in values], dtype=np.int32)
        self._codes.extend(codes)

    def _equal_as_they_are(self, values: Sequence[Any]) -> bool:
        """Test whether filters and Python agree on which values are equal (not on 1 and True)."""
        kinds = set(map(type, values))
        if kinds == {tuple}:  # of texts, as in most lists
            return set(map(type, chain.from_iterable(values))) <= {str}
        return kinds <= {str, _NONE}

    def set(self, ordinal: int, value: Any) -> None:
        self._codes.view[ordinal] = self._coded(value)

    def _coded(self, value: Any, key: Hashable = None) -> int:
        """The code of a value; its `equality_key` may be given."""
        key = equality_key(value) if key is None else key
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self.distinct)
            self.distinct.append(value)
            if value is None:
                self._none = code
            self._has_lists |= isinstance(value, list | tuple)
        return code

    @property
    def codes(self) -> NDArray[np.int32]:
        return self._codes.view

    def code(self, value: Any) -> int:
        """The code of a value, -1 where no memory has it."""
        return self._none if value is None else self._code_of.get(equality_key(value), -1)

    def at(self, ordinals: NDArray[Any]) -> list[Any]:
        """The values of some memories."""
        return [self.distinct[code] for code in self._codes.view[ordinals].tolist()]

    def take(self, ordinals: NDArray[Any], naming: ValueLookup | None = None) -> CategoricalColumn:
        return CategoricalColumn(self._codes.view[ordinals], self.distinct, naming, self._none)

    def mask(self, operator: Operator, operand: Any, at: Places = ALL) -> Mask:
        if operator in ("ne", "nin"):
            return ~self.mask("eq" if operator == "ne" else "in", operand, at)
        codes = self._codes.view[at]
        if operator == "exists":
            return np.asarray((codes == self._none) != operand)
        is_plain = not self._has_lists
        if operator == "eq" and (operand is None or (is_plain and isinstance(operand, str))):
            return codes == self.code(operand)
        if operator == "in" and is_plain and {*map(type, operand)} <= {str}:
            chosen = np.zeros(len(self.distinct) + 1, dtype=bool)
            chosen[[*map(self._code_of.get, operand, repeat(-1))]] = True  # -1 is the last
            if chosen[:-1].all():
                return np.ones(len(codes), dtype=bool)
            return chosen[codes]
        return self._satisfying(codes, lambda value: satisfies(operator, value, operand))

    def _satisfying(self, codes: NDArray[np.int32], test: Callable[[Any], bool]) -> Mask:
        """True for each code whose value passes a test, run once for each value that occurs."""
        if len(codes) >= len(self.distinct):
            return np.array([test(value) for value in self.distinct], dtype=bool)[codes]
        unique, places = np.unique(codes, return_inverse=True)
        return np.array([test(self.distinct[code]) for code in unique.tolist()], dtype=bool)[places]

    def only(self, ordinals: NDArray[Any]) -> CodedColumn:
        """The column of some memories, with the values that they have."""
        used, first, places = np.unique(
            self._codes.view[ordinals], return_index=True, return_inverse=True
        )
        order = first.argsort()  # as they would come
        column = type(self)()
        column._codes.extend(order.argsort()[places])
        column._read([self.distinct[code] for code in used[order].tolist()])
        return column

    @property
    def nbytes(self) -> int:
        distinct_bytes = 200 * len(self.distinct) if "distinct" in self.__dict__ else 0
        return self._codes.nbytes + self._json.nbytes + distinct_bytes


class TextsColumn(CodedColumn):
    """Lists of texts, which filters compare case-folded."""

    def __init__(self) -> None:
        super().__init__()
        # By folded text and spelling: the codes of the distinct lists that hold it
        self._spellings: dict[str, dict[str, list[int]]] = {}
        self._names: list[str] = []  # the folded texts, ascending
        self._indexed = 0  # distinct lists

    def _equal_as_they_are(self, values: Sequence[Any]) -> bool:
        return True  # they are tuples of texts

    def _read(self, distinct: list[Any]) -> None:
        self.distinct = [None if texts is None else tuple(texts) for texts in distinct]
        self._json = self._json[:0]
        self._code_of = {texts: code for code, texts in enumerate(self.distinct)}
        self._none, self._has_lists = self._code_of.get(None, -1), len(self.distinct) > 0

    def mask(self, operator: Operator, operand: Any, at: Places = ALL) -> Mask:
        codes = self.codes[at]
        if operator == "contains":
            chosen = np.zeros(len(self.distinct) + 1, dtype=bool)
            chosen[self._codes_with(operand)] = True
            return chosen[codes]
        return self._satisfying(
            codes, lambda value: satisfies(operator, folded(value or ()), operand)
        )

    def _codes_with(self, text: str) -> list[int]:
        """The codes of the lists that hold a text, maybe several times."""
        self._index_spellings()
        return [*chain(*self._spellings.get(text, {}).values())]

    def _index_spellings(self) -> None:
        """Enter the lists that are new."""
        for code in range(self._indexed, len(self.distinct)):
            texts = self.distinct[code] or ()
            for spelling, name in zip(texts, folded(texts), strict=True):
                if name not in self._spellings:
                    self._names.append(name)
                self._spellings.setdefault(name, {}).setdefault(spelling, []).append(code)
        if self._indexed < len(self.distinct):
            self._names.sort()
        self._indexed = len(self.distinct)

    def tallies(self, mask: Mask | None, prefix: str, after: str, limit: int) -> list[NameTally]:
        """The first texts of the memories in a mask (see `operations.ListNames`)."""
        self._index_spellings()
        codes = self.codes if mask is None else self.codes[mask]
        memories = np.bincount(codes, minlength=len(self.distinct))
        place = max(bisect_left(self._names, prefix), bisect_right(self._names, after))
        tallies: list[NameTally] = []
        for name in islice(self._names, place, None):
            if len(tallies) == limit or not name.startswith(prefix):
                break
            spellings = self._spellings[name]
            counts = {spelling: int(memories[own].sum()) for spelling, own in spellings.items()}
            spelling = min(counts, key=lambda one: (-counts[one], one))
            count = counts[spelling]
            if len(spellings) > 1:  # a list may hold several
                count = int(memories[np.unique([*chain(*spellings.values())])].sum())
            if count:
                tallies.append(NameTally(name, spelling, count))
        return tallies

    @property
    def nbytes(self) -> int:
        return super().nbytes + 300 * len(self._spellings)


Column = NumberColumn | TimesColumn | CodedColumn


def empty_column(name: str, size: int) -> NDArray[Any]:
    """The column of that name for memories that are gone."""
    if name == "accesses":
        return np.full((size, ACCESSES_KEPT), np.nan)
    if name.startswith(("metadata.", "namespace")) or (
        name in FIELDS and FIELDS[name].type in _OBJECTS
    ):
        return np.full(size, None, dtype=object)
    return np.full(size, np.nan)


def evaluate(condition: Filter, column_of: Any, size: int, at: Places = ALL) -> Mask:
    """True for each of `size` memories that passes a filter, those at some places or all.

    `column_of(name)` gives the column of a field.
    """
    if isinstance(condition, Compare):
        column: Column = column_of(condition.field)
        return column.mask(condition.operator, condition.value, at)
    if isinstance(condition, Not):
        return ~evaluate(condition.part, column_of, size, at)
    join = np.logical_and if isinstance(condition, And) else np.logical_or
    parts = [evaluate(part, column_of, size, at) for part in condition.parts]
    return reduce(join, parts) if parts else np.full(size, isinstance(condition, And))
