"""Readers of what is said of people in several parts: marriages and preferences."""

from __future__ import annotations

from salience.language.statements import cues
from salience.language.statements.phrases import (
    BE,
    HAVE,
    NAME,
    PERSON,
    Reading,
    subject_of,
    whole,
)
from salience.language.statements.values import stems
from salience.language.tokens import fold

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
