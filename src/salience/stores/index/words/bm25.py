"""BM25 over the postings of a namespace: the score of every memory for one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience import arithmetic
from salience.arithmetic import by_kernel, log1p
from salience.language.analysis_types import Term
from salience.language.passages import LONG_WORDS, PASSAGE_WORDS
from salience.language.tokens import stem_ids, term_id
from salience.lazily import dataclass
from salience.retrieval.candidates import Floats
from salience.retrieval.routes import Lexical
from salience.stores.index.words.postings import WINDOW, Hits, Postings


@dataclass(frozen=True, eq=False)
class WholeNamespace:
    """Figures of a namespace of which only some memories are at hand.

    `documents` counts its memories as `documents` does, `words` the words of each field together,
    `frequencies` the memories that hold each term of a query, in any field.
    """

    living: int
    documents: int
    words: Mapping[str, int]
    frequencies: Mapping[int, int]


@dataclass(frozen=True, eq=False)
class Lengths:
    """The words of each memory over some fields, by ordinal; and of all that are alive together."""

    words: NDArray[np.int64]
    total: int
    living: int
    documents: int  # as `documents` counts those that are alive
    frequencies: Mapping[int, int] | None = None  # of the whole namespace, if not all is at hand

    def mean(self, passages: bool) -> float:
        """The average words of a memory alive; with `passages`, a long one counts as several."""
        count = self.documents if passages else self.living
        return self.total / count if count else 0.0

    @classmethod
    def over(cls, fields: Sequence[Postings], alive: NDArray[np.bool_]) -> Lengths:
        """The lengths over some fields."""
        words = words_over(fields, 0, len(alive))
        living = int(np.count_nonzero(alive))
        return cls(words, int(words.sum(where=alive)), living, documents(words[alive]))


def documents(words: NDArray[np.int64]) -> int:
    """The number of memories of these lengths, a long one counted for each `PASSAGE_WORDS`."""
    long = words[words >= LONG_WORDS]
    return len(words) - len(long) + int((-(-long // PASSAGE_WORDS)).sum())


def words_over(fields: Sequence[Postings], first: int, size: int) -> NDArray[np.int64]:
    """The words of each memory over some fields, from an ordinal up to `size`."""
    words = np.zeros(size - first, dtype=np.int64)
    for postings in fields:
        words += postings.lengths[first:]
    return words


@dataclass(frozen=True, eq=False)
class WordScores:
    """The score of every memory of a namespace by ordinal, zero where no term counts for it.

    `occurrences` are those behind the scores, `idf` the weight of each term. `passages` are the
    scores of passages by number, None if there are none or the route does not ask for them; `terms`
    are the terms of these scores.
    """

    scores: Floats
    occurrences: Occurrences
    idf: Floats
    passages: Floats | None = None
    terms: Sequence[Term] = ()


def bm25(
    fields: Mapping[str, Postings],
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    alive: NDArray[np.bool_],
    neighbors: tuple[NDArray[np.int32], NDArray[np.int32]],
    term_weights: Sequence[float] = (),
) -> WordScores:
    """BM25 for distinct terms as `Lexical` defines it, over the memories alive.

    `term_weights` are factors of the idf of each term, 1 for none.
    `neighbors` are the ordinals of the turn before and after each, -1 where there is none.
    """
    size = len(alive)
    occurrences, idf = weighed_occurrences(fields, route, terms, lengths, alive, term_weights)
    mean = lengths.mean(route.passages)
    among_turns = bool(route.before or route.after) and "content" in dict(route.fields)
    values = np.zeros(size)
    turns = (fields["content"].lengths, *neighbors) if among_turns else (None, None, None)
    numbers = np.array([route.k1, route.b, mean, route.before, route.after, WINDOW], np.float64)
    arguments = (*vars(occurrences).values(), idf, lengths.words, numbers, *turns, values)
    if by_kernel("bm25", *arguments) is not NotImplemented:
        return WordScores(values, occurrences, idf)
    factors = idf[occurrences.term]

    def gains(tf: Floats, spans: NDArray[Any]) -> Floats:
        return saturated(route, factors, tf, spans / mean if mean else np.zeros(len(tf)))

    receivers: list[NDArray[Any]] = [occurrences.ordinal]
    gained = [gains(occurrences.tf, lengths.words[occurrences.ordinal])]
    if among_turns:
        spans = np.minimum(fields["content"].lengths[occurrences.ordinal], WINDOW)
        before, after = neighbors
        # The end of a turn counts for the turn after it, its beginning for the one before it.
        for weight, tf, receiver in (
            (route.before, occurrences.tail, after),
            (route.after, occurrences.head, before),
        ):
            receivers.append(receiver[occurrences.ordinal])
            gained.append(weight * gains(tf, spans))
    # -1, "no such turn", goes to a place behind the last, which is dropped.
    places = np.concatenate(receivers)
    places[places < 0] = size
    scores = np.bincount(places, np.concatenate(gained), size + 1)[:size]
    return WordScores(scores.astype(np.float64, copy=False), occurrences, idf)


def weighed_occurrences(
    fields: Mapping[str, Postings],
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    alive: NDArray[np.bool_],
    term_weights: Sequence[float] = (),
) -> tuple[Occurrences, Floats]:
    """The occurrences of distinct terms in the fields of a route, and the idf of each term.

    `term_weights` are factors of the idf, 1 for none.
    """
    weights = {name: weight for name, weight in route.fields if fields.get(name)}
    some_dead = lengths.living < len(alive)
    occurrences = find_occurrences(fields, weights, terms, alive if some_dead else None)
    idf = inverse_document_frequencies(occurrences, terms, lengths)
    return occurrences, idf * np.array(term_weights) if term_weights else idf


def saturated(route: Lexical, idf: Floats, tf: Floats, length: Floats) -> Floats:
    """idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length)), the length being dl / avgdl."""
    return idf * (route.k1 + 1.0) * tf / (tf + route.k1 * (1.0 - route.b + route.b * length))


@dataclass(frozen=True, eq=False)
class Occurrences:
    """The occurrences of terms, one for each pair of a term and a memory.

    `tf` adds up all fields by weight; `head` and `tail` count within the windows of the content.
    """

    term: NDArray[np.intp]  # by its place among the terms
    ordinal: NDArray[np.int64]
    tf: Floats
    head: Floats
    tail: Floats

    def take(self, keep: NDArray[Any]) -> Occurrences:
        """Occurrences at some places, or where a mask is True."""
        return Occurrences(
            self.term[keep], self.ordinal[keep], self.tf[keep], self.head[keep], self.tail[keep]
        )

    @classmethod
    def joined(cls, parts: Sequence[Occurrences]) -> Occurrences:
        """Several parts as one."""
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
        """Occurrences of one term, added up for each memory."""
        ordinals, places = np.unique(self.ordinal, return_inverse=True)

        def summed(values: Floats) -> Floats:
            return np.bincount(places, values).astype(np.float64, copy=False)

        term = np.full(len(ordinals), self.term[0])
        return Occurrences(term, ordinals, summed(self.tf), summed(self.head), summed(self.tail))


def inverse_document_frequencies(
    occurrences: Occurrences, terms: Sequence[Term], lengths: Lengths
) -> Floats:
    """idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)) of each term, by place."""
    living, frequencies = lengths.living, lengths.frequencies
    df = np.bincount(occurrences.term, minlength=len(terms)).tolist()
    if frequencies is not None:
        totals = (sum(frequencies.get(term_id(form), 0) for form in term) for term in terms)
        df = [min(living, max(pair)) for pair in zip(df, totals, strict=True)]
    return np.array([_inverse_document_frequency(living, n) for n in df], dtype=np.float64)


@lru_cache(maxsize=65_536)  # most terms are as rare as others were
def _inverse_document_frequency(living: int, df: int) -> float:
    return log1p((living - df + 0.5) / (df + 0.5))


def holders(
    fields: Sequence[Postings], ids: NDArray[np.uint64], alive: NDArray[np.bool_]
) -> list[NDArray[np.int64]]:
    """The memories alive that hold each term in one of some fields: ordinals, ascending."""
    hits = [postings.hits(ids) for postings in fields]
    term = np.concatenate([part.term for part in hits])
    ordinal = np.concatenate([part.ordinal for part in hits])
    here = ordinal < len(alive)  # not written since
    here[here] = alive[ordinal[here]]
    pairs = np.unique(term[here].astype(np.int64) * len(alive) + ordinal[here])
    size = max(len(alive), 1)
    return np.split(pairs % size, np.searchsorted(pairs // size, np.arange(1, len(ids))))


def find_occurrences(
    fields: Mapping[str, Postings],
    weights: Mapping[str, float],
    terms: Sequence[Term],
    alive: NDArray[np.bool_] | None,
) -> Occurrences:
    """The occurrences of the terms in the fields, added up over all forms and fields of each.

    It leaves out dead memories first, so they do not change the order of the sums either.
    """
    if not weights:
        return Occurrences.joined(())
    place_of = np.repeat(np.arange(len(terms), dtype=np.int64), [*map(len, terms)])
    ids = stem_ids(chain.from_iterable(terms))
    by_native = _found_by_kernel(fields, weights, ids, place_of, alive)
    if by_native is not None:
        occurrences, field_terms = by_native
    else:
        parts = [
            _weighted(hits, place_of, weight, name == "content")
            for name, weight in weights.items()
            if len((hits := fields[name].hits(ids)).term)
        ]
        if alive is not None:
            parts = [part.take(alive[part.ordinal]) for part in parts]
            parts = [part for part in parts if len(part.term)]
        occurrences, field_terms = Occurrences.joined(parts), [part.term for part in parts]
    mixed = {place for place, term in enumerate(terms) if len(term) > 1}
    if len(field_terms) > 1:
        by_field = [set(np.unique(term).tolist()) for term in field_terms]
        mixed |= {p for p in set().union(*by_field) if sum(p in each for each in by_field) > 1}
    if not mixed:
        return occurrences
    single = np.ones(len(terms), dtype=bool)
    single[list(mixed)] = False
    pooled = [occurrences.take(single[occurrences.term])]
    for place in sorted(mixed):
        of_term = occurrences.take(occurrences.term == place)
        if len(of_term.term):
            pooled.append(of_term.pooled())
    return Occurrences.joined(pooled)


def _found_by_kernel(
    fields: Mapping[str, Postings],
    weights: Mapping[str, float],
    ids: NDArray[np.uint64],
    place_of: NDArray[np.int64],
    alive: NDArray[np.bool_] | None,
) -> tuple[Occurrences, list[NDArray[np.int64]]] | None:
    """The occurrences of all fields, and the terms of those of each field that has some.

    None where NumPy has to find them.
    """
    if arithmetic.native is None:  # which could not read what is made for it
        return None
    segments = [
        (weight, name == "content", *fields[name].read_by_kernel(ids))
        for name, weight in weights.items()
    ]
    ends = np.empty(len(segments), dtype=np.int64)
    packed = by_kernel("occurrences", tuple(segments), ids, place_of, alive, ends)
    if packed is NotImplemented:
        return None
    room, count = len(packed) // 40, int(ends[-1])
    columns: list[Any] = [
        np.frombuffer(packed, kind, count, 8 * room * at) if count else np.empty(0, kind)
        for at, kind in enumerate("qqddd")
    ]
    by_field = np.split(columns[0], ends[:-1])
    return Occurrences(*columns), [term for term in by_field if len(term)]


def _weighted(hits: Hits, place_of: NDArray[np.intp], weight: float, content: bool) -> Occurrences:
    zeros = None if content else np.zeros(len(hits.term))
    return Occurrences(
        place_of[hits.term],
        hits.ordinal,
        np.multiply(hits.tf, weight, dtype=np.float64),
        hits.head.astype(np.float64) if zeros is None else zeros,
        hits.tail.astype(np.float64) if zeros is None else zeros,
    )
