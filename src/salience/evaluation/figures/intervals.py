"""Confidence intervals of means over questions, by resampling whole conversations.

Questions of one conversation are alike, so the sample is that of conversations: with k of them, k
are drawn with replacement, SAMPLES times, and the mean is that of all their questions. What the
drawn means differ from the mean is too little by sqrt((k - 1) / k), which is made good (Hesterberg
2015, "What Teachers Should Know About the Bootstrap"). Where there is one conversation, its
questions are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
