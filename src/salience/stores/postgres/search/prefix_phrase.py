"""What postings alone cannot tell: beginnings of words, and words one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from salience.language.analysis_types import QueryAnalysis, Term
from salience.records.fields import LEXICAL
from salience.retrieval.routes import Lexical
from salience.stores.index.words import vocabulary
from salience.stores.index.words.bm25 import WordScores
from salience.stores.index.words.phrases import holds_phrase, phrase_terms
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql import postings
from salience.stores.postgres.wire.commands import Statement, Steps

_PAGE_ROWS = 20_000  # memories whose words are read at once


def expand_prefixes(namespace: str, reading: QueryAnalysis) -> Steps[tuple[Term, ...]]:
    """The terms, with every word that begins so in place of one that ends in a star.

    Postings know a word only by a hash, so this reads the texts of the namespace.
    """
    seen: set[str] = set()
    after = 0
    while True:
        [rows] = yield [
            Statement(
                f'SELECT "row", {", ".join(LEXICAL)} FROM memories WHERE namespace = %s '
                f'AND "row" > %s ORDER BY "row" LIMIT {_PAGE_ROWS}',
                (namespace, after),
            )
        ]
        if not rows:
            break
        after = rows[-1][0]
        for _, *values in rows:
            seen.update(
                w
                for w in vocabulary.words_of(tuple(v) if isinstance(v, list) else v for v in values)
                if w.startswith(reading.prefixes)
            )
    return vocabulary.expand_prefixes(reading, sorted(seen))


def keep_phrases(
    known: NamespaceSnapshot, held: Any, scored: WordScores, route: Lexical, phrases: Sequence[str]
) -> Steps[WordScores]:
    """The scores, zero for memories that do not hold every phrase in one field."""
    for phrase in phrases:
        sequence = phrase_terms(phrase)
        distinct = np.unique(sequence)
        names = [name for name, _ in route.fields]
        [rows] = yield [postings.select_chunks(known.namespace, distinct.tolist(), names)]
        read = postings.parse_chunks(rows)
        having = np.zeros(len(scored.scores), dtype=bool)
        for name in names:
            parts = (*read.get(name, ()), *known.tail.get(name, ()))
            hits = postings.StoredPostings(parts, known.columns[name]).hits(distinct)
            count = np.bincount(hits.ordinal, minlength=len(having))
            candidates = np.flatnonzero((count == len(distinct)) & known.living & ~having) + 1
            [kept] = yield [
                Statement(
                    f'SELECT "row", {name} FROM words WHERE namespace = %s '
                    'AND "row" = ANY(%s::integer[])',
                    (known.namespace, candidates.tolist()),
                )
            ]
            for row, blob in kept:
                having[row - 1] = holds_phrase(sequence, blob)
        scored = replace(scored, scores=np.where(having, scored.scores, 0.0))
    return scored
