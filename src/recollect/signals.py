"""Named signals: formulas of their own that the algebra alone cannot say, each with its source.

A signal is a frozen dataclass with a formula in its first line. To add one, write it here.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recollect.candidates import Floats
from recollect.explain import Explanation
from recollect.expr import Apply, Col, Evaluation, Named, Signal, Values, exp, signal

DAY = 86_400.0
_MONTHS = 12


@dataclass(frozen=True)
class Age(Signal):
    """age = max(0, now - t) in days, t the first of `of` that is there; NaN where none is.

    A time in the future counts as now.
    """

    of: tuple[str, ...] = ("last_accessed", "created_at")

    def columns(self) -> frozenset[str]:
        return frozenset(self.of)

    def compute(self, ev: Evaluation) -> Values:
        times = ev.candidates.floats(self.of[0])
        for name in self.of[1:]:
            times = np.where(np.isnan(times), ev.candidates.floats(name), times)
        return np.maximum(0.0, (ev.query.now - times) / DAY)

    def __str__(self) -> str:
        return f"days_since({', '.join(self.of)})"


@dataclass(frozen=True)
class MinMax(Signal):
    """(x - min) / (max - min) within [0, 1], NaN kept; 0 where min = max.

    min and max are those of `over` among the candidates, of x itself by default.
    """

    of: Signal
    over: Signal | None = None

    def compute(self, ev: Evaluation) -> Values:
        values = ev(self.of)
        yardstick = values if self.over is None else ev(self.over)
        low, high = np.fmin.reduce(yardstick, axis=None), np.fmax.reduce(yardstick, axis=None)
        if not high > low:
            return values * 0.0
        scaled = (values - low) / (high - low)
        return scaled if self.over is None else np.minimum(np.maximum(scaled, 0.0), 1.0)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _scaled(self, ev, row)

    def how(self) -> str:
        return "min-max over the candidates"

    def label(self) -> str:
        return f"minmax({self.of.label()})"

    def __str__(self) -> str:
        return f"minmax({self.of})" if self.over is None else f"minmax({self.of}; {self.over})"


@dataclass(frozen=True)
class OverMax(Signal):
    """x / max, NaN kept; 0 where the max is not above 0.

    max is that of `over` among the candidates, of x itself by default.
    """

    of: Signal
    over: Signal | None = None

    def compute(self, ev: Evaluation) -> Values:
        values = ev(self.of)
        high = np.fmax.reduce(values if self.over is None else ev(self.over), axis=None)
        return values / high if high > 0.0 else values * 0.0

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _scaled(self, ev, row)

    def how(self) -> str:
        return "share of the largest among the candidates"

    def label(self) -> str:
        return f"overmax({self.of.label()})"

    def __str__(self) -> str:
        return f"overmax({self.of})" if self.over is None else f"overmax({self.of}; {self.over})"


@dataclass(frozen=True)
class BestOf(Signal):
    """max of x over the candidates with the same value of a text column; x where it has none."""

    of: Signal
    group: str = "session_id"

    def columns(self) -> frozenset[str]:
        return frozenset({self.group})

    def compute(self, ev: Evaluation) -> Values:
        groups, count = ev.groups(self.group)
        best = np.full(count, np.nan)
        np.fmax.at(best, groups, ev(self.of))
        return best[groups]

    def how(self) -> str:
        return f"largest of its {self.group}"

    def __str__(self) -> str:
        return f"best({self.of}, {self.group})"


@dataclass(frozen=True)
class Nearby(Signal):
    """sum of x^2 * exp(-distance / tau) over the session's other candidates, distance in turns.

    The `reach` candidates nearest before and after count; 0 where there is no session.
    """

    of: Signal
    tau: float = 4.0
    reach: int = 8

    def columns(self) -> frozenset[str]:
        return frozenset({"session_id", "position"})

    def compute(self, ev: Evaluation) -> Values:
        groups, _ = ev.groups("session_id")
        # Sessions lie a million turns apart, where nothing is near; sorted by this place, who is
        # near in a session is near in the order, too.
        place = groups * 1e6 + np.nan_to_num(ev.candidates.floats("position"))
        order = np.argsort(place, kind="stable")
        scaled = place[order] / -self.tau
        weight = np.square(np.nan_to_num(ev(self.of)[order]))
        around = np.zeros(len(order))
        for step in range(1, min(self.reach, len(order) - 1) + 1):
            fading = np.exp(scaled[step:] - scaled[:-step])
            around[step:] += fading * weight[:-step]
            around[:-step] += fading * weight[step:]
        found = np.empty(len(order))
        found[order] = around
        return found

    def how(self) -> str:
        return "candidates around it in its session"

    def __str__(self) -> str:
        return f"nearby({self.of}, {self.tau:g}, {self.reach})"


@dataclass(frozen=True)
class SessionCover(Signal):
    """sum of idf(t) over the query's terms in any candidate of the session / over all terms found.

    In [0, 1]; a memory without a session is one by itself. 0 where no term is found at all.
    """

    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, "session_id"})

    def compute(self, ev: Evaluation) -> Values:
        groups, count = ev.groups("session_id")
        matched = ev.candidates[self.matched]
        total = float(matched.max(axis=0, initial=0.0).sum())
        if not total > 0.0:
            return 0.0
        covered = np.zeros((count, matched.shape[1]))
        np.maximum.at(covered, groups, matched)
        return covered.sum(axis=1)[groups] / total

    def __str__(self) -> str:
        return f"session_cover({self.matched})"


@dataclass(frozen=True)
class SaidBy(Signal):
    """1 where the speaker is one of those the query names, or of a role, else 0.

    `who` is "named", "user", "assistant", or "nobody" for no speaker at all.
    """

    who: Literal["named", "user", "assistant", "nobody"]

    def columns(self) -> frozenset[str]:
        return frozenset({"speaker"})

    def compute(self, ev: Evaluation) -> Values:
        reading = ev.query.reading
        wanted: Set[str | None] = {
            "named": reading.speakers,
            "user": reading.users,
            "assistant": reading.assistants,
            "nobody": {None},
        }[self.who]
        if not wanted:
            return 0.0
        speakers = ev.candidates["speaker"].tolist()
        return np.array([speaker in wanted for speaker in speakers], dtype=np.float64)

    def __str__(self) -> str:
        return f"said_by({self.who})"


@dataclass(frozen=True)
class OnDate(Signal):
    """1 where the memory's date has what the query names of one, else 0 (times in UTC).

    `part` is "year", "month" or "day" (within 3 days, of the years named, or any).
    """

    part: Literal["year", "month", "day"]

    def columns(self) -> frozenset[str]:
        return frozenset({"created_at"})

    def compute(self, ev: Evaluation) -> Values:
        dates = ev.query.reading.dates
        asked = {"year": dates.years, "month": dates.months, "day": dates.days}[self.part]
        if not asked:
            return 0.0
        seconds = np.nan_to_num(ev.candidates.floats("created_at"), nan=-1e12)
        day = np.floor(seconds / DAY).astype("datetime64[D]")
        year = day.astype("datetime64[Y]").astype(np.int64) + 1970
        if self.part == "year":
            return np.isin(year, list(dates.years)).astype(np.float64)
        if self.part == "month":
            month = day.astype("datetime64[M]").astype(np.int64) % _MONTHS + 1
            return np.isin(month, list(dates.months)).astype(np.float64)
        return self._near(day, dates.days, dates.years or set(year.tolist()))

    @staticmethod
    def _near(day: Any, days: Set[tuple[int, int]], years: Set[int]) -> Floats:
        found = np.zeros(len(day), dtype=bool)
        for month, day_of_month in days:
            for year in years:
                try:
                    asked = np.datetime64(f"{year:04d}-{month:02d}-{day_of_month:02d}")
                except ValueError:  # the 31st of a short month
                    continue
                found |= np.abs((day - asked).astype(np.int64)) <= 3
        return found.astype(np.float64)

    def __str__(self) -> str:
        return f"on_date({self.part})"


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


def _scaled(scaled: MinMax | OverMax, ev: Evaluation, row: int) -> Explanation:
    """The tree without `over`, which is not a part of the value but its yardstick."""
    inner = scaled.of.explain(ev, row)
    return Explanation(scaled.label(), ev.at(scaled, row), scaled.how(), (inner,))
