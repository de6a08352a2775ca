"""SQL of links, and of the neighbors of memories in their sessions."""

from __future__ import annotations

from typing import Any

from salience.records.filters import Filter
from salience.retrieval.candidates import Rows
from salience.stores.postgres.sql.filters import Condition, compile_filter
from salience.stores.postgres.wire.commands import Statement
from salience.stores.postgres.wire.types import IntegerArray

_MAX_READ_AHEAD_ROWS = 1_000  # beyond so many reachable memories, none are read ahead


def select_links(
    namespace: str, which: Condition, where: Filter | None, type: str | None = None
) -> Statement:
    """Read the links of some memories whose ends pass a filter: both rows, weight and type.

    `which` is a condition on the memories `m`; the links are of one type, or of all.
    """
    of_type, types = ("", ()) if type is None else (" AND l.type = %s", (type,))
    ends = " UNION ".join(
        "SELECT l.* FROM memories m JOIN links l ON l.namespace = m.namespace "
        f"AND l.{end} = m.id{of_type} WHERE m.namespace = %s AND {which.sql}"
        for end in ("source", "target")
    )
    first, second = compile_filter(where, "s"), compile_filter(where, "t")
    chosen = (*types, namespace, *which.parameters)
    return Statement(
        f'SELECT s."row", t."row", l.weight, l.type FROM ({ends}) AS l '
        "JOIN memories s ON s.namespace = %s AND s.id = l.source "
        "JOIN memories t ON t.namespace = %s AND t.id = l.target "
        f"WHERE {first.sql} AND {second.sql} ORDER BY l.source, l.target, l.type",
        (*chosen, *chosen, namespace, namespace, *first.parameters, *second.parameters),
    )


def rows_condition(rows: Rows) -> Condition:
    """The condition that memories `m` are some rows."""
    return Condition('m."row" = ANY(%s::integer[])', (IntegerArray(rows),))


def reachable_condition(namespace: str, rows: Rows, hops: int) -> Condition:
    """The condition that links lead to memories `m` from some rows; none if there are too many."""
    near = [
        'near0 AS (SELECT id FROM memories WHERE namespace = %s AND "row" = ANY(%s::integer[]))'
    ]
    parameters: tuple[Any, ...] = (namespace, IntegerArray(rows))
    for hop in range(hops):
        near.append(
            f"near{hop + 1} AS (SELECT id FROM near{hop} "
            f"UNION SELECT l.target FROM near{hop} JOIN links l ON l.namespace = %s "
            f"AND l.source = near{hop}.id UNION SELECT l.source FROM near{hop} "
            f"JOIN links l ON l.namespace = %s AND l.target = near{hop}.id)"
        )
        parameters += (namespace, namespace)
    return Condition(
        f"m.id IN (WITH {', '.join(near)} SELECT id FROM near{hops} "
        f"WHERE (SELECT count(*) FROM near{hops}) <= {_MAX_READ_AHEAD_ROWS})",
        parameters,
    )


def select_neighbors(namespace: str, which: Condition, where: Filter | None) -> Statement:
    """Read some rows, each with the rows right before and after it in its session.

    Only memories of its own kind count; NULL where there is none or it does not pass the filter.
    """
    passes = compile_filter(where, "o")
    sides = [
        f'LEFT JOIN LATERAL (SELECT o."row", ({passes.sql}) IS TRUE AS passes FROM memories o '
        "WHERE o.namespace = %s AND o.session_id = m.session_id AND o.kind = m.kind "
        f"AND (o.created_at, o.sequence) {sign} (m.created_at, m.sequence) "
        f"ORDER BY o.created_at {way}, o.sequence {way} LIMIT 1) AS {side} ON TRUE"
        for side, sign, way in (("before", "<", "DESC"), ("behind", ">", "ASC"))
    ]
    side_parameters = (*passes.parameters, namespace)
    return Statement(
        'SELECT m."row", CASE WHEN before.passes THEN before."row" END, '
        'CASE WHEN behind.passes THEN behind."row" END FROM memories m '
        f"{' '.join(sides)} WHERE m.namespace = %s AND {which.sql}",
        (*side_parameters, *side_parameters, namespace, *which.parameters),
    )


def neighbors_condition(namespace: str, rows: Rows, where: Filter | None) -> Condition:
    """The condition that memories `m` come right before or after some rows in their sessions.

    An array, because the server would repeat a subquery for each row of a table that it has no
    statistics of yet.
    """
    neighbors = select_neighbors(namespace, rows_condition(rows), where)
    return Condition(
        'm."row" = ANY(ARRAY(SELECT unnest(ARRAY[before, behind]) FROM '
        f'({neighbors.sql}) AS sides("row", before, behind)))',
        tuple(neighbors.parameters),
    )
