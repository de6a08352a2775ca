"""Readers of statements about things: times, places, numbers, colours, named attributes."""

from __future__ import annotations

from salience.language.english import MONTHS, WEEKDAYS
from salience.language.statements import cues
from salience.language.statements.values import (
    BE,
    HAVE,
    NAME,
    OWNED,
    PERSON,
    PLACE,
    THING,
    Reading,
    is_definite,
    place_of,
    plain_value,
    stems,
    subject_of,
    whole,
)
from salience.language.tokens import fold
from salience.lazily import regex

# Readers of statements about people in several parts: marriages and preferences

_MARRIAGE = whole(
    PERSON,
    rf"(?i:{BE}|got|{HAVE} (?:been|got)|became) ",
    r"(?P<status>single|married|divorced|engaged|widowed)",
    rf"(?: to (?P<spouse>{NAME}))?(?: (?:in|on|since|for|last|this|yesterday|today)\b.*)?",
)


def marriage(sentence: str) -> Reading | None:
    """The marital status of somebody, and to whom."""
    match = _MARRIAGE.match(sentence)
    if match is None:
        return None
    spouse = {"spouse": fold(match["spouse"])} if match["spouse"] else {}
    return subject_of(match["who"]), "marital status", {"status": match["status"], **spouse}


_PREFERENCE = whole(
    PERSON,
    r"(?i:prefers?) (?P<value>[\w' -]+?)(?: (?:over|to) (?P<other>[\w' -]+?))?",
    r"(?P<rest>(?: (?:in|at|on|for|with|when|during|without)\b.*)?)",
)


def preference(sentence: str) -> Reading | None:
    """The preferred one of some alternatives (tea, coffee), or of a kind (aisle seats)."""
    match = _PREFERENCE.match(sentence)
    if match is None:
        return None
    value, other = (fold(match[name] or "").removeprefix("the ") for name in ("value", "other"))
    kind = _kind_of(value, other)
    if kind is None:
        return None
    rest = "" if match["rest"].startswith(" without") else stems(match["rest"])
    return subject_of(match["who"]), f"preferred {kind} {rest}".strip(), {"value": value}


def _kind_of(value: str, other: str) -> str | None:
    """The kind of thing that a value is a preference among; None if nothing tells it."""
    tokens = value.split()
    for names in cues.ALTERNATIVES:
        if tokens[0] in names and len(tokens) <= 2:
            return min(names)
    if other:
        return " ".join(sorted((stems(value), stems(other))))
    return stems(tokens[-1]) if len(tokens) == 2 else None


_PREPOSITION = r"(?:at|on|for|to|from|in|by|until)"
SPOTS = "platform gate room terminal track seat pier hall bay lane table"
_SPOT = whole(
    rf"{THING} (?:{BE}|leaves|departs|starts|takes place",
    r"|(?:is|was|has been) (?:moved|relocated|changed|switched))",
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
    rf"(?:{BE}(?: located| based| held| hosted)? (?:in|on)|runs? on",
    r"|will be (?:held )?in|(?:was |has been |has )?(?:moved|relocated|migrated|switched) to)",
    rf" {PLACE}",
)
_RELOCATED = regex(
    r"^(?:I|We|They) (?:have )?(?:moved|relocated|migrated|transferred)"
    rf" (?P<what>{OWNED}) (?:over )?to {PLACE}$"
)


def location(sentence: str) -> Reading | None:
    """The town or country of something owned or known: "our office is in Paris"."""
    match = _LOCATION.match(sentence) or _RELOCATED.match(sentence)
    if match is None or not is_definite(match["what"]):
        return None
    if fold(match["place"]).split()[0] in MONTHS.keys() | WEEKDAYS:
        return None
    return subject_of(match["what"]), "location", place_of(match)


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


_STATUS = whole(
    rf"{THING} (?:{BE}|was|were|(?:has|have) been|has|have|got)(?: already| finally)?"
    r" (?P<status>[a-z]+)(?: (?:yesterday|today|on|by|this|last|for|since)\b.*)?"
)


def status(sentence: str) -> Reading | None:
    """The status of something: pending, shipped."""
    match = _STATUS.match(sentence)
    if match is None or match["status"] not in cues.STATUSES or not is_definite(match["what"]):
        return None
    return subject_of(match["what"]), "status", {"status": match["status"]}


_ASSIGNEE = whole(
    rf"{THING} (?:{BE}|was|were|(?:has|have) been) (?:now )?"
    r"(?:(?P<to>(?:re)?assigned|escalated|handed(?: over)?|transferred|passed(?: on)?|given)"
    r"|owned|handled|run|led|managed|maintained|reviewed) (?:to|by)",
    r" (?P<value>(?:the )?[\w.'&-]+(?: [\w.'&-]+){0,3})",
)


def assignee(sentence: str) -> Reading | None:
    """The person who has to do something: "the ticket was escalated to Ben"."""
    match = _ASSIGNEE.match(sentence)
    if match is None or not is_definite(match["what"]):
        return None
    return subject_of(match["what"]), "assignee", {"value": plain_value(match["value"])}
