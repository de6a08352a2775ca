"""Words: BM25 and ts_rank over the postings of the terms of a query.

The scores are those of `salience.stores.index.words.inverted_index`. Postings alone tell neither
prefixes nor phrases; both read more of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from salience.language.analysis_types import QueryAnalysis, Term, Wording
from salience.language.tokens import term_id
from salience.records.fields import LEXICAL
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical
from salience.stores.index.words import vocabulary
from salience.stores.index.words.bm25 import WordScores
from salience.stores.index.words.inverted_index import MEASURES
from salience.stores.index.words.passage_table import PassageTable
from salience.stores.index.words.passages import with_passages
from salience.stores.index.words.phrases import holds_all_terms, holds_phrase, phrase_terms
from salience.stores.index.words.postings import Segment
from salience.stores.postgres.search.route_search import RouteSearch, SearchContext
from salience.stores.postgres.search.snapshot import NamespaceSnapshot
from salience.stores.postgres.sql.filters import parse_mask, select_mask
from salience.stores.postgres.sql.passages import select_passages
from salience.stores.postgres.sql.postings import StoredPostings, parse_chunks, select_chunks
from salience.stores.postgres.wire.commands import Statement, Steps

_READ_TOGETHER = frozenset({"content", "title", "entities", "tags"})
"""The fields whose words are read in one go."""
_PAGE_ROWS = 20_000  # memories whose words are read at once
_Segments = Mapping[str, Sequence[Segment]]


class LexicalSearch(RouteSearch[Lexical]):
    """BM25 or ts_rank of every memory of the namespace."""

    def search(
        self,
        context: SearchContext,
        namespace: str,
        route: Lexical,
        query: Query,
        depth: int | None,
    ) -> Steps[tuple[Rows, Floats]]:
        """See `RouteSearch.search`."""
        selects = select_mask(namespace, query.where)
        scored, answers = yield from word_scores(context, namespace, route, query, selects)
        dense = scored.scores
        allowed = parse_mask(query.where, answers, len(dense))
        candidates = dense > 0.0
        if allowed is not None:
            candidates &= allowed
        ordinals = np.flatnonzero(candidates)
        scores = dense[ordinals]
        if depth is not None and len(scores) > depth:
            bound = np.partition(scores, len(scores) - depth)[len(scores) - depth]
            ordinals, scores = ordinals[scores >= bound], scores[scores >= bound]
        return context.row_ids.encode(namespace, ordinals + 1), scores

    def score(
        self, context: SearchContext, namespace: str, route: Lexical, query: Query, rows: Rows
    ) -> Steps[Floats]:
        """See `RouteSearch.score`."""
        scored, _ = yield from word_scores(context, namespace, route, query)
        snapshot = context.cache.snapshots[namespace]
        scores = np.full(len(rows), np.nan)
        known = rows <= snapshot.counter  # not those of a namespace that was erased meanwhile
        ordinals = rows[known] - 1
        scores[known] = np.where(snapshot.living[ordinals], scored.scores[ordinals], np.nan)
        return scores

    def reads_previous(self, route: Lexical) -> bool:
        """See `RouteSearch.reads_previous`."""
        return bool(route.before)


def word_scores(
    context: SearchContext,
    namespace: str,
    route: Lexical,
    query: Query,
    statements: Sequence[Statement] = (),
) -> Steps[tuple[WordScores, list[Any]]]:
    """The score of every memory, computed once a search, and the answers to other statements.

    The statements go into the same round trip as the postings.
    """
    cache, reading = context.cache, query.reading
    words = (reading.terms, reading.weights, reading.phrases, reading.prefixes)
    key = (namespace, (route, *words))
    if key in cache.word_scores and not statements:
        return cache.word_scores[key], []
    latest = context.snapshot(namespace)
    terms = reading.terms
    if route.operators and reading.prefixes:
        terms = yield from _expand_prefixes(namespace, reading)
    ids = [*_term_ids(terms), *chain.from_iterable(map(wording_ids, reading.wordings.values()))]
    own = {name for name, _ in route.fields if name in LEXICAL}
    answers: list[Any] = []
    if own <= _READ_TOGETHER and cache.segment_terms.get(namespace) == (*ids,) and not statements:
        snapshot, segments = latest, cache.segments[namespace]
    else:
        # What the ranking will ask of the labels costs no round trip if it comes along.
        fields = tuple(sorted(own | _READ_TOGETHER))
        delta, chunks, *answers = yield [
            latest.delta_query(),
            select_chunks(namespace, ids, fields),
            *statements,
        ]
        snapshot = context.advance(latest, delta)
        cache.segments[namespace] = segments = parse_chunks(chunks)
        cache.segment_terms[namespace] = (*ids,)
    if key not in cache.word_scores:
        scored = _score(snapshot, segments, route, terms, reading.weights)
        if route.passages:
            scored = yield from _with_passages(snapshot, scored, route, terms)
        if route.operators and reading.phrases:
            scored = yield from _require_phrases(snapshot, segments, scored, route, reading.phrases)
        cache.word_scores[key] = scored
    return cache.word_scores[key], answers


def _score(
    snapshot: NamespaceSnapshot,
    segments: _Segments,
    route: Lexical,
    terms: Sequence[Term],
    weights: Sequence[float],
) -> WordScores:
    """The relevance of every memory of a namespace."""
    postings = snapshot.postings(segments)
    fields = tuple(name for name, _ in route.fields if name in postings)
    lengths = snapshot.lengths(fields)
    measure = MEASURES[route.measure]
    living, neighbors = snapshot.living, snapshot.neighbors
    return measure(postings, route, terms, lengths, living, neighbors, weights)


def _with_passages(
    snapshot: NamespaceSnapshot, scored: WordScores, route: Lexical, terms: Sequence[Term]
) -> Steps[WordScores]:
    """The scores by the best passages of the long memories that hold a term, which are read."""
    long = snapshot.long_rows(scored.occurrences.ordinal + 1)
    passages = yield from read_passages(snapshot.namespace, long.tolist())
    fields = tuple(name for name, _ in route.fields if name in LEXICAL)
    return with_passages(scored, route, terms, snapshot.lengths(fields), passages)


def read_passages(namespace: str, rows: Sequence[int]) -> Steps[PassageTable]:
    """The passages of rows, whose ordinals are the rows less one."""
    passages = PassageTable()
    if rows:
        [read] = yield [select_passages(namespace, rows)]
        passages.extend([(row - 1, borders, terms) for row, borders, terms in read])
    return passages


def _term_ids(terms: Iterable[Term]) -> list[int]:
    return [term_id(form) for term in terms for form in term]


def wording_ids(wordings: Iterable[Wording]) -> list[int]:
    """The ids of the terms of all words of some wordings."""
    return _term_ids(chain.from_iterable(wordings))


def _expand_prefixes(namespace: str, reading: QueryAnalysis) -> Steps[tuple[Term, ...]]:
    """The terms of a query, with all words that begin so for one that ends in a star.

    Postings have only a hash of each word, so this reads the texts of the namespace.
    """
    words: set[str] = set()
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
            return vocabulary.expand_prefixes(reading, sorted(words))
        after = rows[-1][0]
        for _, *values in rows:
            texts = (tuple(value) if isinstance(value, list) else value for value in values)
            words.update(
                word for word in vocabulary.words_of(texts) if word.startswith(reading.prefixes)
            )


def _require_phrases(
    snapshot: NamespaceSnapshot,
    segments: _Segments,
    scored: WordScores,
    route: Lexical,
    phrases: Sequence[str],
) -> Steps[WordScores]:
    """The scores, 0 for memories that do not hold every phrase in one field."""
    for phrase in phrases:
        sequence = phrase_terms(phrase)
        distinct = np.unique(sequence)
        fields = [name for name, _ in route.fields]
        [chunks] = yield [select_chunks(snapshot.namespace, distinct.tolist(), fields)]
        read = parse_chunks(chunks)
        has_phrase = np.zeros(len(scored.scores), dtype=bool)
        for name in fields:
            parts = (*read.get(name, ()), *snapshot.tail.get(name, ()))
            hits = StoredPostings(parts, snapshot.columns[name]).hits(distinct)
            candidates = holds_all_terms(hits, sequence, len(has_phrase))
            candidates &= snapshot.living & ~has_phrase
            [rows] = yield [
                Statement(
                    f'SELECT "row", {name} FROM words WHERE namespace = %s '
                    'AND "row" = ANY(%s::integer[])',
                    (snapshot.namespace, (np.flatnonzero(candidates) + 1).tolist()),
                )
            ]
            for row, words in rows:
                has_phrase[row - 1] = holds_phrase(sequence, words)
        scored = replace(scored, scores=np.where(has_phrase, scored.scores, 0.0))
    return scored
