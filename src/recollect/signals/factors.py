"""The usual factors of a score, each between 0 and 1, with what stands in where one is missing."""

from __future__ import annotations

from recollect.expr import Col, Named


def similarity(route: str = "vector") -> Named:
    """cosine(query, memory), 0 where either has no vector."""
    return Col(f"{route}.score").default(0.0).named("similarity")


def importance() -> Named:
    """The memory's importance in [0, 1], 0.5 where none was given."""
    return Col("importance").default(0.5).named("importance")
