"""Fagin's threshold algorithm: the best memories without scoring all of them.

The server keeps memories in the orders of importance and of last use, and finds the nearest. Where
a formula rises along each of these orders and depends on nothing else, its value where reading has
got to in all of them is an upper bound for every memory that was not read yet.

Source: Fagin, Lotem and Naor, Optimal aggregation algorithms for middleware, 2003.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatchmethod

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
from salience.retrieval.routes import Vector
from salience.stores.postgres.sql.compiler import compile_signal
from salience.stores.postgres.sql.expressions import NotCompilable, SqlExpression
from salience.stores.postgres.sql.filters import compile_filter
from salience.stores.postgres.sql.top_k import route_columns, score_columns
from salience.stores.postgres.sql.vectors import (
    parse_cosines,
    select_cosines,
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
    columns = score_columns(op.routes, route_columns(op.routes, op.query, namespace))
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
        compare = select_cosines(self._namespace, self._route.vector, self._op.query)
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
            [pairs] = yield [
                Statement(
                    'SELECT "row", id FROM memories WHERE namespace = %s AND "row" = '
                    "ANY(%s::integer[])",
                    (self._namespace, IntegerArray(rows[equal])),
                )
            ]
            ids = dict(pairs)
            for place, at in enumerate(best.tolist()):
                same = rows[equal[near[equal] == near[at]]].tolist()
                ranks[place] += sum(ids.get(row, "") < ids.get(rows[at], "") for row in same)
        return ranks
