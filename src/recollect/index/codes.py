"""Two-bit codes of unit vectors: a sweep that finds the rows worth an exact look.

A number x of a unit vector in d dimensions is about 1/sqrt(d) large. Its code v in 0..3 stands for
(v - 1.5) / sqrt(d); the high bit of v is the sign of x, the low bit tells large from small. Bits
are kept in planes of 64 dimensions a word, a column a plane, so that each is read in one sweep.

Source: binary and scalar quantisation with asymmetric distances, as in Jegou et al., Product
Quantization for Nearest Neighbor Search, 2011.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recollect.index.growable import Growable
from recollect.memory import Vector

_QUERY_BITS = 4
_BLOCK = 1 << 12  # vectors coded at once: as many as fit into a cache

Places = NDArray[np.intp]


class Codes:
    """The two-bit codes of a growing list of unit vectors."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        words = (dimensions + 63) // 64
        self._high = [Growable(np.uint64) for _ in range(words)]
        self._low = [Growable(np.uint64) for _ in range(words)]

    def __len__(self) -> int:
        return len(self._high[0])

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return sum(plane.nbytes for plane in (*self._high, *self._low))

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Code more vectors, shape (n, dimensions)."""
        step = np.float32(self._dimensions**-0.5)
        if not len(self):
            for plane in (*self._high, *self._low):
                plane.reserve(len(vectors))
        for start in range(0, len(vectors), _BLOCK):
            block = vectors[start : start + _BLOCK]
            # Codes 0, 1 | 2, 3 are below -step, up to 0 | up to step, above.
            low = np.where(block > 0, block > step, block > -step)
            for planes, bits in ((self._high, block > 0), (self._low, low)):
                for plane, word in zip(planes, _words(bits), strict=True):
                    plane.extend(word)

    def apart(self, query: Vector) -> NDArray[np.uint16]:
        """In how many dimensions each vector's sign differs from the query's."""
        total = np.zeros(len(self), dtype=np.uint16)
        for plane, asked in zip(self._high, _words(query[np.newaxis] > 0), strict=True):
            total += np.bitwise_count(plane.view ^ asked)
        return total

    def similarity(self, query: Vector, places: Places) -> NDArray[np.int32]:
        """About q . x for the vectors at some places, up to a constant factor and summand.

        The query is rounded to 4 bits in two's complement, so that q . bits is a sum of counts.
        """
        top = float(np.abs(query).max()) or 1.0
        half = 2 ** (_QUERY_BITS - 1)
        rounded = np.clip(np.rint(query * (half / top)), -half, half - 1).astype(np.int8)
        bits = [_words(((rounded >> b) & 1)[np.newaxis] == 1) for b in range(_QUERY_BITS)]
        # The counts of both planes for each bit of the query, weighted once at the end.
        counts = np.zeros((_QUERY_BITS, len(places)), dtype=np.uint16)
        for high, low, *asked in zip(self._high, self._low, *bits, strict=True):
            above, large = high.view[places], low.view[places]
            for count, word in zip(counts, asked, strict=True):
                each = np.bitwise_count(above & word)
                each += each
                each += np.bitwise_count(large & word)
                count += each
        total = np.zeros(len(places), dtype=np.int32)
        for b, count in enumerate(counts):
            total += count * np.int32(2**b if b < _QUERY_BITS - 1 else -(2**b))
        return total


def _words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Bits of vectors as 64-bit words: shape (words, vectors)."""
    packed = np.packbits(bits, axis=1)
    spare = -packed.shape[1] % 8
    if spare:
        packed = np.pad(packed, ((0, 0), (0, spare)))
    return np.ascontiguousarray(packed).view(np.uint64).T
