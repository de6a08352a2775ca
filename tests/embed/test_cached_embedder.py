"""The query cache: same rows, fewer calls."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from recollect.embed import CachedEmbedder, EmbedderIdentity, Kind, Rows, StaticEmbedder
from recollect.embed.cache import CACHED_CHARS
from recollect.errors import EmbedderError, InvalidInput


class Counting:
    """The default embedder, with a list of what it was asked."""

    def __init__(self) -> None:
        self.real = StaticEmbedder()
        self.asked: list[list[str]] = []
        self.broken = False

    @property
    def identity(self) -> EmbedderIdentity:
        return self.real.identity

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        self.asked.append(list(texts))
        if self.broken:
            raise EmbedderError("down")
        return self.real.embed(texts, kind=kind)


def test_rows_are_the_inner_embedders_and_each_query_is_asked_once() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = cached.embed(["a cat", "a dog", "a cat"], kind="query")
    second = cached.embed(["a dog", "a fish"], kind="query")
    assert inner.asked == [["a cat", "a dog"], ["a fish"]]
    assert first.tobytes() == inner.real.embed(["a cat", "a dog", "a cat"]).tobytes()
    assert second.tobytes() == inner.real.embed(["a dog", "a fish"]).tobytes()
    assert cached.identity == inner.identity


def test_the_least_recently_used_goes_first() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text], kind="query")
    assert inner.asked == [["a"], ["b"], ["c"], ["b"]]


def test_a_batch_larger_than_the_cache_is_answered_whole() -> None:
    cached = CachedEmbedder(Counting(), size=1)
    texts = ["one", "two", "three"]
    expected = StaticEmbedder().embed(texts).tobytes()
    assert cached.embed(texts, kind="query").tobytes() == expected


def test_documents_and_long_queries_are_not_kept() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    long = "x" * (CACHED_CHARS + 1)
    for _ in range(2):
        cached.embed(["a"])
        cached.embed([long], kind="query")
    assert inner.asked == [["a"], [long]] * 2


def test_the_answer_is_the_callers_to_change() -> None:
    cached = CachedEmbedder(Counting())
    for _ in range(3):
        row = cached.embed(["a"], kind="query")
        assert row.any()
        row[:] = 0.0


def test_a_failure_is_passed_on_and_not_kept() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner)
    inner.broken = True
    with pytest.raises(EmbedderError):
        cached.embed(["a"], kind="query")
    inner.broken = False
    assert cached.embed(["a"], kind="query").any()


def test_no_texts_give_no_rows() -> None:
    cached = CachedEmbedder(Counting())
    assert cached.embed([], kind="query").shape == (0, cached.identity.dimensions)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput):
        CachedEmbedder(Counting(), size=0)
    with pytest.raises(InvalidInput):
        CachedEmbedder(Counting()).embed("text", kind="query")


def test_threads_share_a_small_cache() -> None:
    cached = CachedEmbedder(Counting(), size=5)
    texts = [f"memory number {k}" for k in range(20)]
    expected = StaticEmbedder().embed(texts)

    def work(seed: int) -> bool:
        order = np.random.default_rng(seed).integers(0, len(texts), 60)
        return all(
            cached.embed([texts[k]], kind="query").tobytes() == expected[k].tobytes() for k in order
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))
