"""Why not: where a memory left that was not returned, and by how much it missed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from salience.ranking.explanation import Explanation, figure
from salience.ranking.profile import Profile
from salience.ranking.run import RankedRun, run_profile
from salience.ranking.stages import (
    Cut,
    Depth,
    Keep,
    MinValue,
    Mmr,
    Pack,
    Pipeline,
    Retrieve,
    SessionFirst,
)
from salience.ranking.stages.cutoff import ranked as by_score
from salience.records.fields import field_type
from salience.records.filters import And, Compare, Filter, Or, fields_of, holds
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import FetchColumns, ReadTexts, SearchRoute
from salience.retrieval.operations import ScoreRows as ScoreOp
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query

_SIGNS = {"eq": "=", "ne": "is not", "in": "in", "nin": "not in", "contains": "contains"} | {
    "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "exists": "exists",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unmet:
    """A condition of the filter that a memory does not meet, and the values it has instead."""

    condition: str
    values: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {"condition": self.condition, "values": dict(self.values)}


@dataclass(frozen=True, slots=True)
class OnRoute:
    """How a memory does on one route: its exact score and its rank were the route without end.

    `rank` is None where the route has no evidence for it at all; `depth` is how many the route
    brings, `cut` the score of the last of them.
    """

    route: str
    score: float | None
    rank: int | None
    depth: int | None
    cut: float | None

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: getattr(self, name) for name in ("route", "score", "rank", "depth", "cut")}


@dataclass(frozen=True, slots=True)
class Part:
    """A part or factor of the score as a memory and its rival have it, and what that costs."""

    name: str
    own: float
    rival: float
    behind: float

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: getattr(self, name) for name in ("name", "own", "rival", "behind")}


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Where a memory left, and why: `stage` and, in a sentence, the `reason`.

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

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "stage": self.stage,
            "reason": self.reason,
            "unmet": [each.to_dict() for each in self.unmet],
            "routes": [each.to_dict() for each in self.routes],
            "rival": self.rival,
            "gap": self.gap,
            "parts": [each.to_dict() for each in self.parts],
        }


def why_not(ranked: RankedRun, row: int) -> Plan[WhyNot]:
    """The plan of finding out where a row that is not among the hits left."""
    seen = ranked.last_seen(row)
    if seen is None:
        return (yield from _never_recalled(ranked, row))
    stage, before = ranked.profile.pipeline.stages[seen + 1], ranked.tables[seen]
    after = ranked.tables[seen + 1]
    low = _below_least(ranked.query, before, row) if isinstance(stage, (Cut, Keep, Mmr)) else None
    if low is not None:
        return low
    if isinstance(stage, Keep):
        return _outranked(ranked, seen, row, by_score(ranked.query, before, None, stage.by))
    if isinstance(stage, Mmr):
        return (yield from _redundant(stage, ranked.query, before, after, row))
    if isinstance(stage, (Cut, Pack)):
        order = by_score(ranked.query, before, None) if isinstance(stage, Cut) else before
        tight = yield from _over_budget(ranked.query, order, after, row)
        return tight or _outranked(ranked, seen, row, order)
    if isinstance(stage, SessionFirst):
        return _a_turn(stage, before, row)
    if isinstance(stage, MinValue):
        return _too_little(stage, before, row)
    return WhyNot(stage.called, f"{stage.called} left it out")


# Before the first table


def _never_recalled(ranked: RankedRun, row: int) -> Plan[WhyNot]:
    rows, where = np.array([row], dtype=np.int64), ranked.query.where
    names = tuple(sorted(fields_of(where)))
    columns = yield from ask(FetchColumns(rows, names))
    values = {name: _value(columns[name][0]) for name in names}
    unmet = () if where is None else tuple(_unmet(where, values))
    if unmet:
        said = "; ".join(
            f"{', '.join(f'{n} is {_said(v)}' for n, v in each.values.items())}, and asked for is "
            f"{each.condition}"
            for each in unmet
        )
        return WhyNot("filter", said, unmet)
    routes: list[OnRoute] = []
    for stage in ranked.profile.pipeline.stages:
        if isinstance(stage, Retrieve):
            routes.extend((yield from _on_routes(stage, ranked.query, rows)))
    found = [each for each in routes if each.rank is not None]
    reason = "no route has any evidence for it"
    if found:
        best = min(found, key=lambda each: (each.rank or 0) / (each.depth or 1))
        reason = f"{best.route} brings {best.depth}, and it is number {best.rank} there"
        if best.score is not None and best.cut is not None:
            reason += f" with {figure(best.score)}, the last one taken has {figure(best.cut)}"
        free = yield from run_profile(_without_depth(ranked.profile), ranked.query)
        reason += f"; with no such limit it would be number {free.rank(row)} of {len(free.scored)}"
    return WhyNot("recall", reason, routes=tuple(routes))


def _without_depth(profile: Profile) -> Profile:
    """The profile with every memory that a route has evidence for as a candidate."""
    stages = profile.pipeline.stages
    free = (replace(s, depth=None) if isinstance(s, Retrieve) else s for s in stages)
    return replace(profile, pipeline=Pipeline(tuple(free)))


def _on_routes(stage: Retrieve, query: Query, rows: Any) -> Plan[list[OnRoute]]:
    depth = stage.depth.of(query) if isinstance(stage.depth, Depth) else stage.depth
    searches = [SearchRoute(route, query, None) for route in stage.routes]
    scores = [ScoreOp(route, query, rows) for route in stage.routes]
    answers = yield [*searches, *scores]
    found = []
    for at, route in enumerate(stage.routes):
        ranking, [score] = answers[at], answers[at + len(searches)].tolist()
        places = np.flatnonzero(ranking.rows == rows[0])
        rank = int(places[0]) + 1 if len(places) else None
        cut = float(ranking.scores[depth - 1]) if depth and len(ranking.rows) >= depth else None
        found.append(OnRoute(route.name, score if score == score else None, rank, depth, cut))
    return found


def _unmet(condition: Filter, values: Mapping[str, Any]) -> list[Unmet]:
    """The smallest parts of a filter that do not hold."""
    if isinstance(condition, And):
        return [each for part in condition.parts for each in _unmet(part, values)]
    if _holds(condition, values):
        return []
    shown = {name: _readable(name, values[name]) for name in sorted(fields_of(condition))}
    return [Unmet(_text(condition), shown)]


def _holds(condition: Filter, values: Mapping[str, Any]) -> bool:
    if isinstance(condition, Compare):
        return holds(condition.operator, values[condition.field], condition.value)
    if isinstance(condition, And):
        return all(_holds(part, values) for part in condition.parts)
    if isinstance(condition, Or):
        return any(_holds(part, values) for part in condition.parts)
    return not _holds(condition.part, values)


def _text(condition: Filter) -> str:
    """A filter in words."""
    if isinstance(condition, Compare):
        value = _said(_readable(condition.field, condition.value))
        return f"{condition.field} {_SIGNS[condition.operator]} {value}"
    if isinstance(condition, (And, Or)):
        joint = " and " if isinstance(condition, And) else " or "
        return "(" + joint.join(_text(part) for part in condition.parts) + ")"
    return f"not ({_text(condition.part)})"


def _value(value: Any) -> Any:
    """One value of a column; None where there is none."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if plain != plain else plain


def _readable(name: str, value: Any) -> Any:
    """A stored value as it is given: times as dates."""
    if field_type(name) == "time" and isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, tz=timezone.utc).isoformat().replace("+00:00", "Z")
    return value


def _said(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_said(item) for item in value) + "]"
    return "missing" if value is None else repr(value)


# Between two tables


def _below_least(query: Query, before: Candidates, row: int) -> WhyNot | None:
    score = _at(before, "score", row) if "score" in before.columns else None
    if score is None or query.min_score is None or score >= query.min_score:
        return None
    gap = query.min_score - score
    return WhyNot(
        "min_score",
        f"its score is {figure(score)}, {figure(gap)} below {query.min_score:g}",
        gap=gap,
    )


def _too_little(stage: MinValue, before: Candidates, row: int) -> WhyNot:
    """It lacks a value, or has less of it than was asked for."""
    own = _at(before, stage.column, row)
    if not math.isfinite(own):
        return WhyNot(stage.called, f"it has no {stage.column}")
    gap = stage.least - own
    reason = f"its {stage.column} is {figure(own)}, {figure(gap)} below {stage.least:g}"
    return WhyNot(stage.called, reason, gap=gap)


def _outranked(ranked: RankedRun, seen: int, row: int, order: Candidates) -> WhyNot:
    """It comes after as many as go on, which are the first of an order."""
    stage, after = ranked.profile.pipeline.stages[seen + 1], ranked.tables[seen + 1]
    by, last = getattr(stage, "by", "score"), int(after.rows[-1])
    own, theirs, rival = _at(order, by, row), _at(after, by, last), str(after["id"][-1])
    rank = (order.position(row) or 0) + 1
    reason = (
        f"it is number {rank} of {len(order)}, and {len(after)} go on: its {by} is {figure(own)}, "
        f"that of the last of them {figure(theirs)} ({rival})"
    )
    trees = [ranked.tree(each, by, seen + 1) for each in (row, last)]
    return WhyNot(stage.called, reason, rival=rival, gap=theirs - own, parts=costs(*trees))


def _over_budget(
    query: Query, order: Candidates, after: Candidates, row: int
) -> Plan[WhyNot | None]:
    """It does not fit what those before it left of the token budget; None if that is not why."""
    place = order.position(row)
    if query.token_budget is None or place is None:
        return None
    taken = np.isin(after.rows, order.rows[:place])
    if np.count_nonzero(taken) >= query.k:
        return None
    left = query.token_budget - int(after.floats("pack.tokens")[taken].sum())
    [text] = yield from ask(ReadTexts(np.array([row], dtype=np.int64)))
    cost = query.count_tokens(text or "")
    return WhyNot(
        "budget",
        f"it takes {cost} tokens, {cost - left} more than the {left} that were left of "
        f"{query.token_budget}",
        gap=float(cost - left),
    )


def _redundant(
    stage: Mmr, query: Query, before: Candidates, after: Candidates, row: int
) -> Plan[WhyNot]:
    """It says too much of what others say that were picked."""
    others = np.append(after.rows[:-1], row)
    rivals = before.take(np.isin(before.rows, others))
    table = yield from stage.plan(replace(query, k=len(others)), rivals, frozenset())
    place = table.position(row)
    assert place is not None  # all that are given are picked
    value, redundancy = _at(table, "mmr.score", row), _at(table, "mmr.redundancy", row)
    twin, last = table["mmr.with"][place], after["id"][-1]
    if redundancy >= stage.duplicate:
        reason = f"it is a duplicate of {twin}: redundancy {figure(redundancy)}"
        return WhyNot("mmr", reason, rival=twin, gap=redundancy - stage.duplicate)
    theirs = float(after.floats("mmr.score")[-1])
    like = f", redundancy {figure(redundancy)} with {twin}" if twin is not None else ""
    reason = f"worth {figure(value)}{like}; the last pick, {last}, is worth {figure(theirs)}"
    return WhyNot("mmr", reason, rival=last, gap=theirs - value)


def _a_turn(stage: SessionFirst, before: Candidates, row: int) -> WhyNot:
    place = before.position(row)
    assert place is not None
    kind, session = before["kind"][place], before["session_id"][place]
    reason = f"whole sessions were recalled, and it is a {kind}"
    return WhyNot("session_first", f"{reason} of {session}" if session else reason)


def costs(own: Explanation | None, rival: Explanation | None) -> tuple[Part, ...]:
    """What costs a score the most against another, the worst first; only what costs anything."""
    behind = [part for part in gaps(own, rival) if part.behind > 0.0]
    return tuple(sorted(behind, key=lambda part: (-part.behind, part.name)))


def gaps(own: Explanation | None, rival: Explanation | None) -> tuple[Part, ...]:
    """What every part and factor puts between two scores; it adds up to rival - own.

    For sums s of parts, times factors f: s' f' - s f = (s' - s) f' + s (f' - f).
    """
    (mine, by), (theirs, their) = (({}, {}) if t is None else t.factored() for t in (own, rival))
    scale, base = math.prod(their.values()), sum(mine.values())
    parts = []
    for name in {**theirs, **mine}:
        one, other = mine.get(name, 0.0), theirs.get(name, 0.0)
        parts.append(Part(name, one, other, (other - one) * scale))
    base *= math.prod(by.values())
    for name in {**their, **by}:
        one, other = by.get(name, 1.0), their.get(name, 1.0)
        raised = base / one * other if one else 0.0
        parts.append(Part(name, one, other, raised - base))
        base = raised
    return tuple(parts)


def _at(table: Candidates, column: str, row: int) -> float:
    return float(table.floats(column)[table.position(row)])
