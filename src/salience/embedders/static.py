"""The default embedder: averaged static token vectors, offline, on a CPU, in microseconds."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import lengths, row_sums
from salience.embedders._batching import (
    batches,
    clean_texts,
    digest,
    fingerprint,
    knows_as_english,
    unit_rows,
)
from salience.embedders._bpe import BytePairs
from salience.embedders.protocol import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError, InvalidInput
from salience.lazily import dataclass, field, regex

MODEL = "l2_supercat_256"
VOCABULARY = 32_000
DIMENSIONS = 256

MAX_CHARS = 32_768
"""Characters of a text that are read (about 8,000 tokens of English); the rest is cut off."""

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_LEAST_REST = 1e-9  # of a direction that is not in the space of those before it
_BATCH_TEXTS = 512
_BATCH_CHARS = 131_072
_WIDE_MAX_TOKENS = 4_096  # the vectors of longer texts are gathered in half precision
_BLANKS_AND_WORD = regex(" +[^ ]*")
_SPECIAL = regex("\u2581|</?s>|<unk>")  # a blank or a mark to the tokenizer
_MARK = regex("(</?s>|<unk>)")
_CACHED_WORD_CHARS = 32  # the longest word whose tokens are kept
_CACHED_WORDS = 100_000


@dataclass(frozen=True, eq=False)
class _Model:
    pairs: BytePairs
    table: NDArray[np.float16]  # as in the file: a cast would delay the start
    _word_tokens: dict[str, list[int]] = field(default_factory=dict)

    def tokens(self, text: str) -> list[int]:
        """The ids of a text's tokens.

        A token of the vocabulary has a blank at its front only, so the tokens of a text are those
        of its words, one after the other. Each word is tokenised once.
        """
        if not text or _SPECIAL.search(text):
            return self._tokenize(text)
        words = text.split(" ")
        if "" in words:  # several blanks in a row belong to the word after them
            words = [word[1:] for word in _BLANKS_AND_WORD.findall(f" {text}")]
        try:
            return [*chain.from_iterable(map(self._word_tokens.__getitem__, words))]
        except KeyError:
            return [*chain.from_iterable(map(self._tokens_of_word, words))]

    def _tokens_of_word(self, word: str) -> list[int]:
        ids = self._word_tokens.get(word)
        if ids is None:
            ids = self.pairs.tokens("\u2581" + word.replace(" ", "\u2581"))
            if len(word) <= _CACHED_WORD_CHARS:
                if len(self._word_tokens) >= _CACHED_WORDS:
                    self._word_tokens.clear()
                self._word_tokens[word] = ids
        return ids

    def _tokenize(self, text: str) -> list[int]:
        """The ids of a text that may hold marks; each mark is a token."""
        ids: list[int] = []
        for part in filter(None, _MARK.split(text)):
            mark = _MARK.fullmatch(part)
            ids += [self.pairs.ids[part]] if mark else self._tokens_of_word(part)
        return ids

    @cached_property
    def wide(self) -> NDArray[np.float32]:
        """The table in single precision, for many texts: casts one by one would cost more."""
        return self.table.astype(np.float32)


class StaticEmbedder:
    """row(text) = s / |s|, s = sum over the text's tokens t of w_t (v_t - Q'Q v_t).

    v_t are the 256-dimensional token vectors of WordLlama, which come with the wheel; w_t is
    `token_weights[t]` (1 by default); Q is an orthonormal basis of `common_directions` (none by
    default). So the default is the normalised mean of the token vectors.

    A row does not depend on its batch, to the bit. Queries and documents are embedded alike. The
    model is loaded once, by the first `embed`; threads share it.

    Args:
        token_weights: shape (32000,), finite and not negative: the weight of each token, by id.
        common_directions: shape (k, 256), 1 <= k < 256, finite: directions that all texts share,
            to be projected out. They need not be orthogonal or of unit length.
        folder: a folder laid out as the `wordllama` package; default: the one in this package, or
            the installed `wordllama` where there is none.

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

        The first `MAX_CHARS` characters of each text are read. Memory beyond the answer is
        bounded, whatever the texts. Raises InvalidInput unless given a sequence of strings.
        """
        clean = clean_texts(texts, kind, MAX_CHARS)
        model = self._model or self._load()
        sums = np.zeros((len(clean), DIMENSIONS), dtype=np.float32)
        start = 0
        for batch in batches(clean, _BATCH_TEXTS, _BATCH_CHARS):
            stop = start + len(batch)
            part = sums[start:stop]
            _add_tokens(model, batch, self._weights, part)
            part[:] = unit_rows(
                part if self._basis is None else _project_out(self._basis, part), MODEL
            )
            start = stop
        return sums

    def token_rows(self, text: str) -> Rows:
        """The vectors v_t of a text's tokens in their order, float32 of shape (tokens, 256)."""
        model = self._model or self._load()
        return model.table.take(model.tokens(text), axis=0).astype(np.float32)

    def knows(self, language: str) -> float:
        """1 for English and Cyrillic, 0.5 for other languages in Latin script, 0 for the rest.

        The vocabulary has words and parts of words in Latin and Cyrillic script, of all others only
        characters. Latin script counts as English unless its language is known.
        """
        return 1.0 if language == "cyrillic" else knows_as_english(language)

    def _revision(self) -> str:
        folder = self._model_folder()
        try:
            revision = "mean-" + fingerprint([folder / _WEIGHTS, folder / _TOKENIZER])
        except OSError as error:
            raise EmbedderError(f"the model's files cannot be read: {error}") from error
        if self._weights is not None:
            revision += "+w" + digest(self._weights.tobytes())
        if self._basis is not None:
            # Rounded, as other directions of the same space give the same projection an ulp away.
            projection = np.round(sum(np.outer(row, row) for row in self._basis), 5) + 0.0
            revision += "+c" + digest(projection.tobytes())
        return revision

    def _model_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(__file__).with_name("wordllama")
            spec = None if self._folder.is_dir() else importlib.util.find_spec("wordllama")
            if spec and spec.submodule_search_locations:
                self._folder = Path(spec.submodule_search_locations[0])
        return self._folder

    def check(self) -> None:
        """Refuse to go on without the model's files, which nothing but an installation brings.

        Raises:
            EmbedderError: says what is missing.
        """
        folder = self._model_folder()
        for file in (folder / _WEIGHTS, folder / _TOKENIZER):
            if not file.is_file():
                raise EmbedderError(
                    f"the default embedder needs {file}, which is not there; install salience "
                    "again, or choose another embedder"
                )

    def _load(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _load_model(self._model_folder())
            return self._model


@lru_cache(maxsize=2)
def _load_model(folder: Path) -> _Model:
    try:
        pairs = BytePairs(_tokenizer_model(folder))
        with open(folder / _WEIGHTS, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            [tensor] = [header[name] for name in header if name != "__metadata__"]
            start = file.tell() + tensor["data_offsets"][0]
        table = np.fromfile(folder / _WEIGHTS, np.float16, VOCABULARY * DIMENSIONS, offset=start)
        if tensor["dtype"] != "F16" or tensor["shape"] != [VOCABULARY, DIMENSIONS]:
            raise ValueError(f"its table has the shape {tensor['shape']} of {tensor['dtype']}")
        return _Model(pairs, table.reshape(VOCABULARY, DIMENSIONS))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise EmbedderError(f"the model in {folder} cannot be read: {error}") from error


def _tokenizer_model(folder: Path) -> Any:
    return json.loads((folder / _TOKENIZER).read_bytes())["model"]


def _add_tokens(
    model: _Model, texts: list[str], weights: NDArray[np.float32] | None, sums: Rows
) -> None:
    """Write each text's sum of w_t v_t to its row of `sums`, shape (len(texts), 256)."""
    # Summed text by text: the order of additions does not depend on the batch, and it is faster
    # than one segmented reduction because the gathered vectors stay in the cache.
    for text, row in zip(texts, sums, strict=True):
        ids = model.tokens(text)
        table = model.wide if len(texts) > 1 and len(ids) < _WIDE_MAX_TOKENS else model.table
        vectors: NDArray[Any] = table.take(ids, axis=0)
        if weights is not None:
            vectors = vectors * weights.take(ids)[:, np.newaxis]
        np.add.reduce(vectors, axis=0, dtype=np.float32, out=row)


def _project_out(basis: NDArray[np.float64], sums: NDArray[Any]) -> NDArray[np.float64]:
    """s - Q'Q s of each row, without a matrix product: its rounding may depend on other rows."""
    rows = sums.astype(np.float64)
    for direction in basis:
        rows -= row_sums(rows * direction)[:, np.newaxis] * direction
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
    least = _LEAST_REST * float(lengths(array).max())
    basis = np.empty((0, DIMENSIONS))
    for direction in array:  # Gram and Schmidt, twice, as once leaves rounding errors
        [rest] = _project_out(basis, _project_out(basis, direction[np.newaxis]))
        if (length := lengths(rest)) > least:
            basis = np.vstack([basis, rest / length])
    return basis


@lru_cache(maxsize=1)
def known_words() -> tuple[str, ...]:
    """The words that the default embedder's tokenizer keeps whole, as it keeps them.

    They were frequent in the texts that it was made from, so they are right. Empty if its file is
    not there or cannot be read.
    """
    try:
        tokens = _tokenizer_model(StaticEmbedder()._model_folder())["vocab"]
    except (EmbedderError, OSError, ValueError, KeyError):
        return ()
    words = (token[1:] for token in tokens if token[:1] == "\u2581")
    return tuple(word for word in words if word.isalpha())
