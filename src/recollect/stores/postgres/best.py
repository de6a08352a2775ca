"""The best of all memories by a formula: the server ranks, so that not all have to be read here.

What it finds is a superset of the best. It adds up in another order than the process, and may be
off by the form's `error`; so what is at most twice that below the last of the best comes with them.
Whoever asked scores them again, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recollect.ops import Best, Chosen
from recollect.query import Query
from recollect.routes import Route, Scan, Vector
from recollect.stores.postgres.commands import Statement, Steps
from recollect.stores.postgres.formula import Form, NoForm, clipped, number, sql_form
from recollect.stores.postgres.routes import APART, NOISE, halved
from recollect.stores.postgres.where import Condition, compiled


def ranked(op: Best, namespace: str) -> Steps[Chosen]:
    """The best rows of a namespace, every memory of which the server scores.

    Raises:
        NoForm: the server cannot work the formula out, or not nearly enough.
    """
    return _read(op, _statement(op, namespace))


def _read(op: Best, statement: Statement) -> Steps[Chosen]:
    [answer] = yield [statement]
    found = np.array(answer, dtype=np.float64).reshape(-1, 2 + len(op.routes))
    ranks = {route.name: found[:, 2 + at] for at, route in enumerate(op.routes)}
    read = int(found[0, 0]) if len(found) else 0
    return Chosen(found[:, 1].astype(np.int64), ranks, read, read)


def _statement(op: Best, namespace: str) -> Statement:
    """How many were scored, the rows of the best, and their ranks on each route."""
    joins, columns = compared(op.routes, op.query, namespace)
    score = sql_form(op.formula, op.query, columns)
    if not math.isfinite(score.error) or score.endless:
        raise NoForm(f"the server's {op.formula} may be too far off to rank by")
    where = compiled(op.query.where, "m")
    ranks = ", ".join(_rank(place, route) for place, route in enumerate(op.routes))
    named = ", ".join(f"rank{place}" for place, _ in enumerate(op.routes))
    return Statement(
        f'WITH scored AS MATERIALIZED (SELECT m."row", {score.sql} AS score, {ranks} '
        f"FROM memories m{joins.sql} WHERE m.namespace = %s AND {where.sql}), "
        "least AS (SELECT score FROM scored ORDER BY score DESC NULLS LAST "
        "OFFSET %s::integer LIMIT 1) "
        f'SELECT (SELECT count(*) FROM scored), "row", {named} FROM scored '
        "WHERE (SELECT score FROM least) IS NULL "
        'OR score >= (SELECT score FROM least) - %s::float8 ORDER BY "row"',
        (
            *(*score.parameters, *joins.parameters, namespace, *where.parameters),
            *(op.query.k - 1, 2.0 * score.error),
        ),
    )


def _rank(place: int, route: Route) -> str:
    """The rank on a route as a column, NULL for what the route does not find."""
    if isinstance(route, Scan):
        return f'row_number() OVER (ORDER BY m."row" DESC) AS rank{place}'
    near = f"n{place}.near"
    number = f"row_number() OVER (ORDER BY {near} DESC NULLS LAST, m.id)"
    return f"CASE WHEN {near} IS NOT NULL THEN {number} END AS rank{place}"


def compared(
    routes: Sequence[Route], query: Query, namespace: str
) -> tuple[Condition, dict[str, Form]]:
    """What to join to memories so that all rows of the routes are there, and their scores."""
    vectors = [route for route in routes if isinstance(route, Vector)]
    scans = [route for route in routes if isinstance(route, Scan)]
    if len(vectors) + len(scans) < len(routes) or not (scans or len(vectors) == 1):
        raise NoForm("the server lists no rows of these routes")
    if any(route.min_similarity > -1.0 for route in vectors):
        raise NoForm("the server's cosines are not near enough to cut by")
    sql, parameters = "", tuple[Any, ...]()
    columns = {f"{route.name}.score": number(0.0) for route in scans}
    for place, route in enumerate(routes):
        if isinstance(route, Vector):
            near = cosine(f"v{place}.vector", query, missing=bool(scans))
            sql += (
                f"{' LEFT' if scans else ''} JOIN vectors v{place} ON v{place}.namespace = %s "
                f'AND v{place}.name = %s AND v{place}."row" = m."row" '
                # Without the OFFSET it would be worked out wherever it is used.
                f"CROSS JOIN LATERAL (SELECT {near.sql} AS near OFFSET 0) AS n{place}"
            )
            parameters += (namespace, route.vector, *near.parameters)
            columns[f"{route.name}.score"] = replace(near, sql=f"n{place}.near", parameters=())
    return Condition(sql, parameters), columns


def cosine(vector: str, query: Query, missing: bool = False) -> Form:
    """q . m within [-1, 1], as `routes.cosines` has it but for the order of adding up."""
    if query.vector is None:
        raise NoForm("there is no vector to compare with")
    apart = Form(f"(-{APART.format(vector=vector)})", halved(query.vector), missing=missing)
    return replace(clipped(apart, -1.0, 1.0), error=NOISE if query.vector.any() else 0.0)
