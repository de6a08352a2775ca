"""The default embedder against the model it reads, and its row law to the bit."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from salience.embedders import StaticEmbedder, static
from salience.embedders._batching import clean_texts
from salience.embedders.static import DIMENSIONS, MAX_CHARS, VOCABULARY
from salience.errors import EmbedderError, InvalidInput
from support.examples import examples

EMBEDDER = StaticEmbedder()

TEXTS = [
    "Ada prefers window seats on morning flights.",
    "the quick brown fox",
    "x",
    "  leading and trailing  ",
    "línea ñandú 北京 здравствуйте",
    "emoji \U0001f600\U0001f468\u200d\U0001f469 and \x00 NUL",
    "</s><s> special <unk>",
    "tabs\tand\nnewlines\r\n",
    "word " * 700,
]

anything = st.text(st.characters(codec=None), max_size=80)


def test_rows_equal_wordllama() -> None:
    import wordllama

    folder = Path(wordllama.__file__).parent
    reference = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    expected = reference.embed(TEXTS, norm=True)
    np.testing.assert_allclose(EMBEDDER.embed(TEXTS), expected, atol=2e-6)


def test_the_model_needs_none_of_the_libraries_that_it_was_published_with() -> None:
    code = (
        "import sys; from salience.embedders import StaticEmbedder;"
        "assert StaticEmbedder().embed(['text']).any();"
        "print([m for m in ('wordllama', 'tokenizers', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(anything, max_size=12))
def test_the_law_holds_for_any_text(texts: list[str]) -> None:
    rows = EMBEDDER.embed(texts)
    assert rows.shape == (len(texts), DIMENSIONS)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    expected = [0.0 if not text or text.isspace() else 1.0 for text in texts]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), expected, atol=1e-6)
    for text, row in zip(texts, rows, strict=True):
        assert EMBEDDER.embed([text], kind="query").tobytes() == row.tobytes()


def weighted() -> StaticEmbedder:
    random = np.random.default_rng(7)
    return StaticEmbedder(
        token_weights=random.uniform(size=VOCABULARY),
        common_directions=random.normal(size=(2, DIMENSIONS)),
    )


@pytest.mark.parametrize("embedder", [EMBEDDER, weighted()], ids=["mean", "weighted"])
def test_a_row_is_the_same_bits_in_every_batch(embedder: StaticEmbedder) -> None:
    random = np.random.default_rng(1)
    texts = [TEXTS[k] + " " * (k % 3) + str(k) for k in random.integers(0, len(TEXTS), 1500)]
    whole = embedder.embed(texts)
    for size in (1, 2, 3, 31, 600):
        start = int(random.integers(0, len(texts) - size))
        part = embedder.embed(texts[start : start + size])
        assert part.tobytes() == whole[start : start + size].tobytes()
    shuffled = random.permutation(len(texts))
    assert embedder.embed([texts[k] for k in shuffled]).tobytes() == whole[shuffled].tobytes()


def test_texts_of_like_meaning_are_nearer_than_others() -> None:
    rows = EMBEDDER.embed(
        ["The dog sleeps on the sofa", "A puppy naps on the couch", "Interest rates rose in May"]
    )
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2


def test_no_texts_give_no_rows() -> None:
    assert EMBEDDER.embed([]).shape == (0, DIMENSIONS)


def test_a_long_text_is_cut_and_bounded_in_memory() -> None:
    text = "remembrance of things past " * 40_000
    EMBEDDER.embed(["warm"])
    tracemalloc.start()
    row = EMBEDDER.embed([text])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32e6
    assert row.tobytes() == EMBEDDER.embed([text[:MAX_CHARS]]).tobytes()


@pytest.mark.deep
def test_many_long_texts_are_bounded_in_memory() -> None:
    texts = ["\U0001f600" * MAX_CHARS] * 12
    tracemalloc.start()
    EMBEDDER.embed(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_unit_weights_change_nothing_but_the_revision() -> None:
    same = StaticEmbedder(token_weights=np.ones(VOCABULARY))
    np.testing.assert_allclose(same.embed(TEXTS), EMBEDDER.embed(TEXTS), atol=1e-6)
    assert same.identity.revision.startswith(EMBEDDER.identity.revision + "+w")


def test_weights_are_those_of_the_weighted_mean() -> None:
    weights = np.random.default_rng(3).uniform(size=VOCABULARY)
    text = "green tea"
    ids = tokenizer().encode(text, add_special_tokens=False).ids
    table = EMBEDDER._load().table.astype(np.float64)
    mean = (weights[ids, np.newaxis] * table[ids]).sum(axis=0) / weights[ids].sum()
    row = StaticEmbedder(token_weights=weights).embed([text])[0]
    np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-6)


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer that the model was published with, by the library that runs it."""
    folder = EMBEDDER._model_folder()
    return Tokenizer.from_file(str(next((folder / "tokenizers").glob("l2_supercat*.json"))))


@given(st.text(st.sampled_from(" \u2581\n\u00a0ab<s>/unk.,'é你😀\u3000"), max_size=40) | st.text())
@example("two  blanks, and one at the end ")
@example(" ")
@example("a </s> b<unk>")
@example("-" * 300 + "www.aaa.data." * 30)
@example("北京ー東京" * 20 + "\u0378" * 40)
def test_the_tokens_of_a_text_are_those_of_its_words(text: str) -> None:
    model = EMBEDDER._load()
    [clean] = clean_texts([text], "query", MAX_CHARS)
    expected = tokenizer().encode(clean, add_special_tokens=False).ids
    assert model.tokens(clean) == expected
    assert model.tokens(clean) == expected  # from the cache of words


def test_the_cache_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_CACHED_WORDS", 3)
    embedder = StaticEmbedder()
    embedder._model = static._Model(embedder._load().pairs, embedder._load().table)
    text = "one two three four five " + "x" * 100
    assert embedder.embed([text]).tobytes() == EMBEDDER.embed([text]).tobytes()
    assert len(embedder._load()._word_tokens) <= 3


def test_weightless_tokens_give_a_zero_row() -> None:
    assert not StaticEmbedder(token_weights=np.zeros(VOCABULARY)).embed(TEXTS).any()


def test_common_directions_are_removed_from_every_row() -> None:
    directions = np.random.default_rng(5).normal(size=(3, DIMENSIONS))
    directions = np.vstack([directions, directions[0] + directions[1]])
    embedder = StaticEmbedder(common_directions=directions)
    np.testing.assert_allclose(embedder.embed(TEXTS) @ directions.T, 0.0, atol=1e-5)
    same_space = StaticEmbedder(common_directions=directions[[2, 1, 0]] * 3.0)
    assert same_space.identity == embedder.identity
    assert embedder.identity.revision.startswith(EMBEDDER.identity.revision + "+c")


@pytest.mark.parametrize(
    ("weights", "directions"),
    [
        (np.ones(5), None),
        (np.full(VOCABULARY, -1.0), None),
        (np.full(VOCABULARY, np.nan), None),
        (None, np.ones(DIMENSIONS)),
        (None, np.ones((2, 5))),
        (None, np.zeros((1, DIMENSIONS))),
        (None, np.full((1, DIMENSIONS), np.inf)),
    ],
)
def test_parameters_of_the_wrong_shape_or_range_are_refused(
    weights: np.ndarray | None, directions: np.ndarray | None
) -> None:
    with pytest.raises(InvalidInput):
        StaticEmbedder(token_weights=weights, common_directions=directions)


def test_identity_names_the_model_and_is_stable() -> None:
    identity = StaticEmbedder().identity
    assert identity == EMBEDDER.identity
    assert (identity.provider, identity.dimensions) == ("wordllama", DIMENSIONS)


def test_threads_that_come_at_once_share_one_model() -> None:
    embedder = StaticEmbedder()
    expected = EMBEDDER.embed(TEXTS).tobytes()
    barrier = Barrier(8)

    def work(_: int) -> bytes:
        barrier.wait()
        return embedder.embed(TEXTS).tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(8))) == {expected}


def test_a_missing_or_broken_model_is_an_embedder_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot be read"):
        StaticEmbedder(folder=tmp_path).embed(["text"])
    with pytest.raises(EmbedderError, match="cannot be read"):
        _ = StaticEmbedder(folder=tmp_path).identity


def test_an_installation_without_the_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="install salience again"):
        StaticEmbedder(folder=tmp_path).check()


@pytest.mark.parametrize("part", ["weights/l2_supercat_256.safetensors", "tokenizers"])
def test_a_damaged_file_of_the_model_is_an_embedder_error(tmp_path: Path, part: str) -> None:
    folder = shutil.copytree(EMBEDDER._model_folder(), tmp_path / "model")
    for file in [folder / part] if (folder / part).is_file() else (folder / part).iterdir():
        file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(EmbedderError, match="cannot be read"):
        StaticEmbedder(folder=folder).embed(["text"])
