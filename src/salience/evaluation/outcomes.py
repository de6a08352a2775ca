"""Outcomes: what each question of a set was answered, and the means of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.evaluation.metrics import MEASURES, Metrics, mean


@dataclass(frozen=True, slots=True)
class Judged:
    """The measures of one question of a conversation."""

    conversation: str
    id: str
    category: str | None
    metrics: Metrics


@dataclass(frozen=True)
class Outcome:
    """The measures of all questions of one set, with one profile and embedder."""

    set: str
    profile: str
    embedder: str
    judged: tuple[Judged, ...]
    ms_per_query: float

    @property
    def queries(self) -> int:
        """The number of questions."""
        return len(self.judged)

    @cached_property
    def metrics(self) -> Metrics:
        """The mean of each measure."""
        return mean([each.metrics for each in self.judged])

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The interval in which the mean of each measure is, with a confidence of 95 percent."""
        return intervals(self.judged)

    @cached_property
    def by_category(self) -> dict[str, tuple[Judged, ...]]:
        """The questions of each category, by its name."""
        names = sorted({each.category for each in self.judged if each.category is not None})
        return {name: tuple(e for e in self.judged if e.category == name) for name in names}

    @cached_property
    def categories(self) -> dict[str, tuple[int, Metrics]]:
        """The number of questions of each category, and the mean of each measure."""
        return {
            name: (len(judged), mean([each.metrics for each in judged]))
            for name, judged in self.by_category.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "set": self.set,
            "profile": self.profile,
            "embedder": self.embedder,
            "queries": self.queries,
            "metrics": self.metrics,
            "intervals": self.intervals,
            "categories": {
                name: {
                    "queries": count,
                    **values,
                    "intervals": intervals(self.by_category[name]),
                }
                for name, (count, values) in self.categories.items()
            },
            "ms_per_query": self.ms_per_query,
        }


def intervals(judged: Sequence[Judged]) -> dict[str, Interval]:
    """The interval of the mean of each measure, over conversations resampled."""
    if not judged:
        return {}
    values = np.array([[each.metrics[name] for name in MEASURES] for each in judged])
    found = mean_intervals(values, [each.conversation for each in judged])
    return {
        name: (max(0.0, low), min(1.0, high))  # no measure is outside
        for name, (low, high) in zip(MEASURES, found, strict=True)
    }


# Confidence intervals of means over questions, by resampling whole conversations

SAMPLES = 10_000
CONFIDENCE = 0.95
_SEED = 0  # the same questions give the same interval

Interval = tuple[float, float]


def mean_intervals(
    values: NDArray[np.float64], conversations: Sequence[str], confidence: float = CONFIDENCE
) -> list[Interval]:
    """The interval of the mean of each column: the quantiles of the means of drawn conversations.

    Args:
        values: one row a question, one column a measure or a difference of measures, in [-1, 1].
        conversations: the conversation of each row.
        confidence: the share of cases, in (0, 1), in which the mean of all is in the interval.
    """
    names, groups = np.unique(np.asarray(conversations, dtype=object), return_inverse=True)
    if len(names) == 1:
        groups = np.arange(len(values))
    clusters = int(groups.max()) + 1
    means = values.mean(axis=0)
    if clusters == 1:  # a single question says nothing of others
        return [(-1.0, 1.0)] * values.shape[1]
    sums = np.zeros((clusters, values.shape[1]))
    np.add.at(sums, groups, values)
    sizes = np.bincount(groups, minlength=clusters).astype(float)
    drawn = np.random.default_rng(_SEED).multinomial(
        clusters, np.full(clusters, 1.0 / clusters), SAMPLES
    )
    deviations = drawn @ sums / (drawn @ sizes)[:, None] - means
    widened = means + deviations * np.sqrt(clusters / (clusters - 1))
    outside = (1.0 - confidence) / 2.0
    low, high = np.quantile(widened, (outside, 1.0 - outside), axis=0)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
