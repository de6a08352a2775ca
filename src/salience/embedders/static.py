"""The default embedder: averaged static token vectors, offline, on a CPU, in microseconds."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from salience.embedders._batching import batches, digest, fingerprint, prepared, unit_rows
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError, InvalidInput

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL = "l2_supercat_256"
VOCABULARY = 32_000
DIMENSIONS = 256

MAX_CHARS = 32_768
"""Characters of a text that are read (about 8,000 tokens of English); the rest is cut off."""

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_BATCH = 512
_BATCH_CHARS = 131_072
_LONG = 4_096  # tokens; the vectors of more are gathered in half precision
_WORD = re.compile(" +[^ ]*")
_NO_WORDS = re.compile("\u2581|</?s>|<unk>")  # what the tokenizer takes for a blank, or for a mark
_LONGEST = 32  # characters of a word whose tokens are kept
_WORDS_KEPT = 100_000


@dataclass(frozen=True, eq=False)
class _Model:
    tokenizer: Tokenizer
    table: NDArray[np.float16]  # as it is in the file: no cast to wait for at start
    _tokens: dict[str, list[int]] = field(default_factory=dict)  # by word, without its blank

    def tokens(self, text: str) -> list[int]:
        """The ids of a text's tokens.

        None of the vocabulary holds a blank but at its front, so they are those of its words one
        after the other, which are worked out once for each.
        """
        if not text or _NO_WORDS.search(text):
            return self._tokenized(text)
        words = text.split(" ")
        if "" in words:  # several blanks in a row belong to the word after them
            words = [word[1:] for word in _WORD.findall(f" {text}")]
        try:
            return [*chain.from_iterable(map(self._tokens.__getitem__, words))]
        except KeyError:
            return [*chain.from_iterable(map(self._learned, words))]

    def _learned(self, word: str) -> list[int]:
        known = self._tokens.get(word)
        if known is None:
            # The tokenizer puts a blank before what it is given, unless that is nothing.
            known = self._tokenized(word) if word else self._blank
            if len(word) <= _LONGEST:
                if len(self._tokens) >= _WORDS_KEPT:
                    self._tokens.clear()
                self._tokens[word] = known
        return known

    @cached_property
    def _blank(self) -> list[int]:
        number = self.tokenizer.token_to_id("\u2581")
        return [] if number is None else [number]

    def _tokenized(self, text: str) -> list[int]:
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return found

    @cached_property
    def wide(self) -> NDArray[np.float32]:
        """The table for many texts, whose rows would be cast again and again."""
        return self.table.astype(np.float32)


class StaticEmbedder:
    """row(text) = s / |s|, s = sum over the text's tokens t of w_t (v_t - Q'Q v_t).

    v_t are WordLlama's 256-dimensional token vectors, read from the installed `wordllama` package
    without importing it; w_t is `token_weights[t]` (1 by default); Q is an orthonormal basis of
    `common_directions` (nothing is removed by default). The default is thus the normalised mean
    of the token vectors.

    The row law holds to the bit. Queries and documents are embedded alike. The model is loaded by
    the first `embed`, once, by whichever thread comes first; afterwards threads share it freely.

    Args:
        token_weights: shape (32000,), finite and not negative: the weight of each token, by id.
        common_directions: shape (k, 256), 1 <= k < 256, finite: directions every text shares,
            to be projected out. They need be neither orthogonal nor of unit length.
        folder: a folder laid out as the `wordllama` package; default: where it is installed.

    Raises:
        InvalidInput: the arrays are not of that shape or range.
        EmbedderError: from `identity` and `embed`: the model's files are missing or unreadable.
    """

    def __init__(
        self,
        *,
        token_weights: NDArray[Any] | None = None,
        common_directions: NDArray[Any] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._weights = None if token_weights is None else _checked_weights(token_weights)
        self._basis = None if common_directions is None else _basis(common_directions)
        self._folder = None if folder is None else Path(folder)
        self._lock = Lock()
        self._model: _Model | None = None
        self._identity: EmbedderIdentity | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """wordllama/l2_supercat_256; the revision is a fingerprint of files and parameters."""
        if self._identity is None:
            self._identity = EmbedderIdentity("wordllama", MODEL, DIMENSIONS, self._revision())
        return self._identity

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), 256); a blank text gives a zero row.

        Of each text the first `MAX_CHARS` characters are read. Memory beyond the answer is
        bounded whatever the texts. Raises InvalidInput for what is not a sequence of strings.
        """
        clean = prepared(texts, kind, MAX_CHARS)
        model = self._model or self._load()
        sums = np.zeros((len(clean), DIMENSIONS), dtype=np.float32)
        start = 0
        for batch in batches(clean, _BATCH, _BATCH_CHARS):
            stop = start + len(batch)
            part = sums[start:stop]
            _add_tokens(model, batch, self._weights, part)
            part[:] = unit_rows(part if self._basis is None else _without(part, self._basis), MODEL)
            start = stop
        return sums

    def _revision(self) -> str:
        folder = self._located()
        try:
            revision = "mean-" + fingerprint([folder / _WEIGHTS, folder / _TOKENIZER])
        except OSError as error:
            raise EmbedderError(f"the model's files cannot be read: {error}") from error
        if self._weights is not None:
            revision += "+w" + digest(self._weights.tobytes())
        if self._basis is not None:
            # Rounded: the same directions may come back from another machine's SVD an ulp away.
            projection = np.round(self._basis.T @ self._basis, 5) + 0.0
            revision += "+c" + digest(projection.tobytes())
        return revision

    def _located(self) -> Path:
        if self._folder is None:
            spec = importlib.util.find_spec("wordllama")
            if spec is None or not spec.submodule_search_locations:
                raise EmbedderError(
                    "the default embedder reads its model from the wordllama package, which is "
                    "not installed; pip install wordllama, or choose another embedder"
                )
            self._folder = Path(spec.submodule_search_locations[0])
        return self._folder

    def _load(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _read(self._located())
            return self._model


def _read(folder: Path) -> _Model:
    # Imported here: importing this module must stay light.
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        table = load_file(folder / _WEIGHTS)["embedding.weight"]
    except Exception as error:  # both libraries raise bare exceptions of their own
        raise EmbedderError(f"the model in {folder} cannot be read: {error}") from error
    if table.shape != (VOCABULARY, DIMENSIONS):
        raise EmbedderError(f"the model in {folder} has a table of shape {table.shape}")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Model(tokenizer, table)


def _add_tokens(
    model: _Model, texts: list[str], weights: NDArray[np.float32] | None, sums: Rows
) -> None:
    """Writes each text's sum of w_t v_t to its row of `sums`, shape (len(texts), 256)."""
    # One sum per text: its order of addition cannot depend on the batch, and it is faster than
    # one segmented reduction because the gathered vectors stay in cache.
    for text, row in zip(texts, sums, strict=True):
        ids = model.tokens(text)
        table = model.wide if len(texts) > 1 and len(ids) < _LONG else model.table
        vectors: NDArray[Any] = table.take(ids, axis=0)
        if weights is not None:
            vectors = vectors * weights.take(ids)[:, np.newaxis]
        np.add.reduce(vectors, axis=0, dtype=np.float32, out=row)


def _without(sums: Rows, basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """s - Q'Q s of each row; no matrix product, as its rounding may depend on the other rows."""
    rows = sums.astype(np.float64)
    for direction in basis:
        rows -= np.add.reduce(rows * direction, axis=1, keepdims=True) * direction
    return rows


def _checked_weights(weights: NDArray[Any]) -> NDArray[np.float32]:
    array = np.array(weights, dtype=np.float32)
    if array.shape != (VOCABULARY,):
        raise InvalidInput("token_weights", f"has shape {array.shape}, not ({VOCABULARY},)")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InvalidInput("token_weights", "holds a weight that is negative or not finite")
    return array


def _basis(directions: NDArray[Any]) -> NDArray[np.float64]:
    """An orthonormal basis, shape (rank, 256), of the space the directions span."""
    array = np.array(directions, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != DIMENSIONS or not 0 < len(array) < DIMENSIONS:
        raise InvalidInput("common_directions", f"has shape {array.shape}, not (k, {DIMENSIONS})")
    if not np.isfinite(array).all() or not array.any():
        raise InvalidInput("common_directions", "is all zeros or not finite")
    _, strength, basis = np.linalg.svd(array, full_matrices=False)
    return np.ascontiguousarray(basis[strength > 1e-9 * strength[0]])
