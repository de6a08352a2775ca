"""Cosines to the last bit, and a first pass that keeps what is nearest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from salience.stores.index import quantization
from salience.stores.index import vector_index as module
from salience.stores.index.quantization import VectorSigns
from salience.stores.index.vector_index import VectorIndex, _radius
from support.examples import examples

Matrix = NDArray[np.float32]


def unit(rows: NDArray[Any]) -> Matrix:
    """Rows as a store keeps them: of unit length, at half precision."""
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return scaled.astype(np.float16).astype(np.float32)


def random_unit(count: int, dimensions: int, seed: int) -> Matrix:
    return unit(np.random.default_rng(seed).standard_normal((count, dimensions)))


def filled(rows: Matrix, parts: Sequence[int] = ()) -> VectorIndex:
    """The vectors of memories 0, 1, ..., appended in parts."""
    found = VectorIndex(rows.shape[1])
    start = 0
    for size in [*parts, len(rows)]:
        blobs = [row.astype(np.float16).tobytes() for row in rows[start : start + size]]
        if blobs:
            found.extend(start, blobs)
        start += size
    return found


def exact(rows: Matrix, query: Matrix) -> NDArray[np.float64]:
    return rows.astype(np.float64) @ query.astype(np.float64)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 7, 31, 64, 65, 100, 256, 384])
def test_a_cosine_does_not_depend_on_its_neighbours(dimensions: int) -> None:
    rows, query = random_unit(97, dimensions, 1), random_unit(1, dimensions, 2)[0]
    whole = filled(rows)
    everybody = np.arange(len(rows))
    together = whole.cosines(query, everybody)
    assert together == pytest.approx(exact(rows, query), abs=1e-5)
    assert np.all(np.abs(together) <= 1.0)
    for i in everybody:
        assert whole.cosines(query, np.array([i]))[0] == together[i]
    rng = np.random.default_rng(3)
    for size in (2, 3, 5, 50, 97):
        some = rng.permutation(everybody)[:size]
        assert np.array_equal(whole.cosines(query, some), together[some])
    elsewhere = filled(rows[::-1].copy(), parts=[1, 30, 2])
    assert np.array_equal(elsewhere.cosines(query, everybody)[::-1], together)


def test_what_has_no_vector_has_no_cosine() -> None:
    rows = random_unit(3, 8, 1)
    found = VectorIndex(8)
    blob = [row.astype(np.float16).tobytes() for row in rows]
    found.extend(2, [blob[0], None, blob[1]])  # memories 0 and 1 came before the first vector
    found.extend(7, [blob[2]])
    cosines = found.cosines(rows[0], np.arange(10))
    assert np.isnan(cosines).tolist() == [
        True,
        True,
        False,
        True,
        False,
        *[True] * 2,
        False,
        *[True] * 2,
    ]
    assert cosines[2] == pytest.approx(1.0, abs=2e-3)
    assert sorted(found.holders(None).tolist()) == [2, 4, 7]


def test_a_zero_vector_is_similar_to_nothing() -> None:
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]], dtype=np.float32)
    found = filled(rows)
    assert found.cosines(rows[1], np.arange(3)).tolist() == [0.0, 1.0, -1.0]
    assert found.cosines(rows[0], np.arange(3)).tolist() == [0.0, 0.0, 0.0]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Matrix, Matrix, int, NDArray[np.bool_] | None]:
    """Vectors (many of them equal), a query, a depth and perhaps a filter."""
    count, dimensions = draw(st.integers(1, 120)), draw(st.sampled_from([1, 2, 5, 16]))
    kinds = draw(st.integers(1, count))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    rows = random_unit(kinds, dimensions, seed)[rng.integers(0, kinds, count)]
    if draw(st.booleans()):
        rows[rng.integers(0, count)] = 0.0
    share = draw(st.sampled_from([None, 0.0, 0.1, 0.9]))
    mask = None if share is None else rng.random(count) < share
    return rows, random_unit(1, dimensions, seed + 1)[0], draw(st.integers(1, 20)), mask


def covers(
    rows: Matrix, query: Matrix, depth: int, mask: NDArray[np.bool_] | None, found: VectorIndex
) -> bool:
    """Test that `nearest` holds every memory that may be among the first `depth`, ties included."""
    near = found.nearest(query, depth, mask)
    assert len(set(near.tolist())) == len(near)
    allowed = np.flatnonzero(np.ones(len(rows), dtype=bool) if mask is None else mask)
    assert set(near.tolist()) <= set(allowed.tolist())
    cosines = found.cosines(query, allowed)
    if len(cosines) <= depth:
        return len(near) == len(allowed)
    bound = np.sort(cosines)[-depth]
    return set(allowed[cosines >= bound].tolist()) <= set(near.tolist())


@settings(max_examples=examples(300), deadline=None)
@given(scenes())
def test_nearest_misses_nothing_while_all_are_compared(
    scene: tuple[Matrix, Matrix, int, NDArray[np.bool_] | None],
) -> None:
    rows, query, depth, mask = scene
    assert covers(rows, query, depth, mask, filled(rows))


def clustered(count: int, dimensions: int, seed: int) -> Matrix:
    """Vectors as texts give them: around a few hundred subjects."""
    rng = np.random.default_rng(seed)
    subjects = rng.standard_normal((300, dimensions))
    chosen = subjects[rng.integers(0, len(subjects), count)]
    return unit(chosen + 0.9 * rng.standard_normal((count, dimensions)))


@pytest.mark.parametrize("share", [None, 0.5, 0.02])
def test_the_signs_keep_what_is_nearest(
    monkeypatch: pytest.MonkeyPatch, share: float | None
) -> None:
    monkeypatch.setattr(module, "EXACT_BELOW", 1_000)
    rows, depth = clustered(30_000, 64, 5), 50
    queries = clustered(20, 64, 5)  # about the same subjects
    found = filled(rows, parts=[10_000, 1, 7_000])
    mask = None if share is None else np.random.default_rng(6).random(len(rows)) < share
    allowed = np.flatnonzero(np.ones(len(rows), dtype=bool) if mask is None else mask)
    kept = total = 0
    for query in queries:
        near = found.nearest(query, depth, mask)
        assert set(near.tolist()) <= set(allowed.tolist())
        assert len(near) < len(rows) / 8
        best = allowed[np.argsort(-found.cosines(query, allowed))[:depth]]
        kept += len(set(best.tolist()) & set(near.tolist()))
        total += depth
    assert kept / total >= 0.99


def test_the_signs_of_parts_are_the_signs_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_BLOCK_VECTORS", "_SWEEP_BLOCK_VECTORS"):
        monkeypatch.setattr(quantization, name, 64)
    rows = random_unit(500, 100, 8)
    whole, parts = VectorSigns(100), VectorSigns(100)
    whole.extend(rows)
    for start, end in ((0, 1), (1, 300), (300, 300), (300, 500)):
        parts.extend(rows[start:end])
    query = random_unit(1, 100, 9)[0]
    assert len(whole) == len(parts) == 500
    assert np.array_equal(whole.distances(query), parts.distances(query))
    signs = (rows > 0) != (query > 0)
    assert whole.distances(query).tolist() == signs.sum(axis=1).tolist()


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(1, 8), st.floats(0.0, 0.99)
)
def test_the_radius_is_the_least_with_more_rows_within(
    distances: list[int], largest: int, share: float
) -> None:
    most = int(share * len(distances))
    found = _radius(np.array(distances, dtype=np.uint16), most, largest)
    within = [sum(each <= bound for each in distances) for bound in range(largest)]
    assert found == next((bound for bound, rows in enumerate(within) if rows > most), largest)


def skewed(rows: Matrix, kind: str) -> Matrix:
    """Vectors as embedders make them: even, with a direction they share, with a few large numbers,
    or with most numbers near zero."""
    if kind == "shared":
        return unit(rows + 1.5 * random_unit(1, rows.shape[1], 99))
    if kind == "large":
        return unit(np.hstack([rows[:, :3] + 1.0, rows[:, 3:]]))
    return unit(np.sign(rows) * np.abs(rows) ** 3) if kind == "sparse" else rows


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", ["even", "shared", "large", "sparse"])
@pytest.mark.parametrize("least", [0.5, 0.8, 0.92, 0.99])
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.02, 0.5, 1.0]))
@settings(max_examples=examples(5))
def test_signs_find_the_duplicates_that_a_full_comparison_finds(
    kind: str, least: float, seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    centres = random_unit(60, 256, seed)
    noise = rng.uniform(0.1, 1.2, (1800, 1)).astype(np.float32)
    rows = skewed(
        unit(centres[rng.integers(60, size=1800)] + noise * random_unit(1800, 256, seed)), kind
    )
    queries = skewed(unit(rows[:6] + 0.2 * random_unit(6, 256, seed + 1)), "even")
    allowed = rng.random(len(rows)) < share
    index = filled(rows)
    whole = index.most_alike(queries, least, lambda ordinals: allowed[ordinals])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SIGNS_FROM", 100)
        assert index.most_alike(queries, least, lambda ordinals: allowed[ordinals]) == whole


def test_a_duplicate_is_looked_for_without_a_look_at_every_vector() -> None:
    index = filled(random_unit(6_000, 256, 1))
    asked: list[int] = []

    def passing(ordinals: NDArray[Any]) -> NDArray[np.bool_]:
        asked.append(len(ordinals))
        return np.ones(len(ordinals), dtype=bool)

    query = index.take(np.array([4_321]))
    [found] = index.most_alike(query, 0.92, passing)
    assert found is not None
    assert found[0] == 4_321
    assert sum(asked) <= 10
