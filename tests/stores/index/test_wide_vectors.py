"""Vectors of any number of dimensions are added and found, above each threshold, at each door."""

from __future__ import annotations

from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np
import pytest

from salience import Memory, arithmetic
from salience.embedders import FunctionEmbedder
from salience.stores.index import quantization, vector_index
from salience.stores.index.vector_index import EXACT_BELOW, SIGNS_FROM, VectorIndex
from support.mcp_client import over_http
from support.served import serve_memory

WIDTHS = [1, 7, 384, 1_536, 3_072, 8_192]


def embedder(width: int) -> FunctionEmbedder:
    def embed(texts: list[str]) -> Any:
        return [
            np.random.default_rng(crc32(text.encode())).standard_normal(width) for text in texts
        ]

    return FunctionEmbedder(embed, name=f"own-{width}")


@pytest.fixture
def low_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, least in {"EXACT_BELOW": 40, "SIGNS_FROM": 20, "_ALL_PER_HIT": 2}.items():
        monkeypatch.setattr(vector_index, name, least)


def ask_at_every_door(width: int, count: int) -> None:
    """Add and search where so many memories are there, at the library, over REST and over MCP."""
    with serve_memory("ram://", embedder=embedder(width)) as memory:
        behind = memory._behind
        for start in range(0, count, 2_000):
            texts = [f"note {n} of {n % 77}" for n in range(start, min(start + 2_000, count))]
            behind.add_many(texts, dedup=False)
        for at in (behind, memory):
            own = f"Ana lives in Porto {uuid4().hex}"
            at.add(own)  # looks for what is alike
            assert own in [hit.content for hit in at.search(own, limit=5).hits]
        with over_http(f"{memory.url}/mcp", {}) as tools:
            tools.call("add_memory", content="Ben plays the cello")
            assert "cello" in str(tools.call("search_memories", query="Ben plays the cello"))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.usefixtures("low_thresholds")
def test_memories_are_added_and_found(width: int) -> None:
    ask_at_every_door(width, 60)


@pytest.mark.deep
@pytest.mark.parametrize("width", WIDTHS[:4])
@pytest.mark.parametrize("count", [SIGNS_FROM + 1, EXACT_BELOW + 1])
def test_so_they_are_where_there_are_many(width: int, count: int) -> None:
    ask_at_every_door(width, count)


@pytest.mark.parametrize("width", [*WIDTHS, 65_536] if arithmetic.native else WIDTHS)
@pytest.mark.usefixtures("low_thresholds")
def test_the_nearest_are_the_same_by_kernels_and_by_numpy(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearest_both_ways(width, 60, monkeypatch)


@pytest.mark.deep
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [SIGNS_FROM + 1, EXACT_BELOW + 1])
def test_so_are_the_nearest_of_many(
    width: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearest_both_ways(width, count, monkeypatch)


def nearest_both_ways(width: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(width)
    kinds = rng.standard_normal((50, width)).astype(np.float32)
    kinds /= np.linalg.norm(kinds, axis=1, keepdims=True)
    blobs: list[bytes | None] = [kind.astype(np.float16).tobytes() for kind in kinds]
    index = VectorIndex(width)
    index.extend(0, (blobs * (count // 50 + 1))[:count])
    query, mask = kinds[7], rng.random(count) < 0.9

    def found() -> list[Any]:
        index._last = None
        told: list[Any] = [index.most_alike(kinds[:3], 0.9, None)]
        for allowed in (None, mask):
            ordinals = index.nearest(query, 5, allowed)
            near = index.cosines(query, ordinals)
            told.append(sorted(zip((-near).tolist(), ordinals.tolist(), strict=True))[:5])
        return told

    by_kernels = found()
    monkeypatch.setattr(arithmetic, "native", None)
    assert by_kernels == found()


def test_only_differences_of_more_than_two_bytes_are_left_to_numpy() -> None:
    if arithmetic.native is None:
        pytest.skip("NumPy does everything")
    for width, taken in ((8_192, True), (65_472, True), (65_536, False)):
        signs = quantization.VectorSigns(width)
        signs.extend(np.ones((3, width), dtype=np.float32))
        compared = signs.compared(-np.ones(width, dtype=np.float32))
        answer = arithmetic.by_kernel("sign_distances", *compared, np.empty(3, dtype=np.uint16))
        assert (answer is not NotImplemented) == taken
        assert signs.distances(-np.ones(width, dtype=np.float32)).tolist() == [width] * 3


def test_a_memory_is_found_by_its_own_vector_of_many_dimensions() -> None:
    with Memory("ram://", embedder=embedder(8_192)) as memory:
        memory.add_many(["one", "two", "three"])
        assert memory.search("two", limit=1).hits[0].content == "two"
