"""One named vector per memory: exact cosines, and a first pass over two-bit codes for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.records.record import Embedding
from salience.retrieval.candidates import Floats
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.quantization import QuantizedVectors

EXACT_BELOW = 20_000
"""Vectors up to which all are compared exactly: until then that is as fast as their codes."""
_SIGN_SWEEP = 64, 16  # the sweep over signs keeps 64 rows for each one wanted, at least 1 in 16
_CODE_ROWS_PER_HIT = 6  # the codes keep 6 rows for each one wanted, to be compared exactly
_RADIUS_SAMPLE_STEP = 16  # one of so many rows is looked at to begin with
_BLOCK_VECTORS = 4_096  # vectors compared at once with many queries
_MATMUL_MIN_QUERIES = 16  # queries
_COPY_MAX_SHARE = 0.25  # share of vectors up to which those that pass are copied out for that
NOISE = 1e-5  # more than single precision can be off between two ways of adding up

Ordinals = NDArray[np.int64]


class VectorIndex:
    """The unit vectors of one name over a namespace; `ordinals[i]` is the memory of vector i."""

    def __init__(self, dimensions: int, expected: int = 0) -> None:
        self.dimensions = dimensions
        self._matrix = GrowableArray(np.float32, (dimensions,))
        self._matrix.reserve(expected)
        self._ordinals = GrowableArray(np.int32)
        self._place = GrowableArray(np.int32)  # by ordinal, -1 where the memory has no vector
        self._codes = QuantizedVectors(dimensions)
        self._last: tuple[Embedding, Floats] | None = None  # the cosines of all with a query

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
        self._matrix.extend(flat.reshape(-1, self.dimensions))
        self._last = None

    def any_of(self, alive: NDArray[np.bool_]) -> bool:
        """Whether a living memory has one."""
        ordinals = self._ordinals.view
        blocks = range(0, len(ordinals), _BLOCK_VECTORS)
        return any(alive[ordinals[start : start + _BLOCK_VECTORS]].any() for start in blocks)

    def cosines(self, query: Embedding, ordinals: NDArray[Any]) -> Floats:
        """q . m for the given memories, NaN where one has no vector."""
        place = self._places(ordinals)
        lacking = place < 0  # whose place, the last, is read for nothing
        if self._exact or (self._last is not None and self._last[0] is query):
            found = self._compared(query)[place]
        else:
            found = _bounded(np.vecdot(self._matrix.view[place], query))
        if np.count_nonzero(lacking):
            found[lacking] = np.nan
        return found

    @property
    def _exact(self) -> bool:
        return len(self._matrix) <= EXACT_BELOW

    def _compared(self, query: Embedding) -> Floats:
        """q . m for all vectors; the last answer is kept.

        Each row is added up on its own, so that its value does not depend on which others there
        are. A matrix product would not promise that, and the threads it starts get into each
        other's way where other programs keep the cores busy.
        """
        if self._last is None or self._last[0] is not query:
            self._last = (query, _bounded(np.vecdot(self._matrix.view, query)))
        return self._last[1]

    def holders(self, mask: NDArray[np.bool_] | None) -> Ordinals:
        """Every memory that has a vector and passes."""
        ordinals = self._ordinals.view.astype(np.int64)
        return ordinals if mask is None else ordinals[mask[ordinals]]

    def all(self, query: Embedding, mask: NDArray[np.bool_] | None) -> tuple[Ordinals, Floats]:
        """Every memory that has a vector and passes, and its cosine."""
        cosines = self._compared(query)
        if mask is not None:
            cosines = cosines[mask[self._ordinals.view]]
        return self.holders(mask), cosines

    def take(self, ordinals: NDArray[Any]) -> NDArray[np.float32]:
        """The vectors of the given memories, NaN where one has none."""
        place = self._places(ordinals)
        found = np.full((len(ordinals), self.dimensions), np.nan, dtype=np.float32)
        found[place >= 0] = self._matrix.view[place[place >= 0]]
        return found

    def _places(self, ordinals: NDArray[Any]) -> NDArray[Any]:
        """Where the vectors of the given memories stand, -1 where one has none."""
        size = len(self._place)
        if not len(ordinals) or ordinals.max() < size:
            return self._place.view[ordinals]
        known = ordinals < size
        return np.where(known, self._place.view[np.where(known, ordinals, 0)], -1)

    def nearest(self, query: Embedding, depth: int, mask: NDArray[np.bool_] | None) -> Ordinals:
        """Memories that hold the `depth` nearest, and some more.

        Certain up to EXACT_BELOW vectors; above, some in a thousand of them may be missed.
        """
        ordinals = self._ordinals.view
        if len(ordinals) <= depth * _CODE_ROWS_PER_HIT:
            return self.holders(mask)
        allowed = None if mask is None else mask[ordinals]
        if allowed is not None and np.count_nonzero(allowed) <= depth * _CODE_ROWS_PER_HIT:
            return ordinals[allowed].astype(np.int64)
        if self._exact:
            similar = self._compared(query)
            if allowed is not None:
                similar = np.where(allowed, similar, np.float32(-2.0))
            bound = np.partition(similar, len(similar) - depth)[len(similar) - depth]
            return ordinals[similar >= bound].astype(np.int64)
        return self._nearest_by_codes(query, depth, allowed)

    def most_alike(
        self, queries: NDArray[np.float32], least: float, mask: NDArray[np.bool_] | None
    ) -> list[tuple[int, float] | None]:
        """For each query, the memory of the largest cosine (the first of equals), and that cosine.

        None where no memory that passes reaches `least`. Compared block by block with all.
        """
        ordinals = self._ordinals.view
        allowed = None if mask is None else mask[ordinals]
        places = np.arange(len(ordinals))
        if allowed is not None and np.count_nonzero(allowed) < _COPY_MAX_SHARE * len(ordinals):
            places, allowed = places[allowed], None
        dense = len(places) == len(ordinals)
        best = np.full(len(queries), -2.0, dtype=np.float32)
        place = np.zeros(len(queries), dtype=np.int64)
        for start in range(0, len(places), _BLOCK_VECTORS):
            block = slice(start, start + _BLOCK_VECTORS)
            rows = self._matrix.view[block if dense else places[block]]
            # Threads are worth their waiting for many queries only.
            similar = (
                queries @ rows.T
                if len(queries) >= _MATMUL_MIN_QUERIES
                else np.stack([np.vecdot(rows, query) for query in queries])
            )
            if allowed is not None:
                similar[:, ~allowed[block]] = -2.0
            at = similar.argmax(axis=1)
            here = similar[np.arange(len(queries)), at]
            better = here > best + NOISE  # an equal one that comes later is not
            best[better], place[better] = here[better], places[start + at[better]]
        found: list[tuple[int, float] | None] = []
        for query, at_least, where in zip(queries, best >= least - NOISE, place, strict=True):
            exact = _bounded(np.vecdot(self._matrix.view[[where]], query)) if at_least else [-2.0]
            cosine = float(exact[0])
            found.append((int(ordinals[where]), cosine) if cosine >= least else None)
        return found

    def _nearest_by_codes(
        self, query: Embedding, depth: int, allowed: NDArray[np.bool_] | None
    ) -> Ordinals:
        self._codes.extend(self._matrix.view[len(self._codes) :])
        apart = self._codes.apart(query)
        if allowed is not None:
            apart[~allowed] = self.dimensions + 1
        per_row, share = _SIGN_SWEEP
        swept = min(max(depth * per_row, len(apart) // share), len(apart)) - 1
        places = np.flatnonzero(apart <= _radius(apart, swept, self.dimensions))
        similar = self._codes.similarity(query, places)
        wanted = depth * _CODE_ROWS_PER_HIT
        if len(similar) > wanted:
            least = np.partition(similar, len(similar) - wanted)[len(similar) - wanted]
            places = places[similar >= least]
        return self._ordinals.view[places].astype(np.int64)

    @property
    def nbytes(self) -> int:
        parts = (self._matrix, self._ordinals, self._place, self._codes)
        return sum(part.nbytes for part in parts)


def _radius(apart: NDArray[np.uint16], most: int, largest: int) -> int:
    """The least distance within which more than `most` rows lie; `largest` where there is none.

    It is looked for around that of every sixteenth row: counting all takes a sweep each time.
    """
    bound = min(
        int(
            np.partition(apart[::_RADIUS_SAMPLE_STEP], most // _RADIUS_SAMPLE_STEP)[
                most // _RADIUS_SAMPLE_STEP
            ]
        ),
        largest,
    )
    while bound < largest and np.count_nonzero(apart <= bound) <= most:
        bound += 1
    while bound and np.count_nonzero(apart <= bound - 1) > most:
        bound -= 1
    return bound


def _bounded(dots: NDArray[np.float32]) -> Floats:
    return np.clip(dots.astype(np.float64), -1.0, 1.0)
