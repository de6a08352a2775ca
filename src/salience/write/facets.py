"""Facets: what somebody says about themselves, about their preferences, and about events.

An extractor is any function from the text of the user and of the assistant to texts by facet;
`by_rules` needs no model. The facets are `FACETS`; any of them may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from salience.errors import InvalidInput, shown
from salience.language.english import TEMPORAL
from salience.language.statements.personal import PREFERENCE_STATED
from salience.lazily import regex
from salience.records.validation import mapping, text

FACETS = ("personal_info", "preferences", "events")
FacetExtractor = Callable[[str, str], Mapping[str, str]]
"""The text of the user, the text of the assistant -> texts by facet."""
Facets = FacetExtractor | Mapping[str, str] | None
"""The source of facets: an extractor, the facets themselves, or None for none."""

_SENTENCE = regex(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_RELATIVES = (
    "wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|sons?|daughters?|kids?|child(?:ren)?"
    "|mother|father|mom|mum|dad|parents|brothers?|sisters?|famil(?:y|ies)|dogs?|cats?|pets?"
)
_BELONGINGS = (
    "name|age|birthday|job|work|boss|company|career|degree|school|university|home|home ?town"
    "|house|apartment|address|phone|number|e-?mail|nationality|native language|condition|diagnosis"
)
_PERSONAL = regex(
    rf"\bmy (?:\w+ )?(?:{_RELATIVES}|{_BELONGINGS})\b|\bi(?:'m| am) (?:an?|the|from|in my|\d+)\b"
    r"|\bi(?:'ve| have)? (?:live|work|study|studied|was born|grew up|moved|come from|own|speak)\b"
    r"|\bi(?:'ve got| have) (?:an?|one|two|three|four|\d+|no) |\ballergic\b|\bcall me\b",
    re.IGNORECASE,
)
_HAPPENED = regex(
    r"\b(?:went|met|visited|attended|started|finished|joined|got (?:married|engaged|promoted|fired)"
    r"|graduated|moved|travell?ed|celebrated|bought|launched|signed up|scheduled|planning to)\b",
    re.IGNORECASE,
)


def by_rules(user: str, assistant: str) -> dict[str, str]:
    """The sentences of the user about themselves, about preferences and about events.

    Questions are left out. So is the assistant, who speaks of the user only by chance.
    """
    sentences: dict[str, list[str]] = {facet: [] for facet in FACETS}
    for sentence in _SENTENCE.split(user.replace("\u2019", "'")):
        sentence = sentence.strip()
        if not sentence or sentence.endswith(("?", "？")):
            continue
        if _PERSONAL.search(sentence):
            sentences["personal_info"].append(sentence)
        low = sentence.lower()
        if PREFERENCE_STATED.search(low):
            sentences["preferences"].append(sentence)
        if TEMPORAL.search(low) or _HAPPENED.search(sentence):
            sentences["events"].append(sentence)
    return {facet: " ".join(parts) for facet, parts in sentences.items() if parts}


def parse_facets(facets: Any) -> Facets:
    """The argument `facets`, checked."""
    return facets if facets is None or callable(facets) else _texts(facets)


def _texts(facets: Any) -> dict[str, str]:
    if not isinstance(facets, Mapping):
        raise InvalidInput(
            "facets", f"must be a mapping or a function, not {type(facets).__name__}"
        )
    facets = mapping("facets", facets)
    for name in facets:
        if name not in FACETS:
            raise InvalidInput(
                "facets", f"there is no facet {shown(name)}", f"use {', '.join(FACETS)}"
            )
    return {name: text(f"facets.{name}", value) for name, value in facets.items()}


def facets_of(facets: Facets, user: str, assistant: str) -> dict[str, str]:
    """The facets of an exchange, in the order of FACETS; blank ones are left out.

    Raises:
        InvalidInput: an extractor returned an unknown facet, or something other than texts.
    """
    raw = facets(user, assistant) if callable(facets) else facets
    if raw is None:
        return {}
    if isinstance(raw, Mapping):
        raw = mapping("facets", raw)
        blank = {name for name, text in raw.items() if isinstance(text, str) and not text.strip()}
        raw = {name: text for name, text in raw.items() if name not in blank}
    texts = _texts(raw)
    return {name: texts[name] for name in FACETS if name in texts}
