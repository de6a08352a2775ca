"""BM25 of passages, and the scores of long memories by the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from salience.language.analysis_types import Term
from salience.language.passages import LONGEST_PASSAGE
from salience.retrieval.candidates import Floats
from salience.retrieval.routes import Lexical
from salience.stores.index.words.bm25 import Lengths, WordScores, find_occurrences, saturated
from salience.stores.index.words.passage_table import PassageTable


def with_passages(
    scored: WordScores,
    route: Lexical,
    terms: Sequence[Term],
    lengths: Lengths,
    passages: PassageTable,
) -> WordScores:
    """The scores, a long memory's own words counting as those of its best passage if that is more.

    What the turns around it add stays as it is.
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
    found = find_occurrences({"passages": postings}, {"passages": 1.0}, terms, None)
    length = postings.lengths[found.ordinal] / LONGEST_PASSAGE
    gains = saturated(route, idf[found.term], found.tf, length)
    return np.bincount(found.ordinal, gains, len(passages)).astype(np.float64, copy=False)


def _own_scores(scored: WordScores, route: Lexical, lengths: Lengths) -> Floats:
    """BM25 of each memory without what the turns around it add."""
    found, mean = scored.occurrences, lengths.mean(route.passages)
    length = lengths.words[found.ordinal] / mean if mean else np.zeros(len(found.ordinal))
    gains = saturated(route, scored.idf[found.term], found.tf, length)
    return np.bincount(found.ordinal, gains, len(scored.scores)).astype(np.float64, copy=False)
