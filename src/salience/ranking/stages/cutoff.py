"""Cut-offs: a lower bound on a column, the best rows, and the rows that fit a token budget."""

from __future__ import annotations

import math

import numpy as np

from salience.lazily import dataclass
from salience.ranking.explanation import figure
from salience.ranking.rejection import DroppedRow, WhyNot, below_min_score, outranked
from salience.ranking.stages.stage import Depth, Stage, depth_in_rows
from salience.retrieval.candidates import Candidates, best_first
from salience.retrieval.operations import ReadTexts
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query


@dataclass(frozen=True)
class MinValue(Stage):
    """The rows with a value of at least `minimum` in a column."""

    column: str
    minimum: float

    def reads(self) -> frozenset[str]:
        return frozenset({self.column})

    def decides_by(self) -> str:
        return self.column

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        return candidates.take(candidates.floats(self.column) >= self.minimum)

    def reason(self, dropped: DroppedRow) -> WhyNot:
        value = dropped.value(self.column)
        if not math.isfinite(value):
            return WhyNot(self.label(), f"it has no {self.column}")
        gap = self.minimum - value
        reason = f"its {self.column} is {figure(value)}, {figure(gap)} below {self.minimum:g}"
        return WhyNot(self.label(), reason, gap=gap)


@dataclass(frozen=True)
class Keep(Stage):
    """The best `depth` rows (all for None) by the column `by` descending, then id."""

    depth: int | Depth | None
    by: str = "score"

    def reads(self) -> frozenset[str]:
        return frozenset({self.by, "id"})

    def decides_by(self) -> str:
        return self.by

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        return ranked(query, candidates, depth_in_rows(self.depth, query), self.by)

    def reason(self, dropped: DroppedRow) -> WhyNot:
        order = ranked(dropped.query, dropped.before, None, self.by)
        too_low = below_min_score(dropped) if self.by == "score" else None
        return too_low or outranked(self.label(), dropped, order, self.by)


@dataclass(frozen=True)
class Pack(Stage):
    """The first k rows of the table in its order that fit the query's token budget, if it has one.

    A row that does not fit is skipped and the next is tried. Writes `pack.tokens`, the tokens of
    each row: ceil(characters / 4) unless the memory was opened with another counter; NaN without a
    budget.

    Source: the design of the "activation" profile, token packing.
    """

    def writes(self) -> frozenset[str]:
        return frozenset({"pack.tokens"})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        return (yield from packed(query, candidates))

    def why_not(self, dropped: DroppedRow) -> Plan[WhyNot]:
        over = yield from _over_budget(dropped, dropped.before)
        return over or outranked(self.label(), dropped, dropped.before)


@dataclass(frozen=True)
class Cut(Stage):
    """The best k by `score` descending, then id, at or above the query's `min_score`; packed.

    With a token budget, the best k that fit: see `Pack`.
    """

    def reads(self) -> frozenset[str]:
        return frozenset({"score", "id"})

    def writes(self) -> frozenset[str]:
        return frozenset({"pack.tokens"})

    def decides_by(self) -> str:
        return "score"

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        k = query.k if query.token_budget is None else None
        return (yield from packed(query, ranked(query, candidates, k)))

    def why_not(self, dropped: DroppedRow) -> Plan[WhyNot]:
        too_low = below_min_score(dropped)
        if too_low is not None:
            return too_low
        order = ranked(dropped.query, dropped.before, None)
        over = yield from _over_budget(dropped, order)
        return over or outranked(self.label(), dropped, order)


def ranked(query: Query, candidates: Candidates, k: int | None, by: str = "score") -> Candidates:
    """The best k (all for None) by a column descending, then tie keys, at or above `min_score`."""
    if query.min_score is not None and by == "score":
        candidates = candidates.take(candidates.floats(by) >= query.min_score)
    return candidates.take(best_first(candidates.floats(by), candidates.tie_keys, k))


def packed(query: Query, candidates: Candidates) -> Plan[Candidates]:
    """The first k of the table in its order; with a token budget, the first k that fit into it.

    A row that does not fit is skipped and the next is tried, so nothing over budget is returned.
    """
    if query.token_budget is None:
        first = candidates
        if len(candidates) > query.k:
            first = candidates.take(np.arange(query.k))
        return first.with_columns(**{"pack.tokens": np.full(len(first), np.nan)})
    room, taken, costs = query.token_budget, list[int](), list[float]()
    block = query.k
    start = 0
    while start < len(candidates) and len(taken) < query.k and room > 0:
        texts = yield from ask(ReadTexts(candidates.rows[start : start + block]))
        for place, text in enumerate(texts, start):
            cost = query.count_tokens(text or "")
            if cost <= room and len(taken) < query.k:
                taken.append(place)
                costs.append(float(cost))
                room -= cost
        start, block = start + block, 2 * block
    fitting = candidates.take(np.array(taken, dtype=np.intp))
    return fitting.with_columns(**{"pack.tokens": np.array(costs, dtype=np.float64)})


def _over_budget(dropped: DroppedRow, order: Candidates) -> Plan[WhyNot | None]:
    """The reason if a row is too long for what earlier rows left of the budget; else None."""
    query, after, place = dropped.query, dropped.after, order.position(dropped.row)
    if query.token_budget is None or place is None:
        return None
    taken = np.isin(after.rows, order.rows[:place])
    if np.count_nonzero(taken) >= query.k:
        return None
    room = query.token_budget - int(after.floats("pack.tokens")[taken].sum())
    [text] = yield from ask(ReadTexts(np.array([dropped.row], dtype=np.int64)))
    cost = query.count_tokens(text or "")
    reason = (
        f"it takes {cost} tokens, {cost - room} more than the {room} that were left of "
        f"{query.token_budget}"
    )
    return WhyNot("budget", reason, gap=float(cost - room))


def min_value(column: str, minimum: float) -> MinValue:
    """Keep the rows where a column is at least a number."""
    return MinValue(column, minimum)


def keep(depth: int | Depth | None, by: str = "score") -> Keep:
    """Keep the best rows by a column."""
    return Keep(depth, by)


def pack() -> Pack:
    """Keep the first k that fit the token budget."""
    return Pack()


def cut() -> Cut:
    """Keep the best k."""
    return Cut()
