"""The dates and times of a question in any language, in English words.

So "vor drei Tagen" and "il y a 3 jours" become "3 day ago", and one grammar reads them all. The
other words of the text stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import NamedTuple

from salience.language.cues import read_table
from salience.language.tokens import words
from salience.lazily import regex

# Words for dates and times in other languages than English, by the English words for them

MONTH_NAMES = (
    "january february march april may june july august september october november december".split()
)
WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday".split()


class Vocabulary(NamedTuple):
    """The words of one language; `is_spaced` where they are written apart.

    `marks` tell the language of a text, as do its months and days of the week.
    """

    months: str
    weekdays: str
    numbers: str
    phrases: str
    marks: str = ""
    is_spaced: bool = True


_CODES = ("de", "nl", "fr", "it", "es", "pt", "ru", "zh", "ja", "ko")
_WITHOUT_BLANKS = ("zh", "ja", "ko")


def _vocabulary(code: str) -> Vocabulary:
    table = read_table(code)
    months, weekdays, numbers, marks = (
        " ".join(table[name].lines) if name in table else ""
        for name in ("months", "weekdays", "numbers", "date_marks")
    )
    phrases = "\n".join(table["phrases"].lines)
    return Vocabulary(months, weekdays, numbers, phrases, marks, code not in _WITHOUT_BLANKS)


VOCABULARIES: Mapping[str, Vocabulary] = {code: _vocabulary(code) for code in _CODES}
"""The vocabularies by the codes of their languages."""


_UNIT = r"(?:day|weekend|week|month|year|hour)"
_TURNED = rf"(?:{'|'.join((*MONTH_NAMES, *WEEKDAY_NAMES))}|(?:\d+ )?{_UNIT})"
_ORDERED = tuple(
    (regex(pattern), replacement)
    for pattern, replacement in (
        (rf"\b(?:ago|before) (\d+) ({_UNIT})\b(?! ago)", r"\1 \2 ago"),
        (rf"\b(\d+) (last|next) ({_UNIT})\b", r"\2 \1 \3"),
        (rf"\b({_TURNED}) (last|next)\b(?! {_TURNED})", r"\2 \1"),
    )
)
"""Words in the order of other languages, and in the order of English."""
_REFERENCE = regex(r"(month)?\\(\d)")
_HAN_NUMBER = regex("[一二三四五六七八九十]{1,3}(?=[月日号])")
_HAN_DIGITS = {digit: value for value, digit in enumerate("一二三四五六七八九", 1)}
_SHARED = frozenset("mai mars sabado segunda quarta quinta sexta terca domingo".split())
"""Names of months and days that are other words elsewhere, or the same in several languages."""


class Translated(NamedTuple):
    """A folded text with its dates in English, and the words that were translated."""

    text: str
    words: frozenset[str]


def in_english(folded: str, language: str) -> Translated:
    """A folded text with English words for its dates and times.

    The names of months and days, and words such as "gestern", tell the language better than all
    others.
    """
    if language not in VOCABULARIES or VOCABULARIES[language].is_spaced:
        marks = _marks()
        candidates = [marks[word] for word in words(folded) if word in marks]
        if candidates and not any(language in codes for codes in candidates):
            language = min(candidates[0])
    if language not in VOCABULARIES:
        return Translated(folded, frozenset())
    translator, originals = _translator(language), []

    def translated(match: re.Match[str]) -> str:
        originals.append(match[0])
        return translator.english(match)

    if not VOCABULARIES[language].is_spaced:
        folded = _HAN_NUMBER.sub(_figures, folded)
    text = " ".join(translator.pattern.sub(translated, folded).split())
    for pattern, replacement in _ORDERED:
        text = pattern.sub(replacement, text)
    return Translated(text, frozenset(words(" ".join(originals))))


@cache
def month_forms(language: str) -> tuple[tuple[str, ...], ...]:
    """The folded names of the twelve months in a language, none in one that numbers them."""
    listed = VOCABULARIES[language].months if language in VOCABULARIES else ""
    return tuple(_forms(month) for month in listed.split(" ") if month)


@cache
def weekday_forms(language: str) -> tuple[tuple[str, ...], ...]:
    """The folded names of the seven days of the week, in English and in a language."""
    listed = VOCABULARIES[language].weekdays.split() if language in VOCABULARIES else []
    other_forms = map(_forms, listed or [""] * 7)
    return tuple((name, *forms) for name, forms in zip(WEEKDAY_NAMES, other_forms, strict=True))


_ALSO_MORNING = frozenset({"morgen", "manana"})


@cache
def tomorrow_forms(language: str) -> tuple[str, ...]:
    """The folded words for "tomorrow" in English and in a language, if they mean nothing else."""
    lines = _lines(VOCABULARIES[language]) if language in VOCABULARIES else []
    forms = (form for english, form in lines if english == "tomorrow")
    return ("tomorrow", *(form for form in forms if form.isalpha() and form not in _ALSO_MORNING))


def _forms(pattern: str) -> tuple[str, ...]:
    """The words that a pattern of alternatives, or of a few endings, stands for."""
    endings = re.fullmatch(r"(\w+)\[(\w+)\](\??)", pattern)
    if endings is None:
        return tuple(pattern.split("|"))
    base, letters, optional = endings.groups()
    return (*(base + letter for letter in letters), *([base] if optional else []))


@cache
def _marks() -> dict[str, set[str]]:
    """The words that identify a language, each with the codes of the languages that have it."""
    marks: dict[str, set[str]] = {}
    for code, listed in VOCABULARIES.items():
        for name in f"{listed.months} {listed.weekdays} {listed.marks}".replace("|", " ").split():
            if name.isalpha() and name not in (*MONTH_NAMES, *_SHARED):
                marks.setdefault(name, set()).add(code)
    return marks


class _Translator(NamedTuple):
    """One pattern of all words of a vocabulary, and the English wording of each of its groups."""

    pattern: re.Pattern[str]
    wordings: dict[str, str]
    plain: tuple[tuple[re.Pattern[str], str], ...]

    def english(self, match: re.Match[str]) -> str:
        name = match.lastgroup or ""
        first = self.pattern.groupindex[name]

        def inner(reference: re.Match[str]) -> str:
            value = self._plain(match[first + int(reference[2])])
            return _month(value) if reference[1] else value

        return f" {_REFERENCE.sub(inner, self.wordings[name])} "

    def _plain(self, word: str) -> str:
        """The figure of a number, or the English name of a day of the week."""
        return next((english for form, english in self.plain if form.fullmatch(word)), word)


def _month(figure: str) -> str:
    return MONTH_NAMES[int(figure) - 1] if 1 <= int(figure) <= 12 else figure


def _figures(match: re.Match[str]) -> str:
    """Figures for a Chinese number up to 99."""
    tens, ten, ones = match[0].rpartition("十")
    if not ten:
        return "".join(str(_HAN_DIGITS[digit]) for digit in ones)
    return str(10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0))


@cache
def _translator(language: str) -> _Translator:
    vocabulary = VOCABULARIES[language]
    placeholders = {
        "MONTH": "|".join(vocabulary.months.split()) or "(?!)",
        "WEEKDAY": "|".join(vocabulary.weekdays.split()),
        "NUMBER": "|".join(vocabulary.numbers.split()),
    }
    lines = _lines(vocabulary)
    alternatives, wordings = [], {}
    for at, (english, pattern) in enumerate(lines):
        for name, any_of in placeholders.items():
            pattern = pattern.replace(name, f"(?:{any_of})")
        alternatives.append(f"(?P<g{at}>{pattern})")
        wordings[f"g{at}"] = english
    joined = "|".join(alternatives)
    bounded = rf"(?<!\w)(?:{joined})(?!\w)" if vocabulary.is_spaced else joined
    plain = (*_pairs(vocabulary.numbers, range(1, 13)), *_pairs(vocabulary.weekdays, WEEKDAY_NAMES))
    return _Translator(
        re.compile(bounded),
        wordings,
        tuple((re.compile(form), english) for english, form in plain),
    )


def _lines(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """The English wordings and the patterns for them, in the order of trial."""
    phrases = [
        (english.strip(), pattern.strip())
        for english, _, pattern in (
            line.partition(" = ") for line in vocabulary.phrases.splitlines()
        )
    ]
    numbers = _pairs(vocabulary.numbers, range(1, 13)) if vocabulary.is_spaced else []
    return [
        *phrases,
        *_pairs(vocabulary.months, MONTH_NAMES),
        *_pairs(vocabulary.weekdays, WEEKDAY_NAMES),
        *numbers,
    ]


def _pairs(listed: str, english: Collection[object]) -> list[tuple[str, str]]:
    forms = listed.split()
    return [(str(word), form) for word, form in zip(english, forms, strict=False)]
