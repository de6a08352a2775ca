"""A cache of query rows, for an embedder that is slow or charges by the call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from salience.embedders._batching import checked_rows, checked_texts, require_positive
from salience.embedders.protocol import Embedder, EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError

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
