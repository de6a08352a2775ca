"""Shared by the embedders: clean texts in, unit rows out, bounded batches, fingerprints."""

from __future__ import annotations

import importlib
import inspect
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import lengths
from salience.closing import regular_file
from salience.embedders.protocol import Embedder, EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError, InvalidInput, shown

_log = logging.getLogger(__name__)
_LENGTH_TOLERANCE = 1e-3  # of the length of a row; services round their numbers
_FINGERPRINT_BLOCK_BYTES = 4096
_FINGERPRINT_BLOCKS = 16  # of each file
_IN_LATIN_SCRIPT = frozenset("de es fr it nl pt und".split())


def checked_texts(texts: Sequence[str], kind: str) -> list[str]:
    """The texts as a list, refused with InvalidInput unless every one is a string."""
    if kind not in ("document", "query"):
        raise InvalidInput("kind", f"unknown kind {shown(kind)}", "use 'document' or 'query'")
    if isinstance(texts, (str, bytes)):
        raise InvalidInput("texts", "is a single string", "pass a list: [text]")
    checked = list(texts)
    for position, text in enumerate(checked):
        if not isinstance(text, str):
            raise InvalidInput(f"texts[{position}]", f"is not a string: {type(text).__name__}")
    return checked


def clean_texts(texts: Sequence[str], kind: str, max_chars: int) -> list[str]:
    """Each text as a model may read it: at most `max_chars` of valid Unicode, blank as "".

    Raises InvalidInput as `checked_texts` does.
    """
    return [_clean(text[:max_chars]) for text in checked_texts(texts, kind)]


def _clean(text: str) -> str:
    if text.isspace():
        return ""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Joins surrogate pairs into the character they stand for; a lone one becomes U+FFFD.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def batches(texts: Sequence[str], max_texts: int, max_chars: int) -> Iterator[list[str]]:
    """Consecutive runs of at most `max_texts` and `max_chars` (one longer text goes alone)."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == max_texts or chars + len(text) > max_chars):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def unit_rows(rows: NDArray[Any], source: str) -> Rows:
    """row / |row|, zero rows kept: (n, d) numbers to (n, d) float32.

    Each row is worked on alone, in float64 and in one fixed order, so the rows beside it cannot
    change a bit of it. Raises EmbedderError naming `source` when a number is not finite.
    """
    wide = np.ascontiguousarray(rows, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = lengths(wide)[:, np.newaxis]
    if not np.isfinite(norms).all():
        raise EmbedderError(f"{source} gave numbers that are not finite")
    norms[norms == 0.0] = 1.0
    return (wide / norms).astype(np.float32)


def checked_rows(candidate: Any, count: int, identity: EmbedderIdentity) -> Rows:
    """The rows of an embedder as float32 of length 1, or 0; refused unless finite and all there.

    The shape is (count, dimensions). Rows of other lengths are normalized, with a warning in the
    log, as cosines are compared with fixed thresholds.

    Raises EmbedderError naming the embedder.
    """
    try:
        if isinstance(candidate, np.ndarray) and not candidate.ndim:
            candidate = ()  # an array that holds itself would crash NumPy
        with np.errstate(over="ignore"):  # too large a number is refused below
            rows = np.asarray(candidate, dtype=np.float32)
    except Exception:  # of any kind, in a type from outside
        raise EmbedderError(f"{identity} gave what is not a table of numbers") from None
    if rows.shape != (count, identity.dimensions):
        raise EmbedderError(
            f"{identity} gave rows of shape {rows.shape}, not {(count, identity.dimensions)}"
        )
    if not np.isfinite(rows).all():
        raise EmbedderError(f"{identity} gave numbers that are not finite")
    norms = lengths(rows)
    if (np.abs(norms[norms != 0.0] - 1.0) > _LENGTH_TOLERANCE).any():
        _warn_of_lengths(identity)
        return unit_rows(rows, str(identity))
    return rows


@cache  # once for each embedder
def _warn_of_lengths(identity: EmbedderIdentity) -> None:
    _log.warning("%s gives vectors that are not of length 1; they are normalized", identity)


def knows_as_english(language: str) -> float:
    """1 for Latin script, which counts as English, 0.5 for other languages in it, 0 for the rest.

    It is what `Embedder.knows` says of a model that was made for English.
    """
    return 1.0 if language == "latin" else 0.5 if language in _IN_LATIN_SCRIPT else 0.0


def digest(*parts: bytes) -> str:
    """Eight hexadecimal digits that tell one sequence of byte strings from another."""
    digests = [blake2b(part, digest_size=16).digest() for part in parts]
    return blake2b(b"".join(digests), digest_size=4).hexdigest()


def fingerprint(paths: Iterable[Path]) -> str:
    """A digest of files: the size of each, and 16 blocks of 4 KiB spread evenly over it.

    Trained models differ everywhere, so some blocks are enough, and take a millisecond.
    Raises OSError for a file that cannot be read.
    """
    parts: list[bytes] = []
    for path in paths:
        size = path.stat().st_size
        parts.append(size.to_bytes(8, "little"))
        with regular_file(path) as file:
            for block in range(_FINGERPRINT_BLOCKS):
                file.seek(
                    max(size - _FINGERPRINT_BLOCK_BYTES, 0) * block // (_FINGERPRINT_BLOCKS - 1)
                )
                parts.append(file.read(_FINGERPRINT_BLOCK_BYTES))
    return digest(*parts)


def prompt_tag(prompt: str | None) -> str:
    """The suffix that a document prompt adds to a revision; empty without a prompt."""
    return f"+p{digest(prompt.encode('utf-8', 'replace'))}" if prompt else ""


def require_positive(field: str, value: float) -> None:
    """Refuse a number that is not above zero, or not finite, with InvalidInput."""
    if not 0 < value < math.inf:
        raise InvalidInput(field, f"must be above 0 and finite, not {shown(value)}")


def import_extra(module: str, extra: str) -> Any:
    """The module, or an EmbedderError that names the extra which installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EmbedderError(
            f"{module} is needed ({error}); pip install 'salience[{extra}]'"
        ) from error


# Embeddings from a function of your own

EmbeddingFunction = Callable[[list[str]], Any]
"""Texts to rows of numbers, one for each text, all of one length."""


def is_function(candidate: object) -> TypeGuard[EmbeddingFunction]:
    """Test whether something is called with texts, rather than an embedder or a class."""
    is_embedder = inspect.getattr_static(candidate, "embed", None) is not None
    return callable(candidate) and not isinstance(candidate, type) and not is_embedder


class FunctionEmbedder:
    """row(text) = v / |v|, v the row that a function gives for the text; zeros for a blank one.

    Queries and documents are embedded alike.

    Args:
        function: called with a list of texts, none of them blank.
        name: the name in the identity, `function/<name>`: another one whenever the rows change.
            Default: the module and name of a function that is defined by `def`.

    Raises:
        InvalidInput: the function is async, or has no name and is given none.
        EmbedderError: from `identity` and `embed`: it gives no table of numbers.
    """

    def __init__(self, function: EmbeddingFunction, name: str | None = None) -> None:
        if inspect.iscoroutinefunction(function):
            raise InvalidInput("embedder", "is async", "give a function that returns the rows")
        self._function = function
        self._name = name or _name_of(function)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """function/<name>, with the length of the rows; calls the function once."""
        dimensions = self._rows(["dimensions"]).shape[1]
        return EmbedderIdentity("function", self._name, dimensions, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), dimensions). Raises as the class says."""
        checked = checked_texts(texts, kind)
        filled = [position for position, text in enumerate(checked) if text.strip()]
        rows = np.zeros((len(checked), self.identity.dimensions), dtype=np.float32)
        if filled:
            made = self._rows([checked[position] for position in filled])
            if made.shape[1] != rows.shape[1]:
                raise EmbedderError(f"{self._name} gave rows of {made.shape[1]} numbers")
            rows[filled] = unit_rows(made, self._name)
        return rows

    def _rows(self, texts: list[str]) -> Rows:
        answer = self._function(texts)
        try:
            rows = np.asarray(answer, dtype=np.float32)
        except Exception:  # of any kind, in a type from outside
            raise EmbedderError(f"{self._name} gave what is not a table of numbers") from None
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
            raise EmbedderError(
                f"{self._name} gave an answer of shape {rows.shape} for {len(texts)} texts"
            )
        return rows


def _name_of(function: EmbeddingFunction) -> str:
    """The module and name of a plain function; a method, say, does not tell its model."""
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        remedy = "wrap it: FunctionEmbedder(function, name='my-model-1')"
        raise InvalidInput("embedder", f"{shown(function)} has no name to store", remedy)
    return f"{function.__module__}.{function.__name__}"


# A cache of query rows, for an embedder that is slow or charges by the call

CACHED_QUERY_MAX_CHARS = 2_048
"""The longest query that is kept, which bounds the memory of the keys."""


class CachedEmbedder:
    """embed(texts, kind="query") = inner's rows; each of the last `size` queries is asked once.

    Documents are not cached: each is embedded once, when it is written. Threads may share one
    instance; the lock is not held while the inner embedder works, so two threads that miss the
    same query at the same moment may both ask for it.

    Args:
        inner: the embedder that is asked; its identity is also that of this one.
        size: the number of queries kept, at least 1; the least recently used goes first.

    Raises:
        InvalidInput: `size` is below 1, or the texts are not strings.
        EmbedderError: the inner embedder fails, or its rows do not fit its identity; nothing is
            kept then.
    """

    def __init__(self, inner: Embedder, size: int = 4096) -> None:
        require_positive("size", size)
        self._inner = inner
        self._size = size
        self._lock = Lock()
        self._rows: OrderedDict[str, Rows] = OrderedDict()

    @property
    def inner(self) -> Embedder:
        """The embedder that is asked."""
        return self._inner

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the inner embedder; EmbedderError if it is no `EmbedderIdentity`."""
        identity: object = self._inner.identity
        if not isinstance(identity, EmbedderIdentity):
            raise EmbedderError(f"its identity is a {type(identity).__name__}, no EmbedderIdentity")
        return identity

    @property
    def knows(self) -> Callable[[str], float] | None:
        """The share of a language that the inner embedder knows; None if it does not say."""
        knows: Callable[[str], float] | None = getattr(self._inner, "knows", None)
        return knows

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), dimensions); the answer is the caller's own."""
        if kind != "query":
            return self._embed_inner(texts, kind)
        queries = checked_texts(texts, kind)
        if not queries:
            return self._embed_inner([], kind)
        rows = self._cached(queries)
        missing = [text for text in dict.fromkeys(queries) if text not in rows]
        if missing:
            fresh = self._embed_inner(missing, kind)
            rows.update(zip(missing, fresh, strict=True))
            self._cache(missing, rows)
        return np.stack([rows[text] for text in queries])

    def _embed_inner(self, texts: Sequence[str], kind: Kind) -> Rows:
        """The rows of the inner embedder, checked, as it may be anybody's code."""
        texts = list(texts)
        rows = self._inner.embed(texts, kind=kind)
        return checked_rows(rows, len(texts), self.identity)

    def _cached(self, texts: list[str]) -> dict[str, Rows]:
        rows = {}
        with self._lock:
            for text in texts:
                row = self._rows.get(text)
                if row is not None:
                    rows[text] = row
                    self._rows.move_to_end(text)
        return rows

    def _cache(self, texts: list[str], rows: dict[str, Rows]) -> None:
        with self._lock:
            for text in texts:
                if len(text) <= CACHED_QUERY_MAX_CHARS:
                    # A copy: a view would keep the whole batch it came in alive.
                    self._rows[text] = rows[text].copy()
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
