"""The quality of rankings with known answers, and of the confidence that there are any.

Rankings are measured by the definitions of `ir_measures`.

With r relevant memories, found at the ranks i (from 1):

    R@k     = found within k / r
    Hit@k   = 1 if any was found within k, else 0
    MRR     = 1 / the first such rank, 0 where there is none within 20
    nDCG@10 = sum of 1 / log2(i + 1) within 10 / the sum that r perfect ranks would give
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import SalienceError

MEASURES = ("R@5", "R@10", "R@20", "Hit@1", "Hit@10", "MRR", "nDCG@10")
DEPTH = 20
"""Hits of a ranking that are measured."""
CALIBRATION_BINS = 10

Metrics = dict[str, float]


def load_ir_measures() -> Any:
    """The module `ir_measures`.

    Raises:
        SalienceError: it is not installed.
    """
    try:
        import ir_measures
    except ModuleNotFoundError:
        raise SalienceError(
            "measuring quality needs ir_measures; pip install 'salience[eval]'"
        ) from None
    logging.getLogger("ir_measures").setLevel(logging.ERROR)
    return ir_measures


def per_query(
    relevant: Mapping[str, Iterable[str]], ranked: Mapping[str, Sequence[str]]
) -> dict[str, Metrics]:
    """The measures of each query that has relevant memories; a query without hits scores 0.

    Args:
        relevant: the ids of the memories that answer each query.
        ranked: the ids found for each query, best first.

    Raises:
        SalienceError: `ir_measures` is not installed.
    """
    ir = load_ir_measures()
    measures = {ir.R @ 5: "R@5", ir.R @ 10: "R@10", ir.R @ 20: "R@20"}
    measures |= {ir.Success @ 1: "Hit@1", ir.Success @ 10: "Hit@10"}
    measures |= {ir.RR: "MRR", ir.nDCG @ 10: "nDCG@10"}
    qrels = {query: dict.fromkeys(ids, 1) for query, ids in relevant.items()}
    qrels = {query: ids for query, ids in qrels.items() if ids}
    # Scores by rank, so that hits with equal scores keep the order they were returned in.
    run = {
        query: {id: float(-rank) for rank, id in enumerate(ranked.get(query, ())[:DEPTH])}
        for query in qrels
    }
    values_by_query: dict[str, Metrics] = {query: {} for query in qrels}
    if qrels:
        for metric in ir.iter_calc(list(measures), qrels, run):
            values_by_query[metric.query_id][measures[metric.measure]] = float(metric.value)
    return {
        query: {name: values[name] for name in MEASURES}
        for query, values in values_by_query.items()
    }


def difference(first: Metrics, second: Metrics) -> Metrics:
    """The second minus the first, measure by measure."""
    return {name: second[name] - first[name] for name in first}


def mean(measured: Sequence[Metrics]) -> Metrics:
    """The mean of each measure, every query counting equally; empty for no query."""
    if not measured:
        return {}
    return {name: fmean(metrics[name] for metrics in measured) for name in MEASURES}


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
        confidence: the share of cases, in (0, 1), where the interval has the mean of all.
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


def intervals(measured: Sequence[Metrics], conversations: Sequence[str]) -> dict[str, Interval]:
    """The interval of the mean of each measure, over conversations resampled."""
    if not measured:
        return {}
    values = np.array([[metrics[name] for name in MEASURES] for metrics in measured])
    means = mean_intervals(values, conversations)
    return {
        name: (max(0.0, low), min(1.0, high))  # no measure is outside
        for name, (low, high) in zip(MEASURES, means, strict=True)
    }


# Confidence


def auroc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The chance that a positive is above a negative, both drawn at random; a tie counts half.

    It is the area under the receiver operating characteristic. NaN if there are no positives or
    no negatives.
    """
    if not positives or not negatives:
        return math.nan
    below = sorted(negatives)
    wins = sum(bisect_left(below, value) + bisect_right(below, value) for value in positives)
    return wins / (2 * len(positives) * len(negatives))


def expected_calibration_error(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The mean distance of a probability from the share of positives of its bin, 0 to 1.

        sum over bins of n_b / n |mean probability - share of positives|

    in ten bins of equal width (Naeini, Cooper, Hauskrecht 2015).
    """
    bins: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for label, values in ((1, positives), (0, negatives)):
        for value in values:
            bins[min(CALIBRATION_BINS - 1, int(value * CALIBRATION_BINS))].append((value, label))
    count = len(positives) + len(negatives)
    return sum(abs(sum(p - label for p, label in members)) for members in bins.values()) / count
