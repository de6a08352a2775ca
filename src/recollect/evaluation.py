"""The values of a formula over one table of candidates, each part computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.candidates import Candidates, Coded, Floats
from recollect.explain import Explanation
from recollect.query import Query

Values = Any
"""float64 of shape (candidates,), or one number that holds for every candidate."""


class Formula(Protocol):
    """What can be evaluated: a signal."""

    def compute(self, ev: Evaluation) -> Values:
        """Its values; what it is made of is asked for through `ev`."""
        ...


class Evaluation:
    """The values of a signal's nodes over one candidate table, each computed once.

    `origin` gives the tree of a column's value at one row where the column is itself a score of
    an earlier stage, so that explanations go on behind it.
    """

    def __init__(
        self,
        query: Query,
        candidates: Candidates,
        origin: Callable[[str, int], Explanation | None] = lambda column, row: None,
    ) -> None:
        self.query = query
        self.candidates = candidates
        self.origin = origin
        self._empty = not len(candidates)
        self._values: dict[int, tuple[Formula, Values]] = {}
        self._distinct: dict[str, tuple[NDArray[np.intp], list[Any]]] = {}
        self._groups: dict[str, tuple[NDArray[np.intp], int]] = {}

    def __call__(self, signal: Formula) -> Values:
        key = id(signal)
        known = self._values.get(key)
        if known is None:
            values = np.empty(0) if self._empty else signal.compute(self)
            known = self._values[key] = (signal, values)  # holds the signal: its id stays its own
        return known[1]

    def at(self, signal: Formula, row: int) -> float:
        """A signal's value at one row."""
        values = self.computed(signal)
        return float(values[row] if isinstance(values, np.ndarray) else values)

    def computed(self, signal: Formula) -> Values:
        """A signal's values, asked for from outside the tree."""
        known = self._values.get(id(signal))
        if known is not None:
            return known[1]
        with np.errstate(all="ignore"):
            return self(signal)

    def column(self, signal: Formula) -> Floats:
        """A signal's values as an array, shape (candidates,)."""
        values = self.computed(signal)
        if isinstance(values, np.ndarray):
            return values
        return np.full(len(self.candidates), float(values))

    def distinct(self, column: str) -> tuple[NDArray[np.intp], list[Any]]:
        """A column of objects as places in the list of its distinct values, and that list."""
        known = self._distinct.get(column)
        if known is None:
            held = self.candidates.columns[column]
            if (
                isinstance(held, Coded)
                and len(held.distinct) <= len(held)
                and held.codes.min() >= 0
            ):
                known = self._distinct[column] = (held.codes, list(held.distinct))
                return known
            values = (held.codes if isinstance(held, Coded) else held).tolist()
            number = {value: place for place, value in enumerate(dict.fromkeys(values))}
            places = np.fromiter(map(number.__getitem__, values), np.intp, len(values))
            found = list(number)
            if isinstance(held, Coded):
                found = [None if code < 0 else held.distinct[code] for code in found]
            known = self._distinct[column] = (places, found)
        return known

    def groups(self, column: str) -> tuple[NDArray[np.intp], int]:
        """Candidates with the same value of a text column by number; how many numbers there are.

        A candidate without a value is a group of its own.
        """
        known = self._groups.get(column)
        if known is None:
            codes = self._codes(column)
            order = codes.argsort(kind="stable")
            ordered = codes[order]
            begins = np.empty(len(order), dtype=bool)
            begins[:1] = False
            np.logical_or(ordered[1:] != ordered[:-1], ordered[1:] < 0, out=begins[1:])
            numbers = begins.cumsum()
            found = np.empty(len(order), dtype=np.intp)
            found[order] = numbers
            count = int(numbers[-1]) + 1 if len(order) else 0
            known = self._groups[column] = (found, count)
        return known

    def _codes(self, column: str) -> NDArray[Any]:
        """A column of objects as codes, negative where there is none."""
        held = self.candidates.columns[column]
        if isinstance(held, Coded):
            return (
                held.codes if held.none < 0 else np.where(held.codes == held.none, -1, held.codes)
            )
        places, values = self.distinct(column)
        return np.where(np.array([value is None for value in values])[places], -1, places)
