"""A function from texts to rows in place of an embedder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.embedders import EmbedderIdentity, FunctionEmbedder, resolve
from salience.errors import EmbedderError, EmbedderMismatch, InvalidInput


def letters(texts: list[str]) -> list[list[int]]:
    assert all(text.strip() for text in texts)
    return [[text.count(letter) for letter in "abcd"] for text in texts]


def test_rows_are_those_of_the_function_at_length_one() -> None:
    embedder = resolve(letters)
    assert embedder is not None
    rows = embedder.embed(["aab", "", "  ", "xyz"], kind="query")
    expected = np.array([[2, 1, 0, 0], [0] * 4, [0] * 4, [0] * 4]) / np.sqrt([[5], [1], [1], [1]])
    np.testing.assert_allclose(rows, expected, atol=1e-7)
    assert rows.dtype == np.float32
    assert embedder.embed([]).shape == (0, 4)


def test_its_identity_is_its_name_and_is_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/m.db"
    with Memory.open(url, embedder=letters) as memory:
        assert memory.add("abba", id="a").degraded == ()
        assert memory.search("bab").ids == ("a",)
        name = f"function/{letters.__module__}.letters@1 (4)"
        assert memory.stats()["embedder"] == name
    with pytest.raises(EmbedderMismatch):
        Memory.open(url, embedder=FunctionEmbedder(letters, "letters-2"))
    named = FunctionEmbedder(letters, "mine").identity
    assert named == EmbedderIdentity("function", "mine", 4, "1")


class _Model:
    def encode(self, texts: list[str]) -> Any:
        return letters(texts)

    def __call__(self, texts: list[str]) -> Any:
        return letters(texts)


async def later(texts: list[str]) -> Any:
    return letters(texts)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda texts: letters(texts), "FunctionEmbedder.*name="),
        (partial(letters), "FunctionEmbedder.*name="),
        (_Model(), "FunctionEmbedder.*name="),
        (_Model().encode, "FunctionEmbedder.*name="),
        (later, "async"),
        (_Model, "not an embedder"),
    ],
)
def test_what_has_no_name_to_store_is_refused(function: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        Memory.open("ram://", embedder=function)
    assert caught.value.field == "embedder"


@pytest.mark.parametrize(
    "rows", [None, "x", [], [[1.0], [2.0]], [[]], [1.0], [[1.0], "a"], [[float("nan")]]]
)
def test_an_answer_that_is_no_table_is_an_embedder_error(rows: Any) -> None:
    with pytest.raises(EmbedderError, match="broken"):
        FunctionEmbedder(lambda texts: rows, "broken").embed(["one"])


def test_rows_of_another_length_are_refused() -> None:
    embedder = FunctionEmbedder(lambda texts: np.ones((len(texts), len(texts))), "growing")
    with pytest.raises(EmbedderError, match="growing gave rows of 2 numbers"):
        embedder.embed(["one", "two"])


def test_rows_that_come_back_as_generators_fail_with_a_reason() -> None:
    with pytest.raises(EmbedderError, match="not a table"):
        FunctionEmbedder(lambda texts: (row for row in letters(texts)), "lazy").embed(["one"])
