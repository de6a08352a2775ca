"""Named signals: formulas of their own that the algebra alone cannot say, each with its source.

A signal is a frozen dataclass with a formula in its first line. To add one, write it here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.candidates import Floats
from recollect.expr import Apply, Col, Evaluation, Named, Signal, exp, signal

DAY = 86_400.0


@dataclass(frozen=True)
class Age(Signal):
    """age = max(0, now - t) in days, t the first of `of` that is there; NaN where none is.

    A time in the future counts as now.
    """

    of: tuple[str, ...] = ("last_accessed", "created_at")

    def columns(self) -> frozenset[str]:
        return frozenset(self.of)

    def compute(self, ev: Evaluation) -> Floats:
        times = ev.candidates.floats(self.of[0])
        for name in self.of[1:]:
            times = np.where(np.isnan(times), ev.candidates.floats(name), times)
        return np.maximum(0.0, (ev.query.now - times) / DAY)

    def __str__(self) -> str:
        return f"days_since({', '.join(self.of)})"


@dataclass(frozen=True)
class MinMax(Signal):
    """(x - min) / (max - min) over the candidates, in [0, 1]; NaN kept; 0 where all are equal."""

    of: Signal

    def compute(self, ev: Evaluation) -> Floats:
        values = ev(self.of)
        known = values[~np.isnan(values)]
        if not len(known):
            return values
        low, span = known.min(), known.max() - known.min()
        return (values - low) / span if span > 0.0 else np.where(np.isnan(values), values, 0.0)

    def how(self) -> str:
        return "min-max over the candidates"

    def label(self) -> str:
        return f"minmax({self.of.label()})"

    def __str__(self) -> str:
        return f"minmax({self.of})"


@dataclass(frozen=True)
class OverMax(Signal):
    """x / max(x) over the candidates, at most 1; NaN kept; 0 where the largest is not above 0."""

    of: Signal

    def compute(self, ev: Evaluation) -> Floats:
        values = ev(self.of)
        known = values[~np.isnan(values)]
        if not len(known):
            return values
        top = known.max()
        return values / top if top > 0.0 else np.where(np.isnan(values), values, 0.0)

    def how(self) -> str:
        return "share of the largest among the candidates"

    def label(self) -> str:
        return f"overmax({self.of.label()})"

    def __str__(self) -> str:
        return f"overmax({self.of})"


@dataclass(frozen=True)
class BestOf(Signal):
    """max of x over the candidates that share a text column's value; NaN where there is none."""

    of: Signal
    group: str

    def columns(self) -> frozenset[str]:
        return frozenset({self.group})

    def compute(self, ev: Evaluation) -> Floats:
        values = ev(self.of)
        best: dict[str, float] = {}
        groups = ev.candidates[self.group].tolist()
        for group, value in zip(groups, values.tolist(), strict=True):
            if group is not None and value > best.get(group, -np.inf):
                best[group] = value
        return np.array([best.get(group, np.nan) for group in groups], dtype=np.float64)

    def how(self) -> str:
        return f"largest of its {self.group}"

    def __str__(self) -> str:
        return f"best({self.of}, {self.group})"


def days_since(*of: str) -> Age:
    """Days since the first of the times that is there (default: last access, else creation)."""
    return Age(of) if of else Age()


def similarity(route: str = "vector") -> Named:
    """cosine(query, memory), 0 where either has no vector."""
    return Col(f"{route}.score").default(0.0).named("similarity")


def importance() -> Named:
    """The memory's importance in [0, 1], 0.5 where none was given."""
    return Col("importance").default(0.5).named("importance")


def decay(rate: float, age: Signal) -> Apply:
    """exp(-rate * age): exponential forgetting, 1 at age 0."""
    return exp(signal(-rate) * age)
