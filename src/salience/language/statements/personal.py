"""Statements of somebody about themselves, which bear on later requests: tastes, health and such.

A statement counts, not a question; a question that states something first counts as well.
"""

from __future__ import annotations

import re

from salience.language.cues import CueTable
from salience.language.english import ASKS
from salience.language.languages.table import CueName, Language

NOTHING, CIRCUMSTANCE, PREFERENCE, INSTRUCTION, HEALTH = 0.0, 1.0, 2.0, 3.0, 4.0
"""The kinds of statements, in the order in which they matter; of several the last one counts."""
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]+[.!?\n\u3002\uff01\uff1f]*")
_QUESTION_MARKS = ("?", "\uff1f")

_TABLE = CueTable("personal")
PREFERENCE_STATED = _TABLE.pattern("preference")
HEALTH_STATED = _TABLE.pattern("health")
CIRCUMSTANCE_STATED = _TABLE.pattern("circumstance")
RELATIVES = _TABLE["_relatives"].pattern
_ENGLISH = (
    (HEALTH, HEALTH_STATED), (PREFERENCE, PREFERENCE_STATED), (CIRCUMSTANCE, CIRCUMSTANCE_STATED),
)  # fmt: skip
_CUES: tuple[tuple[float, CueName], ...] = (
    (HEALTH, "health"), (PREFERENCE, "preference"), (CIRCUMSTANCE, "circumstance"),
)  # fmt: skip


def personal(text: str, instructs: bool, language: Language | None) -> float:
    """The kind of statement that a folded text makes of who says it; questions make none."""
    found = _said(text, language)
    if found and any(mark in text for mark in _QUESTION_MARKS):
        sentences = _SENTENCE.findall(text)
        said = (_said(one, language) for one in sentences if not _asks(one.strip(), language))
        found = max(said, default=NOTHING)
    return max(found, INSTRUCTION) if instructs else found


def _said(text: str, language: Language | None) -> float:
    if language is None:
        return next((kind for kind, cue in _ENGLISH if cue.search(text)), NOTHING)
    found = next((kind for kind, cue in _CUES if language.matches(cue, text)), NOTHING)
    return found if found != HEALTH or language.is_about_speaker(text) else NOTHING


def _asks(sentence: str, language: Language | None) -> bool:
    if not sentence.endswith(_QUESTION_MARKS):
        return False
    asks = ASKS.search(sentence) if language is None else language.matches("asks", sentence)
    return bool(asks)
