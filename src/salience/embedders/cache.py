"""A memory of query rows, for an embedder that is slow or charges by the call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from salience.embedders._batching import checked_rows, checked_texts, positive
from salience.embedders.protocol import Embedder, EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError

CACHED_CHARS = 2_048
"""Queries longer than this are not kept, so the keys stay within `size` times 2,048 characters."""


class CachedEmbedder:
    """embed(texts, kind="query") = inner's rows; each of the last `size` queries is asked once.

    Documents pass straight through: each is embedded when written and not again. Threads may share
    one instance; the lock is not held while the inner embedder works, so two threads that miss the
    same query at the same moment may both ask for it.

    Args:
        inner: the embedder asked; its identity is this one's.
        size: queries kept, at least 1; the least recently used goes first.

    Raises:
        InvalidInput: `size` is below 1, or the texts are not strings.
        EmbedderError: whatever the inner embedder raises, or its rows are not what its identity
            says; nothing is kept then.
    """

    def __init__(self, inner: Embedder, size: int = 4096) -> None:
        positive("size", size)
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
        """The inner embedder's; EmbedderError if that is none."""
        found: object = self._inner.identity
        if not isinstance(found, EmbedderIdentity):
            raise EmbedderError(f"its identity is a {type(found).__name__}, no EmbedderIdentity")
        return found

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows, float32 of shape (len(texts), dimensions); the answer is the caller's own."""
        if kind != "query":
            return self._made(texts, kind)
        asked = checked_texts(texts, kind)
        if not asked:
            return self._made([], kind)
        rows = self._kept(asked)
        missing = [text for text in dict.fromkeys(asked) if text not in rows]
        if missing:
            fresh = self._made(missing, kind)
            rows.update(zip(missing, fresh, strict=True))
            self._keep(missing, rows)
        return np.stack([rows[text] for text in asked])

    def _made(self, texts: Sequence[str], kind: Kind) -> Rows:
        """The rows of the inner embedder, which may be anybody's code, if they are some."""
        texts = list(texts)
        made = self._inner.embed(texts, kind=kind)
        return checked_rows(made, len(texts), self.identity)

    def _kept(self, texts: list[str]) -> dict[str, Rows]:
        found = {}
        with self._lock:
            for text in texts:
                row = self._rows.get(text)
                if row is not None:
                    found[text] = row
                    self._rows.move_to_end(text)
        return found

    def _keep(self, texts: list[str], rows: dict[str, Rows]) -> None:
        with self._lock:
            for text in texts:
                if len(text) <= CACHED_CHARS:
                    # A copy: a view would keep the whole batch it came in alive.
                    self._rows[text] = rows[text].copy()
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
