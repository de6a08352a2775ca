"""Numbers in SQL, with bounds of their values and of the server's error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any


class NotCompilable(ValueError):
    """A node has no SQL form; the message says which node, and why."""


@dataclass(frozen=True)
class SqlExpression:
    """A number in SQL, its parameters, its bounds and its error.

    It lies in [low, high], and is NULL only if `missing` and not finite only if `endless`. The
    server's value is within `error` of the process's.
    """

    sql: str
    parameters: tuple[Any, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    error: float = 0.0
    missing: bool = True
    endless: bool = False

    @property
    def most(self) -> float:
        """The largest magnitude."""
        return max(abs(self.low), abs(self.high))

    def within(self, low: float, high: float, error: float) -> SqlExpression:
        """The same with other bounds; a sum or product that cannot tell is NULL, not NaN."""
        sql = f"nullif({self.sql}, 'NaN')" if self.endless else self.sql
        missing = self.missing or self.endless
        return replace(self, sql=sql, low=low, high=high, error=error, missing=missing)


def fill_template(template: str, *parts: SqlExpression) -> SqlExpression:
    """A template with parts at `{0}`, `{1}` ..., each any number of times, in any order."""
    places = [int(piece[: piece.index("}")]) for piece in template.split("{")[1:]]
    return SqlExpression(
        template.format(*(part.sql for part in parts)),
        tuple(value for place in places for value in parts[place].parameters),
        missing=any(part.missing for part in parts),
        endless=any(part.endless for part in parts),
    )


def constant(value: float) -> SqlExpression:
    """A number as a parameter; NULL for NaN."""
    if math.isnan(value):
        return SqlExpression("NULL::float8", (), 0.0, 0.0)
    endless = math.isinf(value)
    return SqlExpression("%s::float8", (value,), value, value, missing=False, endless=endless)


def clip(x: SqlExpression, low: float, high: float) -> SqlExpression:
    """A number within two bounds."""
    raised = least_or_greatest("greatest", x, constant(low), low, math.inf)
    return least_or_greatest("least", raised, constant(high), low, high)


def least_or_greatest(
    function: str, x: SqlExpression, y: SqlExpression, low: float, high: float
) -> SqlExpression:
    """The smaller or larger of two; NULL if one is, which PostgreSQL itself would ignore."""
    there = [f"{{{place}}} IS NOT NULL" for place, each in enumerate((x, y)) if each.missing]
    sql = f"{function}({{0}}, {{1}})"
    if there:
        sql = f"(CASE WHEN {' AND '.join(there)} THEN {sql} END)"
    return replace(fill_template(sql, x, y), low=low, high=high, error=max(x.error, y.error))
