"""Rejection: the stage that dropped a memory, its reason, and by how much the memory missed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from salience.arithmetic import rank_key
from salience.display.result import Result, with_tuples
from salience.lazily import dataclass
from salience.ranking.explanation import Explanation, figure
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query


@dataclass(frozen=True, repr=False)
class Unmet(Result):
    """A condition of the filter that a memory does not meet, and the values it has instead."""

    _readers: ClassVar[Mapping[str, Any]] = {"values": with_tuples}

    condition: str
    values: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class OnRoute(Result):
    """A memory's exact score on one route and its rank there if the route had no depth.

    `rank` is None where the route has no evidence for it at all; `depth` is how many rows the route
    returns, `cut` the score of the last of them.
    """

    route: str
    score: float | None
    rank: int | None
    depth: int | None
    cut: float | None


@dataclass(frozen=True, repr=False)
class Part(Result):
    """A part or factor of the score as a memory and its rival have it, and what that costs."""

    name: str
    own: float
    rival: float
    behind: float


@dataclass(frozen=True, repr=False)
class WhyNot(Result):
    """The `stage` that dropped a memory and, in a sentence, the `reason`.

    Where it was outranked, `rival` is the last that went on instead, `gap` what the memory lacks
    to it, and `parts` what cost it the most, the worst first.
    """

    stage: str
    reason: str
    unmet: tuple[Unmet, ...] = ()
    routes: tuple[OnRoute, ...] = ()
    rival: str | None = None
    gap: float | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, eq=False)
class DroppedRow:
    """A row that a stage was given and did not pass on, with the tables `before` and `after` it.

    A retrieval drops every row that it does not find; `before` is then empty, and `all` has what it
    finds without a limit. `explain` takes a row and a column and gives the tree of the formula that
    wrote it; None where none did.
    """

    row: int
    query: Query
    before: Candidates
    after: Candidates
    explain: Callable[[int, str], Explanation | None]
    all: Candidates | None = None

    def value(self, column: str) -> float:
        """The row's number in a column before the stage."""
        return value_at(self.before, column, self.row)


def value_at(table: Candidates, column: str, row: int) -> float:
    """The number that a row of a table has in a column."""
    return float(table.floats(column)[table.position(row)])


def below_min_score(dropped: DroppedRow) -> WhyNot | None:
    """The reason of a row whose score is below the query's `min_score`; None for any other."""
    least = dropped.query.min_score
    if least is None or "score" not in dropped.before.columns:
        return None
    score = dropped.value("score")
    if score >= least:
        return None
    reason = f"its score is {figure(score)}, {figure(least - score)} below {least:g}"
    return WhyNot("min_score", reason, gap=least - score)


def outranked(stage: str, dropped: DroppedRow, order: Candidates, by: str = "score") -> WhyNot:
    """The reason of a row that comes too late in an order whose first rows alone go on."""
    row, after = dropped.row, dropped.after
    last, rival = int(after.rows[-1]), str(after["id"][-1])
    value, rival_value = value_at(order, by, row), value_at(after, by, last)
    rank = (order.position(row) or 0) + 1
    reason = (
        f"it is number {rank} of {len(order)}, and {len(after)} go on: "
        f"its {by} is {figure(value)}, that of the last of them {figure(rival_value)} ({rival})"
    )
    parts = costs(dropped.explain(row, by), dropped.explain(last, by))
    return WhyNot(stage, reason, rival=rival, gap=rival_value - value, parts=parts)


def costs(tree: Explanation | None, rival: Explanation | None) -> tuple[Part, ...]:
    """The parts that cost a score anything against another, the worst first."""
    behind = [part for part in gaps(tree, rival) if part.behind > 0.0]
    return tuple(sorted(behind, key=lambda part: (-rank_key(part.behind), part.name)))


def gaps(tree: Explanation | None, rival: Explanation | None) -> tuple[Part, ...]:
    """The share of every part and factor in rival - own; the shares add up to it.

    For sums s of parts, times factors f: s' f' - s f = (s' - s) f' + s (f' - f).
    """
    nothing: tuple[dict[str, float], dict[str, float]] = ({}, {})
    own_parts, own_factors = nothing if tree is None else tree.factored()
    rival_parts, rival_factors = nothing if rival is None else rival.factored()
    scale = math.prod(rival_factors.values())
    parts = []
    for name in {**rival_parts, **own_parts}:
        value, rival_value = own_parts.get(name, 0.0), rival_parts.get(name, 0.0)
        parts.append(Part(name, value, rival_value, (rival_value - value) * scale))
    base = sum(own_parts.values()) * math.prod(own_factors.values())
    for name in {**rival_factors, **own_factors}:
        value, rival_value = own_factors.get(name, 1.0), rival_factors.get(name, 1.0)
        raised = base / value * rival_value if value else 0.0
        parts.append(Part(name, value, rival_value, raised - base))
        base = raised
    return tuple(parts)
