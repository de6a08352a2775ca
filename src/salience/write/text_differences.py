"""Differences between two texts that are alike: number, date, name, negation, word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from salience.language.english import MONTHS, STOP, WEEKDAYS
from salience.language.entities import fold_name
from salience.language.tokens import stem, words


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words of a text that mean something by themselves."""
    return frozenset(stem(word) for word in words(text) if word not in STOP)


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


def differences(
    one: str, other: str, names: Iterable[str] = (), other_names: Iterable[str] = ()
) -> tuple[str, ...]:
    """Which of number, date, name and negation two texts do not share; () if they do.

    Numbers are compared as written, in digits or words, dates are names of months and weekdays,
    names the entities given, without regard to case. Of negations it is compared how many there
    are.
    """
    words = [[word.casefold().replace("’", "'") for word in _WORD.findall(t)] for t in (one, other)]
    numbers = [
        sorted([*_NUMBER.findall(text), *(word for word in said if word in _NUMBER_WORDS)])
        for text, said in zip((one, other), words, strict=True)
    ]
    dates = [{word for word in said if word in MONTHS or word in WEEKDAYS} for said in words]
    named = [{fold_name(name) for name in each} for each in (names, other_names)]
    negated = [sum(map(_negates, said)) for said in words]
    same = {
        "number": numbers[0] == numbers[1],
        "date": dates[0] == dates[1],
        "name": named[0] == named[1],
        "negation": negated[0] == negated[1],
    }
    return tuple(what for what, alike in same.items() if not alike)


def _negates(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
