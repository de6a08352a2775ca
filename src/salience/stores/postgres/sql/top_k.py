"""Server-side top-k: all memories of a namespace scored by a formula in SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from salience.arithmetic import NOISE
from salience.retrieval.operations import TopK, TopKResult
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll, Route, Vector
from salience.stores.postgres.sql.compiler import compile_signal
from salience.stores.postgres.sql.expressions import NotCompilable, SqlExpression, clip, constant
from salience.stores.postgres.sql.filters import Condition, compile_filter
from salience.stores.postgres.sql.vectors import (
    NEGATIVE_INNER_PRODUCT,
    split_halves,
)
from salience.stores.postgres.wire.commands import Statement, Steps

# All memories scored by the server


def rank_all(op: TopK, namespace: str) -> Steps[TopKResult]:
    """The best rows of a namespace, every memory of which the server scores.

    Raises:
        NotCompilable: the server cannot compute the formula, or not exactly enough.
    """
    return _rank_steps(op, _rank_statement(op, namespace))


def _rank_steps(op: TopK, statement: Statement) -> Steps[TopKResult]:
    [answer] = yield [statement]
    table = np.array(answer, dtype=np.float64).reshape(-1, 2 + len(op.routes))
    ranks = {route.name: table[:, 2 + at] for at, route in enumerate(op.routes)}
    scored = int(table[0, 0]) if len(table) else 0
    return TopKResult(table[:, 1].astype(np.int64), ranks, scored, scored)


def _rank_statement(op: TopK, namespace: str) -> Statement:
    """Read the number of scored memories, the rows of the best, and their ranks on each route."""
    routes = route_columns(op.routes, op.query, namespace)
    score = compile_signal(op.formula, op.query, score_columns(op.routes, routes))
    if not math.isfinite(score.error) or score.endless:
        raise NotCompilable(f"the server's {op.formula} may be too far off to rank by")
    where = compile_filter(op.query.where, "m")
    joins = "".join(each.join.sql for each in routes)
    join_parameters = [value for each in routes for value in each.join.parameters]
    ranks = ", ".join(f"{each.rank} AS rank{place}" for place, each in enumerate(routes))
    names = ", ".join(f"rank{place}" for place, _ in enumerate(routes))
    return Statement(
        f'WITH scored AS MATERIALIZED (SELECT m."row", {score.sql} AS score, {ranks} '
        f"FROM memories m{joins} WHERE m.namespace = %s AND {where.sql}), "
        "least AS (SELECT score FROM scored ORDER BY score DESC NULLS LAST "
        "OFFSET %s::integer LIMIT 1) "
        f'SELECT (SELECT count(*) FROM scored), "row", {names} FROM scored '
        "WHERE (SELECT score FROM least) IS NULL "
        'OR score >= (SELECT score FROM least) - %s::float8 ORDER BY "row"',
        (
            *(*score.parameters, *join_parameters, namespace, *where.parameters),
            *(op.query.k - 1, 2.0 * score.error),
        ),
    )


@dataclass(frozen=True)
class RouteColumns:
    """A route in a statement over memories `m`: a join that adds its rows, score and rank.

    The rank is NULL for a memory that the route does not find.
    """

    score: SqlExpression
    rank: str
    join: Condition


def route_columns(
    routes: Sequence[Route], query: Query, namespace: str
) -> tuple[RouteColumns, ...]:
    """Each route as columns of memories.

    Raises:
        NotCompilable: the rows of these routes cannot be joined.
    """
    matches_all = any(type(route) is MatchAll for route in routes)
    if not (matches_all or len(routes) == 1):
        raise NotCompilable("the server lists no rows of these routes")
    columns = []
    for place, route in enumerate(routes):
        columns_of = _COLUMNS_OF_ROUTE.get(type(route))
        if columns_of is None:
            raise NotCompilable("the server lists no rows of these routes")
        columns.append(columns_of(route, place, query, namespace, matches_all))
    return tuple(columns)


def _match_all_columns(
    route: MatchAll, place: int, query: Query, namespace: str, matches_all: bool
) -> RouteColumns:
    return RouteColumns(constant(0.0), 'row_number() OVER (ORDER BY m."row" DESC)', Condition(""))


def _vector_columns(
    route: Vector, place: int, query: Query, namespace: str, matches_all: bool
) -> RouteColumns:
    if route.min_similarity > -1.0:
        raise NotCompilable("the server's cosines are not near enough to cut by")
    near = cosine_expression(f"v{place}.vector", query, missing=matches_all)
    join = Condition(
        f"{' LEFT' if matches_all else ''} JOIN vectors v{place} ON v{place}.namespace = %s "
        f'AND v{place}.name = %s AND v{place}."row" = m."row" '
        # Without the OFFSET it would be computed wherever it is used.
        f"CROSS JOIN LATERAL (SELECT {near.sql} AS near OFFSET 0) AS n{place}",
        (namespace, route.vector, *near.parameters),
    )
    score = replace(near, sql=f"n{place}.near", parameters=())
    number = f"row_number() OVER (ORDER BY {score.sql} DESC NULLS LAST, m.id)"
    rank = f"CASE WHEN {score.sql} IS NOT NULL THEN {number} END"
    return RouteColumns(score, rank, join)


_COLUMNS_OF_ROUTE: dict[type[Route], Callable[[Any, int, Query, str, bool], RouteColumns]] = {
    MatchAll: _match_all_columns,
    Vector: _vector_columns,
}


def score_columns(
    routes: Sequence[Route], columns: Sequence[RouteColumns]
) -> dict[str, SqlExpression]:
    """The scores of routes by the names of their columns."""
    return {f"{route.name}.score": each.score for route, each in zip(routes, columns, strict=True)}


def cosine_expression(vector: str, query: Query, missing: bool = False) -> SqlExpression:
    """q . m within [-1, 1], as `exact_cosines` has it but for the order of summation."""
    if query.vector is None:
        raise NotCompilable("there is no vector to compare with")
    apart = SqlExpression(
        f"(-{NEGATIVE_INNER_PRODUCT.format(vector=vector)})",
        split_halves(query.vector),
        missing=missing,
    )
    return replace(clip(apart, -1.0, 1.0), error=NOISE if query.vector.any() else 0.0)
