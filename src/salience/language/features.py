"""Features of a text that are computed once, when it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from salience.language.english import (
    CAPITALIZED_INSIDE,
    CLOCK,
    DIGIT,
    FIRST_PERSON_WORDS,
    GREETING,
    INSTRUCTION,
    INSTRUCTION_WORDS,
    NUMBER,
    NUMBER_WORDS,
    STOP_WORDS,
    TEMPORAL,
    TEMPORAL_WORDS,
)
from salience.language.languages import ENGLISH, STATE_WORDS, language_of
from salience.language.languages.table import LATIN, NO_STATE, Language, state_said, writing
from salience.language.statements.personal import personal
from salience.language.statements.replacements import (
    value_replaced,
    value_said,
    values_stated,
)
from salience.language.tokens import fold, without_bigrams
from salience.lazily import regex

FEATURES = (
    "content_words",  # words that are not stop words
    "is_question",  # 1 if it ends in a question mark
    "first_person",  # min(1, 5 * share of I, my, we ... among the words)
    "has_time",  # 1 if it names a time
    "has_number",  # 1 if it names a number
    "proper_nouns",  # min(3, capitalised words inside sentences) / 3
    "personal",  # 4 if it is about the speaker's health, 3 how to do things, 2 tastes, 1 else
    "script",  # the place in SCRIPTS of its script other than Latin, else 0
    "script_share",  # the share of its words that are not in Latin script
    "state",  # the number of the attribute that it states, below 0 if not of who says it; else 0
    "value",  # the number of the value that it states, else 0
    "replaces",  # the number of the value that the speaker no longer has, else 0
    "stated",  # the number of what it says, of its attribute if it states one; 0 if it is long
)
FEATURES_VERSION = "9"
"""The version of the stored features, terms and keys; a new one needs a step of SQLite's schema."""
_MAX_INSTRUCTION_WORDS = 40
_MAX_PERSONAL_CONTENT_WORDS = 80
_MAX_STATE_CHARACTERS = 200
_ENGLISH = regex("[a-z]+")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e")  # also CJK, Arabic, Armenian, Greek


def features(content: str, words: Sequence[str]) -> tuple[float, ...]:
    """The features of a text with these words, in the order of FEATURES."""
    values = value_said(content), value_replaced(content), values_stated(content)
    return (*_features(content, words), *values)


def _features(content: str, words: Sequence[str]) -> tuple[float, ...]:
    content = content.replace("\u2019", "'")
    words = words if content.isascii() else without_bigrams(words)
    language = language_of(words)
    if language is not None:
        return _foreign(content, words, language)
    content_words = len(words) - sum(map(STOP_WORDS.__contains__, words))
    first_person = sum(map(FIRST_PERSON_WORDS.__contains__, words))
    low = content.lower()
    proper_nouns = 0 if content == low else len(CAPITALIZED_INSIDE.findall(content))
    has_digit = DIGIT.search(low) is not None
    plain = content.isascii() and "_" not in content  # its words are as the patterns find them
    english = words if plain else _ENGLISH.findall(low)
    has_time = not TEMPORAL_WORDS.isdisjoint(english) and (plain or _matches(TEMPORAL, low))
    has_number = not NUMBER_WORDS.isdisjoint(english) and (plain or _matches(NUMBER, low))
    states = not STATE_WORDS.isdisjoint(words)
    instructs = not INSTRUCTION_WORDS.isdisjoint(english) and len(words) <= _MAX_INSTRUCTION_WORDS
    return (
        float(content_words),
        float(content.rstrip().endswith(_QUESTION_MARKS)),
        min(1.0, 5.0 * first_person / max(1, len(words))),
        float(has_time or (has_digit and _matches(CLOCK, low))),
        float(has_digit or has_number),
        min(3, proper_nouns) / 3.0,
        personal(low, instructs and _matches(INSTRUCTION, low), None)
        if content_words <= _MAX_PERSONAL_CONTENT_WORDS
        else 0.0,
        *(LATIN if content.isascii() else writing(words)),
        _state_in_english(content) if states and first_person else NO_STATE,
    )


def _state_in_english(content: str) -> float:
    return state_said(fold(content), ENGLISH) if len(content) <= _MAX_STATE_CHARACTERS else NO_STATE


def _foreign(content: str, words: Sequence[str], language: Language) -> tuple[float, ...]:
    """The features of a text in a language that has a table."""
    folded = fold(content)
    content_words = len(words) - sum(map(language.stop_words.__contains__, words))
    proper_nouns = len(CAPITALIZED_INSIDE.findall(content)) if language.is_capital_a_name else 0
    has_digit = DIGIT.search(folded) is not None
    instructs = len(words) <= _MAX_INSTRUCTION_WORDS * (1 if language.is_spaced else 3)
    return (
        float(content_words),
        float(content.rstrip().endswith(_QUESTION_MARKS)),
        min(1.0, 5.0 * language.count("first_person", folded) / max(1, len(words))),
        float(language.matches("has_time", folded) or (has_digit and _matches(CLOCK, folded))),
        float(has_digit or language.matches("has_number", folded)),
        min(3, proper_nouns) / 3.0,
        personal(folded, instructs and language.matches("instruction", folded), language)
        if content_words <= _MAX_PERSONAL_CONTENT_WORDS
        else 0.0,
        *writing(words),
        state_said(folded, language),
    )


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None


def greeted(content: str) -> str | None:
    """The name that a text greets or thanks at its beginning, in lower case."""
    greeting = GREETING.match(content)
    return greeting.group(1).lower() if greeting else None
