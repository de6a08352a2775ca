"""Clusters of what says the same, against a plain reading of their law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from salience.lifecycle import clustering as module
from salience.lifecycle.clustering import find_clusters, most_central, tighten

Rows = NDArray[np.float32]


def rows(angles: list[float]) -> Rows:
    """Unit vectors in the plane: the cosine of two is that of the angle between them."""
    radians = np.deg2rad(np.array(angles, dtype=np.float64))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def plain_clusters(vectors: Rows, min_cosine: float = 0.8, min_size: int = 3) -> list[list[int]]:
    """The definition of `find_clusters`, pair by pair."""
    free = {i for i, row in enumerate(vectors) if row.any()}
    groups = []
    for first in range(len(vectors)):
        if first not in free:
            continue
        group = [i for i in sorted(free) if vectors[i] @ vectors[first] >= min_cosine or i == first]
        while len(group) >= min_size:
            mean = vectors[group].astype(np.float64).mean(axis=0)
            cosines = [float(vectors[i] @ mean / np.linalg.norm(mean)) for i in group]
            if min(cosines) >= min_cosine:
                break
            group.pop(cosines.index(min(cosines)))
        if len(group) >= min_size:
            groups.append(group)
            free -= set(group)
    return sorted(groups)


def random_rows(seed: int, size: int) -> Rows:
    chance = np.random.default_rng(seed)
    near = chance.normal(size=(5, 6))[chance.integers(0, 5, size)]
    rows = (near + 0.5 * chance.normal(size=(size, 6))).astype(np.float32)
    rows[chance.random(size) < 0.05] = 0.0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([1, 2, 7, 256]))
@settings(deadline=None)
def test_groups_are_those_of_the_law_whatever_the_blocks(seed: int, size: int, block: int) -> None:
    vectors = random_rows(seed, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_ROWS", block)
        patch.setattr(module, "_BLOCK_COLUMNS", max(1, block // 2))
        groups = find_clusters(vectors)
    assert [group.tolist() for group in groups] == plain_clusters(vectors)


@given(st.integers(0, 2**32 - 1), st.integers(3, 60))
@settings(deadline=None)
def test_every_member_is_near_its_centroid(seed: int, size: int) -> None:
    vectors = random_rows(seed, size)
    for group in find_clusters(vectors):
        mean = vectors[group].astype(np.float64).mean(axis=0)
        assert len(group) >= 3
        assert (vectors[group] @ (mean / np.linalg.norm(mean)) >= 0.8 - 1e-9).all()


@given(st.integers(0, 2**32 - 1), st.integers(3, 60), st.integers(0, 60))
@settings(deadline=None)
def test_fresh_rows_bring_what_a_whole_run_finds(seed: int, size: int, old: int) -> None:
    vectors = random_rows(seed, size)
    held = {int(i) for group in find_clusters(vectors[: min(old, size)]) for i in group}
    left = np.array([i for i in range(size) if i not in held], dtype=np.intp)
    groups = find_clusters(vectors[left], fresh=left >= old)
    assert [g.tolist() for g in groups] == [g.tolist() for g in find_clusters(vectors[left])]


def test_a_chain_does_not_drift() -> None:
    # cos 30 degrees = .866: each link of the chain is near the next, its ends are opposite.
    groups = find_clusters(rows([0, 30, 60, 90, 120, 150, 180]))
    # From 0: only 30 is within acos .8 = 36.9 degrees, too few. From 30: 0, 30, 60, whose mean
    # is 30, and 0 and 60 are .866 from it. From 90, of what is left: 90, 120, two. From 120: 90,
    # 120, 150.
    assert [group.tolist() for group in groups] == [[0, 1, 2], [3, 4, 5]]


def test_the_farthest_leaves_until_all_are_near() -> None:
    # The mean of 0, 0, 36 and -36 is 0, and cos 36 = .809. Another at -36 draws it away:
    # (2 + 3 * .809, -.588) is at -7.6 degrees, and cos 43.6 = .724, so 36 leaves.
    vectors = rows([0, 0, 36, -36])
    assert tighten(vectors, np.arange(4)).tolist() == [0, 1, 2, 3]
    vectors = rows([0, 0, 36, -36, -36])
    assert tighten(vectors, np.arange(5)).tolist() == [0, 1, 3, 4]


def test_the_central_one_is_nearest_the_mean() -> None:
    assert most_central(rows([0, 10, 30])) == 1
    assert most_central(rows([5, 5, 5])) == 0


def test_what_has_no_vector_is_in_no_group() -> None:
    vectors = rows([0, 0, 0, 0])
    vectors[1] = np.nan
    vectors[2] = 0.0
    assert find_clusters(vectors) == []
    assert find_clusters(vectors[:0]) == []
