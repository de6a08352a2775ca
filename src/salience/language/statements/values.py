"""Parts of a statement: subjects, values and places."""

from __future__ import annotations

import re

from salience.language.statements import cues
from salience.language.statements.cues import COUNTRIES
from salience.language.tokens import fold, stem, words
from salience.lazily import regex

# Noun phrases: whose attribute a sentence states, and which


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
    return regex(rf"^{''.join(parts)}$")


def subject_of(text: str | None) -> str:
    """The stems of a subject; "" for the speaker."""
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


Values = dict[str, str]
"""The parts of a value by name: {"weekday": "tue", "clock": "15:00"}."""
Reading = tuple[str, str, Values]
"""The subject, the attribute, and the parts of its value."""

NUMBER_WORDS = {
    name: str(number)
    for number, name in enumerate(
        (
            "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen twenty"
        ).split()
    )
} | {"zero": "0", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100"}
PLACE = (
    r"(?:the )?(?P<place>[A-Z][\w'-]+(?: (?:[A-Z][\w'-]+|de|do|da|la|of|the|am))*)"
    r"(?P<region>(?:, [A-Z][\w'. -]*)*)"
)


def place_of(match: re.Match[str]) -> Values:
    """The town or the country of a match of PLACE."""
    place, region = fold(match["place"]), fold(match["region"]).strip(", ")
    if is_country(place):
        return {"country": place}
    return {"town": place} | ({"region": region} if region else {})


def is_country(place: str) -> bool:
    """Test whether a folded name is one of a country or region: its last word is, or republic."""
    last = place.split()[-1]
    return last in COUNTRIES or last in (
        "republic",
        "states",
        "kingdom",
        "uk",
        "usa",
        "us",
        "emirates",
    )


def stems(text: str) -> str:
    """The stems of the words of a text, separated by blanks."""
    return " ".join(map(stem, words(text)))
