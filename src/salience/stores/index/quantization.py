"""Unit vectors in fewer bits: sweeps that find those worth an exact comparison.

Signs: the number of dimensions in which the sign of a vector differs from the query's. 64
dimensions make a word. Signs are stored word by word, for one sweep over all vectors.

Bytes: a vector x is about s c, with whole numbers c from -127 to 127 and s = max |x_i| / 127. For a
query q, which is about t u,

    |q . x - s t (c . u)| <= |q| |x - s c| + |q - t u| |s c|

Source: scalar quantisation with asymmetric distances, as in Jegou et al., Product Quantization for
Nearest Neighbor Search, 2011; the bound is the inequality of Cauchy and Schwarz.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience import arithmetic
from salience.arithmetic import by_kernel
from salience.records.record import Embedding
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.snapshot import Part

_BLOCK_VECTORS = 1 << 12  # made smaller at once: as many as fit into a cache,
_SWEEP_BLOCK_VECTORS = 1 << 15  # as for the signs that are compared at once
_LARGEST_BYTE, _LARGEST_OF_QUERY = 127, 32_767

Places = NDArray[np.intp]
Words = NDArray[np.uint64]  # of shape (words, vectors)


class VectorSigns(Part):
    """The signs of a growing list of vectors."""

    SAVED = ("_dimensions", "_signs")
    ONLY_GROWS = True

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._signs = [GrowableArray(np.uint64) for _ in range((dimensions + 63) // 64)]

    def __len__(self) -> int:
        return len(self._signs[0])

    def only(self, places: Places) -> VectorSigns:
        """The signs of the vectors at some places, ascending."""
        signs, places = VectorSigns(self._dimensions), places[places < len(self)]
        for column, array in zip(signs._signs, self._signs, strict=True):
            column.extend(array.view[places])
        return signs

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self._signs)

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Append the signs of more vectors, shape (n, dimensions)."""
        for array in self._signs if not len(self) else ():
            array.reserve(len(vectors))
        for start in range(0, len(vectors), _BLOCK_VECTORS):
            words = _words(vectors[start : start + _BLOCK_VECTORS] > 0)
            for signs, word in zip(self._signs, words, strict=True):
                signs.extend(word)

    def distances(self, query: Embedding) -> NDArray[Any]:
        """The number of dimensions in which the sign of each vector differs from the query's."""
        fits = self._dimensions < np.iinfo(np.uint16).max  # with one more, which callers add
        total: NDArray[Any] = np.zeros(len(self), dtype=np.uint16 if fits else np.uint32)
        signs, query_signs = self.compared(query)
        if by_kernel("sign_distances", signs, query_signs, total) is not NotImplemented:
            return total
        for start in range(0, len(self), _SWEEP_BLOCK_VECTORS):
            block = slice(start, start + _SWEEP_BLOCK_VECTORS)
            for column, word in zip(signs, query_signs, strict=True):
                total[block] += np.bitwise_count(column[block] ^ word)
        return total

    def compared(self, query: Embedding) -> tuple[tuple[Words, ...], Words]:
        """The words of all signs, and the query's."""
        return tuple(array.view for array in self._signs), _words(query[np.newaxis] > 0).ravel()


class VectorBytes(Part):
    """The bytes of a growing list of vectors, which only kernels compare."""

    SAVED = ("_bytes", "_bounds")
    ONLY_GROWS = True

    def __init__(self, dimensions: int) -> None:
        self._bytes = GrowableArray(np.int8, (dimensions,))
        self._bounds = GrowableArray(np.float32, (2,))  # s, and no less than |x - s c|

    def __len__(self) -> int:
        return len(self._bounds)

    def only(self, places: Places) -> VectorBytes:
        """The bytes of the vectors at some places, ascending."""
        some, places = VectorBytes(self._bytes.view.shape[1]), places[places < len(self)]
        some._bytes.extend(self._bytes.view[places])
        some._bounds.extend(self._bounds.view[places])
        return some

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes.nbytes + self._bounds.nbytes

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Append the bytes of more vectors, shape (n, dimensions)."""
        codes = np.empty(vectors.shape, dtype=np.int8)
        bounds = np.empty((len(vectors), 2), dtype=np.float32)
        arithmetic.native.reduce(vectors, codes, bounds)
        self._bytes.extend(codes)
        self._bounds.extend(bounds)

    def compared(self, query: Embedding) -> tuple[Any, ...]:
        """The bytes with their bounds, the whole numbers of a query, and t, |q| and the most that
        |q - t u| |c| can be."""
        exact = query.astype(np.float64)
        step = float(np.abs(exact).max()) / _LARGEST_OF_QUERY or 1.0
        rounded = np.rint(exact / step)
        missed = exact - step * rounded
        length, error = (math.sqrt(np.vecdot(each, each)) for each in (exact, missed))
        longest = _LARGEST_BYTE * math.sqrt(len(query))
        numbers = np.array([step, 1.001 * length, 1.001 * error * longest])
        return self._bytes.view, self._bounds.view, rounded.astype(np.int16), numbers


def _words(bits: NDArray[np.bool_]) -> Words:
    """Bits of vectors as 64-bit words: shape (words, vectors)."""
    packed = np.packbits(bits, axis=1)
    spare = -packed.shape[1] % 8
    if spare:
        packed = np.pad(packed, ((0, 0), (0, spare)))
    return np.ascontiguousarray(packed).view(np.uint64).T
