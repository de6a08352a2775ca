"""The signal algebra: formulas over the columns of a candidate table, as plain data.

A signal is a frozen tree. `evaluate` gives one float64 per candidate; `explain` reads the same
arrays at one row, so that an explanation's root is the score and not a second computation of it.
NaN means "no value" and stays NaN until `default` gives one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache, cached_property
from typing import Any

import numpy as np

from salience.errors import InvalidInput, InvalidProfile
from salience.lazily import dataclass, fields
from salience.ranking.evaluation import KERNEL_OF, Evaluation, Program, Values
from salience.ranking.explanation import Explanation
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.query import Query

# Nodes of a profile in the notation of a call: `group_max(vector.score, session_id)`


@cache
def snake_case(name: str) -> str:
    """The name of a class as that of a function: `session_first` for SessionFirst."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def call_text(node: Any) -> str:
    """A dataclass as a call of its name in snake_case with its fields, without those of None."""
    values = (getattr(node, field.name) for field in fields(node))
    arguments = ", ".join(_argument(value) for value in values if value is not None)
    return f"{snake_case(type(node).__name__)}({arguments})"


def _argument(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_argument(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Signal:
    """A formula that gives one number per candidate."""

    def children(self) -> tuple[Signal, ...]:
        """The signals this one is made of."""
        return self._children

    @cached_property
    def _children(self) -> tuple[Signal, ...]:
        return tuple(v for f in fields(self) for v in _signals(getattr(self, f.name)))

    def columns(self) -> frozenset[str]:
        """The columns this node itself reads."""
        return frozenset()

    def inputs(self) -> frozenset[str]:
        """Every column that the whole tree reads."""
        return self._inputs

    @cached_property
    def _inputs(self) -> frozenset[str]:
        return self.columns().union(*(child.inputs() for child in self.children()))

    def where_unset(self, unset: Set[str]) -> float | None:
        """The number it is for every candidate of a table where some columns have no value.

        None if it must be computed. The number is the one that `compute` gives there.
        """
        return None

    def compute(self, ev: Evaluation, *values: Any, **none: Any) -> Values:
        """This node's values, given those of its children in their order."""
        raise TypeError(f"{type(self).__name__} does not say how it is computed")

    def compile(self, program: Program) -> int:
        """The place of its values in a program: that of a step after those of its children."""
        number = self.where_unset(program.unset)
        if number is not None:
            return program.number(number)
        places = [program.place(child) for child in self.children()]
        return program.step(self._checked, (Program.EVALUATION, *places))

    def _checked(self, ev: Evaluation, *values: Any) -> Values:
        """The values of `compute`, refused unless they are one number or one per candidate."""
        computed = self.compute(ev, *values)
        if computed.__class__ is float:
            return computed
        shape = computed.shape if computed.__class__ is np.ndarray else np.shape(computed)
        if shape and shape != ev.candidates.rows.shape:  # NumPy would spread one row over all
            raise InvalidProfile(
                self.label(),
                f"computes values of shape {shape} for {len(ev.candidates)} candidates",
                "give one for each of ev.candidates, or a single number",
            )
        return computed

    def label(self) -> str:
        """The name of this node in an explanation."""
        return str(self)

    def how(self) -> str:
        """The operation between the children, for an explanation."""
        return ""

    def note(self, ev: Evaluation, row: int) -> str:
        """A remark on the value at one row, for an explanation."""
        return ""

    def evaluate(self, query: Query, candidates: Candidates) -> Floats:
        """The signal's value for every candidate: float64 of shape (candidates,)."""
        return Evaluation(query, candidates).column(self)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        """The tree of values at one row; its root is `evaluate(...)[row]`, bit for bit."""
        return Explanation(
            self.label(),
            ev.at(self, row),
            self.how(),
            tuple(child.explain(ev, row) for child in self.children()),
            self.note(ev, row),
        )

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return call_text(self)

    @cached_property
    def reads_subtotal(self) -> bool:
        """True if it depends on the parts before it in a sum (see `Subtotal`)."""
        return isinstance(self, Subtotal) or any(c.reads_subtotal for c in self.children())

    def named(self, name: str, doc: str = "", group: str = "") -> NamedExpression:
        """The same signal under a name of its own, with a line on its meaning and its group."""
        return NamedExpression(name, self, doc, group)

    def default(self, value: float) -> Default:
        """The same signal with `value` where it has none."""
        return Default(self, value)

    def __add__(self, other: Signal | float) -> Sum:
        parts = self.parts if isinstance(self, Sum) else (self,)
        return Sum((*parts, signal(other)))

    def __radd__(self, other: float) -> Sum:
        return Sum((signal(other), self))

    def __sub__(self, other: Signal | float) -> Sum:
        return self + -1.0 * signal(other)

    def __mul__(self, other: Signal | float) -> Product:
        parts = self.parts if isinstance(self, Product) else (self,)
        return Product((*parts, signal(other)))

    def __rmul__(self, other: float) -> Product:
        right = self.parts if isinstance(self, Product) else (self,)
        return Product((signal(other), *right))

    def __truediv__(self, other: Signal | float) -> Quotient:
        return Quotient(self, signal(other))


def signal(value: Signal | float) -> Signal:
    """A number as a constant signal; a signal as it is."""
    return value if isinstance(value, Signal) else Constant(float(value))


def _signals(value: Any) -> Iterator[Signal]:
    if isinstance(value, Signal):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _signals(item)


class Elementwise(Signal):
    """A signal whose values are a function of those of its children, and of nothing else."""

    def combine(self, *values: Any, **none: Any) -> Values:
        """This node's values, given those of its children in their order."""
        raise TypeError(f"{type(self).__name__} does not say how it is computed")

    def compile(self, program: Program) -> int:
        return self._step(program, [program.place(child) for child in self.children()])

    def _step(
        self, program: Program, places: Sequence[int], read: Sequence[int] | None = None
    ) -> int:
        """The place of a step over some values; of a number where all of them are numbers."""
        numbers = [program.numbers[place] for place in places]
        if None in numbers:
            return program.step(self.combine, places, read)
        with np.errstate(all="ignore"):
            return program.number(self.combine(*numbers))


@dataclass(frozen=True)
class Constant(Signal):
    """The same number for every candidate."""

    value: float

    def compile(self, program: Program) -> int:
        return program.number(self.value)

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Col(Signal):
    """The column of that name, NaN where it has no value."""

    name: str

    def columns(self) -> frozenset[str]:
        return frozenset({self.name})

    def where_unset(self, unset: Set[str]) -> float | None:
        return math.nan if self.name in unset else None

    def compile(self, program: Program) -> int:
        number = self.where_unset(program.unset)
        if number is not None:
            return program.number(number)
        is_plain = type(self).compute is Col.compute
        return program.step(self._of_table if is_plain else self._checked, (Program.EVALUATION,))

    def _of_table(self, ev: Evaluation) -> Values:
        column = ev.candidates.columns.get(self.name)
        if column.__class__ is np.ndarray and column.dtype.char == "d" and column.ndim == 1:
            return column
        return self._checked(ev)

    def compute(self, ev: Evaluation) -> Floats:
        try:
            return ev.candidates.floats(self.name)
        except (ValueError, TypeError):
            raise InvalidProfile(
                self.name, "is not a number", "take lookup(...) for texts, or another column"
            ) from None

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return ev.origin(self.name, row) or super().explain(ev, row)

    def note(self, ev: Evaluation, row: int) -> str:
        """The reasons that a stage left beside the column: `conflict.by`, `activation.via`."""
        reasons = {
            name.removeprefix(f"{self.name}."): column[row]
            for name, column in ev.candidates.columns.items()
            if name.startswith(f"{self.name}.")
        }
        return "; ".join(
            f"{name} {_formatted(value)}"
            for name, value in sorted(reasons.items())
            if value is not None and value == value
        )

    def __str__(self) -> str:
        return self.name


def _formatted(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_formatted(item)}" for name, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_formatted, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Sum(Elementwise):
    """a + b + ..., added from left to right."""

    parts: tuple[Signal, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def compile(self, program: Program) -> int:
        places: list[int] = []
        for part in self.parts:
            if part.reads_subtotal and places:
                places = [self._added(program, places)]
                program.subtotal = places[0]
            places.append(program.place(part))
        return self._added(program, places)

    def _added(self, program: Program, places: Sequence[int]) -> int:
        """The place of the sum of the values at some places."""
        first, *rest = places
        rest = [place for place in rest if program.numbers[place] != 0.0]  # adding 0 is not a step
        return self._step(program, (first, *rest)) if rest else first

    def combine(self, first: Values, *rest: Values) -> Values:
        for value in rest:
            if value.__class__ is np.ndarray or value != 0.0:  # parts may be 0 for all candidates
                first = first + value
        return first

    def how(self) -> str:
        return "sum"

    def label(self) -> str:
        return "sum"

    def __str__(self) -> str:
        return "(" + " + ".join(str(part) for part in self.parts) + ")"


@dataclass(frozen=True)
class Subtotal(Signal):
    """The sum of the parts that stand before the one it is in; in a sum only."""

    def compile(self, program: Program) -> int:
        if program.subtotal is None:
            raise InvalidProfile(
                "subtotal", "has nothing before it", "let it stand in a later part of a sum"
            )
        return program.subtotal

    def __str__(self) -> str:
        return "subtotal"


@dataclass(frozen=True)
class Product(Elementwise):
    """a * b * ..., multiplied from left to right."""

    parts: tuple[Signal, ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)

    def compile(self, program: Program) -> int:
        last, *_ = places = [program.place(part) for part in self.parts]
        factors = [place for place in places if program.numbers[place] != 1.0]
        if len(factors) > 1:
            return self._step(program, factors)
        return factors[0] if factors else last

    def combine(self, first: Values, *rest: Values) -> Values:
        for value in rest:
            first = first * value
        return first

    def how(self) -> str:
        return "product"

    def label(self) -> str:
        weight, *rest = self.parts
        if isinstance(weight, Constant) and len(rest) == 1:
            return f"{weight} * {rest[0].label()}"
        return "product"

    def __str__(self) -> str:
        return " * ".join(_operand(part) for part in self.parts)


def _operand(signal: Signal) -> str:
    return f"({signal})" if isinstance(signal, Quotient) else str(signal)


@dataclass(frozen=True)
class Quotient(Elementwise):
    """a / b, 0 where b is 0."""

    top: Signal
    bottom: Signal

    def combine(self, top: Values, bottom: Values) -> Values:
        top, bottom = np.broadcast_arrays(top, bottom)
        zero = np.where(np.isnan(top), top, 0.0)
        return _number(np.divide(top, bottom, out=zero, where=bottom != 0.0))

    def how(self) -> str:
        return "quotient"

    def label(self) -> str:
        return "quotient"

    def __str__(self) -> str:
        bottom = f"({self.bottom})" if isinstance(self.bottom, Product) else _operand(self.bottom)
        return f"{self.top} / {bottom}"


@dataclass(frozen=True)
class Default(Elementwise):
    """The signal, or `value` where it has none."""

    of: Signal
    value: float

    def compile(self, program: Program) -> int:
        of = program.place(self.of)
        return self._step(program, (of,), (of, program.number(self.value)))

    def combine(self, values: Values) -> Values:
        missing = np.isnan(values)
        return (
            _number(np.where(missing, self.value, values)) if np.count_nonzero(missing) else values
        )

    def how(self) -> str:
        return "default"

    def label(self) -> str:
        return self.of.label()

    def note(self, ev: Evaluation, row: int) -> str:
        return f"not there; {self.value:g} stands in" if np.isnan(ev.at(self.of, row)) else ""

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        if np.isnan(ev.at(self.of, row)):
            return Signal.explain(self, ev, row)
        return self.of.explain(ev, row)


@dataclass(frozen=True)
class FirstOf(Elementwise):
    """The first of several signals that has a value; NaN where none has."""

    options: tuple[Signal, ...]

    def __post_init__(self) -> None:
        _check_parts(self.options)

    def combine(self, values: Values, *others: Values) -> Values:
        for other in others:
            values = np.where(np.isnan(values), other, values)
        return _number(values)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        present = (option for option in self.options if not np.isnan(ev.at(option, row)))
        return next(present, self.options[-1]).explain(ev, row)


@dataclass(frozen=True)
class NamedExpression(Signal):
    """A signal under a name, by which weights and explanations refer to it.

    `doc` says in one line what it stands for; `group` is the heading under which explanations and
    formulas show it.
    """

    name: str
    of: Signal
    doc: str = ""
    group: str = ""

    def compile(self, program: Program) -> int:
        return program.place(self.of)

    def label(self) -> str:
        return self.name

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        inner = self.of.explain(ev, row)
        return Explanation(
            self.name, inner.value, inner.how, inner.children, inner.note, self.doc, self.group
        )

    def __str__(self) -> str:
        return self.name


KERNEL_OF |= {
    Sum.combine: "sum",
    Product.combine: "product",
    Quotient.combine: "quotient",
    FirstOf.combine: "first_of",
    Default.combine: "first_of",  # of a signal and a number
}


def _number(values: Floats) -> Values:
    """An array of no dimensions as the number it is."""
    return values if np.ndim(values) else float(values)


def _check_parts(parts: tuple[Signal, ...]) -> None:
    if not parts:
        raise InvalidInput("parts", "are none", "give at least one")


def first_of(*options: Signal) -> FirstOf:
    """The first of several signals that is there."""
    return FirstOf(options)
