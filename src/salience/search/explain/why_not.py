"""Missing hits: the filter or the stage that dropped a memory, and by how much it missed."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime, timezone
from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from salience.arithmetic import rank_key
from salience.display.result import Result
from salience.lazily import dataclass, replace
from salience.ranking.explanation import Explanation
from salience.ranking.functions import Apply
from salience.ranking.profile import Profile
from salience.ranking.rejection import DroppedRow, Unmet, WhyNot
from salience.ranking.run import RankedRun, run_profile
from salience.ranking.stages import Pipeline
from salience.records.fields import field_type
from salience.records.filters import And, Compare, Filter, Not, Or, filter_fields, passes
from salience.retrieval.candidates import Candidates, best_first
from salience.retrieval.operations import FetchColumns
from salience.retrieval.plan import Plan, ask, drive
from salience.retrieval.query import Query

_SIGNS = {"eq": "=", "ne": "is not", "in": "in", "nin": "not in", "contains": "contains"} | {
    "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "exists": "exists",
}  # fmt: skip


def why_not(run: RankedRun, row: int) -> Plan[WhyNot]:
    """The plan of finding what dropped a row that is not among the hits."""
    last_stage = run.last_seen(row)
    if last_stage is None and run.query.where is not None:
        unmet = yield from _unmet_conditions(run.query.where, row)
        if unmet:
            return _filtered(unmet)
    place = 0 if last_stage is None else last_stage + 1
    before = Candidates.empty() if last_stage is None else run.tables[last_stage]
    stage, free = run.profile.pipeline.stages[place], None
    if scores := {f"{route.name}.score" for route in stage.searched_routes()}:
        free = yield from run_profile(_without_depth(run), run.query, frozenset(scores))
    dropped = DroppedRow(
        row,
        run.query,
        before,
        run.tables[place],
        lambda other, by: run.tree(other, by, place),
        None if free is None else free.tables[place],
    )
    rejection = yield from stage.why_not(dropped)
    if free is not None and any(route.rank is not None for route in rejection.routes):
        rank = f"number {free.rank(row)} of {len(free.scored)}"
        reason = f"{rejection.reason}; with no such limit it would be {rank}"
        rejection = replace(rejection, reason=reason)
    return rejection


def _without_depth(run: RankedRun) -> Profile:
    """The profile as far as the score, with all that a route has evidence for as candidates."""
    stages = (stage.without_depth() for stage in run.profile.pipeline.stages[: run.scored_at + 1])
    return replace(run.profile, pipeline=Pipeline(tuple(stages)))


def _unmet_conditions(where: Filter, row: int) -> Plan[list[tuple[Filter, Unmet]]]:
    """The smallest parts of a filter that a row does not meet."""
    names = tuple(sorted(filter_fields(where)))
    columns = yield from ask(FetchColumns(np.array([row], dtype=np.int64), names))
    return _unmet(where, {name: _plain(columns[name][0]) for name in names})


def _filtered(unmet: Sequence[tuple[Filter, Unmet]]) -> WhyNot:
    """The rejection of a memory that does not pass the filter."""
    reason = "; ".join(_sentence(condition, part.values) for condition, part in unmet)
    return WhyNot("filter", reason, tuple(part for _, part in unmet))


def _sentence(condition: Filter, values: Mapping[str, Any]) -> str:
    """The reason by which a memory does not pass; in plain words for what each search asks for."""
    match condition:
        case Compare("status", "in", ("active",)):
            is_archived = values["status"] == "archived"
            found_with = "; the option include_archived finds it" if is_archived else ""
            return f"it is {values['status']}, and only what is active is searched{found_with}"
        case Not(Compare("expires_at", "lte", time)):
            now = _readable("expires_at", time)
            return f"it expires at {values['expires_at']}, which is not after {now}"
    had = ", ".join(f"{name} is {_literal(value)}" for name, value in values.items())
    return f"{had}, and asked for is {_text(condition)}"


def _unmet(condition: Filter, values: Mapping[str, Any]) -> list[tuple[Filter, Unmet]]:
    if isinstance(condition, And):
        return [unmet for part in condition.parts for unmet in _unmet(part, values)]
    if passes(condition, values.__getitem__):
        return []
    readable = {name: _readable(name, values[name]) for name in sorted(filter_fields(condition))}
    return [(condition, Unmet(_text(condition), readable))]


def _text(condition: Filter) -> str:
    """A filter in words."""
    if isinstance(condition, Compare):
        value = _literal(_readable(condition.field, condition.value))
        return f"{condition.field} {_SIGNS[condition.operator]} {value}"
    if isinstance(condition, (And, Or)):
        joint = " and " if isinstance(condition, And) else " or "
        return "(" + joint.join(_text(part) for part in condition.parts) + ")"
    return f"not ({_text(condition.part)})"


def _plain(value: Any) -> Any:
    """One value of a column as a Python value; None where there is none."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if plain != plain else plain


def _readable(name: str, value: Any) -> Any:
    """A stored value as users write it: times as dates."""
    if field_type(name) == "time" and isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, tz=timezone.utc).isoformat().replace("+00:00", "Z")
    return value


def _literal(value: Any) -> str:
    """A value as text: "missing" for None, a list in brackets."""
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return "missing" if value is None else repr(value)


# Counterfactuals: the nearest value of one part, all else equal, that turns the outcome

_POWERS = range(-20, 21)  # of two: a value is tried so many times the part's range away
Search = Generator[float, bool, float | None]
"""A search that asks of each number whether it turns an outcome."""


@dataclass(frozen=True, repr=False)
class Change(Result):
    """One part of a score, and the value nearest to its own at which the outcome turns.

    `low` and `high` are the part's extremes among the candidates, `score` is the formula's value
    with the value `needed`: computed again, not estimated.
    """

    _computed = ("possible", "share")
    _shown = ("part", "value", "needed", "possible")

    part: str
    value: float
    needed: float
    low: float
    high: float
    score: float

    @property
    def possible(self) -> bool:
        """True if the candidates have such values: low <= needed <= high."""
        return self.low <= self.needed <= self.high

    @property
    def share(self) -> float:
        """|needed - value| / (high - low): the change as a share of the part's range."""
        width = self.high - self.low
        return abs(self.needed - self.value) / width if width > 0.0 else math.inf


def beyond(value: float, needed: float) -> str:
    """The needed value to four places, rounded away from the present one, so that it suffices."""
    rounding = math.ceil if needed > value else math.floor
    return f"{rounding(round(needed * 1e4, 6)) / 1e4:.4f}"


def among_the_first(query: Query, candidates: Candidates, row: int) -> Callable[[float], bool]:
    """A test whether a row would be one of the query's k if it had another score.

    The others keep theirs; the order is by score descending, then tie key, at or above the query's
    `min_score`.
    """
    place = candidates.position(row)
    rivals = candidates.take(candidates.rows != row)
    scores = rivals.floats("score")
    least = -math.inf if query.min_score is None else query.min_score
    order = best_first(scores, rivals.tie_keys, query.k)
    if len(order) < query.k or place is None:
        return lambda score: score >= least
    [key], [rival_key] = candidates.tie_keys(np.array([place])), rivals.tie_keys(order[-1:])
    rival = float(scores[order[-1]])

    def beats(score: float) -> bool:
        return score >= least and (score > rival or (score == rival and key < rival_key))

    return beats


def changes(
    tree: Explanation, parts: Mapping[str, Any], within: Callable[[float], bool]
) -> tuple[Change, ...]:
    """For each named part, the nearest value that turns `within(score)`; the likeliest first.

    Possible ones come first, then by their share of the part's range. Parts whose value cannot
    be changed alone, or on which the outcome does not depend, are left out.
    """
    turning = []
    for name, values in parts.items():
        node, score = tree.find(name), rescored(tree, name)
        present = values[np.isfinite(values)]
        if node is None or score is None or not math.isfinite(node.value) or not len(present):
            continue
        low, high = float(present.min()), float(present.max())
        scale = max(high - low, abs(node.value)) or 1.0
        search = nearest(node.value, [scale * 2.0**power for power in _POWERS], edge)
        needed = drive(search, _turning(within, score, node.value))
        if needed is not None:
            turning.append(Change(name, node.value, needed, low, high, score(needed)))
    return tuple(sorted(turning, key=lambda c: (not c.possible, rank_key(c.share), c.part)))


def rescored(tree: Explanation, part: str) -> Callable[[float], float] | None:
    """The root's value as a function of one part's, by the operations of the tree itself.

    None where the part is not in the tree, or only below what cannot be computed from its
    children (as a share of the largest among the candidates cannot).
    """
    if tree.label == part:
        return lambda value: value
    inner = [rescored(child, part) for child in tree.children]
    values = [child.value for child in tree.children]
    if not any(inner) or _combined(tree.how, values) != tree.value:
        return None

    def score(value: float) -> float:
        children = zip(inner, values, strict=True)
        return _combined(tree.how, [fixed if f is None else f(value) for f, fixed in children])

    return score


def _combined(how: str, values: Sequence[float]) -> float:
    """The value of an operation on its children's values, bit for bit as a signal computes it."""
    if how == "sum":
        return reduce(add, values)
    if how == "product":
        return reduce(mul, values)
    if how == "quotient":
        return values[0] / values[1] if values[1] else 0.0
    if how in Apply.FUNCTIONS:
        with np.errstate(all="ignore"):
            return float(Apply.FUNCTIONS[how](*(np.float64(value) for value in values)))
    return math.nan


def _turning(
    within: Callable[[float], bool], score: Callable[[float], float], value: float
) -> Callable[[float], bool]:
    """A test whether another value than `value` turns the outcome."""
    now = within(score(value))
    return lambda other: within(score(other)) != now


def nearest(
    value: float, steps: Sequence[float], between: Callable[[float, float], Search]
) -> Search:
    """Look for the number nearest to `value` that turns an outcome, at rising distances from it.

    `between` finds it between the last that does not and the first that does. It is the nearest if
    the outcome turns but once on the way.
    """
    inside = {1.0: value, -1.0: value}
    for step in steps:
        turning_points = list[float]()
        for sign in inside:
            outside = value + sign * step
            if (yield outside):
                turning = yield from between(inside[sign], outside)
                turning_points.append(outside if turning is None else turning)
            inside[sign] = outside
        if turning_points:
            return min(turning_points, key=lambda each: abs(each - value))
    return None


def edge(inside: float, outside: float, near: float = 0.0, origin: float = 0.0) -> Search:
    """Look for the last number on the way from `outside` to `inside` that turns the outcome.

    One that does not is nearer to it than `near` of its way from the `origin`.
    """
    middle = inside + (outside - inside) / 2.0
    while middle not in (inside, outside) and abs(outside - inside) > near * abs(outside - origin):
        if (yield middle):
            outside = middle
        else:
            inside = middle
        middle = inside + (outside - inside) / 2.0
    return outside
