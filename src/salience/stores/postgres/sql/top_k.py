"""Along which orders of all memories a formula rises: nearness, importance, last use.

Where it rises along each and looks at nothing else, its value for whatever comes later in all of
them is at most that of a memory that stands where they were left: the threshold of `threshold.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.ranking.expressions import (
    Col,
    Constant,
    Default,
    NamedExpression,
    Product,
    Signal,
    Sum,
)
from salience.ranking.functions import Apply, QueryFlag, WhenQuery
from salience.ranking.signals import Age
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import TopK, TopKResult
from salience.retrieval.query import Formula, Query
from salience.retrieval.routes import MatchAll, Route, Vector
from salience.stores.index.vector_index import NOISE
from salience.stores.postgres.sql.expressions import (
    NotCompilable,
    SqlExpression,
    clip,
    compile_signal,
    constant,
)
from salience.stores.postgres.sql.filters import Condition, compile_filter
from salience.stores.postgres.sql.vectors import (
    NEGATIVE_INNER_PRODUCT,
    parse_cosines,
    select_cosines,
    split_halves,
)
from salience.stores.postgres.wire.commands import Statement, Steps
from salience.stores.postgres.wire.types import IntegerArray

DEFAULT_IMPORTANCE = 0.5  # of memories without one, in the order that the server keeps
_MONOTONE_FUNCTIONS = frozenset({"exp", "log", "sqrt", "floor", "sigmoid", "minimum", "maximum"})

Directions = Mapping[str, int]
"""By order ("near", "importance", "used"): 1 if a value rises along it, -1 if it falls."""


def rising_orders(
    formula: Formula, query: Query, near: str, cosine: SqlExpression
) -> frozenset[str]:
    """The orders along which a formula rises; `near` is the column of the cosines.

    Raises:
        NotCompilable: it falls along one, or depends on anything else.
    """
    ways = _DirectionFinder(query, near, cosine).of(formula)
    falling = sorted(name for name, way in ways.items() if way < 0)
    if falling:
        raise NotCompilable(f"{formula} falls along the order {falling[0]}")
    return frozenset(ways)


class _DirectionFinder:
    """The directions in which the parts of one formula go."""

    def __init__(self, query: Query, near: str, cosine: SqlExpression) -> None:
        self._query = query
        self._near = near
        self._cosine = cosine

    @singledispatchmethod
    def of(self, signal: Formula) -> Directions:
        """The directions of a node; each class of nodes has them below."""
        raise NotCompilable(f"there is no order for {signal}")

    @of.register
    def _(self, signal: Constant | QueryFlag) -> Directions:
        return {}

    @of.register
    def _(self, signal: NamedExpression) -> Directions:
        return self.of(signal.of)

    @of.register
    def _(self, signal: WhenQuery) -> Directions:
        return self.of(signal.of) if self._query.reading.features.get(signal.feature) else {}

    @of.register
    def _(self, signal: Col) -> Directions:
        if signal.name != self._near:
            raise NotCompilable(f"there is no order by {signal.name}")
        return {"near": 1}

    @of.register
    def _(self, signal: Default) -> Directions:
        if signal == Default(Col("importance"), DEFAULT_IMPORTANCE):
            return {"importance": 1}
        return self.of(signal.of)

    @of.register
    def _(self, signal: Age) -> Directions:
        if signal.of != Age().of:
            raise NotCompilable(f"there is no order by {signal}")
        return {"used": -1}

    @of.register
    def _(self, signal: Sum) -> Directions:
        return _merge_directions(self.of(part) for part in signal.parts)

    @of.register
    def _(self, signal: Product) -> Directions:
        sign, moving = 1, list[Directions]()
        forms = [self._form(part) for part in signal.parts]
        for part, form in zip(signal.parts, forms, strict=True):
            ways = self.of(part)
            if ways:
                moving.append(ways)
            elif form.high < 0.0:
                sign = -sign
            elif form.low < 0.0:
                raise NotCompilable(f"{signal} may rise and fall")
        if len(moving) > 1 and any(form.low < 0.0 for form in forms):
            raise NotCompilable(f"{signal} may rise and fall")
        return {name: sign * way for name, way in _merge_directions(moving).items()}

    @of.register
    def _(self, signal: Apply) -> Directions:
        if signal.function not in _MONOTONE_FUNCTIONS:
            raise NotCompilable(f"{signal.function} may rise and fall")
        return _merge_directions(self.of(each) for each in signal.arguments)

    def _form(self, signal: Signal) -> SqlExpression:
        return compile_signal(signal, self._query, {self._near: self._cosine})


def _merge_directions(parts: Iterable[Directions]) -> Directions:
    """The directions of a sum, unless one part rises where another falls."""
    directions: dict[str, int] = {}
    for part in parts:
        for name, direction in part.items():
            if directions.setdefault(name, direction) != direction:
                raise NotCompilable(f"a sum rises and falls along the order {name}")
    return directions


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
    score = compile_signal(op.formula, op.query, _score_columns(op.routes, routes))
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


def _score_columns(
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


FIRST_ROUND_ROWS = 512  # of each order, read in the first round
_ROUND_GROWTH = 4  # a round reads so many times the rows of the one before
_MAX_READ_SHARE = 0.25  # of the memories; beyond it, ranking all of them costs less
_ORDER_KEYS = {
    "importance": "coalesce(m.importance, 0.5)",
    "used": "coalesce(m.last_accessed, m.created_at)",
}
"""The keys of the indexes `memories_by_importance` and `memories_by_use`."""
_READ_COLUMNS = ("importance", "last_accessed", "created_at")
_SELECT_READ = 'm."row", ' + ", ".join(f"m.{name}" for name in _READ_COLUMNS)


def threshold_top_k(op: TopK, namespace: str) -> Steps[TopKResult | None]:
    """The best rows of a namespace; None if too many would have to be read.

    Raises:
        NotCompilable: the formula does not rise along these orders.
    """
    [route, *others] = op.routes
    if others or not isinstance(route, Vector):
        raise NotCompilable("only what has a vector has a place in the order of nearness")
    columns = _score_columns(op.routes, route_columns(op.routes, op.query, namespace))
    near = f"{route.name}.score"
    along = rising_orders(op.formula, op.query, near, columns[near])
    score = compile_signal(op.formula, op.query, columns)
    if score.missing or not math.isfinite(score.error):
        raise NotCompilable(f"the server's {op.formula} may be too far off to rank by")
    return _ThresholdAlgorithm(
        op, namespace, route, sorted(along - {"near"}), 2.0 * score.error
    ).chosen()


class _ThresholdAlgorithm:
    """Fagin's threshold algorithm for one query: rows are read in each order, in growing rounds."""

    def __init__(
        self, op: TopK, namespace: str, route: Vector, orders: Sequence[str], margin: float
    ) -> None:
        self._op = op
        self._namespace = namespace
        self._route = route
        self._orders = orders
        self._margin = margin
        self._read: dict[int, tuple[float, ...]] = {}  # importance and times by row

    def chosen(self) -> Steps[TopKResult | None]:
        """Read until the k-th score passes the threshold: no unread memory can be better."""
        k, size = self._op.query.k, max(FIRST_ROUND_ROWS, self._op.query.k)
        compare = select_cosines(self._namespace, self._route, self._op.query)
        answer, *firsts = yield [compare, *self._firsts(size)]
        rows, near = parse_cosines(answer)
        order = np.argsort(-near, kind="stable")
        while True:
            self._take(each for first in firsts for each in first)
            [missing] = yield [self._of(rows[order[:size]])]
            self._take(missing)
            came = np.flatnonzero(np.isin(rows, list(self._read)))
            scores = self._scores(rows[came], near[came])
            least = np.partition(scores, -k)[-k] if len(scores) >= k else -np.inf
            all_came = size >= len(rows) or any(len(first) < size for first in firsts)
            if all_came or least > self._threshold(firsts, near[order[size - 1]]) + self._margin:
                break
            size *= _ROUND_GROWTH
            if size > _MAX_READ_SHARE * len(rows):
                return None
            firsts = yield self._firsts(size)
        best = came[scores >= least - self._margin]
        ranks = yield from self._ranks(rows, near, best)
        return TopKResult(
            rows[best].astype(np.int64), {self._route.name: ranks}, len(came), len(rows)
        )

    def _take(self, answer: Iterable[Sequence[float]]) -> None:
        self._read.update((int(row), tuple(values)) for row, *values in answer)

    def _scores(self, rows: NDArray[np.int32], near: Floats) -> Floats:
        table = [self._read[row] for row in rows.tolist()]
        return self._values(np.array(table, dtype=np.float64).reshape(-1, 3), near)

    def _values(self, table: Floats, near: Floats) -> Floats:
        """The formula's values for importance, times and cosines."""
        columns = dict(zip(_READ_COLUMNS, table.T, strict=True)) | {
            f"{self._route.name}.score": near
        }
        return self._op.formula.evaluate(self._op.query, Candidates(np.arange(len(near)), columns))

    def _threshold(self, firsts: Sequence[Sequence[Sequence[float]]], near: float) -> float:
        """The formula's value where reading has got to: no unread memory exceeds it."""
        frontier = np.zeros((1, 3))
        for order, first in zip(self._orders, firsts, strict=True):
            last = np.array(first[-1][1:], dtype=np.float64)
            which = slice(0, 1) if order == "importance" else slice(1, 3)
            frontier[0, which] = last[which]
        return float(self._values(frontier, np.array([near]))[0])

    def _firsts(self, size: int) -> list[Statement]:
        where = compile_filter(self._op.query.where, "m")
        return [
            Statement(
                f"SELECT {_SELECT_READ} FROM memories m WHERE m.namespace = %s AND {where.sql} "
                f"ORDER BY {_ORDER_KEYS[order]} DESC LIMIT %s::integer",
                (self._namespace, *where.parameters, size),
            )
            for order in self._orders
        ]

    def _of(self, rows: NDArray[np.int32]) -> Statement:
        missing = [row for row in rows.tolist() if row not in self._read]
        return Statement(
            f'SELECT {_SELECT_READ} FROM memories m WHERE m.namespace = %s AND m."row" = '
            "ANY(%s::integer[])",
            (self._namespace, IntegerArray(missing)),
        )

    def _ranks(
        self, rows: NDArray[np.int32], near: Floats, best: NDArray[np.intp]
    ) -> Steps[Floats]:
        """The ranks of the best by nearness, of equally near ones by id."""
        ranks = np.array([1.0 + np.count_nonzero(near > near[at]) for at in best.tolist()])
        equal = np.flatnonzero(np.isin(near, near[best]))
        if len(equal) > len(np.unique(near[best])):
            [found] = yield [
                Statement(
                    'SELECT "row", id FROM memories WHERE namespace = %s AND "row" = '
                    "ANY(%s::integer[])",
                    (self._namespace, IntegerArray(rows[equal])),
                )
            ]
            ids = dict(found)
            for place, at in enumerate(best.tolist()):
                same = rows[equal[near[equal] == near[at]]].tolist()
                ranks[place] += sum(ids.get(row, "") < ids.get(rows[at], "") for row in same)
        return ranks
