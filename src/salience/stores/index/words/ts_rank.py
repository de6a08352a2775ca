"""ts_rank, PostgreSQL's own relevance, over the postings of a namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import Term
from salience.retrieval.routes import Lexical
from salience.stores.index.words.bm25 import (
    Lengths,
    WordScores,
    find_occurrences,
    inverse_document_frequencies,
)
from salience.stores.index.words.postings import Postings

_MAX_POSITIONS = 255  # of a word in a tsvector
_INVERSE_SQUARE_SUMS = np.concatenate(
    [[0.0], np.cumsum(1.0 / np.arange(1, _MAX_POSITIONS + 1) ** 2)]
)
_INVERSE_SQUARE_LIMIT = 1.64493406685
"""The limit of these sums, pi^2 / 6, with as many digits as PostgreSQL's source has."""


def ts_rank(
    fields: Mapping[str, Postings],
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    alive: NDArray[np.bool_],
    neighbors: tuple[NDArray[np.int32], NDArray[np.int32]],
    term_weights: Sequence[float] = (),
) -> WordScores:
    """ts_rank as `Lexical` defines it, over the memories alive.

    It ignores `neighbors` and `term_weights`.
    """
    weights = {name: weight for name, weight in route.fields if name in fields}
    size, living = len(alive), alive if lengths.living < len(alive) else None
    occurrences = find_occurrences(fields, weights, terms, living)
    idf = inverse_document_frequencies(occurrences, terms, lengths)
    if not len(occurrences.term):
        return WordScores(np.zeros(size), occurrences, idf)
    parts = [find_occurrences(fields, {name: 1.0}, terms, living) for name in weights]
    # One place for each memory and term, over all fields.
    pairs = np.concatenate([part.ordinal * len(terms) + part.term for part in parts])
    pair, places = np.unique(pairs, return_inverse=True)
    counted = np.zeros(len(pair), dtype=np.intp)  # occurrences in the fields so far
    total, top = np.zeros(len(pair)), np.zeros(len(pair))
    first = np.zeros(len(pair), dtype=np.intp)  # occurrences before the field of most weight
    ends = np.cumsum([len(part.term) for part in parts])
    for part, weight, here in zip(
        parts, weights.values(), np.split(places, ends[:-1]), strict=True
    ):
        before = counted[here]
        after = np.minimum(before + part.tf.astype(np.intp), _MAX_POSITIONS)
        total[here] += weight * (_INVERSE_SQUARE_SUMS[after] - _INVERSE_SQUARE_SUMS[before])
        heavier = (weight > top[here]) & (after > before)
        top[here[heavier]] = weight
        first[here[heavier]] = before[heavier]
        counted[here] = after
    gained = (total + top - top / (first + 1.0) ** 2) / _INVERSE_SQUARE_LIMIT
    scores = np.bincount(pair // len(terms), gained, size) / len(terms)
    return WordScores(scores, occurrences, idf)
