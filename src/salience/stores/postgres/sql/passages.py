"""SQL of passages: those of long memories with their terms, and their vectors.

All vectors of passages are compared, without an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from salience.retrieval.query import Query
from salience.stores.postgres.sql.filters import row_condition
from salience.stores.postgres.sql.vectors import NEGATIVE_INNER_PRODUCT, split_halves
from salience.stores.postgres.wire.commands import Statement

_DISTANCE = NEGATIVE_INNER_PRODUCT.format(vector="v.vector")
_MARGIN_ROWS = 16  # memories asked for besides those wanted, as distances are within `NOISE`


def select_passages(namespace: str, rows: Sequence[int]) -> Statement:
    """Read the passages of rows that have some: row, borders, terms; by row."""
    return Statement(
        'SELECT m."row", m.passages, w.passages FROM memories m JOIN words w '
        'ON w.namespace = %s AND w."row" = m."row" WHERE m.namespace = %s '
        'AND m.passages IS NOT NULL AND m."row" = ANY(%s::integer[]) ORDER BY m."row"',
        (namespace, namespace, list(rows)),
    )


def select_passage_vectors(namespace: str, names: Sequence[str], rows: Sequence[int]) -> Statement:
    """Read the vectors of passages of rows: row, name and vector of each."""
    return Statement(
        'SELECT v."row", v.name, v.vector FROM vectors v WHERE v.namespace = %s '
        'AND v.name = ANY(%s::text[]) AND v."row" = ANY(%s::integer[])',
        (namespace, list(names), list(rows)),
    )


def select_nearest_by_passage(
    namespace: str, names: Sequence[str], query: Query, depth: int | None
) -> Statement:
    """Read the rows of the memories whose nearest passages are the nearest; None reads all."""
    where = row_condition(query.where, "v")
    if depth is None:
        return Statement(
            'SELECT DISTINCT v."row" FROM vectors v WHERE v.namespace = %s '
            f"AND v.name = ANY(%s::text[]){where.sql}",
            (namespace, list(names), *where.parameters),
        )
    assert query.vector is not None
    return Statement(
        f'SELECT v."row" FROM vectors v WHERE v.namespace = %s AND v.name = ANY(%s::text[])'
        f'{where.sql} GROUP BY v."row" ORDER BY min({_DISTANCE}) '
        f"FETCH FIRST {depth + _MARGIN_ROWS} ROWS WITH TIES",
        (namespace, list(names), *where.parameters, *split_halves(query.vector)),
    )
