"""One named vector per memory: exact cosines, and a fast first pass over sign bits for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.candidates import Floats
from recollect.index.growable import Growable
from recollect.memory import Vector

EXACT_BELOW = 40_000  # vectors; a full scan of float32 is as fast as the sign bits up to here
_OVERSAMPLE = 12  # rows re-scored exactly per row wanted, when the first pass is over sign bits
_NOISE = 1e-5  # more than single precision can be off between two ways of adding up

Ordinals = NDArray[np.int64]


class Vectors:
    """The unit vectors of one name over a namespace; `ordinals[i]` is the memory of vector i."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._matrix = Growable(np.float32, (dimensions,))
        self._ordinals = Growable(np.int32)
        self._place = Growable(np.int32)  # by ordinal, -1 where the memory has no vector
        # Sign bits, 64 dimensions to a word and a column a word: each is read in one sweep.
        self._signs = [Growable(np.uint64) for _ in range((dimensions + 63) // 64)]

    def extend(self, first: int, blobs: Sequence[bytes | None]) -> None:
        """Append the vectors (float16 bytes) of the memories from ordinal `first` on."""
        has = np.array([blob is not None for blob in blobs], dtype=bool)
        flat = np.frombuffer(b"".join(b for b in blobs if b is not None), dtype=np.float16)
        # Memories from before the first vector of this name have none.
        missing = np.full(first - len(self._place), -1, dtype=np.int32)
        self._place.extend(missing)
        place = np.full(len(blobs), -1, dtype=np.int32)
        place[has] = len(self._matrix) + np.arange(int(has.sum()))
        self._place.extend(place)
        self._ordinals.extend((first + np.flatnonzero(has)).astype(np.int32))
        self._matrix.extend(flat.reshape(-1, self.dimensions).astype(np.float32))

    def cosines(self, query: Vector, ordinals: NDArray[Any]) -> Floats:
        """q . m for the given memories, NaN where one has no vector.

        Each row is added up on its own, so that the value does not depend on its neighbours.
        """
        place = self._places(ordinals)
        found = np.full(len(ordinals), np.nan)
        has = place >= 0
        dots = np.vecdot(self._matrix.view[place[has]], query)
        found[has] = np.clip(dots.astype(np.float64), -1.0, 1.0)
        return found

    def take(self, ordinals: NDArray[Any]) -> NDArray[np.float32]:
        """The vectors of the given memories, NaN where one has none."""
        place = self._places(ordinals)
        found = np.full((len(ordinals), self.dimensions), np.nan, dtype=np.float32)
        found[place >= 0] = self._matrix.view[place[place >= 0]]
        return found

    def _places(self, ordinals: NDArray[Any]) -> NDArray[Any]:
        """Where the vectors of the given memories stand, -1 where one has none."""
        known = ordinals < len(self._place)
        return np.where(known, self._place.view[np.where(known, ordinals, 0)], -1)

    def nearest(
        self, query: Vector, depth: int | None, mask: NDArray[np.bool_] | None
    ) -> tuple[Ordinals, bool]:
        """Memories that hold the `depth` nearest (and some more), and whether that is certain."""
        ordinals = self._ordinals.view
        if depth is None or len(ordinals) <= depth:
            return _passing(ordinals, mask), True
        if len(ordinals) <= EXACT_BELOW:
            similar = self._matrix.view @ query
            if mask is not None:
                similar = np.where(mask[ordinals], similar, np.float32(-2.0))
            bound = np.partition(similar, len(similar) - depth)[len(similar) - depth]
            return _passing(ordinals[similar >= max(bound - _NOISE, -1.5)], mask), True
        return self._nearest_by_signs(query, depth, mask), False

    def _nearest_by_signs(
        self, query: Vector, depth: int, mask: NDArray[np.bool_] | None
    ) -> Ordinals:
        self._sign_new()
        apart = np.zeros(len(self._matrix), dtype=np.uint16)
        for signs, asked in zip(self._signs, _sign_words(query[np.newaxis]), strict=True):
            apart += np.bitwise_count(signs.view ^ asked)
        if mask is not None:
            apart[~mask[self._ordinals.view]] = np.uint16(65535)
        counts = np.cumsum(np.bincount(np.minimum(apart, self.dimensions + 1)))
        bound = int(np.searchsorted(counts, depth * _OVERSAMPLE))
        return _passing(self._ordinals.view[apart <= min(bound, self.dimensions)], mask)

    def _sign_new(self) -> None:
        for start in range(len(self._signs[0]), len(self._matrix), 1 << 16):
            words = _sign_words(self._matrix.view[start : start + (1 << 16)])
            for signs, word in zip(self._signs, words, strict=True):
                signs.extend(word)

    @property
    def nbytes(self) -> int:
        parts = (self._matrix, self._ordinals, self._place, *self._signs)
        return sum(part.nbytes for part in parts)


def _passing(ordinals: NDArray[Any], mask: NDArray[np.bool_] | None) -> Ordinals:
    chosen = ordinals if mask is None else ordinals[mask[ordinals]]
    return chosen.astype(np.int64)


def _sign_words(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """The signs of each vector's numbers, 64 to a word: shape (words, vectors)."""
    bits = np.packbits(vectors > 0, axis=1)
    spare = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, spare)))).view(np.uint64).T
