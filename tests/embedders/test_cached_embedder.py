"""The query cache: same rows, fewer calls."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.embedders import CachedEmbedder, EmbedderIdentity, Kind, Rows, StaticEmbedder
from salience.embedders._batching import CACHED_QUERY_MAX_CHARS
from salience.errors import EmbedderError, InvalidInput


class Recording:
    """The default embedder, with a list of the batches that it was given."""

    def __init__(self) -> None:
        self.real = StaticEmbedder()
        self.batches: list[list[str]] = []
        self.broken = False

    @property
    def identity(self) -> EmbedderIdentity:
        return self.real.identity

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        self.batches.append(list(texts))
        if self.broken:
            raise EmbedderError("down")
        return self.real.embed(texts, kind=kind)


def test_rows_are_those_of_the_inner_embedder_and_each_query_is_embedded_once() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner)
    first = cached.embed(["a cat", "a dog", "a cat"], kind="query")
    second = cached.embed(["a dog", "a fish"], kind="query")
    assert inner.batches == [["a cat", "a dog"], ["a fish"]]
    assert first.tobytes() == inner.real.embed(["a cat", "a dog", "a cat"]).tobytes()
    assert second.tobytes() == inner.real.embed(["a dog", "a fish"]).tobytes()
    assert cached.identity == inner.identity


def test_the_least_recently_used_goes_first() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text], kind="query")
    assert inner.batches == [["a"], ["b"], ["c"], ["b"]]


def test_a_batch_larger_than_the_cache_is_answered_whole() -> None:
    cached = CachedEmbedder(Recording(), size=1)
    texts = ["one", "two", "three"]
    expected = StaticEmbedder().embed(texts).tobytes()
    assert cached.embed(texts, kind="query").tobytes() == expected


def test_documents_and_long_queries_are_not_kept() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner)
    long = "x" * (CACHED_QUERY_MAX_CHARS + 1)
    for _ in range(2):
        cached.embed(["a"])
        cached.embed([long], kind="query")
    assert inner.batches == [["a"], [long]] * 2


def test_the_caller_may_change_the_answer() -> None:
    cached = CachedEmbedder(Recording())
    for _ in range(3):
        row = cached.embed(["a"], kind="query")
        assert row.any()
        row[:] = 0.0


def test_a_failure_is_passed_on_and_not_kept() -> None:
    inner = Recording()
    cached = CachedEmbedder(inner)
    inner.broken = True
    with pytest.raises(EmbedderError):
        cached.embed(["a"], kind="query")
    inner.broken = False
    assert cached.embed(["a"], kind="query").any()


def test_no_texts_give_no_rows() -> None:
    cached = CachedEmbedder(Recording())
    assert cached.embed([], kind="query").shape == (0, cached.identity.dimensions)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput):
        CachedEmbedder(Recording(), size=0)
    with pytest.raises(InvalidInput):
        CachedEmbedder(Recording()).embed("text", kind="query")


def test_threads_share_a_small_cache() -> None:
    cached = CachedEmbedder(Recording(), size=5)
    texts = [f"memory number {k}" for k in range(20)]
    expected = StaticEmbedder().embed(texts)

    def work(seed: int) -> bool:
        order = np.random.default_rng(seed).integers(0, len(texts), 60)
        return all(
            cached.embed([texts[k]], kind="query").tobytes() == expected[k].tobytes() for k in order
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


class Wrong(Recording):
    """An embedder whose answer is always the same, whatever its identity says."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        rows: Rows = self.answer
        return rows


@pytest.mark.parametrize("kind", ["document", "query"])
@pytest.mark.parametrize(
    "answer",
    [
        np.full((1, 256), np.nan),
        np.full((1, 256), np.inf),
        np.ones((1, 3)),
        np.ones((2, 256)),
        np.ones((0, 256)),
        np.ones(256),
        [["a"] * 256],
        [[1.0], [1.0, 2.0]],
        None,
    ],
)
def test_an_answer_that_does_not_fit_the_identity_is_refused(answer: Any, kind: Kind) -> None:
    with pytest.raises(EmbedderError, match="wordllama/"):
        CachedEmbedder(Wrong(answer)).embed(["a"], kind=kind)


def test_a_memory_is_stored_without_its_vector_when_that_is_refused() -> None:
    with Memory.open("ram://", embedder=Wrong(np.full((1, 256), np.nan))) as memory:
        added = memory.add("Tea.", id="tea")
        assert memory.get("tea")
        assert "not finite" in added.degraded[0]


def test_lists_of_numbers_are_accepted() -> None:
    rows = CachedEmbedder(Wrong([[1.0] * 256])).embed(["a"], kind="document")
    assert rows.dtype == np.float32
