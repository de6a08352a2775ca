"""Functions in formulas: of numbers by name, look-ups by text, and features of the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from salience import arithmetic
from salience.errors import InvalidInput
from salience.language.analysis_types import QUERY_FEATURES
from salience.lazily import dataclass
from salience.ranking.evaluation import KERNEL_OF, Evaluation, Program, Values
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Elementwise, Signal, signal
from salience.retrieval.candidates import Floats


@dataclass(frozen=True)
class Lookup(Signal):
    """table[value of a text column]; NaN where there is no value, or one not in the table."""

    column: str
    table: tuple[tuple[str, float], ...]

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def compute(self, ev: Evaluation) -> Values:
        table: dict[Any, float] = dict(self.table)
        places, values = ev.distinct(self.column)
        numbers = [table.get(v, np.nan) if isinstance(v, str) else np.nan for v in values]
        return np.array(numbers, dtype=np.float64)[places]

    def note(self, ev: Evaluation, row: int) -> str:
        value = ev.candidates.columns[self.column][row]
        return f"{self.column} {value}" if isinstance(value, str) else ""

    def __str__(self) -> str:
        return f"lookup({self.column})"


@dataclass(frozen=True)
class QueryFlag(Signal):
    """1 where the query has the feature of that name, else 0 (see `QUERY_FEATURES`)."""

    feature: str

    def __post_init__(self) -> None:
        _check_query_feature(self.feature)

    def compile(self, program: Program) -> int:
        return program.number(program.features.get(self.feature, 0.0))

    def __str__(self) -> str:
        return self.feature


@dataclass(frozen=True)
class WhenQuery(Signal):
    """The signal where the query has the feature of that name, else 0 (see `QUERY_FEATURES`)."""

    feature: str
    of: Signal

    def __post_init__(self) -> None:
        _check_query_feature(self.feature)

    def compile(self, program: Program) -> int:
        return program.place(self.of) if program.features.get(self.feature) else program.number(0.0)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        if ev.query.reading.features.get(self.feature):
            return self.of.explain(ev, row)
        return Explanation(self.of.label(), 0.0, note=f"{self.feature} does not hold")


def _check_query_feature(name: str) -> None:
    """Refuse a name that no feature of a query has; it would be 0 for every query."""
    if name not in QUERY_FEATURES:
        raise InvalidInput(
            "feature",
            f"there is no feature {name!r} of a query",
            f"use one of {', '.join(sorted(QUERY_FEATURES))}",
        )


@dataclass(frozen=True)
class Apply(Elementwise):
    """A named elementwise function of its arguments (see `Apply.FUNCTIONS`)."""

    function: str
    arguments: tuple[Signal, ...]

    FUNCTIONS: ClassVar[dict[str, Callable[..., Floats]]] = {
        "exp": arithmetic.exp,
        "log": arithmetic.log,
        "sqrt": np.sqrt,
        "minimum": np.minimum,
        "maximum": np.maximum,
        "floor": np.floor,
        "sigmoid": arithmetic.sigmoid,
        "power": arithmetic.power,
        "at_most": lambda x, limit: np.less_equal(x, limit).astype(np.float64),
    }

    def __post_init__(self) -> None:
        if self.function not in self.FUNCTIONS:
            raise InvalidInput(
                "function",
                f"there is no function {self.function!r}",
                f"use one of {', '.join(sorted(self.FUNCTIONS))}",
            )
        takes, count = arity(self.FUNCTIONS[self.function]), len(self.arguments)
        if count != takes:
            raise InvalidInput(
                "arguments", f"are {count} where {self.function} takes {takes}", f"give {takes}"
            )

    @property
    def combine(self) -> Callable[..., Floats]:
        return self.FUNCTIONS[self.function]

    def how(self) -> str:
        return self.function

    def label(self) -> str:
        return self.function

    def __str__(self) -> str:
        return f"{self.function}({', '.join(str(a) for a in self.arguments)})"


KERNEL_OF |= {
    Apply.FUNCTIONS[name]: name
    for name in ("exp", "sqrt", "minimum", "maximum", "floor", "sigmoid", "at_most")
}


def arity(function: Callable[..., Floats]) -> int:
    """The number of arguments that a function of `Apply` takes."""
    return function.nin if isinstance(function, np.ufunc) else len(signature(function).parameters)


def lookup(column: str, table: Mapping[str, float]) -> Lookup:
    """The number that a table gives for the value of a text column."""
    return Lookup(column, tuple(table.items()))


def exp(value: Signal) -> Apply:
    """e to the power of the signal."""
    return Apply("exp", (value,))


def log(value: Signal) -> Apply:
    """The natural logarithm."""
    return Apply("log", (value,))


def minimum(left: Signal | float, right: Signal | float) -> Apply:
    """The smaller of two, element by element."""
    return Apply("minimum", (signal(left), signal(right)))


def maximum(left: Signal | float, right: Signal | float) -> Apply:
    """The larger of two, element by element."""
    return Apply("maximum", (signal(left), signal(right)))


def at_most(value: Signal, limit: float) -> Apply:
    """1 where the signal has a value of at most `limit`, else 0."""
    return Apply("at_most", (value, signal(limit)))
