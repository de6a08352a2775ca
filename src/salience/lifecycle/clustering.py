"""Clusters of similar vectors: greedy, exact, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import cosines, lengths

CLUSTER_COSINE = 0.80
"""The least cosine of a member to its cluster's centroid, and to the cluster's first member."""
MIN_CLUSTER_SIZE = 3  # the least in a cluster
_BLOCK_ROWS = 256  # rows compared with all others at once
_BLOCK_COLUMNS = 16_384  # others compared at once: what is worked on stays in the cache
_SAMPLE_ROWS = 4096  # rows by which the directions of the screen are chosen
_MAX_CANDIDATE_SHARE = 0.001  # share of pairs that the screen may leave
_ROUNDING = 1e-3  # more than single precision can be off by
_RECOPY_BELOW_SHARE = 0.9  # of the rows copied that are still in no group

Floats32 = NDArray[np.float32]
Places = NDArray[np.intp]
Progress = Callable[[int, int], None]


def find_clusters(
    vectors: Floats32,
    *,
    fresh: NDArray[np.bool_] | None = None,
    min_cosine: float = CLUSTER_COSINE,
    min_size: int = MIN_CLUSTER_SIZE,
    progress: Progress | None = None,
) -> list[Places]:
    """Disjoint groups of rows, each row at a cosine >= `min_cosine` to the centroid of its group.

    `vectors` are unit vectors, float32 of shape (rows, dimensions); a row of zeros or NaN is in no
    group. In order, each row without a group begins one, of all rows without a group at a cosine
    >= `min_cosine` to it. While a member is below `min_cosine` to the centroid (the mean, at unit
    length), the farthest one leaves. Groups of fewer than `min_size` rows are dropped.

    With `fresh`, bool of shape (rows,), it looks only for groups that a fresh row may have made
    possible: those that begin with a fresh row, or with one that is similar to a fresh one. The
    groups are ordered by their first row, places ascending in each. O(rows^2) products, or fresh
    times rows.
    """
    usable = _usable(vectors)
    free = usable.copy()
    screen = _screen(vectors, usable, min_cosine)
    begins = usable if fresh is None else _near(vectors, screen, usable, fresh, min_cosine)
    places = np.flatnonzero(begins)
    later: dict[int, list[int]] = {}  # rows from before that are similar, by a row to come
    groups = []
    others, rest = np.empty(0, dtype=np.intp), screen[:0]
    for start in range(0, len(places), _BLOCK_ROWS):
        block = places[start : start + _BLOCK_ROWS]
        if not len(others) or np.count_nonzero(free) < _RECOPY_BELOW_SHARE * len(others):
            others = np.flatnonzero(free)  # copied now and then, for a copy costs as much as a use
            rest = screen[others]
        # A pair of rows that both may begin a group is compared once, by the first of them.
        first = 0 if fresh is not None else int(np.searchsorted(others, block[0]))
        bounds = _products(screen[block], rest[first:])
        for row, bound in zip(block.tolist(), bounds, strict=True):
            if not free[row]:
                continue
            near = others[first + np.flatnonzero(bound >= min_cosine - _ROUNDING)]
            near = near[free[near]]
            near = near[cosines(vectors[near], vectors[row]) >= min_cosine]
            if fresh is None:
                earlier = [place for place in later.pop(row, ()) if free[place]]
                near = np.unique(np.concatenate([near, np.array([*earlier, row], dtype=np.intp)]))
            group = tighten(vectors, near, min_cosine) if len(near) >= min_size else near
            if len(group) >= min_size:
                free[group] = False
                groups.append(group)
            elif fresh is None:
                for place in near[near > row].tolist():
                    later.setdefault(place, []).append(row)
        if progress is not None:
            progress(min(start + _BLOCK_ROWS, len(places)), len(places))
    return sorted(groups, key=lambda group: int(group[0]))


def _usable(vectors: Floats32) -> NDArray[np.bool_]:
    """A mask of the rows that are vectors: finite, and not all zeros."""
    return np.asarray(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))


def similar_pairs(
    vectors: Floats32, min_cosine: float, *, progress: Progress | None = None
) -> Iterator[tuple[int, int, float]]:
    """Pairs with a cosine >= `min_cosine`: (the first such earlier row, row, cosine) of each row.

    Rows of zeros or NaN are similar to none. O(rows^2) products.
    """
    usable = np.flatnonzero(_usable(vectors))
    rows = vectors[usable]
    screen = _screen(rows, np.ones(len(rows), dtype=bool), min_cosine)
    for start in range(0, len(usable), _BLOCK_ROWS):
        bounds = _products(screen[start : start + _BLOCK_ROWS], screen[: start + _BLOCK_ROWS])
        for row, bound in enumerate(bounds, start):
            maybe = np.flatnonzero(bound[:row] >= min_cosine - _ROUNDING)
            for part in range(0, len(maybe), _BLOCK_ROWS):
                some = maybe[part : part + _BLOCK_ROWS]
                exact = cosines(rows[some], rows[row])
                like = np.flatnonzero(exact >= min_cosine)
                if len(like):
                    first = int(like[0])
                    yield int(usable[some[first]]), int(usable[row]), float(exact[first])
                    break
        if progress is not None:
            progress(start + len(bounds), len(usable))


def _screen(vectors: Floats32, usable: NDArray[np.bool_], min_cosine: float) -> Floats32:
    """Shorter rows whose products bound the cosines of the vectors from above.

    x . y <= x' . y' + |x''| |y''|, where ' is the part in some directions and '' the rest. The
    directions are those in which the vectors reach farthest, as few as leave one pair in a thousand
    to check. If that takes more than half of them, the result is the vectors themselves.
    """
    size = vectors.shape[1]
    rows = vectors[np.flatnonzero(usable)[:: max(1, int(usable.sum()) // _SAMPLE_ROWS)]]
    if len(rows) < _SAMPLE_ROWS:  # to compare all takes less than to find directions
        return vectors
    directions = np.linalg.eigh((rows.T @ rows).astype(np.float64))[1][:, ::-1]
    for dimensions in (size // 8, size // 4, size // 2):
        turn = np.ascontiguousarray(directions[:, :dimensions], dtype=np.float32)
        sample = _bounds(rows, turn)
        if (
            sample[: _SAMPLE_ROWS // 8] @ sample.T >= min_cosine - _ROUNDING
        ).mean() < _MAX_CANDIDATE_SHARE:
            clean = np.where(usable[:, np.newaxis], vectors, np.float32(0.0))
            return _bounds(clean, turn)
    return vectors


def _bounds(vectors: Floats32, turn: Floats32) -> Floats32:
    """The parts of vectors in some directions, and the length of the rest."""
    head = vectors @ turn
    whole, part = np.vecdot(vectors, vectors), np.vecdot(head, head)
    rest = np.sqrt(np.maximum(whole - part, 0.0))
    return np.concatenate([head, rest[:, np.newaxis]], axis=1)


def _near(
    vectors: Floats32,
    screen: Floats32,
    usable: NDArray[np.bool_],
    fresh: NDArray[np.bool_],
    min_cosine: float,
) -> NDArray[np.bool_]:
    """The fresh rows and those that are similar to one."""
    near = fresh & usable
    new, others = np.flatnonzero(near), np.flatnonzero(usable)
    rest = screen[others]
    for start in range(0, len(new), _BLOCK_ROWS):
        block = new[start : start + _BLOCK_ROWS]
        for row, bound in zip(block.tolist(), _products(screen[block], rest), strict=True):
            maybe = others[np.flatnonzero(bound >= min_cosine - _ROUNDING)]
            near[maybe[cosines(vectors[maybe], vectors[row]) >= min_cosine]] = True
    return near


def _products(block: Floats32, rest: Floats32) -> Floats32:
    """The cosines of some rows with others, float32 of shape (block, rest)."""
    products = np.empty((len(block), len(rest)), dtype=np.float32)
    for start in range(0, len(rest), _BLOCK_COLUMNS):
        part = rest[start : start + _BLOCK_COLUMNS]
        np.matmul(block, part.T, out=products[:, start : start + len(part)])
    return products


def tighten(vectors: Floats32, group: Places, min_cosine: float = CLUSTER_COSINE) -> Places:
    """The group after the farthest from its centroid have left, until all are near enough."""
    rows = vectors[group].astype(np.float64)
    total = rows.sum(axis=0)  # of numbers of half precision: exact
    inside = np.arange(len(group))
    while len(inside):
        length = lengths(total)
        if length == 0.0:
            return group[:0]
        to_centroid = cosines(rows[inside], total / length)
        far = int(np.argmin(to_centroid))
        if to_centroid[far] >= min_cosine:
            break
        total = total - rows[inside[far]]
        inside = np.delete(inside, far)
    return group[inside]


def most_central(vectors: Floats32) -> int:
    """The place of the row that is nearest to the mean of all; the first of equals."""
    mean = vectors.astype(np.float64).sum(axis=0) / len(vectors)
    return int(np.argmax(cosines(vectors, mean)))
