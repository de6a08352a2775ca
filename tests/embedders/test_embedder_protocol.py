"""Identities, the shared cleaning of texts and rows, and the cost of importing the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from salience.embedders import EmbedderIdentity
from salience.embedders._batching import batches, clean_texts, fingerprint, unit_rows
from salience.errors import EmbedderError, InvalidInput


def test_identity_reads_as_one_line_and_survives_a_round_trip() -> None:
    identity = EmbedderIdentity("wordllama", "l2_supercat_256", 256, "mean-1")
    assert str(identity) == "wordllama/l2_supercat_256@mean-1 (256)"
    assert EmbedderIdentity.from_dict(identity.to_dict()) == identity


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", None),
        ("provider", 3),
        ("dimensions", 0),
        ("dimensions", True),
        ("dimensions", "4"),
    ],
)
def test_identity_refuses_a_wrong_field(field: str, value: object) -> None:
    data = EmbedderIdentity("p", "m", 4, "r").to_dict() | {field: value}
    with pytest.raises(InvalidInput) as caught:
        EmbedderIdentity.from_dict(data)
    assert caught.value.field == f"identity.{field}"


@given(st.lists(st.text(st.characters(codec=None), max_size=30), max_size=8), st.integers(1, 20))
def test_clean_texts_are_valid_unicode_within_the_limit(texts: list[str], limit: int) -> None:
    clean = clean_texts(texts, "query", limit)
    assert len(clean) == len(texts)
    for text, before in zip(clean, texts, strict=True):
        text.encode()
        assert len(text) <= limit
        assert bool(text) == bool(before[:limit].strip())


def test_surrogates_are_joined_or_replaced() -> None:
    assert clean_texts(["a\ud83d\ude00b", "x\ud800y"], "document", 99) == [
        "a\U0001f600b",
        "x\ufffdy",
    ]


@pytest.mark.parametrize("texts", ["text", b"text", ["a", None], [b"a"]])
def test_anything_but_a_sequence_of_strings_is_refused(texts: object) -> None:
    with pytest.raises(InvalidInput, match="texts"):
        clean_texts(texts, "document", 9)  # type: ignore[arg-type]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="kind"):
        clean_texts(["a"], "passage", 9)


@given(st.lists(st.text(max_size=12)), st.integers(1, 5), st.integers(1, 30))
def test_batches_keep_every_text_in_order_within_both_bounds(
    texts: list[str], size: int, chars: int
) -> None:
    runs = list(batches(texts, size, chars))
    assert [text for batch in runs for text in batch] == texts
    for batch in runs:
        assert 1 <= len(batch) <= size
        assert len(batch) == 1 or sum(map(len, batch)) <= chars


floats = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(npst.arrays(np.float32, st.tuples(st.integers(1, 7), st.integers(1, 300)), elements=floats))
def test_unit_rows_have_norm_one_and_ignore_each_other(rows: np.ndarray) -> None:
    unit = unit_rows(rows, "test")
    assert unit.dtype == np.float32
    lengths = np.linalg.norm(unit.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, rows.any(axis=1).astype(float), atol=1e-6)
    for position in range(len(rows)):
        alone = unit_rows(rows[position : position + 1], "test")
        assert alone.tobytes() == unit[position].tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_numbers_without_a_finite_norm_are_an_error(bad: float) -> None:
    with pytest.raises(EmbedderError, match="some model"):
        unit_rows(np.array([[1.0, bad]]), "some model")


def test_a_fingerprint_sees_one_changed_region(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    data = bytearray(1_000_000)
    path.write_bytes(data)
    before = fingerprint([path])
    assert fingerprint([path]) == before
    data[500_000:600_000] = b"x" * 100_000
    path.write_bytes(data)
    assert fingerprint([path]) != before


def test_importing_the_package_loads_no_library() -> None:
    code = (
        "import sys, salience.embedders;"
        "print([m for m in ('httpx', 'torch', 'tokenizers', 'safetensors', 'wordllama',"
        " 'sentence_transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
