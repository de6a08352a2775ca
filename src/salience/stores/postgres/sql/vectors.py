"""SQL of vector search: exact, or by the HNSW index of one namespace.

An index over all namespaces would find neighbors in others and throw them away; so each is
partial, over the vectors of one name in one namespace. Up to `EXACT_BELOW` vectors all are
compared, which is exact and about as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from salience.retrieval.candidates import Floats
from salience.retrieval.query import Query
from salience.retrieval.routes import Vector
from salience.stores.index.vector_index import NOISE
from salience.stores.postgres.sql.filters import row_condition
from salience.stores.postgres.wire.commands import Statement, quote_literal, set_local
from salience.stores.postgres.wire.types import float_array


def inline_literal(text: str) -> str:
    """A text in a statement with parameters, for a partial index's condition to be recognised."""
    return quote_literal(text).replace("%", "%%")


_REST_SCALE = 4096.0
_PACKED_VECTORS = """array_agg(v."row"), string_agg(halfvec_send(v.vector), ''::bytea)"""
NEGATIVE_INNER_PRODUCT = f"(({{vector}} <#> %s) + ({{vector}} <#> %s) / {_REST_SCALE})"
"""The inner product of `vector`, negative, with one that comes in two halves; within `NOISE`."""
_DISTANCE = NEGATIVE_INNER_PRODUCT.format(vector="v.vector")
_TIE_MARGIN_ROWS = 16  # vectors asked for besides those wanted, in case some are equally near
_EF_SEARCH = 1.5, 200  # candidates that an index keeps for each vector asked for, and at least
_EF_GROWTH_VECTORS = 100_000  # from so many on, it keeps more with the cube root of their number
_INDEX_MARGIN = 1.1, 16  # an index is asked for a tenth and 16 more than wanted


def exact_cosines(vectors: NDArray[np.float32], asked: NDArray[np.float32]) -> Floats:
    """q . m for each vector, NaN where there is none; each is added up on its own."""
    if not vectors.shape[1]:
        return np.full(len(vectors), np.nan)
    return np.clip(np.vecdot(vectors, asked).astype(np.float64), -1.0, 1.0)


def select_cosines(namespace: str, route: Vector, query: Query) -> Statement:
    """Compare all vectors of a name: their rows, ascending, and the cosines; see `cosines_of`."""
    assert query.vector is not None
    kept = row_condition(query.where, "v")
    return Statement(
        'SELECT array_agg("row"), array_agg(near) FROM (SELECT v."row", '
        f"-({_DISTANCE}) AS near FROM vectors v WHERE v.namespace = %s AND v.name = %s"
        f'{kept.sql} ORDER BY v."row") AS compared',
        (*split_halves(query.vector), namespace, route.vector, *kept.parameters),
    )


def parse_cosines(answer: Sequence[Any]) -> tuple[NDArray[np.int32], Floats]:
    """The rows and cosines, within `NOISE`, that the server found."""
    [[rows, near]] = answer
    if rows is None:
        return np.empty(0, dtype=np.int32), np.empty(0)
    return rows, np.clip(float_array(near), -1.0, 1.0)


def split_halves(vector: NDArray[np.float32]) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """A vector at half precision, and what that leaves, enlarged: together nearly single's."""
    first = vector.astype(np.float16)
    return first, ((vector - first.astype(np.float32)) * _REST_SCALE).astype(np.float16)


def is_cut_among_ties(apart: Floats, depth: int) -> bool:
    """Whether more may be as near as the `depth`-th than were asked for."""
    return len(apart) == depth + _TIE_MARGIN_ROWS and apart[-1] <= apart[depth - 1] + NOISE


def select_nearest(
    namespace: str, route: Vector, query: Query, depth: int | None, indexed: int | None
) -> list[Statement]:
    """Read the vectors that are nearest, or all; with an index of so many vectors, by that."""
    if depth is not None and indexed is not None:
        return _select_nearest_by_index(namespace, route, query, depth, indexed)
    if depth is not None:
        return _select_nearest_exactly(namespace, route, query, depth)
    kept = row_condition(query.where, "v")
    return [
        Statement(
            f"SELECT {_PACKED_VECTORS}, NULL FROM vectors v WHERE v.namespace = %s "
            f"AND v.name = %s{kept.sql}",
            (namespace, route.vector, *kept.parameters),
        )
    ]


def _select_nearest_exactly(
    namespace: str, route: Vector, query: Query, depth: int
) -> list[Statement]:
    """Compare all vectors: a few more than the `depth` nearest."""
    assert query.vector is not None
    kept = row_condition(query.where, "v")
    return [
        Statement(
            f"SELECT {_PACKED_VECTORS}, array_agg(apart) FROM "
            '(SELECT v."row", v.vector, near.apart FROM '
            f'(SELECT v."row", {_DISTANCE} AS apart FROM vectors v WHERE v.namespace = %s '
            f"AND v.name = %s{kept.sql} ORDER BY apart LIMIT {depth + _TIE_MARGIN_ROWS}) AS near "
            'JOIN vectors v ON v.namespace = %s AND v.name = %s AND v."row" = near."row" '
            "ORDER BY near.apart) AS v",
            (
                *(*split_halves(query.vector), namespace, route.vector, *kept.parameters),
                *(namespace, route.vector),
            ),
        )
    ]


def select_within(namespace: str, route: Vector, query: Query, apart: float) -> list[Statement]:
    """Everything as near as that."""
    assert query.vector is not None
    kept = row_condition(query.where, "v")
    return [
        Statement(
            f"SELECT {_PACKED_VECTORS}, NULL FROM vectors v WHERE v.namespace = %s AND v.name = %s "
            f"AND {_DISTANCE} <= %s{kept.sql}",
            (namespace, route.vector, *split_halves(query.vector), apart + NOISE, *kept.parameters),
        )
    ]


def _select_nearest_by_index(
    namespace: str, route: Vector, query: Query, depth: int, held: int
) -> list[Statement]:
    """Ask the HNSW index of the namespace, going on until enough pass the filter."""
    assert query.vector is not None
    kept = row_condition(query.where, "v")
    wanted = int(depth * _INDEX_MARGIN[0]) + _INDEX_MARGIN[1]
    size = len(query.vector)
    each, least = _EF_SEARCH
    looked_at = int(each * wanted * max(1.0, held / _EF_GROWTH_VECTORS) ** (1 / 3))
    return [
        set_local("hnsw.ef_search", str(min(1000, max(looked_at, least)))),
        set_local("hnsw.iterative_scan", "relaxed_order"),
        Statement(
            f'SELECT {_PACKED_VECTORS}, NULL FROM (SELECT v."row", v.vector FROM vectors v WHERE '
            f"v.namespace = {inline_literal(namespace)} "
            f"AND v.name = {inline_literal(route.vector)} "
            f"AND vector_dims(v.vector) = {size}{kept.sql} "
            f"ORDER BY v.vector::halfvec({size}) <#> %s::halfvec({size}) LIMIT {wanted}) AS v",
            (*kept.parameters, query.vector),
        ),
    ]


def embedder_fingerprint(embedder: str) -> int:
    """A number above 0 that tells an embedder's identity from others, but for one in 2^31."""
    return crc32(embedder.encode()) >> 1 or 1
