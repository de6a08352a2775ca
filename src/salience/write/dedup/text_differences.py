"""Differences between two texts that are alike: number, date, name, negation, word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from salience.language.english import MONTHS, STOP_WORDS, WEEKDAYS
from salience.language.entities import fold_name
from salience.language.tokens import stem, words

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*%?")
_NUMBER_WORDS = frozenset(
    (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy "
        "eighty ninety hundred thousand million first second third fourth fifth twice half dozen"
    ).split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NEGATIONS = frozenset(
    (
        "no not never none nobody nothing neither nor cannot without hardly stopped quit former "
        "formerly nicht kein keine nie ohne pas jamais sans nunca niet geen ikke inte"
    ).split()
)


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that are no stop words."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def has_replaced_words(stems: Iterable[frozenset[str]]) -> bool:
    """Test whether two texts have words that the other lacks, by the stems of each.

    Then one thing was put in the place of another; a text that only says more differs in no word.
    """
    by_size = sorted(set(stems), key=len)
    return any(not few <= many for few, many in pairwise(by_size))


def unshared_words(texts: Sequence[str]) -> list[str]:
    """The content words, sorted, that some of the texts have and others do not."""
    word_of = [
        {stem(word): word for word in words(text) if word not in STOP_WORDS} for text in texts
    ]
    shared = frozenset.intersection(*map(frozenset, word_of))
    return sorted({by_stem[each] for by_stem in word_of for each in by_stem.keys() - shared})


def differences(
    one: str, other: str, names: Iterable[str] = (), other_names: Iterable[str] = ()
) -> tuple[str, ...]:
    """The kinds in which two texts differ, of number, date, name and negation; () if in none.

    Numbers are compared as written, in digits or words, dates as names of months and weekdays,
    names as the entities given, without regard to case, and negations by how many there are.
    """
    words_of = [
        [word.casefold().replace("’", "'") for word in _WORD.findall(text)] for text in (one, other)
    ]
    numbers = [
        sorted([*_NUMBER.findall(text), *(word for word in words if word in _NUMBER_WORDS)])
        for text, words in zip((one, other), words_of, strict=True)
    ]
    dates = [{word for word in words if word in MONTHS or word in WEEKDAYS} for words in words_of]
    entities = [{fold_name(name) for name in group} for group in (names, other_names)]
    negations = [sum(map(_negates, words)) for words in words_of]
    equal = {
        "number": numbers[0] == numbers[1],
        "date": dates[0] == dates[1],
        "name": entities[0] == entities[1],
        "negation": negations[0] == negations[1],
    }
    return tuple(kind for kind, is_equal in equal.items() if not is_equal)


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
