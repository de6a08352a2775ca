"""The words of a namespace as strings, for questions that ask for words by their beginning."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice

from salience.language.analysis_types import QueryAnalysis, Term
from salience.language.tokens import indexed_words, stem
from salience.records.fields import LEXICAL
from salience.stores.index.change_feed import ChangeFeed

_PREFIX_MAX_WORDS = 2_000  # words that one beginning stands for
_LAST_CHARACTER = "\U0010ffff"


class Vocabulary:
    """The distinct words of all lexical fields, in order.

    Postings know a word only by a hash, so this is made from the texts when it is first asked for.
    """

    def __init__(self, source: ChangeFeed, namespace: str) -> None:
        self._source = source
        self._namespace = namespace
        self._seen: set[str] = set()
        self._words: list[str] = []

    def take_in(self, rows: Sequence[int] | None) -> None:
        """Add the words of some memories (all for None)."""
        for chunk in self._source.load(self._namespace, LEXICAL, rows):
            for name in LEXICAL:
                self._seen.update(words_of(chunk[name]))
        self._words = sorted(self._seen)

    def expanded(self, reading: QueryAnalysis) -> tuple[Term, ...]:
        """The terms of a question, with the words that begin so for one that ends in a star."""
        return expand_prefixes(reading, self._words)

    @property
    def nbytes(self) -> int:
        return 150 * len(self._seen)


def expand_prefixes(reading: QueryAnalysis, known: Sequence[str]) -> tuple[Term, ...]:
    """The terms of a question, with those of some sorted words that begin so for starred ones.

    A starred word that is a form of an irregular one keeps the other forms: "found*" means "find",
    too.
    """
    forms: dict[str, Term] = {}
    for prefix in reading.prefixes:
        found = map(stem, _words_beginning(known, prefix))
        forms[stem(prefix)] = (*forms.get(stem(prefix), ()), *found)
    return tuple(
        tuple(dict.fromkeys(form for own in term for form in forms.get(own) or (own,)))
        for term in reading.terms
    )


def _words_beginning(known: Sequence[str], prefix: str) -> list[str]:
    first = bisect_left(known, prefix)
    last = bisect_right(known, prefix + _LAST_CHARACTER)
    return list(islice(known, first, min(last, first + _PREFIX_MAX_WORDS)))


def words_of(values: Iterable[str | tuple[str, ...] | None]) -> Iterable[str]:
    """The words of texts, and of lists of texts."""
    for value in values:
        if value:
            yield from indexed_words(value if isinstance(value, str) else " ".join(value))
