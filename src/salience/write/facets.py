"""Facets: the parts of what somebody says that are about who they are, what they like, what was.

An extractor is any function from the words of the user and of the assistant to texts by facet;
`by_rules` needs no model. The facets are `FACETS`, each of which may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from salience.errors import InvalidInput, shown
from salience.language.memory_cues import PREFERENCE, TEMPORAL
from salience.records.validation import text

FACETS = ("personal_info", "preferences", "events")
FacetExtractor = Callable[[str, str], Mapping[str, str]]
"""The words of the user, the words of the assistant -> texts by facet."""
Facets = FacetExtractor | Mapping[str, str] | None
"""How to get facets: an extractor, the facets themselves, or None for none."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_RELATIVES = (
    "wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|sons?|daughters?|kids?|child(?:ren)?"
    "|mother|father|mom|mum|dad|parents|brothers?|sisters?|famil(?:y|ies)|dogs?|cats?|pets?"
)
_BELONGINGS = (
    "name|age|birthday|job|work|boss|company|career|degree|school|university|home|home ?town"
    "|house|apartment|address|phone|number|e-?mail|nationality|native language|condition|diagnosis"
)
_PERSONAL = re.compile(
    rf"\bmy (?:\w+ )?(?:{_RELATIVES}|{_BELONGINGS})\b|\bi(?:'m| am) (?:an?|the|from|in my|\d+)\b"
    r"|\bi(?:'ve| have)? (?:live|work|study|studied|was born|grew up|moved|come from|own|speak)\b"
    r"|\bi(?:'ve got| have) (?:an?|one|two|three|four|\d+|no) |\ballergic\b|\bcall me\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(
    r"\b(?:went|met|visited|attended|started|finished|joined|got (?:married|engaged|promoted|fired)"
    r"|graduated|moved|travell?ed|celebrated|bought|launched|signed up|scheduled|planning to)\b",
    re.IGNORECASE,
)


def by_rules(user: str, assistant: str) -> dict[str, str]:
    """The user's sentences, questions left out, that speak of themselves, of likes, of events.

    What an assistant says is about the user only by chance, and is left out, too.
    """
    found: dict[str, list[str]] = {facet: [] for facet in FACETS}
    for sentence in _SENTENCE.split(user.replace("\u2019", "'")):
        said = sentence.strip()
        if not said or said.endswith(("?", "？")):
            continue
        if _PERSONAL.search(said):
            found["personal_info"].append(said)
        low = said.lower()
        if PREFERENCE.search(low):
            found["preferences"].append(said)
        if TEMPORAL.search(low) or _HAPPENED.search(said):
            found["events"].append(said)
    return {facet: " ".join(said) for facet, said in found.items() if said}


def parse_facets(facets: Any) -> Facets:
    """What was given as facets, if it is that.

    Raises:
        InvalidInput: names the facet that there is not, or whose text is wrong.
    """
    return facets if facets is None or callable(facets) else _texts(facets)


def _texts(facets: Any) -> dict[str, str]:
    if not isinstance(facets, Mapping):
        raise InvalidInput(
            "facets", f"must be a mapping or a function, not {type(facets).__name__}"
        )
    for name in facets:
        if name not in FACETS:
            raise InvalidInput(
                "facets", f"there is no facet {shown(name)}", f"use {', '.join(FACETS)}"
            )
    return {name: text(f"facets.{name}", value) for name, value in facets.items()}


def facets_of(facets: Facets, user: str, assistant: str) -> dict[str, str]:
    """The facets of what was said, in the order of FACETS; blank ones are left out.

    Raises:
        InvalidInput: an extractor named a facet that there is not, or gave no texts.
    """
    found = facets(user, assistant) if callable(facets) else facets
    if found is None:
        return {}
    if isinstance(found, Mapping):
        blank = [name for name, said in found.items() if isinstance(said, str) and not said.strip()]
        found = {name: said for name, said in found.items() if name not in blank}
    texts = _texts(found)
    return {name: texts[name] for name in FACETS if name in texts}
