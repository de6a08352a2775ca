"""SQL of vector search: exact, or by the HNSW index of one namespace.

An index over all namespaces would find neighbors in others and discard them; so each is partial,
over the vectors of one name in one namespace. Up to `EXACT_BELOW` vectors, a search compares all of
them, which is exact and about as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import NOISE, cosines
from salience.retrieval.candidates import Floats
from salience.retrieval.query import Query
from salience.retrieval.vector_sets import OTHER
from salience.stores.postgres.sql.filters import Condition, row_condition
from salience.stores.tables.commands import Statement, quote_literal, set_local

_SAMPLED_VECTORS = 16  # of a name, whose most frequent length is that of all
_SIZE = f"""(SELECT mode() WITHIN GROUP (ORDER BY vector_dims(vector)) FROM
    (SELECT v.vector FROM vectors v WHERE v.namespace = %s AND v.name = own.name
    LIMIT {_SAMPLED_VECTORS}) AS sampled)"""
_SELECT_ALL_DIMENSIONS = f"""
WITH RECURSIVE own AS (
    (SELECT name FROM vectors WHERE namespace = %s ORDER BY name LIMIT 1)
    UNION ALL SELECT (SELECT v.name FROM vectors v WHERE v.namespace = %s AND v.name > own.name
        ORDER BY v.name LIMIT 1) FROM own WHERE own.name IS NOT NULL
)
SELECT name, {_SIZE} FROM own WHERE name IS NOT NULL
"""
"""Reads the lengths of vectors by stored name, each name looked up in the index."""
_REST_SCALE = 4096.0  # of the second half of a split vector
_PACKED_VECTORS = """array_agg(v."row"), string_agg(halfvec_send(v.vector), ''::bytea)"""
NEGATIVE_INNER_PRODUCT = f"(({{vector}} <#> %s) + ({{vector}} <#> %s) / {_REST_SCALE})"
"""The inner product of `vector`, negative, with one split into halves; within `NOISE`."""
_DISTANCE = NEGATIVE_INNER_PRODUCT.format(vector="v.vector")
_TIE_MARGIN_ROWS = 16  # vectors asked for besides those wanted, in case some are equally near
_EF_SEARCH = 1.5, 200  # candidates that an index keeps for each vector asked for, and at least
_EF_GROWTH_VECTORS = 100_000  # from so many on, it keeps more with the cube root of their number
_MAX_EF_SEARCH = 1000  # what pgvector allows
_INDEX_MARGIN = 1.1, 16  # an index is asked for a tenth and 16 more than wanted


def exact_cosines(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> Floats:
    """q . m for each vector, NaN where there is none."""
    return cosines(vectors, query) if vectors.shape[1] else np.full(len(vectors), np.nan)


def split_halves(vector: NDArray[np.float32]) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """A vector at half precision, and the rest of it, scaled: together nearly single precision."""
    first = vector.astype(np.float16)
    return first, ((vector - first.astype(np.float32)) * _REST_SCALE).astype(np.float16)


def select_dimensions(namespace: str, names: Sequence[str] | None) -> Statement:
    """Read the stored names and the lengths of vectors of some names or of all, of either set."""
    if names is None:
        return Statement(_SELECT_ALL_DIMENSIONS, (namespace,) * 3)
    stored = [kept for name in names for kept in (name, f"{OTHER}{name}")]
    return Statement(
        f"SELECT name, size FROM (SELECT name, {_SIZE} AS size "
        "FROM unnest(%s::text[]) AS own (name)) AS own WHERE size IS NOT NULL",
        (namespace, stored),
    )


# The nearest


def select_nearest(
    namespace: str, name: str, query: Query, depth: int, indexed: int | None
) -> list[Statement]:
    """Read the nearest vectors: rows, vectors packed, distances (NULL if by an index).

    `indexed` is the number of vectors that have an index; None compares all, without it.
    """
    where = row_condition(query.where, "v")
    if indexed is None:
        return [_select_nearest_exactly(namespace, name, query, depth, where)]
    return _select_nearest_by_index(namespace, name, query, depth, indexed, where)


def _select_nearest_exactly(
    namespace: str, name: str, query: Query, depth: int, where: Condition
) -> Statement:
    """Compare all vectors: a few more than the `depth` nearest."""
    assert query.vector is not None
    return Statement(
        f"SELECT {_PACKED_VECTORS}, array_agg(apart) FROM "
        '(SELECT v."row", v.vector, near.apart FROM '
        f'(SELECT v."row", {_DISTANCE} AS apart FROM vectors v WHERE v.namespace = %s '
        f"AND v.name = %s AND {of_length(query.vector)}{where.sql} "
        f"ORDER BY apart LIMIT {depth + _TIE_MARGIN_ROWS}) AS near "
        'JOIN vectors v ON v.namespace = %s AND v.name = %s AND v."row" = near."row" '
        "ORDER BY near.apart) AS v",
        (
            *(*split_halves(query.vector), namespace, name, *where.parameters),
            *(namespace, name),
        ),
    )


def is_cut_among_ties(distances: Floats, depth: int) -> bool:
    """True if more vectors may be as near as the `depth`-th than `select_nearest` has read."""
    cut = len(distances) == depth + _TIE_MARGIN_ROWS
    return cut and distances[-1] <= distances[depth - 1] + NOISE


def select_within(namespace: str, name: str, query: Query, distance: float) -> Statement:
    """Read all vectors within a distance: rows, vectors packed."""
    assert query.vector is not None
    where = row_condition(query.where, "v")
    return Statement(
        f"SELECT {_PACKED_VECTORS} FROM vectors v WHERE v.namespace = %s AND v.name = %s "
        f"AND CASE WHEN {of_length(query.vector)} THEN {_DISTANCE} <= %s END{where.sql}",
        (namespace, name, *split_halves(query.vector), distance + NOISE, *where.parameters),
    )


def _select_nearest_by_index(
    namespace: str, name: str, query: Query, depth: int, indexed: int, where: Condition
) -> list[Statement]:
    """Ask the HNSW index of the namespace, going on until enough rows pass the filter."""
    assert query.vector is not None
    rows = int(depth * _INDEX_MARGIN[0]) + _INDEX_MARGIN[1]
    size = len(query.vector)
    per_row, least = _EF_SEARCH
    ef_search = int(per_row * rows * max(1.0, indexed / _EF_GROWTH_VECTORS) ** (1 / 3))
    return [
        set_local("hnsw.ef_search", str(min(_MAX_EF_SEARCH, max(ef_search, least)))),
        set_local("hnsw.iterative_scan", "relaxed_order"),
        Statement(
            f'SELECT {_PACKED_VECTORS}, NULL FROM (SELECT v."row", v.vector FROM vectors v WHERE '
            f"v.namespace = {inline(namespace)} AND v.name = {inline(name)} "
            f"AND {of_length(query.vector)}{where.sql} "
            f"ORDER BY v.vector::halfvec({size}) <#> %s::halfvec({size}) LIMIT {rows}) AS v",
            (*where.parameters, query.vector),
        ),
    ]


def of_length(vector: NDArray[np.float32]) -> str:
    """The condition that a stored vector is as long as a given one; others cannot be compared."""
    return f"vector_dims(v.vector) = {len(vector)}"


def inline(text: str) -> str:
    """A text within a statement: the condition of a partial index is recognized only so."""
    return quote_literal(text).replace("%", "%%")
