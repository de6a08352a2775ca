"""One named vector per memory: exact cosines, and a first pass over fewer bits for many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from salience import arithmetic
from salience.arithmetic import NOISE, by_kernel, cosines, on_grid
from salience.records.record import Embedding
from salience.retrieval.candidates import Floats
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.quantization import VectorBytes, VectorSigns
from salience.stores.index.snapshot import Part

EXACT_BELOW = 20_000
"""The number of vectors up to which signs leave none out."""
SIGNS_FROM = 4_096
"""The number of vectors above which signs find duplicates."""
_DEVIATIONS = 8.0
_SURE_DEPTH = 200  # the ranks down to which as few as can be are to be missed
_SIGN_ROWS_PER_HIT = 64  # rows that the sweep over signs keeps for each of these,
_SIGN_MIN_SHARE = 16  # and at least one row in so many
_ALL_PER_HIT = 6  # vectors for each that is asked for, up to which all are taken
_RADIUS_SAMPLE_STEP = 16  # the radius of a sweep is first estimated from one row in so many
_BLOCK_VECTORS = 4_096  # compared at once with several queries
_MATMUL_MIN_QUERIES = 16  # queries from which a matrix product, with its threads, pays off
_COPY_MAX_SHARE = 0.25  # share of vectors up to which those that pass a filter are copied

Ordinals = NDArray[np.int64]
Passing = Callable[[NDArray[Any]], NDArray[np.bool_]]
"""Tells which memories pass a filter."""
_Reduced = TypeVar("_Reduced", VectorSigns, VectorBytes)
_Likely = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]
"""The number of a query, the place of a vector, and their cosine within `NOISE`: an array each."""


class _Compared:
    """The exact cosines of vectors with a query, each computed on first use."""

    def __init__(self, query: Embedding, matrix: NDArray[np.float32]) -> None:
        self.query = query
        self._matrix = matrix
        self._cosines = np.full(len(matrix), np.nan)  # those that nobody has asked for

    def at(self, places: NDArray[Any]) -> Floats:
        """The cosines of the vectors at some places."""
        values = self._cosines.take(places)
        missing = np.isnan(values).nonzero()[0]
        if len(missing) >= len(self._matrix):
            self._cosines[:] = cosines(self._matrix, self.query)
            return self._cosines.take(places)
        if len(missing):
            unknown = places.take(missing)
            values[missing] = self._cosines[unknown] = cosines(self._matrix, self.query, unknown)
        return values

    def nearest(
        self, allowed: NDArray[np.bool_] | None, depth: int, *reduced: Any
    ) -> NDArray[np.int64] | None:
        """The places of the `depth` nearest, and of those as near as the last.

        With the bytes and signs `reduced` a kernel leaves out most. The result is None where NumPy
        has to find the nearest.
        """
        places, values = np.empty(len(self._matrix), dtype=np.int64), np.empty(len(self._matrix))
        arguments = (self._matrix, on_grid(self.query), allowed, depth, *reduced)
        count = by_kernel("nearest", *arguments, places, values)
        if count is NotImplemented:
            return None
        self._cosines[places[:count]] = values[:count]
        return places[:count]


class VectorIndex(Part):
    """The unit vectors of one name over a namespace; `ordinals[i]` is the memory of vector i."""

    SAVED = ("dimensions", "_matrix", "_ordinals", "_place", "_signs", "_bytes")
    GIVEN = ("dimensions",)
    ONLY_GROWS = True

    def __init__(self, dimensions: int, expected: int = 0) -> None:
        self.dimensions = dimensions
        self._matrix = GrowableArray(np.float32, (dimensions,))
        self._matrix.reserve(expected)
        self._ordinals = GrowableArray(np.int32)
        self._place = GrowableArray(np.int32)  # by ordinal, -1 where the memory has no vector
        self._signs = VectorSigns(dimensions)
        self._bytes = VectorBytes(dimensions)
        self._last: _Compared | None = None

    def before_saving(self) -> None:
        if len(self._ordinals) > EXACT_BELOW:
            self._reduced(self._signs)

    def extend(self, first: int, blobs: Sequence[bytes | None]) -> None:
        """Append the vectors (float16 bytes) of the memories from ordinal `first` on."""
        # Memories before the first vector of this name have none.
        self._place.fill(-1, first + len(blobs) - len(self._place))
        ordinals = [ordinal for ordinal, blob in enumerate(blobs, first) if blob is not None]
        self._place.view[ordinals] = range(len(self._matrix), len(self._matrix) + len(ordinals))
        self._ordinals.extend(ordinals)
        flat = np.frombuffer(b"".join(blob for blob in blobs if blob), dtype=np.float16)
        self._matrix.extend(flat.reshape(-1, self.dimensions))
        self._last = None

    def only(self, alive: NDArray[np.bool_]) -> VectorIndex:
        """The vectors of the living memories, by the ordinals that these have alone."""
        places = np.flatnonzero(alive[self._ordinals.view])
        ordinals = (np.cumsum(alive) - 1)[self._ordinals.view[places]]
        index = VectorIndex(self.dimensions, len(places))
        index._matrix.extend(self._matrix.view[places])
        index._ordinals.extend(ordinals)
        index._place.fill(-1, int(np.count_nonzero(alive[: len(self._place)])))
        index._place.view[ordinals] = np.arange(len(places))
        index._signs, index._bytes = self._signs.only(places), self._bytes.only(places)
        return index

    def any_of(self, alive: NDArray[np.bool_]) -> bool:
        """True if a living memory has one."""
        ordinals = self._ordinals.view
        blocks = range(0, len(ordinals), _BLOCK_VECTORS)
        return any(alive[ordinals[start : start + _BLOCK_VECTORS]].any() for start in blocks)

    def cosines(self, query: Embedding, ordinals: NDArray[Any]) -> Floats:
        """q . m for the given memories, NaN where one has no vector."""
        place = self._places(ordinals)
        values = self._compared(query).at(place)  # those without one read the last
        missing = place < 0
        if np.count_nonzero(missing):
            values[missing] = np.nan
        return values

    def _compared(self, query: Embedding) -> _Compared:
        """The cosines with a query; it keeps those with the last one."""
        if self._last is None or self._last.query is not query:
            self._last = _Compared(query, self._matrix.view)
        return self._last

    def holders(self, mask: NDArray[np.bool_] | None) -> Ordinals:
        """Every memory that has a vector and passes."""
        ordinals = self._ordinals.view.astype(np.int64)
        return ordinals if mask is None else ordinals[mask[ordinals]]

    def all(self, query: Embedding, mask: NDArray[np.bool_] | None) -> tuple[Ordinals, Floats]:
        """Every memory that has a vector and passes, and its cosine."""
        places = np.arange(len(self._ordinals))
        if mask is not None:
            places = places[mask[self._ordinals.view]]
        return self._ordinals.view[places].astype(np.int64), self._compared(query).at(places)

    def take(self, ordinals: NDArray[Any]) -> NDArray[np.float32]:
        """The vectors of the given memories, NaN where one has none."""
        place = self._places(ordinals)
        vectors = np.full((len(ordinals), self.dimensions), np.nan, dtype=np.float32)
        vectors[place >= 0] = self._matrix.view[place[place >= 0]]
        return vectors

    def _places(self, ordinals: NDArray[Any]) -> NDArray[Any]:
        """The places of the vectors of memories, -1 where one has none."""
        size = len(self._place.view)
        if not len(ordinals) or ordinals.max() < size:
            return self._place.view[ordinals]
        inside = ordinals < size
        return np.where(inside, self._place.view[np.where(inside, ordinals, 0)], -1)

    def nearest(self, query: Embedding, depth: int, mask: NDArray[np.bool_] | None) -> Ordinals:
        """The `depth` nearest memories and some others.

        Exact up to EXACT_BELOW vectors. Above, a few in a thousand of the first 200 may be missed,
        and two in a hundred of those after them.
        """
        ordinals = self._ordinals.view
        if len(ordinals) <= depth * _ALL_PER_HIT:
            return self.holders(mask)
        allowed = None if mask is None else mask[ordinals]
        if allowed is not None and np.count_nonzero(allowed) <= depth * _ALL_PER_HIT:
            return ordinals[allowed].astype(np.int64)
        return ordinals[self._nearest(query, depth, allowed)].astype(np.int64)

    def _nearest(
        self, query: Embedding, depth: int, allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.intp]:
        size, rows, signs = len(self._ordinals), 0, None
        if size > EXACT_BELOW:
            signs = self._reduced(self._signs)
            sure = max(min(depth, _SURE_DEPTH), depth * 3 // 4)  # of the last few become hits
            rows = min(max(sure * _SIGN_ROWS_PER_HIT, size // _SIGN_MIN_SHARE), size) - 1
        if arithmetic.native is not None:
            words = (None, None) if signs is None else signs.compared(query)
            reduced = (*self._reduced(self._bytes).compared(query), *words, rows)
            nearest = self._compared(query).nearest(allowed, depth, *reduced)
            if nearest is not None:
                return nearest
        places = np.arange(size) if allowed is None else np.flatnonzero(allowed)
        if signs is not None:
            distances = signs.distances(query)
            if allowed is not None:
                distances[~allowed] = self.dimensions + 1
            places = np.flatnonzero(distances <= _radius(distances, rows, self.dimensions))
        matrix = self._matrix.view
        # Row by row: the threads of a matrix product slow each other down on busy cores.
        similar = np.vecdot(matrix if len(places) == size else matrix.take(places, axis=0), query)
        if len(similar) <= depth:
            return places
        bound = np.partition(similar, len(similar) - depth)[len(similar) - depth]
        return places[similar >= bound - 2.0 * NOISE]

    def _reduced(self, form: _Reduced) -> _Reduced:
        """A reduced form of the vectors, with those added since it was last read."""
        if len(form) < len(self._matrix):
            form.extend(self._matrix.view[len(form) :])
        return form

    def most_alike(
        self, queries: NDArray[np.float32], least: float, passing: Passing | None
    ) -> list[tuple[int, float] | None]:
        """For each query the memory of the largest cosine (the first of equals), and that cosine.

        None where no memory that passes reaches `least`. Of many vectors, it compares only those
        whose signs differ in no more places than they can at that cosine.
        """
        near = [self._alike_by_signs(query, least, passing) for query in queries]
        unknown = [number for number, places in enumerate(near) if places is None]
        compared = iter(self._most_alike_of_all(queries[unknown], least, passing))
        return [
            next(compared) if places is None else self._first_alike(query, least, places)
            for query, places in zip(queries, near, strict=True)
        ]

    def _alike_by_signs(
        self, query: Embedding, least: float, passing: Passing | None
    ) -> NDArray[np.intp] | None:
        """The places that may have a cosine of `least`; None if this would leave out too few."""
        size = len(self._ordinals)
        if size <= SIGNS_FROM:
            return None
        differing = self._reduced(self._signs).distances(query)
        places = np.flatnonzero(differing <= most_differing_signs(query, least))
        if len(places) > size // _SIGN_MIN_SHARE:
            return None
        return places if passing is None else places[passing(self._ordinals.view[places])]

    def _first_alike(
        self, query: Embedding, least: float, places: NDArray[np.intp]
    ) -> tuple[int, float] | None:
        """The first of the largest exact cosines at some places, unless it is below `least`."""
        if not len(places):
            return None
        exact = cosines(self._matrix.view, query, places)
        first = int(exact.argmax())
        if exact[first] < least:
            return None
        return int(self._ordinals.view[places[first]]), float(exact[first])

    def _most_alike_of_all(
        self, queries: NDArray[np.float32], least: float, passing: Passing | None
    ) -> list[tuple[int, float] | None]:
        """The same, comparing all vectors in blocks."""
        if not len(queries):
            return []
        ordinals = self._ordinals.view
        allowed = None if passing is None else passing(ordinals)
        places = np.arange(len(ordinals))
        if allowed is not None and np.count_nonzero(allowed) < _COPY_MAX_SHARE * len(ordinals):
            places, allowed = places[allowed], None
        dense = len(places) == len(ordinals)
        best = np.full(len(queries), least, dtype=np.float32)
        likely: list[_Likely] = []
        for start in range(0, len(places), _BLOCK_VECTORS):
            block = slice(start, start + _BLOCK_VECTORS)
            rows = self._matrix.view[block if dense else places[block]]
            similar = (
                queries @ rows.T
                if len(queries) >= _MATMUL_MIN_QUERIES
                else np.stack([np.vecdot(rows, query) for query in queries])
            )
            if allowed is not None:
                similar[:, ~allowed[block]] = -2.0
            best = np.maximum(best, similar.max(axis=1) - NOISE)
            which, where = np.nonzero(similar >= best[:, np.newaxis] - NOISE)
            likely.append((which, places[start + where], similar[which, where]))
        return self._first_of_nearest(queries, least, best - NOISE, likely)

    def _first_of_nearest(
        self,
        queries: NDArray[np.float32],
        least: float,
        bounds: NDArray[np.float32],
        likely: Sequence[_Likely],
    ) -> list[tuple[int, float] | None]:
        """The first of the largest exact cosines for each query, among those within its bound."""
        matches: list[tuple[int, float] | None] = [None] * len(queries)
        if not likely:
            return matches
        which, where, similar = (np.concatenate(parts) for parts in zip(*likely, strict=True))
        near = similar >= bounds[which]
        which, where = which[near], where[near]
        for number in np.unique(which).tolist():
            candidates = np.sort(where[which == number])
            matches[number] = self._first_alike(queries[number], least, candidates)
        return matches

    @property
    def nbytes(self) -> int:
        parts = (self._matrix, self._ordinals, self._place, self._signs, self._bytes)
        return sum(part.nbytes for part in parts)


def most_differing_signs(query: Embedding, least: float) -> float:
    """The number of signs in which a vector of that cosine differs from a query, at the most.

    The difference of two unit vectors of cosine c is sqrt(2 - 2c) long. Spread over d dimensions it
    turns the sign of a number x with the chance P(N(0, 1) < -|x| sqrt(d / (2 - 2c))). The bound is
    the mean of their sum and `_DEVIATIONS` of its standard deviations: a vector with a few large
    numbers and many small ones has a wide one.
    """
    scale = math.sqrt(len(query) / max(4.0 - 4.0 * least, 1e-9))
    scaled = (scale * np.abs(query.astype(np.float64))).tolist()
    chances = [0.5 * chance for chance in map(math.erfc, scaled)]
    return sum(chances) + _DEVIATIONS * math.sqrt(sum(p * (1.0 - p) for p in chances))


def _radius(distances: NDArray[Any], rows: int, largest: int) -> int:
    """The least distance that more than `rows` distances do not exceed, at most `largest`.

    It starts from that of a sample, as each count takes a sweep over all distances.
    """
    rank = rows // _RADIUS_SAMPLE_STEP
    bound = min(int(np.partition(distances[::_RADIUS_SAMPLE_STEP], rank)[rank]), largest)
    while bound < largest and np.count_nonzero(distances <= bound) <= rows:
        bound += 1
    while bound and np.count_nonzero(distances <= bound - 1) > rows:
        bound -= 1
    return bound
