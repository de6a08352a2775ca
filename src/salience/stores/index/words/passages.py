"""The passages of the long memories of a namespace: their borders, words and vectors.

Passages are numbered in the order of their memories, those of one memory in the order of its text.
A store without long memories has none, and pays nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import cosines
from salience.language.analysis_types import Term
from salience.language.passages import LONGEST_PASSAGE, Span
from salience.records.record import Embedding
from salience.retrieval.candidates import Floats
from salience.retrieval.operations import FoundPassage
from salience.retrieval.routes import Lexical
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.snapshot import Part
from salience.stores.index.words.bm25 import Lengths, WordScores, find_occurrences, saturated
from salience.stores.index.words.postings import Postings


def with_passages(
    scored: WordScores,
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    passages: PassageTable,
) -> WordScores:
    """The scores, with the best passage in place of a long memory's own words if that is more.

    What the turns around it add stays the same.
    """
    if not len(passages):
        return replace(scored, terms=terms)
    by_passage = passage_scores(scored.idf, route, terms, passages)
    memories = passages.memories
    gain = passages.best(by_passage) - _own_scores(scored, route, lengths)[memories]
    scores = scored.scores.copy()
    scores[memories] += np.maximum(gain, 0.0)
    return replace(scored, scores=scores, passages=by_passage, terms=terms)


def passage_scores(
    idf: Floats, route: Lexical, terms: Sequence[Term], passages: PassageTable
) -> Floats:
    """BM25 of each passage: idf is that of memories, the length relative to `LONGEST_PASSAGE`."""
    postings = passages.postings
    occurrences = find_occurrences({"passages": postings}, {"passages": 1.0}, terms, None)
    length = postings.lengths[occurrences.ordinal] / LONGEST_PASSAGE
    gains = saturated(route, idf[occurrences.term], occurrences.tf, length)
    return np.bincount(occurrences.ordinal, gains, len(passages)).astype(np.float64, copy=False)


def _own_scores(scored: WordScores, route: Lexical, lengths: Lengths) -> Floats:
    """BM25 of each memory without what the turns around it add."""
    found, mean = scored.occurrences, lengths.mean(route.passages)
    length = lengths.words[found.ordinal] / mean if mean else np.zeros(len(found.ordinal))
    gains = saturated(route, scored.idf[found.term], found.tf, length)
    return np.bincount(found.ordinal, gains, len(scored.scores)).astype(np.float64, copy=False)


Ordinals = NDArray[np.int64]


class PassageTable(Part):
    """Passages by number; `memories` are the ordinals of the memories that have some, ascending."""

    SAVED = ("_memories", "_first", "_spans", "postings", "vectors")
    ONLY_GROWS = True

    def __init__(self) -> None:
        self._memories = GrowableArray(np.int64)
        self._first = GrowableArray(np.int64)  # the number of the first passage of each memory
        self._spans: list[Span] = []
        self.postings = Postings()
        self.vectors: PassageVectors | None = None

    def restored(self) -> None:
        self._spans = [Span(*span) for span in self._spans]

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def memories(self) -> Ordinals:
        """The ordinals of the memories that have passages."""
        return self._memories.view

    def extend(self, memories: Sequence[tuple[int, str, bytes | None]]) -> None:
        """Append memories: the ordinal, the borders and the terms of each, as they are stored."""
        documents: list[bytes | None] = []
        for ordinal, borders, packed in memories:
            self._memories.extend([ordinal])
            self._first.extend([len(self._spans)])
            at = 0
            for start, end, heading, count in json.loads(borders):
                self._spans.append(Span(start, end, heading))
                documents.append((packed or b"")[at : at + 8 * count] or None)
                at += 8 * count
        if documents:
            self.postings.extend(documents)

    def extend_vectors(self, vectors: Sequence[tuple[int, int, bytes]]) -> None:
        """Append vectors, each after those before: ordinal of the memory, place, float16 bytes."""
        numbers, blobs = [], []
        ends = np.append(self._first.view[1:], len(self._spans))
        for ordinal, place, blob in sorted(vectors, key=lambda vector: vector[:2]):
            at = int(np.searchsorted(self.memories, ordinal))
            if at < len(self.memories) and self.memories[at] == ordinal:
                number = int(self._first.view[at]) + place
                if number < ends[at]:
                    numbers.append(number)
                    blobs.append(blob)
        if not numbers:
            return
        dimensions = len(blobs[0]) // 2
        if self.vectors is None or self.vectors.dimensions != dimensions:
            self.vectors = PassageVectors(dimensions)
        self.vectors.extend(numbers, blobs)

    def only(self, alive: NDArray[np.bool_]) -> PassageTable:
        """The passages of the living memories, by the ordinals that these have alone."""
        table, here = PassageTable(), alive[self.memories]
        counts = np.diff(np.append(self._first.view, len(self._spans)))
        kept = np.repeat(here, counts)
        table._memories.extend((np.cumsum(alive) - 1)[self.memories[here]])
        table._first.extend(np.cumsum(counts[here]) - counts[here])
        table._spans = [span for span, is_kept in zip(self._spans, kept, strict=True) if is_kept]
        table.postings = self.postings.only(kept)
        if self.vectors is not None and kept.any():
            table.vectors = self.vectors.only(kept)
        return table

    def passages_of(self, ordinal: int) -> range:
        """The numbers of the passages of a memory; none if it is short."""
        at = int(np.searchsorted(self.memories, ordinal))
        if at == len(self.memories) or self.memories[at] != ordinal:
            return range(0)
        first = self._first.view
        end = int(first[at + 1]) if at + 1 < len(first) else len(self._spans)
        return range(int(first[at]), end)

    def best(self, values: Floats) -> Floats:
        """The best value of each of the `memories`, of values by passage; NaN counts for none."""
        return np.fmax.reduceat(values, self._first.view)

    def cosines(self, query: Embedding | None) -> Floats | None:
        """q . p of each passage, NaN where one has no vector; None if none can be compared."""
        vectors = self.vectors
        if vectors is None or query is None or len(query) != vectors.dimensions:
            return None
        return vectors.cosines(query, len(self))

    def found(
        self, ordinal: int, words: Floats | None, cosines: Floats | None
    ) -> tuple[FoundPassage, ...]:
        """The passages of a memory with their scores, by passage."""
        numbers = self.passages_of(ordinal)
        return tuple(
            FoundPassage(
                *self._spans[number],
                0.0 if words is None else float(words[number]),
                None if cosines is None or np.isnan(cosines[number]) else float(cosines[number]),
            )
            for number in numbers
        )

    def vectors_at(self, ordinals: NDArray[np.int64], place: int) -> NDArray[np.float32]:
        """The vectors of the passage at a place of each memory, NaN where there is none."""
        vectors = self.vectors
        if vectors is None:
            return np.empty((len(ordinals), 0), dtype=np.float32)
        matrix = np.full((len(ordinals), vectors.dimensions), np.nan, dtype=np.float32)
        for row, ordinal in enumerate(ordinals.tolist()):
            numbers = self.passages_of(ordinal)
            if place < len(numbers):
                matrix[row] = vectors.take(numbers[place])
        return matrix

    def most_vectors(self, alive: NDArray[np.bool_]) -> int:
        """The most passages of a living memory, if these have vectors."""
        if self.vectors is None:
            return 0
        counts = np.diff(np.append(self._first.view, len(self._spans)))
        return int(counts[alive[self.memories]].max(initial=0))

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        vectors = 0 if self.vectors is None else self.vectors.nbytes
        return self.postings.nbytes + vectors + 120 * len(self._spans) + self._memories.nbytes


class PassageVectors(Part):
    """The unit vectors of passages; a search compares all of them."""

    SAVED = ("dimensions", "_matrix", "_numbers")
    GIVEN = ("dimensions",)
    ONLY_GROWS = True

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._matrix = GrowableArray(np.float32, (dimensions,))
        self._numbers = GrowableArray(np.int64)
        self._last: tuple[Embedding, Floats] | None = None  # the cosines of the last query

    def extend(self, numbers: Sequence[int], blobs: Sequence[bytes]) -> None:
        """Append the vectors (float16 bytes) of passages, whose numbers ascend."""
        self._numbers.extend(numbers)
        flat = np.frombuffer(b"".join(blobs), dtype=np.float16)
        self._matrix.extend(flat.reshape(-1, self.dimensions))
        self._last = None

    def only(self, kept: NDArray[np.bool_]) -> PassageVectors:
        """The vectors of some passages, by the numbers that these have alone."""
        vectors, numbers = PassageVectors(self.dimensions), self._numbers.view
        here = kept[numbers]
        vectors._numbers.extend((np.cumsum(kept) - 1)[numbers[here]])
        vectors._matrix.extend(self._matrix.view[here])
        return vectors

    def cosines(self, query: Embedding, size: int) -> Floats:
        """q . p for each of `size` passages, NaN where one has no vector; the last is kept."""
        if self._last is None or self._last[0] is not query or len(self._last[1]) != size:
            values = np.full(size, np.nan)
            values[self._numbers.view] = cosines(self._matrix.view, query)
            self._last = (query, values)
        return self._last[1]

    def take(self, number: int) -> NDArray[np.float32]:
        """The vector of a passage, NaN if it has none."""
        at = int(np.searchsorted(self._numbers.view, number))
        if at < len(self._numbers) and self._numbers.view[at] == number:
            vector: NDArray[np.float32] = self._matrix.view[at]
            return vector
        return np.full(self.dimensions, np.nan, dtype=np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._matrix.nbytes + self._numbers.nbytes
