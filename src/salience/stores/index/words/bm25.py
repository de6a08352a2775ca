"""BM25 over the postings of a namespace: the score of every memory for one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Term
from salience.language.tokens import term_id
from salience.retrieval.candidates import Floats
from salience.retrieval.routes import Lexical
from salience.stores.index.words.postings import WINDOW, Hits, Postings


@dataclass(frozen=True, eq=False)
class Lengths:
    """Words per memory over the fields of a route, by ordinal, and their mean over those alive."""

    each: NDArray[np.int64]
    mean: float
    living: int

    @classmethod
    def over(cls, fields: Sequence[Postings], alive: NDArray[np.bool_]) -> Lengths:
        """The lengths over some fields."""
        each = np.zeros(len(alive), dtype=np.int64)
        for postings in fields:
            each += postings.lengths
        living = int(np.count_nonzero(alive))
        return cls(each, float(each.sum(where=alive)) / living if living else 0.0, living)


@dataclass(frozen=True, eq=False)
class WordScores:
    """The score of every memory of a namespace by ordinal, zero where no term counts for it.

    `found` are the occurrences that the scores were made of, `idf` what each term tells.
    """

    scores: Floats
    found: Occurrences
    idf: Floats


def bm25(
    fields: Mapping[str, Postings],
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    alive: NDArray[np.bool_],
    neighbours: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> WordScores:
    """BM25 for distinct terms as `Lexical` defines it, over the memories alive.

    `neighbours` are the ordinals of the turn before and after each, -1 where there is none.
    """
    weights = {name: weight for name, weight in route.fields if name in fields}
    size = len(alive)
    found = occurrences(fields, weights, terms, alive if lengths.living < size else None)
    weight_of = inverse_document_frequencies(found, len(terms), lengths.living)
    idf = weight_of[found.term] * (route.k1 + 1.0)

    def gains(tf: Floats, spans: NDArray[Any]) -> Floats:
        length = spans / lengths.mean if lengths.mean else np.zeros(len(tf))
        return idf * tf / (tf + route.k1 * (1.0 - route.b + route.b * length))

    whose: list[NDArray[Any]] = [found.ordinal]
    gained = [gains(found.tf, lengths.each[found.ordinal])]
    if "content" in weights and (route.before or route.after):
        spans = np.minimum(fields["content"].lengths[found.ordinal], WINDOW)
        before, after = neighbours
        # What a turn says at its end counts for the turn after it, and the other way round.
        for weight, tf, receiver in (
            (route.before, found.tail, after),
            (route.after, found.head, before),
        ):
            whose.append(receiver[found.ordinal])
            gained.append(weight * gains(tf, spans))
    # -1, "no such turn", goes to a place behind the last, which is dropped.
    places = np.concatenate(whose)
    places[places < 0] = size
    scores = np.bincount(places, np.concatenate(gained), size + 1)[:size]
    return WordScores(scores.astype(np.float64, copy=False), found, weight_of)


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


def inverse_document_frequencies(found: Occurrences, terms: int, living: int) -> Floats:
    """idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)) of each term, by place."""
    df = np.bincount(found.term, minlength=terms)
    return np.log1p((living - df + 0.5) / (df + 0.5))


def occurrences(
    fields: Mapping[str, Postings],
    weights: Mapping[str, float],
    terms: Sequence[Term],
    alive: NDArray[np.bool_] | None,
) -> Occurrences:
    """Where the terms occur in the fields; the forms of one word and its fields pooled.

    What is not alive is left out first, so that it has no part in the order of adding up either.
    """
    forms = [(place, term_id(form)) for place, term in enumerate(terms) for form in term]
    place_of = np.array([place for place, _ in forms], dtype=np.intp)
    ids = np.array([number for _, number in forms], dtype=np.uint64)
    parts = [
        _weighted(hits, place_of, weight, name == "content")
        for name, weight in weights.items()
        if len((hits := fields[name].hits(ids)).term)
    ]
    if alive is not None:
        parts = [part.take(alive[part.ordinal]) for part in parts]
        parts = [part for part in parts if len(part.term)]
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
