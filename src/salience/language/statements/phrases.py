"""Noun phrases: whose attribute a sentence states, and which."""

from __future__ import annotations

import re

from salience.language.statements import cues
from salience.language.statements.values import Values, stems
from salience.language.tokens import fold, words

Reading = tuple[str, str, Values]
"""The subject, the attribute, and the parts of its value."""

BE = r"(?:is|am|are)"
HAVE = r"(?:has|have)"
NAME = r"[A-Z][\w.-]*(?: [A-Z][\w.-]*){0,3}"
OWNER = rf"(?:(?i:my|our|the user's|user's)|{NAME}'s|(?i:my|our|the) [a-z]+'s)"
PERSON = rf"(?:(?P<who>(?i:I|we|the user|user)|{OWNER} [a-z]+(?: [a-z]+)??|{NAME}) )?"
THING = r"(?P<what>(?:[\w.'&-]+ ){0,6}?[\w.'&-]+)"
OWNED = rf"(?:{OWNER}|(?i:the)) [\w-]+(?: [\w-]+){{0,3}}"
_FUNCTION_WORDS = frozenset("my our the user s i am a an of".split())
_SPELLINGS = {"color": "colour", "favorite": "favourite", "telephone": "phone", "gray": "grey"}


def whole(*parts: str) -> re.Pattern[str]:
    """The pattern of a whole sentence of these parts."""
    return re.compile(rf"^{''.join(parts)}$")


def subject_of(text: str | None) -> str:
    """The stems of a subject; "" for whoever speaks."""
    return stems(" ".join(word for word in words(text or "") if word not in _FUNCTION_WORDS))


def is_definite(text: str) -> bool:
    """Test whether a noun phrase means one thing, and is no clause."""
    return cues.NO_SUBJECTS.isdisjoint(words(text))


def noun(text: str) -> str:
    """The stems of the name of an attribute, in one spelling."""
    return stems(" ".join(_SPELLINGS.get(word, word) for word in words(text)))


def plain_value(value: str) -> str:
    """A value as it is compared: folded, in one spelling, without article and preposition."""
    plain = re.sub(r"^(?:the|an?|on|at|in) ", "", fold(value).strip(" \"'"))
    return " ".join(_SPELLINGS.get(word, word) for word in plain.split())
