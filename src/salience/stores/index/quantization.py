"""Two-bit codes of unit vectors: a sweep that finds the rows worth an exact comparison.

A number x of a unit vector in d dimensions is about 1/sqrt(d) large. Its code v in 0..3 stands for
(v - 1.5) / sqrt(d); the high bit of v is the sign of x, the low bit tells large from small. 64
dimensions make a word. Signs are kept word by word, to be read in one sweep over all vectors, and
both bits vector by vector, to be looked up for some of them.

Source: binary and scalar quantisation with asymmetric distances, as in Jegou et al., Product
Quantization for Nearest Neighbor Search, 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import by_kernel
from salience.records.record import Embedding
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.snapshot import Part

_QUERY_BITS = 4
_ENCODE_BLOCK_VECTORS = 1 << 12  # vectors coded at once: as many as fit into a cache,
_SWEEP_BLOCK_VECTORS = 1 << 15  # as for the signs that are compared at once,
_LOOKUP_BLOCK_VECTORS = 1 << 13  # and for the vectors that are looked up at once

Places = NDArray[np.intp]
Words = NDArray[np.uint64]  # of shape (words, vectors)


class QuantizedVectors(Part):
    """The two-bit codes of a growing list of unit vectors."""

    SAVED = ("_dimensions", "_signs", "_both")
    ONLY_GROWS = True

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        words = (dimensions + 63) // 64
        self._signs = [GrowableArray(np.uint64) for _ in range(words)]
        self._both = GrowableArray(
            np.uint64, (2 * words,)
        )  # the words of signs, then those of sizes

    def __len__(self) -> int:
        return len(self._both)

    def only(self, places: Places) -> QuantizedVectors:
        """The codes of the vectors at some places, ascending."""
        codes, places = QuantizedVectors(self._dimensions), places[places < len(self)]
        for own, array in zip(
            (*codes._signs, codes._both), (*self._signs, self._both), strict=True
        ):
            own.extend(array.view[places])
        return codes

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in (*self._signs, self._both))

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Code more vectors, shape (n, dimensions)."""
        step = np.float32(self._dimensions**-0.5)
        if not len(self):
            for array in (*self._signs, self._both):
                array.reserve(len(vectors))
        for start in range(0, len(vectors), _ENCODE_BLOCK_VECTORS):
            block = vectors[start : start + _ENCODE_BLOCK_VECTORS]
            # Codes 0, 1 | 2, 3 are below -step, up to 0 | up to step, above.
            high = _words(block > 0)
            low = _words(np.where(block > 0, block > step, block > -step))
            for signs, word in zip(self._signs, high, strict=True):
                signs.extend(word)
            self._both.extend(np.concatenate([high, low]).T)

    def sign_distances(self, query: Embedding) -> NDArray[Any]:
        """The number of dimensions in which the sign of each vector differs from the query's."""
        fits = self._dimensions < np.iinfo(np.uint16).max  # with one more, which callers add
        total: NDArray[Any] = np.zeros(len(self), dtype=np.uint16 if fits else np.uint32)
        if by_kernel("sign_distances", *self.compared_signs(query), total) is not NotImplemented:
            return total
        query_signs = _words(query[np.newaxis] > 0)
        for start in range(0, len(self), _SWEEP_BLOCK_VECTORS):
            block = slice(start, start + _SWEEP_BLOCK_VECTORS)
            for signs, word in zip(self._signs, query_signs, strict=True):
                total[block] += np.bitwise_count(signs.view[block] ^ word)
        return total

    def similarity(self, query: Embedding, places: Places) -> NDArray[np.int32]:
        """An estimate of q . x for the vectors at some places, up to a constant factor and summand.

        The query is rounded to 4 bits, so that q . bits is a sum of counts.
        """
        bits = _query_bits(query)
        similarities = np.empty(len(places), dtype=np.int32)
        for start in range(0, len(places), _LOOKUP_BLOCK_VECTORS):
            block = slice(start, start + _LOOKUP_BLOCK_VECTORS)
            similarities[block] = self._similarity(bits, places[block])
        return similarities

    def compared_signs(self, query: Embedding) -> tuple[Any, ...]:
        """The words of signs that a kernel compares, and the query's."""
        signs = tuple(array.view for array in self._signs)
        return signs, _words(query[np.newaxis] > 0).ravel()

    def compared(self, query: Embedding) -> tuple[Any, ...]:
        """`compared_signs`, and the words of both bits with those of the query, by bit."""
        bits = np.hstack(_query_bits(query)).T
        return *self.compared_signs(query), self._both.view, bits.copy()

    def _similarity(self, query: Sequence[Words], places: Places) -> NDArray[np.int32]:
        """The same for a block of places and the bits of a query, the lowest first."""
        both = np.ascontiguousarray(self._both.view.take(places, axis=0, mode="clip").T)
        words = len(both) // 2
        shared, counts = np.empty_like(both), np.empty(both.shape, dtype=np.uint8)
        total = np.zeros(len(places), dtype=np.int32)
        for b, query_words in enumerate(query):
            np.bitwise_and(both[:words], query_words, out=shared[:words])
            np.bitwise_and(both[words:], query_words, out=shared[words:])
            np.bitwise_count(shared, out=counts)
            signs, sizes = counts[:words], counts[words:]
            signs += signs  # the high bit of a code
            signs += sizes
            count = np.add.reduce(signs, axis=0, dtype=np.int32)
            total += count * np.int32(2**b if b < _QUERY_BITS - 1 else -(2**b))
        return total


def _query_bits(query: Embedding) -> list[Words]:
    """The bits of a query rounded to 4 bits in two's complement, the lowest first."""
    top = float(np.abs(query).max()) or 1.0
    half = 2 ** (_QUERY_BITS - 1)
    rounded = np.clip(np.rint(query * (half / top)), -half, half - 1).astype(np.int8)
    return [_words(((rounded >> b) & 1)[np.newaxis] == 1) for b in range(_QUERY_BITS)]


def _words(bits: NDArray[np.bool_]) -> Words:
    """Bits of vectors as 64-bit words: shape (words, vectors)."""
    packed = np.packbits(bits, axis=1)
    spare = -packed.shape[1] % 8
    if spare:
        packed = np.pad(packed, ((0, 0), (0, spare)))
    return np.ascontiguousarray(packed).view(np.uint64).T
