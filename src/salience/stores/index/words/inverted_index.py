"""The words of a namespace: postings of every field, phrases, and beginnings of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import QueryAnalysis, Term, Wording
from salience.language.tokens import term_id, term_ids
from salience.records.fields import LEXICAL
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.routes import Lexical
from salience.stores.index.change_feed import ChangeFeed
from salience.stores.index.session_order import SessionOrder
from salience.stores.index.words.bm25 import Lengths, WordScores, bm25
from salience.stores.index.words.phrases import holds_phrase, phrase_terms
from salience.stores.index.words.postings import Postings
from salience.stores.index.words.ts_rank import ts_rank
from salience.stores.index.words.vocabulary import Vocabulary

Alive = NDArray[np.bool_]
Ordinals = NDArray[np.int64]


class InvertedIndex:
    """Which memories hold which words; arrays are by ordinal."""

    def __init__(self, source: ChangeFeed, namespace: str) -> None:
        self._source = source
        self._namespace = namespace
        self._postings = {name: Postings() for name in LEXICAL}
        self._vocabulary: Vocabulary | None = None
        self._lengths: dict[tuple[str, ...], Lengths] = {}
        self._last: tuple[Any, WordScores] | None = None

    def extend(self, tokens: Mapping[str, Sequence[bytes | None]]) -> None:
        """Append memories, each as the bytes of its terms by field."""
        for name, blobs in tokens.items():
            self._postings[name].extend(blobs)

    def changed(self, added: Sequence[int], removed: bool) -> None:
        """Forget what was worked out for other memories than there are now."""
        self._last = None
        self._lengths = {}
        if removed:
            self._vocabulary = None
        elif added and self._vocabulary is not None:
            self._vocabulary.take_in(added)

    def known(self, words: Sequence[str], alive: Alive) -> NDArray[np.bool_]:
        """Which of some words occur in the content of a living memory."""
        return self._postings["content"].known(term_ids(words), alive)

    def mentions(self, wordings: Sequence[Wording], ordinals: Ordinals, size: int) -> Floats:
        """Whether the content of each of some memories holds a wording (see `mentions`)."""
        return mentions(self._postings["content"], wordings, ordinals, size)

    def scores(
        self,
        route: Lexical,
        reading: QueryAnalysis,
        rows: Rows,
        alive: Alive,
        sessions: SessionOrder,
    ) -> WordScores:
        """The route's score of every memory; the last answer is kept."""
        key = (route, reading.terms, reading.phrases, reading.prefixes)
        if self._last is None or self._last[0] != key:
            wanted = self._expanded(reading) if route.operators else reading.terms
            lengths = self._lengths_over(route, alive)
            neighbours = (sessions.previous, sessions.next)
            measure = MEASURES[route.measure]
            found = measure(self._postings, route, wanted, lengths, alive, neighbours)
            if route.operators:
                for phrase in reading.phrases:
                    having = self._saying(phrase, route, rows)
                    found = replace(found, scores=np.where(having, found.scores, 0.0))
            self._last = (key, found)
        return self._last[1]

    def _lengths_over(self, route: Lexical, alive: Alive) -> Lengths:
        names = tuple(name for name, _ in route.fields if name in self._postings)
        if names not in self._lengths:
            self._lengths[names] = Lengths.over([self._postings[name] for name in names], alive)
        return self._lengths[names]

    def _expanded(self, reading: QueryAnalysis) -> tuple[Term, ...]:
        """The terms, with every word that begins so in place of one that ends in a star."""
        if not reading.prefixes:
            return reading.terms
        if self._vocabulary is None:
            self._vocabulary = Vocabulary(self._source, self._namespace)
            self._vocabulary.take_in(None)
        return self._vocabulary.expanded(reading)

    def _saying(self, phrase: str, route: Lexical, rows: Rows) -> Alive:
        """Which memories hold the words of a phrase one after the other in one field."""
        sequence = phrase_terms(phrase)
        distinct = np.unique(sequence)
        found = np.zeros(len(rows), dtype=bool)
        for name, _ in route.fields:
            hits = self._postings[name].hits(distinct)
            having = np.bincount(hits.ordinal, minlength=len(rows)) == len(distinct)
            candidates = rows[np.flatnonzero(having & ~found)]
            for chunk in self._source.load(
                self._namespace, (f"terms.{name}",), candidates.tolist()
            ):
                holding = [holds_phrase(sequence, b) for b in chunk[f"terms.{name}"]]
                at = np.searchsorted(rows, np.array(chunk["row"], dtype=np.int64))
                found[at] |= np.array(holding, dtype=bool)
        return found

    @property
    def nbytes(self) -> int:
        words = 0 if self._vocabulary is None else self._vocabulary.nbytes
        return words + sum(postings.nbytes for postings in self._postings.values())


def mentions(
    postings: Postings, wordings: Sequence[Wording], ordinals: Ordinals, size: int
) -> Floats:
    """Whether each of some memories holds all words of a wording, as 1 or 0.

    There are `size` memories; an ordinal of -1 or `size` is of none, and holds nothing.
    """
    found = np.zeros(len(ordinals), dtype=bool)
    for wording in wordings:
        having = np.zeros(size + 1, dtype=np.uint8)  # how many of its words each memory holds
        for word in wording:
            having[postings.holders(np.array([*map(term_id, word)], dtype=np.uint64))] += 1
        found |= having[ordinals] == len(wording)
    return found.astype(np.float64)


MEASURES = {"bm25": bm25, "ts_rank": ts_rank}
"""By the name that `Lexical.measure` has; each gives the score of every memory, by ordinal."""
