"""Evaluation: the values of a formula over one table of candidates, each part computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience import arithmetic
from salience.arithmetic import by_kernel
from salience.lazily import dataclass
from salience.ranking.explanation import Explanation
from salience.records.fields import FIELDS
from salience.retrieval.candidates import Candidates, CategoricalColumn, Floats, equality_key
from salience.retrieval.query import Query

_TEXTS = frozenset(name for name, field in FIELDS.items() if field.type == "text")
T = TypeVar("T")
Values = Any
"""float64 of shape (candidates,), or one number that holds for every candidate."""


class Evaluable(Protocol):
    """A formula that can be evaluated: a signal."""

    def compile(self, program: Program) -> int:
        """The place of its values in a program, after the values that they are computed from."""
        ...


@dataclass(frozen=True, eq=False)
class Groups:
    """Candidates by equal values: the number of each one's group, groups counted from 0.

    In `order` the groups stand one after the other, each of them from its place in `starts` on.
    """

    of: NDArray[np.intp]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    def largest(self, values: NDArray[np.float64]) -> Floats:
        """The largest value of each group, column by column; NaN where all are."""
        return np.fmax.reduceat(values[self.order], self.starts, axis=0)


KERNEL_OF: dict[Any, str] = {}
"""The operation of the kernel `formula` that gives the bits of a function of values."""
_LEAST_BATCH = 3  # steps: below, a call of the kernel takes longer than they do
_MOST_KERNEL_NUMBERS = 1 << 21  # of all steps: where there are more, one array for all is slow


class Step(NamedTuple):
    """A function of the values at some places, and the place of its own.

    `read` are the places that the kernel reads, where there is one for the function.
    """

    function: Callable[..., Values]
    places: tuple[int, ...]
    place: int
    read: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Batch:
    """Steps that a kernel computes in one call, in `code` of whole numbers.

    For each step: its operation, how many values it reads, and where these are: at a place, or
    those of step n of the batch at -1 - n.
    """

    steps: tuple[Step, ...]
    code: NDArray[np.int32]

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Batch:
        """Some steps, each after those whose values it reads."""
        places = {step.place: -1 - number for number, step in enumerate(steps)}
        code: list[int] = []
        for step in steps:
            inputs = step.read or ()
            operation = arithmetic.native.OPERATIONS.index(_operation(step.function))
            code += [operation, len(inputs), *[places.get(place, place) for place in inputs]]
        return cls(tuple(steps), np.array(code, dtype=np.int32))

    def run(self, values: list[Any], rows: int) -> None:
        """Compute the values of all steps."""
        flags: Any = None
        if rows * len(self.steps) <= _MOST_KERNEL_NUMBERS:
            block = np.empty((len(self.steps), rows))
            flags = by_kernel("formula", self.code, values, rows, block)
        if not isinstance(flags, bytes):  # a signal from outside may give numbers of another type
            _run(self.steps, values, rows)
            return
        for step, row, has_rows in zip(self.steps, block, flags, strict=True):
            values[step.place] = row if has_rows else float(row[0])


def _run(parts: Sequence[Step | Batch], values: list[Any], rows: int) -> None:
    """Compute the values of steps and batches of some rows."""
    for part in parts:
        if isinstance(part, Batch):
            part.run(values, rows)
        else:
            function, places, place, _ = part
            values[place] = function(*map(values.__getitem__, places))


def _operation(function: Callable[..., Values]) -> str | None:
    return KERNEL_OF.get(getattr(function, "__func__", function))


class Program:
    """The order of computing the parts of formulas: each once, after its children.

    It holds for queries of the same features and tables in which the same columns are `unset`, so
    that a part which does not count there has no step, and this is decided once and not in every
    search.
    """

    EVALUATION = 0
    """The place of the evaluation itself, for functions that need more than their parts' values."""

    def __init__(self, features: Mapping[str, float], unset: Set[str] = frozenset()) -> None:
        self.features = features
        self.unset = unset  # columns that have no value in any row
        self.numbers: list[float | None] = [None]  # by place; None for computed values
        self.steps: list[Step] = []
        self.subtotal: int | None = None  # of the sum that is being compiled, where a part reads it
        self._places: dict[int, tuple[Evaluable, int]] = {}
        self._parts: dict[tuple[int, int], Sequence[Step | Batch]] = {}

    def place(self, signal: Evaluable) -> int:
        """The place of a signal's values."""
        entry = self._places.get(id(signal))
        if entry is None:  # holds the signal, so that its id stays its own
            entry = self._places[id(signal)] = (signal, signal.compile(self))
        return entry[1]

    def number(self, value: float) -> int:
        """The place of a number."""
        self.numbers.append(float(value))
        return len(self.numbers) - 1

    def step(
        self,
        function: Callable[..., Values],
        places: Sequence[int],
        read: Sequence[int] | None = None,
    ) -> int:
        """The place of a function of the values at some places.

        `read` are those that its kernel reads, if there is one and they are others.
        """
        self.numbers.append(None)
        inputs = tuple(places if read is None else read) if _operation(function) else None
        self.steps.append(Step(function, tuple(places), len(self.numbers) - 1, inputs))
        return len(self.numbers) - 1

    def parts(self, first: int, end: int) -> Sequence[Step | Batch]:
        """The steps from one up to another, in as few batches as can be where there are kernels."""
        if arithmetic.native is None:
            return self.steps[first:end]
        if (first, end) not in self._parts:
            self._parts[first, end] = _batched(self.steps[first:end])
        return self._parts[first, end]


def _batched(steps: Sequence[Step]) -> Sequence[Step | Batch]:
    """Steps in another order: by turns all that can be computed without a kernel, and with one."""
    parts: list[Step | Batch] = []
    remaining, waiting = list(steps), {step.place for step in steps}
    while remaining:
        for in_batch in (False, True):
            ready: list[Step] = []
            for step in remaining:
                reads = step.places if step.read is None else step.read
                if (step.read is not None) is in_batch and waiting.isdisjoint(reads):
                    ready.append(step)
                    waiting.discard(step.place)
            done = {step.place for step in ready}
            remaining = [step for step in remaining if step.place not in done]
            parts += [Batch.of(ready)] if in_batch and len(ready) >= _LEAST_BATCH else ready
    return parts


class Evaluation:
    """The values of a signal's nodes over one candidate table, each computed once.

    `origin` gives the tree of a column's value at one row where the column is itself a score of
    an earlier stage, so that explanations go on behind it. A `program` has to be one for the
    query's features and the table's columns.
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
        self._steps_done = 0
        self._distinct: dict[str, tuple[NDArray[np.intp], list[Any]]] = {}
        self._groups: dict[str, Groups] = {}
        self._shared: dict[Callable[[Evaluation], Any], Any] = {}

    def after(self, subtotal: Floats) -> Evaluation:
        """Evaluate parts of a sum over the same table, with another sum of the parts before them.

        What `shared` has found is shared with it: that depends on the query and the table alone.
        """
        program = Program(self._program.features, self._program.unset)
        program.subtotal = program.step(lambda: subtotal, ())
        other = Evaluation(self.query, self.candidates, self.origin, program)
        other._distinct, other._groups, other._shared = self._distinct, self._groups, self._shared
        return other

    def at(self, signal: Evaluable, row: int) -> float:
        """A signal's value at one row."""
        values = self.computed(signal)
        return float(values[row] if isinstance(values, np.ndarray) else values)

    def computed(self, signal: Evaluable) -> Values:
        """A signal's values."""
        program = self._program
        place = program.place(signal)
        if len(self._values) < len(program.numbers) or self._steps_done < len(program.steps):
            self._run_steps()
        return self._values[place]

    def _run_steps(self) -> None:
        """Run the steps of the program that are new since the last run."""
        program, values, rows = self._program, self._values, len(self.candidates)
        first, end = self._steps_done, len(program.steps)
        values += program.numbers[len(values) :]
        if not rows:
            for step in program.steps[first:end]:
                values[step.place] = np.empty(0)
        else:
            values[Program.EVALUATION] = self
            try:
                with np.errstate(all="ignore"):
                    _run(program.parts(first, end), values, rows)
            finally:
                values[Program.EVALUATION] = None  # or it would hold itself
        self._steps_done = end

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
        if column not in self._distinct:
            self._distinct[column] = self._distinct_values(column)
        return self._distinct[column]

    def _distinct_values(self, name: str) -> tuple[NDArray[np.intp], list[Any]]:
        column = self.candidates.columns[name]
        if not isinstance(column, CategoricalColumn):
            values = column.tolist()
            return _factorized(values, values if name in _TEXTS else [*map(equality_key, values)])
        if len(column.distinct) <= len(column) and column.codes.min() >= 0:
            return column.codes, list(column.distinct)
        codes = column.codes.tolist()
        places, present = _factorized(codes, codes)
        return places, [None if code < 0 else column.distinct[code] for code in present]

    def groups(self, column: str) -> Groups:
        """Candidates by their value of a text column; one without a value is a group of its own."""
        if column not in self._groups:
            codes = self._group_codes(column)
            order = codes.argsort()
            ordered = codes[order]
            begins = np.empty(len(order), dtype=bool)
            begins[:1] = True
            np.logical_or(ordered[1:] != ordered[:-1], ordered[1:] < 0, out=begins[1:])
            numbers = np.empty(len(order), dtype=np.intp)
            numbers[order] = begins.cumsum() - 1
            self._groups[column] = Groups(numbers, order, begins.nonzero()[0])
        return self._groups[column]

    def shared(self, find: Callable[[Evaluation], T]) -> T:
        """The result of `find(self)`, computed once for all signals that share it."""
        if find not in self._shared:
            self._shared[find] = find(self)
        result: T = self._shared[find]
        return result

    def _group_codes(self, column: str) -> NDArray[Any]:
        """A column of objects as codes, negative for None; sessions of two namespaces are two."""
        codes = self._codes(column)
        if column != "session_id" or "namespace" not in self.candidates.columns:
            return codes
        namespaces = self._codes("namespace")
        joint = codes.astype(np.int64) * (namespaces.max() + 1) + namespaces
        return np.where(codes < 0, -1, joint)

    def _codes(self, name: str) -> NDArray[Any]:
        column = self.candidates.columns[name]
        if isinstance(column, CategoricalColumn):
            if column.none < 0:
                return column.codes
            return np.where(column.codes == column.none, -1, column.codes)
        places, values = self.distinct(name)
        return np.where(np.array([value is None for value in values])[places], -1, places)


@dataclass(frozen=True)
class _GroupsOf:
    """The number of each candidate's group, as a step of a program."""

    column: str

    def compile(self, program: Program) -> int:
        return program.step(lambda ev: ev.groups(self.column).of, (Program.EVALUATION,))


@cache
def groups_of(column: str) -> Evaluable:
    """The numbers of the groups of a text column, which a kernel reads."""
    return _GroupsOf(column)


def _factorized(values: list[Any], keys: list[Any]) -> tuple[NDArray[np.intp], list[Any]]:
    """The places of values in the list of the distinct ones, by their keys, and that list."""
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    places = np.fromiter(map(number.__getitem__, keys), np.intp, len(keys))
    return places, list(dict(zip(keys, values, strict=True)).values())
