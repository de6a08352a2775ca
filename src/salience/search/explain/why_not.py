"""Missing hits: the filter or the stage that dropped a memory, and by how much it missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import numpy as np

from salience.ranking.profile import Profile
from salience.ranking.rejection import DroppedRow, Unmet, WhyNot
from salience.ranking.run import RankedRun, run_profile
from salience.ranking.stages import Pipeline
from salience.records.fields import field_type
from salience.records.filters import And, Compare, Filter, Or, filter_fields, passes
from salience.retrieval.candidates import Candidates
from salience.retrieval.operations import FetchColumns
from salience.retrieval.plan import Plan, ask

_SIGNS = {"eq": "=", "ne": "is not", "in": "in", "nin": "not in", "contains": "contains"} | {
    "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "exists": "exists",
}  # fmt: skip


def why_not(run: RankedRun, row: int) -> Plan[WhyNot]:
    """The plan of finding what dropped a row that is not among the hits."""
    seen = run.last_seen(row)
    if seen is None and run.query.where is not None:
        unmet = yield from _unmet_conditions(run.query.where, row)
        if unmet:
            return _filtered(unmet)
    place = 0 if seen is None else seen + 1
    before = Candidates.empty() if seen is None else run.tables[seen]
    dropped = DroppedRow(
        row, run.query, before, run.tables[place], lambda other, by: run.tree(other, by, place)
    )
    rejection = yield from run.profile.pipeline.stages[place].why_not(dropped)
    if any(route.rank is not None for route in rejection.routes):
        free = yield from run_profile(_without_depth(run.profile), run.query)
        rank = f"number {free.rank(row)} of {len(free.scored)}"
        reason = f"{rejection.reason}; with no such limit it would be {rank}"
        rejection = replace(rejection, reason=reason)
    return rejection


def _without_depth(profile: Profile) -> Profile:
    """The profile with every memory that a route has evidence for as a candidate."""
    stages = (stage.without_depth() for stage in profile.pipeline.stages)
    return replace(profile, pipeline=Pipeline(tuple(stages)))


def _unmet_conditions(where: Filter, row: int) -> Plan[tuple[Unmet, ...]]:
    """The conditions of a filter that a row does not meet."""
    names = tuple(sorted(filter_fields(where)))
    columns = yield from ask(FetchColumns(np.array([row], dtype=np.int64), names))
    return tuple(_unmet(where, {name: _plain(columns[name][0]) for name in names}))


def _filtered(unmet: tuple[Unmet, ...]) -> WhyNot:
    """The rejection of a memory that does not pass the filter."""
    sentences = [
        f"{', '.join(f'{name} is {_literal(value)}' for name, value in part.values.items())}, "
        f"and asked for is {part.condition}"
        for part in unmet
    ]
    return WhyNot("filter", "; ".join(sentences), unmet)


def _unmet(condition: Filter, values: Mapping[str, Any]) -> list[Unmet]:
    """The smallest parts of a filter that do not hold."""
    if isinstance(condition, And):
        return [unmet for part in condition.parts for unmet in _unmet(part, values)]
    if passes(condition, values.__getitem__):
        return []
    readable = {name: _readable(name, values[name]) for name in sorted(filter_fields(condition))}
    return [Unmet(_text(condition), readable)]


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
