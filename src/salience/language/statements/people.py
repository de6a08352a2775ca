"""Readers of what is said of people: home, work, school, family, preferences."""

from __future__ import annotations

import re

from salience.language.english import STOP_WORDS
from salience.language.statements import cues
from salience.language.statements.phrases import (
    BE,
    HAVE,
    NAME,
    OWNER,
    PERSON,
    Reading,
    noun,
    plain_value,
    subject_of,
    whole,
)
from salience.language.statements.values import PLACE, is_country, place_of, stems
from salience.language.tokens import fold, stem, words

_RESIDENCE = whole(
    PERSON,
    rf"(?i:lives?|resides?|{BE} (?:living|based)|moved|relocated|{HAVE} (?:moved|relocated)) ",
    rf"(?i:in|to) {PLACE}(?P<rest>.*)",
)
_PAST_YEAR = re.compile(r"^ (?:back )?(?:in|on|around) .*\b(?:19|20)\d\d$")
_DETAIL = re.compile(r"^ (?:since|for \w+ years|with|near|close to)\b")
_IN_SMALL_LETTERS = whole(
    r"(?:(?P<who>i|we|user|the user) )?(?:lives? in|(?:have |has )?moved to) (?P<town>[a-z]{3,})"
)


def residence(sentence: str) -> Reading | None:
    """The town or country where somebody lives, or has moved to."""
    small = _IN_SMALL_LETTERS.match(sentence)
    if small is not None and small["town"] not in cues.NO_TOWNS:
        part = "country" if is_country(small["town"]) else "town"
        return subject_of(small["who"]), "residence", {part: small["town"]}
    match = _RESIDENCE.match(sentence)
    if match is None or _PAST_YEAR.match(match["rest"]):
        return None
    rest = "" if _DETAIL.match(match["rest"]) else stems(match["rest"])
    return subject_of(match["who"]), f"residence {rest}".strip(), place_of(match)


_ORIGIN = whole(PERSON, rf"(?i:{BE}|comes?)(?i: originally)? from {PLACE}")


def origin(sentence: str) -> Reading | None:
    """The town or country that somebody comes from."""
    match = _ORIGIN.match(sentence)
    return None if match is None else (subject_of(match["who"]), "origin", place_of(match))


SCHOOL_WORDS = frozenset("school college university academy institute high elementary".split())
_SCHOOL = whole(
    PERSON,
    rf"(?i:goes to|go to|attends?|stud(?:y|ies) at|{BE} an? (?:\w+ )?student at|{BE} enrolled at) ",
    r"(?:the )?(?P<school>(?:[A-Z][\w.'&-]*|of|for)(?: (?:[A-Z][\w.'&-]*|of|for))*)",
)


def school(sentence: str) -> Reading | None:
    """The school that somebody goes to."""
    match = _SCHOOL.match(sentence)
    if match is None or SCHOOL_WORDS.isdisjoint(words(match["school"])):
        return None
    return subject_of(match["who"]), "school", {"school": fold(match["school"])}


_EMPLOYER = whole(
    PERSON,
    rf"(?:(?P<works>(?i:(?:{HAVE} worked|works?|{BE} (?:working|employed)) (?:at|for|by)))",
    rf"|(?i:(?:{HAVE} )?joined|started (?:working |a job )?at|{BE} (?:an?|the) [a-z][\w -]* at)) ",
    r"(?:(?:the )?(?P<name>[A-Z][\w.'&-]*(?: (?:[A-Z&][\w.'&-]*|of|the))*)",
    r"|an? (?P<kind>[a-z]+(?: [a-z]+)?))(?: (?:as|in|since|for)\b.*)?",
)


def employer(sentence: str) -> Reading | None:
    """The employer of somebody, by name or by kind ("a bank")."""
    match = _EMPLOYER.match(sentence)
    if match is None or (match["kind"] and not match["works"]):  # joined a club
        return None
    part = "name" if match["name"] else "kind"
    return subject_of(match["who"]), "employer", {part: fold(match[part])}


_JOB = whole(PERSON, r"(?i:works?) as (?:an?|the) (?P<job>[\w -]+?)(?: (?:at|in|for) .*)?")


def job(sentence: str) -> Reading | None:
    """The job of somebody."""
    match = _JOB.match(sentence)
    return None if match is None else (subject_of(match["who"]), "job", {"job": fold(match["job"])})


_MARRIAGE = whole(
    PERSON,
    rf"(?i:{BE}|got|{HAVE} (?:been|got)|became) ",
    r"(?P<status>single|married|divorced|engaged|widowed)",
    rf"(?: to (?P<spouse>{NAME}))?(?: (?:in|on|since|for)\b.*)?",
)


def marriage(sentence: str) -> Reading | None:
    """The marital status of somebody, and to whom."""
    match = _MARRIAGE.match(sentence)
    if match is None:
        return None
    spouse = {"spouse": fold(match["spouse"])} if match["spouse"] else {}
    return subject_of(match["who"]), "marital status", {"status": match["status"], **spouse}


_AGE = whole(PERSON, rf"{BE} (?P<age>\d{{1,3}})(?: years? old| years of age)?")


def age(sentence: str) -> Reading | None:
    """The age of somebody, in years."""
    match = _AGE.match(sentence)
    return None if match is None else (subject_of(match["who"]), "age", {"age": match["age"]})


_FAVOURITE = whole(
    rf"(?:(?P<who>{OWNER}) )?(?i:favou?rite|preferred) (?P<what>[\w -]+?) ",
    r"(?:is|(?:has )?changed to|became) (?P<value>.+)",
)
_IS_FAVOURITE = whole(
    rf"(?P<value>[\w' -]+?) is (?P<who>{OWNER}) (?:favou?rite|preferred) (?P<what>[\w -]+)"
)


def favourite(sentence: str) -> Reading | None:
    """The favourite of a kind."""
    match = _FAVOURITE.match(sentence) or _IS_FAVOURITE.match(sentence)
    if match is None or "and" in words(match["value"]):
        return None
    values = {"value": plain_value(match["value"])}
    return subject_of(match["who"]), f"favourite {noun(match['what'])}", values


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
    """The kind of things of which a value is preferred; None if nothing tells it."""
    tokens = value.split()
    for names in cues.ALTERNATIVES:
        if tokens[0] in names and len(tokens) <= 2:
            return min(names)
    if other:
        return " ".join(sorted((stems(value), stems(other))))
    return stems(tokens[-1]) if len(tokens) == 2 else None


_WHAT = r"(?P<what>[\w'-]+(?: [\w'-]+){0,3}?)"
_OFFICE = r"(?P<what>[\w'-]+(?: [\w'-]+){0,6}?)"
_NOW_BE = r"(?:is|are|was named|will be)"
_BECAME = (
    r"(?:is|became|has become|took over as|has taken over as|was (?:appointed|promoted to|made"
    r"|elected)|has been (?:appointed|promoted to|made|elected)|acts as|serves as|steps? in as"
    r"|stepped in as)"
)
_ROLES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?P<value>{NAME}) {_BECAME} (?:(?P<who>our|my|the|{NAME}'s) )?{_OFFICE}$",
        rf"^(?P<value>{NAME}) (?:replace[sd]|has replaced|takes over from|took over from"
        rf"|succeed(?:s|ed)) (?:{NAME}) as (?:(?P<who>our|my|the|{NAME}'s) )?{_WHAT}$",
        rf"^(?:I|We|i|we) (?:have |has )?(?:switched|changed|moved|went over|gone over) to "
        rf"(?P<value>{NAME}) (?:as|for) (?:(?P<who>our|my|the) )?{_WHAT}$",
        rf"^(?:I|We|They|i|we) (?:have )?(?:switched|changed|moved) (?P<who>my|our|the) {_WHAT} "
        rf"(?:over )?to (?P<value>{NAME})$",
        rf"^(?:I|We|i|we) (?:have|got|hired|have hired|have got) (?:a|an) (?:new|different|another)"
        rf" {_WHAT}(?:,|:| -| called| named) (?P<value>{NAME})$",
        rf"^(?:(?P<who>[Mm]y|[Oo]ur|[Tt]he|{NAME}'s) )?(?:(?:[Nn]ew|[Cc]urrent) )?{_WHAT}"
        rf" {_NOW_BE} (?P<value>(?:the |an? )?[\w.'+&-]+(?: [\w.'+&-]+){{0,3}})$",
    )
)
_COMPLEMENT = re.compile(r" (?:of|for|at|in) .*")
_GENERIC = frozenset("team new current head user s my our the user's of official next".split())


def role(sentence: str) -> Reading | None:
    """The holder of a role, or the thing of a kind that one has one of."""
    for place, pattern in enumerate(_ROLES):
        match = pattern.match(sentence)
        if match is None:
            continue
        what, value = fold(match["what"]), match["value"]
        if not cues.NO_SUBJECTS.isdisjoint(words(what)):
            continue
        head = _COMPLEMENT.sub("", what)
        is_holder = place < len(_ROLES) - 1 or re.fullmatch(NAME, value) is not None
        if is_holder and cues.PERSON_ATTRIBUTES.search(head):
            return _holder(match.groupdict().get("who"), what, value)
        if cues.THING_ATTRIBUTES.search(head) and cues.NO_SUBJECTS.isdisjoint(words(value)[1:]):
            return _holder(match.groupdict().get("who"), what, value)
    return None


def _holder(who: str | None, what: str, value: str) -> Reading:
    stems = {stem(w) for w in words(f"{who or ''} {what}") if w not in STOP_WORDS | _GENERIC}
    plain = re.sub(r"^(?:the|an?) ", "", fold(value))
    return "", " ".join(sorted(stems or map(stem, words(what)))), {"value": plain}
