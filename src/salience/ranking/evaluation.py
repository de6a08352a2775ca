"""The values of a formula over one table of candidates, each part computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience.ranking.explanation import Explanation
from salience.records.fields import FIELDS
from salience.retrieval.candidates import Candidates, CategoricalColumn, Floats, equality_key
from salience.retrieval.query import Query

_TEXTS = frozenset(name for name, field in FIELDS.items() if field.type == "text")
T = TypeVar("T")
Values = Any
"""float64 of shape (candidates,), or one number that holds for every candidate."""


class Evaluable(Protocol):
    """What can be evaluated: a signal."""

    def compile(self, program: Program) -> int:
        """Its place in a layout; what it is made of is laid out by calling that."""
        ...


@dataclass(frozen=True, eq=False)
class Groups:
    """Candidates with the same value: the number of each one's group, groups counted from 0.

    In `order` the groups stand one after the other, each of them from its place in `starts` on.
    """

    of: NDArray[np.intp]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    def largest(self, values: NDArray[np.float64]) -> Floats:
        """The largest value of each group, column by column; NaN where all are."""
        return np.fmax.reduceat(values[self.order], self.starts, axis=0)


class Program:
    """The order in which the parts of formulas are computed: each once, after its children.

    It holds for queries of the same features, so that a part which does not count for such a query
    has no step, and this is decided once and not in every search.
    """

    def __init__(self, features: Mapping[str, float]) -> None:
        self.features = features
        self.numbers: list[float | None] = [None]  # by place; None for what is computed
        self.steps: list[tuple[Callable[..., Values], tuple[int, ...], int]] = []
        self._places: dict[int, tuple[Evaluable, int]] = {}

    def place(self, signal: Evaluable) -> int:
        """The place of a signal's values."""
        known = self._places.get(id(signal))
        if known is None:  # holds the signal, so that its id stays its own
            known = self._places[id(signal)] = (signal, signal.compile(self))
        return known[1]

    def number(self, value: float) -> int:
        """The place of a number."""
        self.numbers.append(value)
        return len(self.numbers) - 1

    def step(self, function: Callable[..., Values], of: Sequence[int]) -> int:
        """The place of what a function makes of the values at some places."""
        self.numbers.append(None)
        self.steps.append((function, tuple(of), len(self.numbers) - 1))
        return len(self.numbers) - 1

    EVALUATION = 0
    """The place of the evaluation itself, for functions that ask more than their parts' values."""


class Evaluation:
    """The values of a signal's nodes over one candidate table, each computed once.

    `origin` gives the tree of a column's value at one row where the column is itself a score of
    an earlier stage, so that explanations go on behind it. A `layout` that is given has to be one
    for the query's features.
    """

    def __init__(
        self,
        query: Query,
        candidates: Candidates,
        origin: Callable[[str, int], Explanation | None] = lambda column, row: None,
        program: Program | None = None,
    ) -> None:
        self.query = query
        self.candidates = candidates
        self.origin = origin
        self._program = Program(query.reading.features) if program is None else program
        self._values: list[Any] = []  # by place
        self._done = 0  # steps
        self._distinct: dict[str, tuple[NDArray[np.intp], list[Any]]] = {}
        self._groups: dict[str, Groups] = {}
        self._found: dict[Callable[[Evaluation], Any], Any] = {}

    def at(self, signal: Evaluable, row: int) -> float:
        """A signal's value at one row."""
        values = self.computed(signal)
        return float(values[row] if isinstance(values, np.ndarray) else values)

    def computed(self, signal: Evaluable) -> Values:
        """A signal's values."""
        place = self._program.place(signal)
        if len(self._values) < len(self._program.numbers) or self._done < len(self._program.steps):
            self._go_on()
        return self._values[place]

    def _go_on(self) -> None:
        """Compute what is laid out and not computed yet."""
        program, values = self._program, self._values
        values += program.numbers[len(values) :]
        steps = program.steps[self._done :]
        if not len(self.candidates):
            for _, _, place in steps:
                values[place] = np.empty(0)
        else:
            values[Program.EVALUATION] = self
            try:
                with np.errstate(all="ignore"):
                    for function, of, place in steps:
                        values[place] = function(*[values[each] for each in of])
            finally:
                values[Program.EVALUATION] = None  # or it would hold itself
        self._done += len(steps)

    def column(self, signal: Evaluable) -> Floats:
        """A signal's values as an array, shape (candidates,)."""
        return self.spread(self.computed(signal))

    def spread(self, values: Values) -> Floats:
        """Values as an array, shape (candidates,)."""
        if isinstance(values, np.ndarray):
            return values
        return np.full(len(self.candidates), float(values))

    def distinct(self, column: str) -> tuple[NDArray[np.intp], list[Any]]:
        """A column of objects as places in the list of its distinct values, and that list."""
        known = self._distinct.get(column)
        if known is None:
            held = self.candidates.columns[column]
            if (
                isinstance(held, CategoricalColumn)
                and len(held.distinct) <= len(held)
                and held.codes.min() >= 0
            ):
                known = self._distinct[column] = (held.codes, list(held.distinct))
                return known
            values = held.codes.tolist() if isinstance(held, CategoricalColumn) else held.tolist()
            keys = (
                values
                if column in _TEXTS or isinstance(held, CategoricalColumn)
                else [*map(equality_key, values)]
            )
            number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
            places = np.fromiter(map(number.__getitem__, keys), np.intp, len(keys))
            found = list(dict(zip(keys, values, strict=True)).values())
            if isinstance(held, CategoricalColumn):
                found = [None if code < 0 else held.distinct[code] for code in found]
            known = self._distinct[column] = (places, found)
        return known

    def groups(self, column: str) -> Groups:
        """Candidates by their value of a text column; one without a value is a group of its own."""
        known = self._groups.get(column)
        if known is None:
            codes = self._codes(column)
            order = codes.argsort(kind="stable")
            ordered = codes[order]
            begins = np.empty(len(order), dtype=bool)
            begins[:1] = True
            np.logical_or(ordered[1:] != ordered[:-1], ordered[1:] < 0, out=begins[1:])
            found = np.empty(len(order), dtype=np.intp)
            found[order] = begins.cumsum() - 1
            known = self._groups[column] = Groups(found, order, begins.nonzero()[0])
        return known

    def shared(self, find: Callable[[Evaluation], T]) -> T:
        """What a function finds out about the candidates, for several signals that need it."""
        if find not in self._found:
            self._found[find] = find(self)
        found: T = self._found[find]
        return found

    def _codes(self, column: str) -> NDArray[Any]:
        """A column of objects as codes, negative where there is none."""
        codes = self._own_codes(column)
        if column != "session_id" or "namespace" not in self.candidates.columns:
            return codes
        spaces = self._own_codes("namespace")  # a session is of one namespace
        return np.where(codes < 0, -1, codes.astype(np.int64) * (spaces.max() + 1) + spaces)

    def _own_codes(self, column: str) -> NDArray[Any]:
        held = self.candidates.columns[column]
        if isinstance(held, CategoricalColumn):
            return (
                held.codes if held.none < 0 else np.where(held.codes == held.none, -1, held.codes)
            )
        places, values = self.distinct(column)
        return np.where(np.array([value is None for value in values])[places], -1, places)
