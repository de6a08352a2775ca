"""Normalization: signals in proportion to those of the other candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Elementwise, Signal
from salience.retrieval.candidates import Floats


@dataclass(frozen=True)
class MinMax(Elementwise):
    """(x - min) / (max - min) within [0, 1], NaN kept; 0 where min = max.

    min and max are those of `over` among the candidates, of x itself by default.
    """

    of: Signal
    over: Signal | None = None

    def combine(self, values: Values, over: Values | None = None) -> Values:
        scale = values if over is None else over
        low, high = np.fmin.reduce(scale, axis=None), np.fmax.reduce(scale, axis=None)
        if not high > low:
            return values * 0.0
        scaled = (values - low) / (high - low)
        return scaled if over is None else np.minimum(np.maximum(scaled, 0.0), 1.0)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _scaled(self, ev, row)

    def how(self) -> str:
        return "min-max over the candidates"

    def label(self) -> str:
        return f"min_max({self.of.label()})"


@dataclass(frozen=True)
class MaxScaled(Elementwise):
    """x / max, NaN kept; 0 where the max is not above 0.

    max is that of `over` among the candidates, of x itself by default.
    """

    of: Signal
    over: Signal | None = None

    def combine(self, values: Values, over: Values | None = None) -> Values:
        high = np.fmax.reduce(values if over is None else over, axis=None)
        return values / high if high > 0.0 else values * 0.0

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _scaled(self, ev, row)

    def how(self) -> str:
        return "share of the largest among the candidates"

    def label(self) -> str:
        return f"max_scaled({self.of.label()})"


@dataclass(frozen=True)
class GroupMax(Signal):
    """max of x over the candidates with the same value of a text column; x where it has none.

    Sessions of two namespaces are two, even if they have the same name.
    """

    of: Signal
    group: str = "session_id"

    def columns(self) -> frozenset[str]:
        return frozenset({self.group})

    def compute(self, ev: Evaluation, values: Values) -> Floats:
        groups = ev.groups(self.group)
        return groups.largest(ev.spread(values))[groups.of]

    def how(self) -> str:
        return f"largest of its {self.group}"


def _scaled(scaled: MinMax | MaxScaled, ev: Evaluation, row: int) -> Explanation:
    """The tree without `over`, which is not a part of the value but its scale."""
    inner = scaled.of.explain(ev, row)
    return Explanation(scaled.label(), ev.at(scaled, row), scaled.how(), (inner,))
