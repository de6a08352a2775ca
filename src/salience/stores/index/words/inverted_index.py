"""The inverted index of a namespace: which memories hold which words."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.language.analysis_types import QueryAnalysis, Term, Wording
from salience.language.tokens import indexed_words, stem, stem_ids, term_ids, term_ids_once, terms
from salience.records.fields import LEXICAL
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.routes import Lexical
from salience.stores.index.change_feed import ChangeFeed
from salience.stores.index.growable_array import GrowableArray
from salience.stores.index.session_order import SessionOrder
from salience.stores.index.snapshot import Part
from salience.stores.index.words.bm25 import (
    Lengths,
    Occurrences,
    WholeNamespace,
    WordScores,
    bm25,
    documents,
    holders,
    weighed_occurrences,
    words_over,
)
from salience.stores.index.words.passages import PassageTable, with_passages
from salience.stores.index.words.postings import Hits, Postings
from salience.stores.index.words.ts_rank import ts_rank

_PREFIX_MAX_WORDS = 2_000  # words that one prefix stands for
_LAST_CHARACTER = "\U0010ffff"


class Vocabulary:
    """The distinct words of all lexical fields, in order.

    Postings know a word only by a hash, so this is made from the texts when it is first asked for.
    """

    def __init__(self, feed: ChangeFeed, namespace: str) -> None:
        self._feed = feed
        self._namespace = namespace
        self._distinct: set[str] = set()
        self._words: list[str] = []  # in order

    def add(self, rows: Sequence[int] | None) -> None:
        """Add the words of some memories (all for None)."""
        for chunk in self._feed.load(self._namespace, LEXICAL, rows):
            for name in LEXICAL:
                self._distinct.update(words_of(chunk[name]))
        self._words = sorted(self._distinct)

    def expanded(self, reading: QueryAnalysis) -> tuple[Term, ...]:
        """The terms of a query, each prefix replaced by the words that begin with it."""
        return expand_prefixes(reading, self._words)

    @property
    def nbytes(self) -> int:
        return 150 * len(self._distinct)


def expand_prefixes(reading: QueryAnalysis, words: Sequence[str]) -> tuple[Term, ...]:
    """The terms of a query, each prefix ("term*") replaced by the `words` that begin with it.

    `words` are sorted. A prefix that is itself a form of an irregular word keeps its other forms:
    "found*" also means "find".
    """
    forms: dict[str, Term] = {}
    for prefix in reading.prefixes:
        stems = map(stem, _words_beginning(words, prefix))
        forms[stem(prefix)] = (*forms.get(stem(prefix), ()), *stems)
    return tuple(
        tuple(dict.fromkeys(form for own in term for form in forms.get(own) or (own,)))
        for term in reading.terms
    )


def _words_beginning(words: Sequence[str], prefix: str) -> list[str]:
    first = bisect_left(words, prefix)
    last = bisect_right(words, prefix + _LAST_CHARACTER)
    return list(islice(words, first, min(last, first + _PREFIX_MAX_WORDS)))


def words_of(values: Iterable[str | tuple[str, ...] | None]) -> Iterable[str]:
    """The indexed words of texts and of lists of texts."""
    for value in values:
        if value:
            yield from indexed_words(value if isinstance(value, str) else " ".join(value))


def holds_all_terms(hits: Hits, phrase: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    """True for each of `size` memories that holds every term of a phrase, in any order.

    `hits` are those of one field for the distinct terms.
    """
    return np.bincount(hits.ordinal, minlength=size) == len(np.unique(phrase))


def holds_phrase(phrase: NDArray[np.uint64], field: bytes | None) -> bool:
    """Test whether the terms of a phrase occur one after the other among those of a field.

    `field` holds the terms of a text in its order, eight bytes each.
    """
    if not field:
        return False
    wanted = phrase.tobytes()
    at = field.find(wanted)
    while at >= 0 and at % 8:
        at = field.find(wanted, at + 1)
    return at >= 0


Alive = NDArray[np.bool_]
Ordinals = NDArray[np.int64]


class InvertedIndex(Part):
    """The postings of every field of words; arrays are by ordinal."""

    SAVED = ("_postings",)

    def __init__(self, feed: ChangeFeed, namespace: str) -> None:
        self._feed = feed
        self._namespace = namespace
        self._postings = {name: Postings() for name in LEXICAL}
        self._vocabulary: Vocabulary | None = None
        self._unread: list[int] = []  # rows whose words are not in the vocabulary yet
        self._lengths: dict[tuple[str, ...], _GrowingLengths] = {}
        self._last_scores: tuple[Any, WordScores] | None = None
        self.whole: WholeNamespace | None = None  # of which these are some memories

    def extend(self, tokens: Mapping[str, Sequence[bytes | None]]) -> None:
        """Append memories, each as the bytes of its terms by field."""
        for name, blobs in tokens.items():
            self._postings[name].extend(blobs)

    def only(self, alive: Alive) -> InvertedIndex:
        """The index of the living memories, by the ordinals that these have alone."""
        index = InvertedIndex(self._feed, self._namespace)
        index._postings = {name: postings.only(alive) for name, postings in self._postings.items()}
        return index

    def changed(self, added: Sequence[int], removed: Ordinals, alive: Alive) -> None:
        """Bring up to date what was worked out for other memories than there are now.

        Takes the new rows, and the ordinals of the memories that are gone.
        """
        self._last_scores = None
        for lengths in self._lengths.values():
            lengths.change(removed, len(alive))
        if len(removed):
            self._vocabulary = None
        elif self._vocabulary is not None:
            self._unread += added

    def occur(
        self, words: Sequence[str], alive: Alive, fields: Sequence[str] = ("content",)
    ) -> NDArray[np.bool_]:
        """True for each word that occurs in one of some fields of a living memory."""
        ids = term_ids(words)
        return np.logical_or.reduce([self._postings[name].occur(ids, alive) for name in fields])

    def holders(self, words: Sequence[str], fields: Sequence[str], alive: Alive) -> list[Ordinals]:
        """The memories alive that hold each word in one of some fields, ascending."""
        return holders([self._postings[name] for name in fields], term_ids_once(words), alive)

    def mentions(self, wordings: Sequence[Wording], ordinals: Ordinals, size: int) -> Floats:
        """1 for each memory whose content holds a wording, else 0 (see `mentions`)."""
        return mentions(self._postings["content"], wordings, ordinals, size)

    def scores(
        self,
        route: Lexical,
        reading: QueryAnalysis,
        rows: Rows,
        alive: Alive,
        sessions: SessionOrder,
        passages: PassageTable,
    ) -> WordScores:
        """The route's score of every memory; the last answer is kept."""
        key = _words_asked(route, reading)
        if self._last_scores is None or self._last_scores[0] != key:
            terms = self._terms(route, reading)
            lengths = self._lengths_over(route, alive)
            neighbors = (sessions.previous, sessions.next)
            measure = MEASURES[route.measure]
            scored = measure(
                self._postings, route, terms, lengths, alive, neighbors, reading.weights
            )
            if route.passages:
                scored = with_passages(scored, route, terms, lengths, passages)
            if route.operators:
                for phrase in reading.phrases:
                    has_phrase = self._with_phrase(phrase, route, rows)
                    scored = replace(scored, scores=np.where(has_phrase, scored.scores, 0.0))
            self._last_scores = (key, scored)
        return self._last_scores[1]

    def occurrences(
        self, route: Lexical, reading: QueryAnalysis, alive: Alive
    ) -> tuple[Occurrences, Floats]:
        """The occurrences of the terms of a query behind the BM25 of a route, and each one's idf.

        Those behind the last scores are at hand; others are found without scoring a memory.
        """
        if self._last_scores is not None and self._last_scores[0] == _words_asked(route, reading):
            scored = self._last_scores[1]
            return scored.occurrences, scored.idf
        terms, lengths = self._terms(route, reading), self._lengths_over(route, alive)
        weights = reading.weights if route.measure == "bm25" else ()
        return weighed_occurrences(self._postings, route, terms, lengths, alive, weights)

    def _lengths_over(self, route: Lexical, alive: Alive) -> Lengths:
        names = tuple([name for name, _ in route.fields if name in self._postings])
        if names not in self._lengths:
            self._lengths[names] = _GrowingLengths([self._postings[name] for name in names], alive)
        lengths, whole = self._lengths[names].lengths, self.whole
        if whole is None:
            return lengths
        scale = whole.living / max(1, len(alive))  # where nothing better is known
        words = sum(whole.words.get(name, 0) for name in names)
        return replace(
            lengths,
            total=words or int(lengths.total * scale),
            living=whole.living,
            documents=whole.documents or int(lengths.documents * scale),
            frequencies=whole.frequencies if "content" in names else None,
        )

    def _terms(self, route: Lexical, reading: QueryAnalysis) -> tuple[Term, ...]:
        """The terms; on a route with operators, each prefix replaced by the words that begin so."""
        if not route.operators or not reading.prefixes:
            return reading.terms
        vocabulary = self._vocabulary
        if vocabulary is None:
            vocabulary = Vocabulary(self._feed, self._namespace)
            vocabulary.add(None)
        elif self._unread:
            vocabulary.add(self._unread)
        self._vocabulary, self._unread = vocabulary, []
        return vocabulary.expanded(reading)

    def _with_phrase(self, phrase: str, route: Lexical, rows: Rows) -> NDArray[np.bool_]:
        """True for each memory that holds the words of a phrase in order in one field."""
        sequence = stem_ids(terms(phrase))
        distinct = np.unique(sequence)
        has_phrase = np.zeros(len(rows), dtype=bool)
        for name, _ in route.fields:
            hits = self._postings[name].hits(distinct)
            candidates = rows[holds_all_terms(hits, sequence, len(rows)) & ~has_phrase]
            for chunk in self._feed.load(self._namespace, (f"terms.{name}",), candidates.tolist()):
                matches = [holds_phrase(sequence, b) for b in chunk[f"terms.{name}"]]
                ordinals = np.searchsorted(rows, np.array(chunk["row"], dtype=np.int64))
                has_phrase[ordinals] |= np.array(matches, dtype=bool)
        return has_phrase

    @property
    def nbytes(self) -> int:
        words = 0 if self._vocabulary is None else self._vocabulary.nbytes
        words += sum(lengths.nbytes for lengths in self._lengths.values())
        return words + sum(postings.nbytes for postings in self._postings.values())


class _GrowingLengths:
    """The words of each memory over some fields, kept up as memories come and go."""

    def __init__(self, fields: Sequence[Postings], alive: Alive) -> None:
        self._fields = fields
        lengths = Lengths.over(fields, alive)
        self._words = GrowableArray(np.int64)
        self._words.extend(lengths.words)
        self.lengths = replace(lengths, words=self._words.view)

    def change(self, removed: Ordinals, size: int) -> None:
        """Append memories up to `size`, and count those removed no more."""
        new = words_over(self._fields, len(self._words), size)
        self._words.extend(new)
        words = self._words.view
        gone = words[removed]
        self.lengths = Lengths(
            words,
            self.lengths.total + int(new.sum()) - int(gone.sum()),
            self.lengths.living + len(new) - len(removed),
            self.lengths.documents + documents(new) - documents(gone),
        )

    @property
    def nbytes(self) -> int:
        return self._words.nbytes


def mentions(
    postings: Postings, wordings: Sequence[Wording], ordinals: Ordinals, size: int
) -> Floats:
    """1 for each of some memories that holds all words of a wording, else 0.

    There are `size` memories; an ordinal of -1 or `size` is none of them, and gets 0.
    """
    mentioned = np.zeros(len(ordinals), dtype=bool)
    for wording in wordings:
        words_held = np.zeros(size + 1, dtype=np.uint8)  # words of the wording in each memory
        for word in wording:
            words_held[postings.holders(stem_ids(word))] += 1
        mentioned |= words_held[ordinals] == len(wording)
    return mentioned.astype(np.float64)


def _words_asked(route: Lexical, reading: QueryAnalysis) -> tuple[Any, ...]:
    """All that the scores of a route depend on in a query."""
    return route, reading.terms, reading.weights, reading.phrases, reading.prefixes


MEASURES = {"bm25": bm25, "ts_rank": ts_rank}
"""The formulas that `Lexical.measure` names; each scores every memory, by ordinal."""
