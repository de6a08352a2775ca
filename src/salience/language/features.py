"""Features of a text that are computed once, when it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from salience.language.english import FIRST_PERSON_WORDS, STOP_WORDS
from salience.language.memory_cues import (
    CAPITALIZED_INSIDE,
    CLOCK,
    DIGIT,
    GREETING,
    INSTRUCTION,
    INSTRUCTION_WORDS,
    NUMBER,
    NUMBER_WORDS,
    PREFERENCE,
    TEMPORAL,
    TEMPORAL_WORDS,
)
from salience.language.tokens import without_bigrams

FEATURES = (
    "content_words",  # words that are not stop words
    "is_question",  # 1 if it ends in a question mark
    "first_person",  # min(1, 5 * share of I, my, we ... among the words)
    "has_time",  # 1 if it names a time
    "has_number",  # 1 if it names a number
    "proper_nouns",  # min(3, capitalised words inside sentences) / 3
    "is_instruction",  # 1 if short and it says always, never, from now on, when I ask ...
    "is_preference",  # 1 if it says what somebody likes or avoids
)
FEATURES_VERSION = "3"
"""The version of the stored features and terms; those of another one have to be computed anew."""
_MAX_INSTRUCTION_WORDS = 40
_MAX_PREFERENCE_CONTENT_WORDS = 80
_ENGLISH = re.compile("[a-z]+")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e")  # also CJK, Arabic, Armenian, Greek


def features(content: str, words: Sequence[str]) -> tuple[float, ...]:
    """The features of a text with these words, in the order of FEATURES."""
    content = content.replace("\u2019", "'")
    words = words if content.isascii() else without_bigrams(words)
    content_words = len(words) - sum(map(STOP_WORDS.__contains__, words))
    first_person = sum(map(FIRST_PERSON_WORDS.__contains__, words))
    low = content.lower()
    proper_nouns = 0 if content == low else len(CAPITALIZED_INSIDE.findall(content))
    has_digit = DIGIT.search(low) is not None
    plain = content.isascii() and "_" not in content  # its words are as the patterns find them
    english = words if plain else _ENGLISH.findall(low)
    has_time = not TEMPORAL_WORDS.isdisjoint(english) and (plain or _matches(TEMPORAL, low))
    has_number = not NUMBER_WORDS.isdisjoint(english) and (plain or _matches(NUMBER, low))
    instructs = not INSTRUCTION_WORDS.isdisjoint(english) and len(words) <= _MAX_INSTRUCTION_WORDS
    return (
        float(content_words),
        float(content.rstrip().endswith(_QUESTION_MARKS)),
        min(1.0, 5.0 * first_person / max(1, len(words))),
        float(has_time or (has_digit and _matches(CLOCK, low))),
        float(has_digit or has_number),
        min(3, proper_nouns) / 3.0,
        float(instructs and _matches(INSTRUCTION, low)),
        float(content_words <= _MAX_PREFERENCE_CONTENT_WORDS and _matches(PREFERENCE, low)),
    )


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None


def greeted(content: str) -> str | None:
    """The name that a text greets or thanks at its beginning, in lower case."""
    greeting = GREETING.match(content)
    return greeting.group(1).lower() if greeting else None
