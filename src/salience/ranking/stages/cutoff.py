"""A lower bound on a column: what a search asked for as a minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from salience.ranking.stages.stage import Depth, Stage
from salience.retrieval.candidates import Candidates, best_first
from salience.retrieval.operations import ReadTexts
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query


@dataclass(frozen=True)
class MinValue(Stage):
    """The rows where a column is there and at least `least`."""

    column: str
    least: float

    def reads(self) -> frozenset[str]:
        return frozenset({self.column})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        return candidates.take(candidates.floats(self.column) >= self.least)


def min_value(column: str, least: float) -> MinValue:
    """Keep the rows where a column is at least a number."""
    return MinValue(column, least)


def ranked(query: Query, candidates: Candidates, k: int | None, by: str = "score") -> Candidates:
    """The best k (all for None) by a column descending, then name, at or above `min_score`."""
    if query.min_score is not None and by == "score":
        candidates = candidates.take(candidates.floats(by) >= query.min_score)
    return candidates.take(best_first(candidates.floats(by), candidates.names, k))


def packed(query: Query, candidates: Candidates) -> Plan[Candidates]:
    """The first k of the table in its order; with a token budget, the first k that fit into it.

    One that does not fit is skipped and the next is tried, so nothing over budget is returned.
    """
    if query.token_budget is None:
        found = candidates.take(np.arange(min(query.k, len(candidates))))
        return found.with_columns(**{"pack.tokens": np.full(len(found), np.nan)})
    left, taken, costs = query.token_budget, list[int](), list[float]()
    block = query.k
    start = 0
    while start < len(candidates) and len(taken) < query.k and left > 0:
        texts = yield from ask(ReadTexts(candidates.rows[start : start + block]))
        for place, text in enumerate(texts, start):
            cost = query.count_tokens(text or "")
            if cost <= left and len(taken) < query.k:
                taken.append(place)
                costs.append(float(cost))
                left -= cost
        start, block = start + block, 2 * block
    found = candidates.take(np.array(taken, dtype=np.intp))
    return found.with_columns(**{"pack.tokens": np.array(costs, dtype=np.float64)})


@dataclass(frozen=True)
class Keep(Stage):
    """The best `depth` rows (all for None) by the column `by` descending, then id."""

    depth: int | Depth | None
    by: str = "score"

    def reads(self) -> frozenset[str]:
        return frozenset({self.by, "id"})

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        depth = self.depth.of(query) if isinstance(self.depth, Depth) else self.depth
        return ranked(query, candidates, depth, self.by)


@dataclass(frozen=True)
class Pack(Stage):
    """The first k rows of the table in its order that fit the query's token budget, if it has one.

    One that does not fit is skipped and the next is tried. Writes `pack.tokens`, what each takes:
    ceil(characters / 4) unless the memory was opened with another counter; NaN without a budget.

    Source: the design of the "activation" profile, token packing.
    """

    ends: ClassVar[bool] = True

    def writes(self) -> frozenset[str]:
        return frozenset({"pack.tokens"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        return (yield from packed(query, candidates))


@dataclass(frozen=True)
class Cut(Stage):
    """The best k by `score` descending, then id, at or above the query's `min_score`; packed.

    With a token budget it is the best k that fit, see `Pack`.
    """

    ends: ClassVar[bool] = True
    ranks: ClassVar[bool] = True

    def reads(self) -> frozenset[str]:
        return frozenset({"score", "id"})

    def writes(self) -> frozenset[str]:
        return frozenset({"pack.tokens"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        k = query.k if query.token_budget is None else None
        return (yield from packed(query, ranked(query, candidates, k)))


def keep(depth: int | Depth | None, by: str = "score") -> Keep:
    """Keep the best rows by a column."""
    return Keep(depth, by)


def pack() -> Pack:
    """Keep the first k that fit the token budget."""
    return Pack()


def cut() -> Cut:
    """Keep the best k."""
    return Cut()
