"""What can be told about a memory once and for all when it is written."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.lexicon import (
    FIRST_PERSON,
    GREETING,
    INSTRUCTION,
    INSTRUCTION_SIGNS,
    NAME_INSIDE,
    NUMBER,
    PREFERENCE,
    STOP,
    TEMPORAL,
)

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
VERSION = "1"  # of the features and terms that stores keep; another one has to be made anew
_LONGEST_INSTRUCTION = 40  # words
_LONGEST_PREFERENCE = 80  # content words
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e")  # also CJK, Arabic, Armenian, Greek


def features(content: str, words: Sequence[str]) -> tuple[float, ...]:
    """The features of a text with these words, in the order of FEATURES."""
    own = len(words) - sum(map(STOP.__contains__, words))
    mine = sum(map(FIRST_PERSON.__contains__, words))
    low = content.lower()
    names = 0 if content == low else len(NAME_INSIDE.findall(content))
    return (
        float(own),
        float(content.rstrip().endswith(_QUESTION_MARKS)),
        min(1.0, 5.0 * mine / max(1, len(words))),
        float(TEMPORAL.search(low) is not None),
        float(NUMBER.search(low) is not None),
        min(3, names) / 3.0,
        float(len(words) <= _LONGEST_INSTRUCTION and _instructs(low)),
        float(own <= _LONGEST_PREFERENCE and PREFERENCE.search(low) is not None),
    )


def _instructs(low: str) -> bool:
    """Whether a text in lower case says what to do from now on."""
    # Most texts hold none of the words that every instruction has one of.
    return any(sign in low for sign in INSTRUCTION_SIGNS) and INSTRUCTION.search(low) is not None


def greeted(content: str) -> str | None:
    """The name that a text greets or thanks at its beginning, in lower case."""
    found = GREETING.match(content)
    return found.group(1).lower() if found else None
