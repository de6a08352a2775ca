"""Normalization: signals in proportion to those of the other candidates."""

from __future__ import annotations

import numpy as np

from salience.lazily import dataclass
from salience.ranking.evaluation import KERNEL_OF, Evaluation, Program, Values, groups_of
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Col, Constant, Elementwise, NamedExpression, Signal, Sum
from salience.ranking.functions import maximum, minimum
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

    def compile(self, program: Program) -> int:
        groups, of = program.place(groups_of(self.group)), program.place(self.of)
        return program.step(self.compute, (Program.EVALUATION, of), (groups, of))

    def compute(self, ev: Evaluation, values: Values) -> Floats:
        groups = ev.groups(self.group)
        return groups.largest(ev.spread(values))[groups.of]

    def how(self) -> str:
        return f"largest of its {self.group}"


KERNEL_OF |= {
    MinMax.combine: "min_max",
    MaxScaled.combine: "max_scaled",
    GroupMax.compute: "group_max",
}


def _scaled(scaled: MinMax | MaxScaled, ev: Evaluation, row: int) -> Explanation:
    """The tree without `over`, which is not a part of the value but its scale."""
    inner = scaled.of.explain(ev, row)
    return Explanation(scaled.label(), ev.at(scaled, row), scaled.how(), (inner,))


# Fusion: one number from the ranks that several routes gave


def rrf(*routes: str, constant: float = 15.0) -> NamedExpression:
    """rrf = sum over routes of 1 / (constant + rank), 0 for a route without it; ranks from 1.

    In [0, routes / (constant + 1)]. The routes are added by name, so that their order changes
    nothing, and only ranks count: no score of a route does.

    Source: Cormack, Clarke and Buettcher, Reciprocal rank fusion outperforms Condorcet and
    individual rank learning methods, SIGIR 2009 (there with the constant 60).
    """
    parts = (
        (Constant(1.0) / (Col(f"{route}.rank") + constant)).default(0.0).named(route)
        for route in sorted(routes)
    )
    return Sum(tuple(parts)).named("rrf_score")


# Priors: factors of a memory that do not depend on the query, each with its default

ENOUGH_ACCESSES = 20


def similarity(route: str = "vector") -> NamedExpression:
    """cosine(query, memory) in [-1, 1], 0 where either has no vector."""
    return Col(f"{route}.score").default(0.0).named("similarity")


def likeness(route: str = "vector") -> NamedExpression:
    """max(0, cosine(query, memory)) in [0, 1], 0 where either has no vector."""
    return maximum(0.0, Col(f"{route}.score").default(0.0)).named("similarity")


def importance() -> NamedExpression:
    """The memory's importance in [0, 1], 0.5 where none was given."""
    return Col("importance").default(0.5).named("importance")


def access() -> NamedExpression:
    """min(1, access_count / 20), in [0, 1].

    Source: the design of the "six_factor" profile, access frequency.
    """
    return minimum(1.0, Col("access_count") / ENOUGH_ACCESSES).named("access")


def feedback() -> NamedExpression:
    """(1 + for) / (2 + for + against): the mean of a Beta(1, 1) prior after feedback, in (0, 1).

    `for` and `against` are the sums of the weights of positive and negative feedback; 0.5 without
    any.

    Source: the posterior mean of a Bernoulli share under a uniform prior (Laplace's rule of
    succession); the document of the "six_factor" profile gives the kinds of feedback only.
    """
    good, bad = Col("feedback_for").default(0.0), Col("feedback_against").default(0.0)
    return ((1.0 + good) / (2.0 + good + bad)).named("feedback")


def strength() -> NamedExpression:
    """The strength of the memory, in [0, 1]; 1 where it was never changed."""
    return Col("strength").default(1.0).named("strength")


def confidence() -> NamedExpression:
    """The confidence with which the memory was written, in [0, 1]; 1 where none was given."""
    return Col("confidence").default(1.0).named("confidence")


def memory_score() -> NamedExpression:
    """The usefulness of the memory so far, in [0, 1]; 0.5 where nobody judged it."""
    return Col("memory_score").default(0.5).named("memory_score")
