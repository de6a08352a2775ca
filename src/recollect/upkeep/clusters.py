"""Clusters of vectors that say the same: greedy, exact, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

SIMILAR = 0.80
"""The least cosine of a member to its cluster's centroid, and to the one that it began with."""
MEMBERS = 3  # the least there are in a cluster
_BLOCK = 256  # rows compared with all others at once
_COLUMNS = 16_384  # others compared at once: what is worked on stays in the cache

Floats32 = NDArray[np.float32]
Places = NDArray[np.intp]
Progress = Callable[[int, int], None]


def clusters(
    vectors: Floats32,
    *,
    fresh: NDArray[np.bool_] | None = None,
    least: float = SIMILAR,
    members: int = MEMBERS,
    progress: Progress | None = None,
) -> list[Places]:
    """Disjoint groups of rows, each at a cosine of `least` or more to the centroid of its group.

    `vectors` are unit vectors, float32 of shape (rows, dimensions); a row of zeros or NaN is in no
    group. From the first row to the last, each that is in no group yet begins one of all rows that
    are in none and at least `least` to it; as long as a member is below `least` to the centroid
    (the mean, at unit length), the farthest leaves. What keeps fewer than `members` is no group.

    With `fresh`, bool of shape (rows,), only groups that a fresh row might have made possible are
    looked for: those begun by a fresh row, or by one that is similar to a fresh one. The groups
    come by their first row, places ascending in each. O(rows^2) products, or fresh times rows.
    """
    usable = np.isfinite(vectors).all(axis=1) & (np.abs(vectors).max(axis=1, initial=0.0) > 0.0)
    free = usable.copy()
    begins = np.flatnonzero(usable if fresh is None else _near(vectors, usable, fresh, least))
    later: dict[int, list[int]] = {}  # rows from before that are similar, by a row to come
    found = []
    for start in range(0, len(begins), _BLOCK):
        block = begins[start : start + _BLOCK]
        # A pair of rows that both may begin a group is compared once, by the first of them.
        others = np.flatnonzero(free)
        if fresh is None:
            others = others[others >= block[0]]
        similar = _products(vectors, block, others)
        for row, products in zip(block.tolist(), similar, strict=True):
            if not free[row]:
                continue
            near = others[products >= least]
            near = near[free[near]]
            if fresh is None:
                earlier = [place for place in later.pop(row, ()) if free[place]]
                near = np.unique(np.concatenate([near, np.array([*earlier, row], dtype=np.intp)]))
            group = tightened(vectors, near, least) if len(near) >= members else near
            if len(group) >= members:
                free[group] = False
                found.append(group)
            elif fresh is None:
                for place in near[near > row].tolist():
                    later.setdefault(place, []).append(row)
        if progress is not None:
            progress(min(start + _BLOCK, len(begins)), len(begins))
    return sorted(found, key=lambda group: int(group[0]))


def pairs(
    vectors: Floats32, least: float, *, progress: Progress | None = None
) -> Iterator[tuple[int, int, float]]:
    """For each row with an earlier one at a cosine of `least` or more: (the first, it, cosine).

    Rows of zeros or NaN are like none. O(rows^2) products.
    """
    usable = np.flatnonzero(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))
    for start in range(0, len(usable), _BLOCK):
        block = usable[start : start + _BLOCK]
        earlier = usable[: start + len(block)]
        similar = _products(vectors, block, earlier)
        similar[np.arange(len(block))[:, np.newaxis] + start <= np.arange(len(earlier))] = -1.0
        first = np.argmax(similar >= least, axis=1)
        cosines = similar[np.arange(len(block)), first]
        for row in np.flatnonzero(cosines >= least).tolist():
            yield int(earlier[first[row]]), int(block[row]), float(cosines[row])
        if progress is not None:
            progress(start + len(block), len(usable))


def _near(
    vectors: Floats32, usable: NDArray[np.bool_], fresh: NDArray[np.bool_], least: float
) -> NDArray[np.bool_]:
    """The fresh rows and those that are similar to one."""
    near = fresh & usable
    new, all_usable = np.flatnonzero(near), np.flatnonzero(usable)
    for start in range(0, len(new), _BLOCK):
        similar = _products(vectors, new[start : start + _BLOCK], all_usable)
        near[all_usable[(similar >= least).any(axis=0)]] = True
    return near


def _products(vectors: Floats32, block: Places, others: Places) -> Floats32:
    """The cosines of some rows with others, float32 of shape (block, others)."""
    found = np.empty((len(block), len(others)), dtype=np.float32)
    chosen = vectors[block]
    for start in range(0, len(others), _COLUMNS):
        part = others[start : start + _COLUMNS]
        np.matmul(chosen, vectors[part].T, out=found[:, start : start + len(part)])
    return found


def tightened(vectors: Floats32, group: Places, least: float = SIMILAR) -> Places:
    """The group without those that are farthest from its centroid, until all are near enough."""
    kept = vectors[group].astype(np.float64)
    total = kept.sum(axis=0)
    inside = np.arange(len(group))
    while len(inside):
        length = np.linalg.norm(total)
        if length == 0.0:
            return group[:0]
        cosines = kept[inside] @ (total / length)
        far = int(np.argmin(cosines))
        if cosines[far] >= least:
            break
        total = total - kept[inside[far]]
        inside = np.delete(inside, far)
    return group[inside]


def central(vectors: Floats32) -> int:
    """The place of the row that is nearest to the mean of all; the first of equals."""
    rows = vectors.astype(np.float64)
    return int(np.argmax(np.vecdot(rows, rows.mean(axis=0))))
