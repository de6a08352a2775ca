"""The words of a namespace as strings, and the prefixes of a query expanded to them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice

from salience.language.analysis_types import QueryAnalysis, Term
from salience.language.tokens import indexed_words, stem
from salience.records.fields import LEXICAL
from salience.stores.index.change_feed import ChangeFeed

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
