"""Signals put in proportion to those of the other candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.candidates import Floats
from recollect.explain import Explanation
from recollect.expr import Evaluation, Signal


@dataclass(frozen=True)
class MinMax(Signal):
    """(x - min) / (max - min) within [0, 1], NaN kept; 0 where min = max.

    min and max are those of `over` among the candidates, of x itself by default.
    """

    of: Signal
    over: Signal | None = None

    def compute(self, ev: Evaluation) -> Floats:
        values = ev(self.of)
        low, high = _extremes(values if self.over is None else ev(self.over))
        if not high > low:
            return values * 0.0
        return np.clip((values - low) / (high - low), 0.0, 1.0)

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

    def compute(self, ev: Evaluation) -> Floats:
        values = ev(self.of)
        _, high = _extremes(values if self.over is None else ev(self.over))
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
    """max of x over the candidates that share a text column's value; NaN where there is none."""

    of: Signal
    group: str = "session_id"

    def columns(self) -> frozenset[str]:
        return frozenset({self.group})

    def compute(self, ev: Evaluation) -> Floats:
        groups, count = ev.groups(self.group)
        best = np.full(count + 1, -np.inf)
        np.maximum.at(best, groups, np.nan_to_num(ev(self.of), nan=-np.inf))
        best[-1] = np.nan  # what -1, "none", reads
        best[np.isneginf(best)] = np.nan
        return best[groups]

    def how(self) -> str:
        return f"largest of its {self.group}"

    def __str__(self) -> str:
        return f"best({self.of}, {self.group})"


def _extremes(values: Floats) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def _scaled(scaled: MinMax | OverMax, ev: Evaluation, row: int) -> Explanation:
    """The tree without `over`, which is not a part of the value but its yardstick."""
    inner = scaled.of.explain(ev, row)
    return Explanation(scaled.label(), float(ev(scaled)[row]), scaled.how(), (inner,))
