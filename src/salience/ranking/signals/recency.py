"""Recency: ages, and exponential forgetting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from salience.arithmetic import log
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.expressions import Col, NamedExpression, Signal, first_of
from salience.ranking.functions import Apply, exp, lookup, maximum
from salience.records.events import DAY_SECONDS

DAY = DAY_SECONDS
HOUR = 3_600.0
HALF_LIFE_HOURS = {"short": 6.0, "medium": 7 * 24.0, "long": 90 * 24.0}
_OUTDATED = {"outdated": 2.0}


@dataclass(frozen=True)
class Age(Signal):
    """age = max(0, now - t) in `unit`s, t the first of `of` that is there; NaN where none is.

    A time in the future counts as now.
    """

    of: tuple[str, ...] = ("last_accessed", "created_at")
    unit: Literal["days", "hours"] = "days"

    def columns(self) -> frozenset[str]:
        return frozenset(self.of)

    def compute(self, ev: Evaluation) -> Values:
        times = ev.candidates.floats(self.of[0])
        for name in self.of[1:]:
            times = np.where(np.isnan(times), ev.candidates.floats(name), times)
        return np.maximum(0.0, (ev.query.now - times) / (DAY if self.unit == "days" else HOUR))

    def __str__(self) -> str:
        return f"{self.unit}_since({', '.join(self.of)})"


def days_since(*of: str) -> Age:
    """Days since the first of the times that is there (default: last access, else creation)."""
    return Age(of) if of else Age()


def hours_since(*of: str) -> Age:
    """Hours since the first of the times that is there (default: last access, else creation)."""
    return Age(of, "hours") if of else Age(unit="hours")


def decay(rate: Signal | float, age: Signal) -> Apply:
    """exp(-rate * age): exponential forgetting, 1 at age 0."""
    return exp(-1.0 * rate * age if isinstance(rate, Signal) else -rate * age)


def hourly_rate() -> NamedExpression:
    """rate = decay_rate, else ln 2 / half-life of its tier; twice that once judged outdated.

    Half-lives are 6 hours (short), 7 days (medium) and 90 days (long, and for a memory without a
    tier), so rates are 0.115525, 0.00412588 and 0.000320901 per hour; at least 0.

    Source: the design of the "six_factor" profile, recency. It does not say which tier a memory
    without one has; of the three, the longest finds the most in conversations of months.
    """
    rates = {tier: log(2.0) / hours for tier, hours in HALF_LIFE_HOURS.items()}
    own = first_of(Col("decay_rate"), lookup("tier", rates).default(rates["long"]))
    outdated = maximum(1.0 + Col("outdated").default(0.0), lookup("review", _OUTDATED).default(1.0))
    return (own * outdated).named("rate")
