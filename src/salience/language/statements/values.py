"""Values within a statement: times, numbers and places."""

from __future__ import annotations

import re

from salience.language.english import MONTHS, WEEKDAYS
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
NUMBER = rf"(?:[$€£] ?)?\d+(?:[.,]\d+)*|(?i:{'|'.join(NUMBER_WORDS)})\b"
PLACE = (
    r"(?:the )?(?P<place>[A-Z][\w'-]+(?: (?:[A-Z][\w'-]+|de|do|da|la|of|the|am))*)"
    r"(?P<region>(?:, [A-Z][\w'. -]*)*)"
)
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_DAY = r"(?P<day>\d\d?)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_HALF = r" ?(?P<half>[ap])\.?m\b\.?"
_WEEKDAYS = frozenset(day for day in WEEKDAYS if not day.endswith("days"))
_SHORT_WEEKDAY = "|".join(sorted(day for day in _WEEKDAYS if not day.endswith("day")))
_LINK = r"^(?:,? ?\b(?:at|on|for|to|from|in|by|until|around|about|and|the)\b)* ?"
_PARTS = tuple(
    (name, regex(_LINK + pattern, re.IGNORECASE))
    for name, pattern in (
        ("date", rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b"),
        ("date", rf"{_MONTH}\.? {_DAY}\b(?!:)(?:,? {_YEAR})?"),
        ("date", rf"{_DAY}\.? (?:of )?{_MONTH}\b\.?(?:,? {_YEAR})?"),
        ("clock", rf"(?P<hour>[012]?\d)[:.h](?P<minute>\d\d)(?:{_HALF})?"),
        ("clock", rf"(?P<hour>[01]?\d){_HALF}"),
        ("clock", r"(?<=at )(?P<hour>[012]?\d)(?: o'clock)?(?![\w.:%])"),
        ("clock", r"(?P<hour>noon|midnight)\b"),
        ("weekday", rf"(?P<weekday>[a-z]+day|(?<=on )(?:{_SHORT_WEEKDAY}))\b"),
        ("month", rf"(?<=(?:in|by|on) ){_MONTH}\b(?: {_YEAR})?"),
        ("year", r"(?<=in )(?P<year>(?:19|20)\d\d)\b"),
    )
)
_EVERY = regex(r"^ ?(?:every (?:day|morning|evening)|daily|sharp|o'clock)\b", re.IGNORECASE)


def times_in(tail: str) -> tuple[Values, str] | None:
    """The times that a tail begins with, as values, and what follows them; None without any.

    Weekdays in the plural are no times, but say which of several is meant.
    """
    values: Values = {}
    rest = tail
    while True:
        for name, pattern in _PARTS:
            match = pattern.match(rest)
            if match is None:
                continue
            if name == "weekday" and fold(match["weekday"]) not in _WEEKDAYS:
                continue
            part = _time(name, {k: v for k, v in match.groupdict().items() if v is not None})
            if part is None or not values.keys().isdisjoint(part):
                continue
            values |= part
            rest = rest[match.end() :]
            break
        else:
            rest = _EVERY.sub("", rest)
            return (values, rest.strip(" ,")) if values else None


def _time(name: str, parts: Values) -> Values | None:
    """The values of one time; None if it is none."""
    if name == "weekday":
        return {"weekday": fold(parts["weekday"])[:3]}
    if name == "clock":
        hour = {"noon": 12, "midnight": 0}.get(fold(parts["hour"]))
        hour = int(parts["hour"]) if hour is None else hour
        if "half" in parts:
            hour = hour % 12 + (12 if fold(parts["half"]) == "p" else 0)
        return {"clock": f"{hour}:{parts.get('minute', '00')}"} if hour < 25 else None
    values = {"year": parts["year"]} if "year" in parts else {}
    if "month" in parts:
        month = fold(parts["month"])
        values["month"] = str(MONTHS[month] if month in MONTHS else int(month))
    if "day" in parts:
        values["day"] = str(int(parts["day"]))
    return values


def number_of(text: str) -> str:
    """A number in digits, of digits or words."""
    folded = fold(text)
    digits = re.sub(r"[^\d.]|[.,](?=\d{3}\b)", "", folded)
    return NUMBER_WORDS.get(folded) or digits


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
