"""BM25 over the postings of a namespace: the score of every memory for one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.candidates import Floats
from recollect.index.postings import WINDOW, Hits, Postings
from recollect.query import Term
from recollect.routes import Lexical
from recollect.text import term_id


@dataclass(frozen=True, eq=False)
class Bm25:
    """BM25 of every memory of a namespace by ordinal, zero where no term occurs.

    `own` is over a memory's words, `head` and `tail` over its first and last WINDOW words, which
    are what the turn before and the turn after it draw on. `found` are the occurrences that it
    was made of, `idf` the weight of each term.
    """

    own: Floats
    head: Floats | None
    tail: Floats | None
    found: Occurrences
    idf: Floats


def bm25(
    fields: Mapping[str, Postings],
    route: Lexical,
    terms: Sequence[Term],
    alive: NDArray[np.bool_],
) -> Bm25:
    """BM25 for distinct terms as `Lexical` defines it, over the memories alive."""
    weights = {name: weight for name, weight in route.fields if name in fields}
    size, living = len(alive), int(np.count_nonzero(alive))
    lengths = np.zeros(size)
    for name in weights:
        lengths += fields[name].lengths
    average = float(lengths.sum(where=alive)) / living if living else 0.0
    found = _occurrences(fields, weights, terms)
    if living < size:
        found = found.take(alive[found.ordinal])
    df = np.bincount(found.term, minlength=len(terms))
    weight_of = np.log1p((living - df + 0.5) / (df + 0.5))
    idf = weight_of[found.term]

    def scores(tf: Floats, spans: NDArray[Any]) -> Floats:
        length = spans[found.ordinal] / average if average else np.zeros(len(tf))
        gain = idf * tf * (route.k1 + 1.0) / (tf + route.k1 * (1.0 - route.b + route.b * length))
        return np.bincount(found.ordinal, gain, size).astype(np.float64, copy=False)

    own = scores(found.tf, lengths)
    if not (route.before or route.after) or "content" not in weights:
        return Bm25(own, None, None, found, weight_of)
    spans = np.minimum(fields["content"].lengths, WINDOW)
    return Bm25(own, scores(found.head, spans), scores(found.tail, spans), found, weight_of)


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Where terms occur, a memory and term once: which term (by place), in which memory, how often.

    `tf` adds up all fields by weight; `head` and `tail` count within the windows of the content.
    """

    term: NDArray[np.intp]
    ordinal: NDArray[np.int64]
    tf: Floats
    head: Floats
    tail: Floats

    def take(self, keep: NDArray[Any]) -> Occurrences:
        return Occurrences(
            self.term[keep], self.ordinal[keep], self.tf[keep], self.head[keep], self.tail[keep]
        )

    @classmethod
    def joined(cls, parts: Sequence[Occurrences]) -> Occurrences:
        if len(parts) == 1:
            return parts[0]
        if not parts:
            none, zero = np.empty(0, dtype=np.int64), np.empty(0)
            return cls(none, none, zero, zero, zero)
        return cls(
            np.concatenate([part.term for part in parts]),
            np.concatenate([part.ordinal for part in parts]),
            np.concatenate([part.tf for part in parts]),
            np.concatenate([part.head for part in parts]),
            np.concatenate([part.tail for part in parts]),
        )

    def pooled(self) -> Occurrences:
        """Those of one term with each memory once."""
        ordinals, where = np.unique(self.ordinal, return_inverse=True)

        def summed(values: Floats) -> Floats:
            return np.bincount(where, values).astype(np.float64, copy=False)

        term = np.full(len(ordinals), self.term[0])
        return Occurrences(term, ordinals, summed(self.tf), summed(self.head), summed(self.tail))


def _occurrences(
    fields: Mapping[str, Postings], weights: Mapping[str, float], terms: Sequence[Term]
) -> Occurrences:
    """Where the terms occur in the fields; the forms of one word and its fields pooled."""
    forms = [(place, term_id(form)) for place, term in enumerate(terms) for form in term]
    place_of = np.array([place for place, _ in forms], dtype=np.intp)
    ids = np.array([number for _, number in forms], dtype=np.uint64)
    parts = [
        _weighted(hits, place_of, weight, name == "content")
        for name, weight in weights.items()
        if len((hits := fields[name].hits(ids)).term)
    ]
    found = Occurrences.joined(parts)
    mixed = {place for place, term in enumerate(terms) if len(term) > 1}
    if len(parts) > 1:
        seen = [set(np.unique(part.term).tolist()) for part in parts]
        mixed |= {place for place in set().union(*seen) if sum(place in s for s in seen) > 1}
    if not mixed:
        return found
    single = np.ones(len(terms), dtype=bool)
    single[list(mixed)] = False
    pooled = [found.take(single[found.term])]
    for place in sorted(mixed):
        those = found.take(found.term == place)
        if len(those.term):
            pooled.append(those.pooled())
    return Occurrences.joined(pooled)


def _weighted(hits: Hits, place_of: NDArray[np.intp], weight: float, content: bool) -> Occurrences:
    none = None if content else np.zeros(len(hits.term))
    return Occurrences(
        place_of[hits.term],
        hits.ordinal,
        np.multiply(hits.tf, weight, dtype=np.float64),
        hits.head.astype(np.float64) if none is None else none,
        hits.tail.astype(np.float64) if none is None else none,
    )
