"""Readers of what is said of things: times, places, numbers, colours, named attributes."""

from __future__ import annotations

import re

from salience.language.statements import cues
from salience.language.statements.phrases import (
    BE,
    NAME,
    OWNED,
    OWNER,
    PERSON,
    THING,
    Reading,
    is_definite,
    noun,
    plain_value,
    subject_of,
    whole,
)
from salience.language.statements.values import NUMBER, PLACE, number_of, place_of, stems, times_in
from salience.language.tokens import fold, words

_PREPOSITION = r"(?:at|on|for|to|from|in|by|until)"
_MOVED = r"scheduled|set|planned|due|held|moved|rescheduled|postponed|delayed|changed|pushed back"
_VERBS = {
    "end": r"ends?|finish(?:es)?|expires?|is over",
    "arrival": r"arrives?|lands?|gets in",
    "opening": r"opens?",
    "closing": r"closes?",
    "time": r"(?:will )?(?:be|start|begin|leave|depart|take place)|starts?|begins?|leaves?|departs?"
    rf"|takes (?:off|place)|happens|(?:{BE}|was|were|(?:has|have) been|got) (?:{_MOVED})"
    r"|is|are|moved|falls",
}
_VERB = "|".join(f"(?P<{name}>{verbs})" for name, verbs in _VERBS.items())
_EVENT = re.compile(rf"^{THING} (?:{_VERB}) ")
_BARE_EVENT = re.compile(rf"^{THING}(?=(?: (?:at|on|for) |: ))")


def event(sentence: str) -> Reading | None:
    """The time of an event, an opening or a deadline."""
    match = _EVENT.match(sentence)
    if match is not None and match.lastgroup is not None and is_definite(match["what"]):
        return _timed(match["what"], match.lastgroup, sentence[match.end() :])
    match = _BARE_EVENT.match(sentence)
    if match is None or not is_definite(match["what"]):
        return None
    if cues.EVENT_NOUNS.isdisjoint(words(match["what"].replace("-", ""))):
        return None
    return _timed(match["what"], "time", sentence[match.end() :].lstrip(": "))


def _timed(what: str, name: str, tail: str) -> Reading | None:
    """The reading of something that has a time, if the tail of its sentence begins with one."""
    times = times_in(tail)
    if times is None:
        return None
    values, rest = times
    return subject_of(what.replace("-", "")), f"{name} {stems(rest)}".strip(), values


SPOTS = "platform gate room terminal track seat pier hall bay lane table"
_SPOT = whole(
    rf"{THING} (?:{BE}|leaves|departs|starts|(?:is|was|has been) moved|takes place)",
    rf"(?: {_PREPOSITION})? (?P<kind>{SPOTS.replace(' ', '|')}) (?P<spot>[A-Z]?\d+[A-Za-z]?|[A-Z])",
)


def spot(sentence: str) -> Reading | None:
    """The numbered place of an event: gate, room, platform."""
    match = _SPOT.match(sentence)
    if match is None or not is_definite(match["what"]):
        return None
    return subject_of(match["what"]), match["kind"], {"spot": fold(match["spot"])}


_LOCATION = whole(
    rf"(?P<what>{OWNED}) ",
    rf"(?:{BE}(?: located| based| held)? in|(?:was |has )?(?:moved|relocated) to) {PLACE}",
)


def location(sentence: str) -> Reading | None:
    """The town or country of something owned or known: "our office is in Paris"."""
    match = _LOCATION.match(sentence)
    if match is None or not is_definite(match["what"]):
        return None
    return subject_of(match["what"]), "location", place_of(match)


_ATTRIBUTE = whole(
    rf"(?:(?P<who>{OWNER}|(?i:the)) )?(?P<what>[\w-]+(?: [\w-]+){{0,3}})",
    rf"(?::| {BE}| (?:was |has )?changed to) (?P<value>.+)",
)
_PHONE = re.compile(r"\b(?:phone|telephone|mobile) number$")
_EMAIL = re.compile(r"\be-?mail(?: address)?$")


def attribute(sentence: str) -> Reading | None:
    """An attribute by its name: "my phone number is 555-0134"."""
    match = _ATTRIBUTE.match(sentence)
    if match is None:
        return None
    what = _EMAIL.sub("email", _PHONE.sub("phone", fold(match["what"])))
    if not is_definite(what) or not _is_value(what, match["value"]):
        return None
    return subject_of(match["who"]), noun(what), {"value": plain_value(match["value"])}


_CALLED = whole(rf"(?P<what>{OWNED}) (?:is|was) (?:called|named) (?P<name>{NAME})")


def called(sentence: str) -> Reading | None:
    """The name of something owned or known: "my dog is called Rex"."""
    match = _CALLED.match(sentence)
    if match is None or not is_definite(match["what"]):
        return None
    return subject_of(match["what"]), "name", {"value": plain_value(match["name"])}


def _is_value(what: str, value: str) -> bool:
    """Test whether a value is one of the named attribute, of which there is only one."""
    tokens = words(value)
    if what.endswith("email"):
        return "@" in value
    if cues.FIGURE_ATTRIBUTES.search(what) and len(tokens) <= 10:
        return any(c.isdigit() for c in value) and "and" not in tokens
    if cues.TEXT_ATTRIBUTES.search(what):
        return len(tokens) <= 5 and cues.NO_SUBJECTS.isdisjoint({*tokens} - {"a", "an"})
    if cues.PERSON_ATTRIBUTES.search(what):
        return re.fullmatch(NAME, value) is not None
    is_object = cues.OBJECT_ATTRIBUTES.search(what) is not None
    return is_object and re.match(r"an? (?:\w+ )?[A-Z]", value) is not None


_QUANTITY = whole(
    rf"(?:(?P<who>(?i:I|we)|{THING}) )?",
    r"(?:(?P<has>ha(?:s|ve)|owns?)|(?P<is>is|are|am)|(?P<verb>weighs?|costs?|measures?|earns?",
    r"|holds?|seats?|lasts?|takes?)) (?:about |around |only |exactly )?",
    rf"(?P<number>{NUMBER})(?P<unit>(?: ?[\w%€$£/-]+){{0,4}})",
)


def quantity(sentence: str) -> Reading | None:
    """A number with its unit: "has two cats", "costs 900 euros"."""
    match = _QUANTITY.match(sentence)
    if match is None:
        return None
    who, unit = match["who"] or "", stems(match["unit"])
    if who.lower() not in ("i", "we") and not is_definite(who):
        return None
    if unit.startswith(("of ", "in ")) or (match["has"] and not unit):  # one of them
        return None
    verb = "has" if match["has"] else "is" if match["is"] else stems(match["verb"])
    return subject_of(who), f"{verb} number of {unit}", {"number": number_of(match["number"])}


_VERSION = whole(
    rf"(?:(?P<who>(?i:I|we)|{THING}) )?",
    rf"(?:uses?|runs?|{BE} (?:using|running|on)|upgraded to|migrated to) ",
    r"(?P<name>[A-Z][\w.+#-]*(?: [A-Z]\w*)?) v?(?P<number>\d+(?:\.\d+)*)(?P<rest>.*)",
)


def version(sentence: str) -> Reading | None:
    """The version of a product in use."""
    match = _VERSION.match(sentence)
    if match is None or not (match["what"] is None or is_definite(match["what"])):
        return None
    product = f"version of {stems(match['name'])} {stems(match['rest'])}".strip()
    return subject_of(match["who"]), product, {"number": match["number"]}


_QUALITY = whole(
    rf"(?:(?P<what>{OWNED})|{PERSON.removesuffix(' )?')}))",
    rf" {BE}(?: painted)? (?:light |dark )?(?P<quality>[a-z-]+)(?P<rest>.*)",
)


def quality(sentence: str) -> Reading | None:
    """A colour, or an adjective that excludes others: open, closed."""
    match = _QUALITY.match(sentence)
    if match is None or not (match["who"] or is_definite(match["what"])):
        return None
    value, subject = match["quality"], subject_of(match["what"] or match["who"])
    if value in cues.COLOURS and not match["rest"]:
        return subject, "colour", {"colour": plain_value(value)}
    for names in cues.EXCLUSIVE:
        if value in names:
            return subject, f"{min(names)} {stems(match['rest'])}".strip(), {"quality": value}
    return None
