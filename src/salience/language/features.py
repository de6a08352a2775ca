"""What can be told about a memory once and for all when it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from salience.language.english import (
    CLOCK,
    DIGIT,
    FIRST_PERSON,
    GREETING,
    INSTRUCTION,
    INSTRUCTION_WORDS,
    NAME_INSIDE,
    NUMBER,
    NUMBER_WORDS,
    PREFERENCE,
    STOP,
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
    "names",  # min(3, capitalised words inside sentences) / 3
    "is_instruction",  # 1 if short and it says always, never, from now on, when I ask ...
    "is_preference",  # 1 if it says what somebody likes or avoids
)
VERSION = "3"  # of the features and terms that stores keep; another one has to be made anew
_LONGEST_INSTRUCTION = 40  # words
_LONGEST_PREFERENCE = 80  # content words
_ENGLISH = re.compile("[a-z]+")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e")  # also CJK, Arabic, Armenian, Greek


def features(content: str, words: Sequence[str]) -> tuple[float, ...]:
    """The features of a text with these words, in the order of FEATURES."""
    content = content.replace("\u2019", "'")
    words = words if content.isascii() else without_bigrams(words)
    own = len(words) - sum(map(STOP.__contains__, words))
    mine = sum(map(FIRST_PERSON.__contains__, words))
    low = content.lower()
    names = 0 if content == low else len(NAME_INSIDE.findall(content))
    digits = DIGIT.search(low) is not None
    plain = content.isascii() and "_" not in content  # its words are as the patterns find them
    english = words if plain else _ENGLISH.findall(low)
    dated = not TEMPORAL_WORDS.isdisjoint(english) and (plain or _holds(TEMPORAL, low))
    counts = not NUMBER_WORDS.isdisjoint(english) and (plain or _holds(NUMBER, low))
    instructs = not INSTRUCTION_WORDS.isdisjoint(english) and len(words) <= _LONGEST_INSTRUCTION
    return (
        float(own),
        float(content.rstrip().endswith(_QUESTION_MARKS)),
        min(1.0, 5.0 * mine / max(1, len(words))),
        float(dated or (digits and _holds(CLOCK, low))),
        float(digits or counts),
        min(3, names) / 3.0,
        float(instructs and _holds(INSTRUCTION, low)),
        float(own <= _LONGEST_PREFERENCE and _holds(PREFERENCE, low)),
    )


def _holds(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None


def greeted(content: str) -> str | None:
    """The name that a text greets or thanks at its beginning, in lower case."""
    found = GREETING.match(content)
    return found.group(1).lower() if found else None
