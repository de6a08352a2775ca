"""Postings: which memories hold which term how often, as immutable segments of sorted arrays.

A field's postings are a few segments over ascending ranges of ordinals. One sort of (term, ordinal)
keys builds a segment. Small segments are merged as more arrive: there are never more than a
handful. `RecentPostings` holds the memories added last, until they have enough words for a segment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.lazily import dataclass
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.snapshot import Part

_ORDINAL_BITS = 22
_MAX_SEGMENT = 1 << _ORDINAL_BITS
_MERGE_RATIO = 8  # a segment is merged with the one after it unless it is so many times larger
_MAX_MERGED_MEMORIES = 1 << 18  # above, a merge costs more than reading one more segment
_MAX_RECENT_WORDS = 1 << 12  # above, the memories added last become a segment

U64 = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Hits:
    """The postings of some terms: the term, the memory and the number of times, for each."""

    term: NDArray[np.intp]  # by its place among the terms
    ordinal: NDArray[np.int64]
    tf: NDArray[np.int64]
    head: NDArray[np.int64]  # times within the first WINDOW words
    tail: NDArray[np.int64]  # times within the last WINDOW words


@dataclass(frozen=True, eq=False)
class Segment(Part):
    """Postings of ordinals `first` <= o < `first + size`, sorted by term, then ordinal."""

    SAVED = GIVEN = ("first", "size", "terms", "start", "ordinals", "tf", "head", "tail")
    ONLY_GROWS = True

    first: int
    size: int
    terms: U64  # distinct, ascending
    start: NDArray[np.int64]  # the postings of terms[i] are start[i]:start[i + 1]
    ordinals: NDArray[np.int32]  # relative to `first`
    tf: NDArray[np.uint16]
    head: NDArray[np.uint8]
    tail: NDArray[np.uint8]

    @classmethod
    def build(cls, first: int, lengths: NDArray[np.int64], tokens: U64) -> Segment:
        """The segment of `len(lengths)` memories, whose terms follow each other in `tokens`."""
        size = len(lengths)
        ends = np.cumsum(lengths)
        place = np.arange(len(tokens)) - np.repeat(ends - lengths, lengths)
        in_head = place < WINDOW
        in_tail = place >= np.repeat(lengths - WINDOW, lengths)
        ordinal = np.repeat(np.arange(size, dtype=np.uint64), lengths)
        # One key per word, so that a single sort groups words by term and memory.
        keys = (tokens << np.uint64(_ORDINAL_BITS + 2)) | (ordinal << np.uint64(2))
        keys |= in_head.astype(np.uint64) << np.uint64(1)
        keys |= in_tail.astype(np.uint64)
        del place, in_head, in_tail, ordinal
        keys.sort()
        return cls._grouped(first, size, keys)

    @classmethod
    def _grouped(cls, first: int, size: int, keys: U64) -> Segment:
        pairs = keys >> np.uint64(2)
        begin = np.flatnonzero(_is_run_start(pairs))
        unique = pairs[begin]
        del pairs
        tf = np.diff(np.append(begin, len(keys)))
        head = _group_sums((keys >> np.uint64(1)) & np.uint64(1), begin)
        tail = _group_sums(keys & np.uint64(1), begin)
        return cls._from_pairs(first, size, unique, tf, head, tail)

    @classmethod
    def _from_pairs(
        cls, first: int, size: int, pairs: U64, tf: Any, head: Any, tail: Any
    ) -> Segment:
        term = pairs >> np.uint64(_ORDINAL_BITS)
        begin = np.flatnonzero(_is_run_start(term))
        return cls(
            first,
            size,
            term[begin],
            np.append(begin, len(pairs)).astype(np.int64),
            (pairs & np.uint64(_MAX_SEGMENT - 1)).astype(np.int32),
            np.minimum(tf, 65535).astype(np.uint16),
            np.asarray(head).astype(np.uint8),
            np.asarray(tail).astype(np.uint8),
        )

    def merged(self, right: Segment) -> Segment:
        """This segment and the one right after it as one."""
        pairs = np.concatenate([self._pairs(0), right._pairs(right.first - self.first)])
        order = np.argsort(pairs, kind="stable")
        return self._from_pairs(
            self.first,
            right.first + right.size - self.first,
            pairs[order],
            np.concatenate([self.tf, right.tf])[order],
            np.concatenate([self.head, right.head])[order],
            np.concatenate([self.tail, right.tail])[order],
        )

    def only(self, alive: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Segment:
        """The postings of the living memories, by the numbers that these have alone."""
        first = int(np.count_nonzero(alive[: self.first]))
        size = int(np.count_nonzero(alive[self.first : self.first + self.size]))
        ordinals = self.ordinals.astype(np.int64) + self.first
        here = alive[ordinals]
        terms = np.repeat(self.terms, np.diff(self.start))[here] << np.uint64(_ORDINAL_BITS)
        pairs = terms | (numbers[ordinals[here]] - first).astype(np.uint64)
        counts = self.tf[here], self.head[here], self.tail[here]
        return self._from_pairs(first, size, pairs, *counts)

    def _pairs(self, shift: int) -> U64:
        term = np.repeat(self.terms, np.diff(self.start)) << np.uint64(_ORDINAL_BITS)
        return term | (self.ordinals.astype(np.uint64) + np.uint64(shift))

    def ranges(self, terms: U64) -> list[tuple[int, int, int]]:
        """(place of the term, from, to) for each of the terms that occur here."""
        if not len(self.terms):
            return []
        nearest = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        places = np.flatnonzero(self.terms[nearest] == terms)
        positions = nearest[places]
        starts, ends = self.start[positions].tolist(), self.start[positions + 1].tolist()
        return list(zip(places.tolist(), starts, ends, strict=True))

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that a kernel reads."""
        columns = self.terms, self.start, self.ordinals, self.tf, self.head, self.tail
        return *map(np.ascontiguousarray, columns), self.first

    @cached_property
    def nbytes(self) -> int:
        arrays = (self.terms, self.start, self.ordinals, self.tf, self.head, self.tail)
        return sum(array.nbytes for array in arrays)


def _is_run_start(values: U64) -> NDArray[np.bool_]:
    """True at the first of each run of equal values."""
    first = np.ones(len(values), dtype=bool)
    if len(values):
        np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def _group_sums(values: U64, begin: NDArray[Any]) -> NDArray[Any]:
    return np.add.reduceat(values, begin) if len(begin) else np.empty(0, dtype=np.uint64)


class Postings(Part):
    """The postings of one field over all ordinals of a namespace, and the field's lengths."""

    SAVED = ("_segments", "_lengths")
    ONLY_GROWS = True

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._recent = RecentPostings()
        self._lengths = GrowableArray(np.int32)

    def before_saving(self) -> None:
        memories, self._recent = self._recent.memories, RecentPostings()
        if memories:
            self._append_segment(memories[0][0], memories)

    def __bool__(self) -> bool:
        """True if some memory has words in the field."""
        return bool(self._segments or self._recent.memories)

    def extend(self, tokens: Sequence[bytes | None]) -> None:
        """Append memories, each as the bytes of its uint64 terms (None: it lacks the field)."""
        first = len(self._lengths)
        lengths = [len(blob) // 8 if blob else 0 for blob in tokens]
        self._lengths.extend(lengths)
        words = sum(lengths)
        if not words:
            return
        memories = [(ordinal, blob) for ordinal, blob in enumerate(tokens, first) if blob]
        # Those that are loaded become a segment, which takes an eighth of the memory.
        if (first or len(tokens) == 1) and self._has_room(words, memories[-1][0]):
            for ordinal, blob in memories:
                self._recent.add(ordinal, blob)
            return
        memories = self._recent.memories + memories
        self._recent = RecentPostings()
        at = 0
        while at < len(memories):
            begin = memories[at][0]
            end = bisect_left(memories, (begin + _MAX_MERGED_MEMORIES,), at)
            self._append_segment(begin, memories[at:end])
            at = end

    def only(self, alive: NDArray[np.bool_]) -> Postings:
        """The postings of the living memories, by the ordinals that these have alone."""
        postings, numbers = Postings(), np.cumsum(alive) - 1
        postings._lengths.extend(self.lengths[alive])
        segments = [segment.only(alive, numbers) for segment in self._segments]
        postings._segments = [segment for segment in segments if len(segment.tf)]
        for ordinal, blob in self._recent.memories:
            if alive[ordinal]:
                postings._recent.add(int(numbers[ordinal]), blob)
        return postings

    def _has_room(self, words: int, last: int) -> bool:
        """Test whether memories up to an ordinal, with this many words, need no segment yet."""
        recent = self._recent
        if recent.memories and last - recent.memories[0][0] >= _MAX_MERGED_MEMORIES:
            return False
        return recent.words + words <= _MAX_RECENT_WORDS

    def _append_segment(self, first: int, memories: Sequence[tuple[int, bytes]]) -> None:
        # In steps that let other threads run, unlike `zip(*memories)`
        ordinals = [ordinal for ordinal, _ in memories]
        blobs = [blob for _, blob in memories]
        lengths = np.zeros(ordinals[-1] + 1 - first, dtype=np.int64)
        lengths[np.array(ordinals) - first] = [len(blob) // 8 for blob in blobs]
        flat = np.frombuffer(b"".join(blobs), dtype=np.uint64)
        self._segments.append(Segment.build(first, lengths, flat))
        while len(self._segments) > 1:
            left, right = self._segments[-2:]
            span = right.first + right.size - left.first
            if len(left.tf) > len(right.tf) * _MERGE_RATIO or span > _MAX_MERGED_MEMORIES:
                return
            self._segments[-2:] = [left.merged(right)]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Words per memory, by ordinal."""
        return self._lengths.view

    def read_by_kernel(self, terms: U64) -> tuple[Any, ...]:
        """The arrays of all segments; and each other posting of the terms, a row each, or None."""
        recent = self._recent.find(terms.tolist())
        others = np.array(recent, dtype=np.int64) if recent else None
        return tuple([segment.arrays for segment in self._segments]), others

    def hits(self, terms: U64) -> Hits:
        """Every posting of the terms, each term's in order of ordinal."""
        columns: tuple[list[NDArray[Any]], ...] = ([], [], [], [], [])
        term, ordinal, tf, head, tail = columns
        for segment in self._segments:
            for place, low, high in segment.ranges(terms):
                term.append(np.full(high - low, place, dtype=np.intp))
                ordinal.append(segment.ordinals[low:high].astype(np.int64) + segment.first)
                tf.append(segment.tf[low:high])
                head.append(segment.head[low:high])
                tail.append(segment.tail[low:high])
        recent = self._recent.find(terms.tolist())
        if recent:
            for parts, values in zip(columns, np.array(recent, dtype=np.int64).T, strict=True):
                parts.append(values)
        if not term:
            empty = np.empty(0, dtype=np.int64)
            return Hits(empty, empty, empty, empty, empty)
        join = np.concatenate
        return Hits(join(term), join(ordinal), join(tf), join(head), join(tail))

    def holders(self, terms: U64) -> NDArray[np.int64]:
        """The memories that hold one of the terms, repeated for each term that one holds."""
        parts = [
            segment.ordinals[low:high].astype(np.int64) + segment.first
            for segment in self._segments
            for _, low, high in segment.ranges(terms)
        ]
        recent = [ordinal for _, ordinal, *_ in self._recent.find(terms.tolist())]
        return np.concatenate([*parts, np.array(recent, dtype=np.int64)])

    def occur(self, terms: U64, alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """True for each term that a memory alive holds, up to the end of `alive`."""
        occurs = np.zeros(len(terms), dtype=bool)
        for segment in self._segments:
            here = alive[segment.first : segment.first + segment.size]
            for place, low, high in segment.ranges(terms):
                if not occurs[place]:
                    holders = segment.ordinals[low:high]
                    first = holders[0]  # mostly alive, so that the others need no look
                    occurs[place] = (first < len(here) and here[first]) or here[
                        holders[holders < len(here)]
                    ].any()
        for place, ordinal, *_ in self._recent.find(terms.tolist()):
            occurs[place] |= ordinal < len(alive) and alive[ordinal]
        return occurs

    @property
    def nbytes(self) -> int:
        segments = sum(segment.nbytes for segment in self._segments)
        return self._lengths.nbytes + self._recent.nbytes + segments


WINDOW = 40  # words at the start and the end of a memory that its neighbours' scores draw on
_MAX_TF = 65_535  # as segments count

Posting = tuple[int, int, int, int]
"""The ordinal of a memory that holds a term; how often, and how often in its first and last words.
"""


class RecentPostings:
    """Postings by term; `memories` are those with words, as (ordinal, the bytes of its terms)."""

    def __init__(self) -> None:
        self.memories: list[tuple[int, bytes]] = []
        self.words = 0
        self._by_term: dict[int, list[Posting]] = {}

    def add(self, ordinal: int, blob: bytes) -> None:
        """Add a memory beyond the last one."""
        terms: list[int] = np.frombuffer(blob, dtype=np.uint64).tolist()
        counts = Counter(terms)
        is_short = len(terms) <= WINDOW
        head = counts if is_short else Counter(terms[:WINDOW])
        tail = counts if is_short else Counter(terms[-WINDOW:])
        for term, tf in counts.items():
            posting = (ordinal, min(tf, _MAX_TF), head[term], tail[term])
            self._by_term.setdefault(term, []).append(posting)
        self.memories.append((ordinal, blob))
        self.words += len(terms)

    def find(self, terms: Sequence[int]) -> list[tuple[int, ...]]:
        """Every posting of the terms after the place of its term, each term's by ordinal."""
        if self._by_term.keys().isdisjoint(terms):  # as mostly
            return []
        return [(at, *row) for at, term in enumerate(terms) for row in self._by_term.get(term, ())]

    @property
    def nbytes(self) -> int:
        """Memory used, roughly, in bytes."""
        return 150 * self.words
