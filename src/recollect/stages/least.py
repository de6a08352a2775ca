"""A lower bound on a column: what a search asked for as a minimum."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.candidates import Candidates
from recollect.query import Query
from recollect.stages.core import Stage


@dataclass(frozen=True)
class AtLeast(Stage):
    """The rows where a column is there and at least `least`."""

    column: str
    least: float

    def reads(self) -> frozenset[str]:
        return frozenset({self.column})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        return candidates.take(candidates.floats(self.column) >= self.least)


def at_least(column: str, least: float) -> AtLeast:
    """Keep the rows where a column is at least a number."""
    return AtLeast(column, least)
