"""An embedder for tests, without model and network; its rows are the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from salience.arithmetic import lengths
from salience.embedders import EmbedderIdentity, Kind, Rows
from salience.language.tokens import words


class WordHashEmbedder:
    """row = sum of a fixed random direction per word, scaled to unit length.

    Texts are as similar as the words they share: a bag of words, not a meaning.
    """

    def __init__(self, dimensions: int = 32) -> None:
        self._identity = EmbedderIdentity("salience.testing", "word-hash", dimensions, "1")

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of this embedder."""
        return self._identity

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        """Unit rows of the texts, zero for a text without words."""
        size = self._identity.dimensions
        rows = np.zeros((len(texts), size), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            for word in words(text):
                row += _direction(word, size)
        norms = lengths(rows)[:, np.newaxis]
        return np.divide(rows, norms, out=rows, where=norms > 0.0).astype(np.float32)


@lru_cache(maxsize=65_536)
def _direction(word: str, size: int) -> Rows:
    seed = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return np.random.Generator(np.random.PCG64(seed)).standard_normal(size).astype(np.float32)
