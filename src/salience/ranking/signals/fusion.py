"""Fusion: one number from the ranks that several routes gave."""

from __future__ import annotations

from salience.ranking.expressions import Col, Constant, NamedExpression, Sum


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
