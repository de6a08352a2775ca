"""Signals of time: ages and forgetting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.candidates import Floats
from recollect.expr import Apply, Evaluation, Signal, exp, signal

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


def days_since(*of: str) -> Age:
    """Days since the first of the times that is there (default: last access, else creation)."""
    return Age(of) if of else Age()


def decay(rate: float, age: Signal) -> Apply:
    """exp(-rate * age): exponential forgetting, 1 at age 0."""
    return exp(signal(-rate) * age)
