"""Priors: factors of a memory that do not depend on the query, each with its default."""

from __future__ import annotations

from salience.ranking.expressions import Col, NamedExpression
from salience.ranking.functions import maximum, minimum

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
