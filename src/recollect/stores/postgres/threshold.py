"""The best by a formula without reading every memory: Fagin's threshold algorithm.

Memories come in three orders: the nearest, the most important, those used last. What has not come
yet in any of them is by a formula that rises along all three at most as good as a memory with the
cosine, the importance and the time at which they have arrived. Once the k-th best of what has come
is better than that threshold, no other can be among the best, and is not read.

The order of nearness is exact: the server compares all vectors, in one sweep, and sends the cosines
(an index of vectors, HNSW, may leave out some of the nearest). Importance and last use have
indexes. The server's cosines are within `NOISE`, so the threshold has to be passed by twice what
the formula makes of that, and what is so near to the k-th comes with the best.

Source: Fagin, Lotem and Naor, Optimal aggregation algorithms for middleware, PODS 2001.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.candidates import Candidates, Floats
from recollect.ops import Best, Chosen
from recollect.routes import Vector
from recollect.stores.postgres.best import compared
from recollect.stores.postgres.commands import Statement, Steps
from recollect.stores.postgres.formula import NoForm, sql_form
from recollect.stores.postgres.orders import rises_along
from recollect.stores.postgres.routes import all_cosines, cosines_of
from recollect.stores.postgres.values import Integers
from recollect.stores.postgres.where import compiled

FIRST = 512  # memories that come in each order to begin with
_MORE = 4  # times as many come in the next round
_SHARE = 0.25  # of the memories; beyond it, ranking all of them costs less
_ORDERS = {
    "importance": "coalesce(m.importance, 0.5)",
    "used": "coalesce(m.last_accessed, m.created_at)",
}
"""As the indexes `memories_by_importance` and `memories_by_use` have them."""
_COLUMNS = ("importance", "last_accessed", "created_at")
_READ = 'm."row", ' + ", ".join(f"m.{name}" for name in _COLUMNS)


def chosen(op: Best, namespace: str) -> Steps[Chosen | None]:
    """The best rows of a namespace; None where too many would have to be read.

    Raises:
        NoForm: the formula does not rise along these orders.
    """
    [route, *others] = op.routes
    if others or not isinstance(route, Vector):
        raise NoForm("only what has a vector has a place in the order of nearness")
    _, columns = compared(op.routes, op.query, namespace)
    near = f"{route.name}.score"
    along = rises_along(op.formula, op.query, near, columns[near])
    score = sql_form(op.formula, op.query, columns)
    if score.missing or not math.isfinite(score.error):
        raise NoForm(f"the server's {op.formula} may be too far off to rank by")
    return _Arriving(op, namespace, route, sorted(along - {"near"}), 2.0 * score.error).chosen()


class _Arriving:
    """The memories that come for one question."""

    def __init__(
        self, op: Best, namespace: str, route: Vector, orders: Sequence[str], margin: float
    ) -> None:
        self._op = op
        self._namespace = namespace
        self._route = route
        self._orders = orders
        self._margin = margin
        self._read: dict[int, tuple[float, ...]] = {}  # importance and times by row

    def chosen(self) -> Steps[Chosen | None]:
        """Let them come, in growing rounds, until the threshold is passed."""
        k, size = self._op.query.k, max(FIRST, self._op.query.k)
        compare = all_cosines(self._namespace, self._route, self._op.query)
        answer, *firsts = yield [compare, *self._firsts(size)]
        rows, near = cosines_of(answer)
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
            size *= _MORE
            if size > _SHARE * len(rows):
                return None
            firsts = yield self._firsts(size)
        best = came[scores >= least - self._margin]
        ranks = yield from self._ranks(rows, near, best)
        return Chosen(rows[best].astype(np.int64), {self._route.name: ranks}, len(came), len(rows))

    def _take(self, answer: Iterable[Sequence[float]]) -> None:
        self._read.update((int(row), tuple(values)) for row, *values in answer)

    def _scores(self, rows: NDArray[np.int32], near: Floats) -> Floats:
        table = [self._read[row] for row in rows.tolist()]
        return self._values(np.array(table, dtype=np.float64).reshape(-1, 3), near)

    def _values(self, table: Floats, near: Floats) -> Floats:
        """The formula's values for importance, times and cosines."""
        columns = dict(zip(_COLUMNS, table.T, strict=True)) | {f"{self._route.name}.score": near}
        return self._op.formula.evaluate(self._op.query, Candidates(np.arange(len(near)), columns))

    def _threshold(self, firsts: Sequence[Sequence[Sequence[float]]], near: float) -> float:
        """The formula's value where the orders have arrived."""
        frontier = np.zeros((1, 3))
        for order, first in zip(self._orders, firsts, strict=True):
            last = np.array(first[-1][1:], dtype=np.float64)
            which = slice(0, 1) if order == "importance" else slice(1, 3)
            frontier[0, which] = last[which]
        return float(self._values(frontier, np.array([near]))[0])

    def _firsts(self, size: int) -> list[Statement]:
        where = compiled(self._op.query.where, "m")
        return [
            Statement(
                f"SELECT {_READ} FROM memories m WHERE m.namespace = %s AND {where.sql} "
                f"ORDER BY {_ORDERS[order]} DESC LIMIT %s::integer",
                (self._namespace, *where.parameters, size),
            )
            for order in self._orders
        ]

    def _of(self, rows: NDArray[np.int32]) -> Statement:
        missing = [row for row in rows.tolist() if row not in self._read]
        return Statement(
            f'SELECT {_READ} FROM memories m WHERE m.namespace = %s AND m."row" = '
            "ANY(%s::integer[])",
            (self._namespace, Integers(missing)),
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
                    (self._namespace, Integers(rows[equal])),
                )
            ]
            ids = dict(found)
            for place, at in enumerate(best.tolist()):
                same = rows[equal[near[equal] == near[at]]].tolist()
                ranks[place] += sum(ids.get(row, "") < ids.get(rows[at], "") for row in same)
        return ranks
