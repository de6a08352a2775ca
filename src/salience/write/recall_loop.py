"""Recall loops: texts that repeat what a search has just returned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from salience.language.tokens import words
from salience.records.record import MemoryRecord
from salience.write.text_differences import content_stems

_SHINGLE_WORDS = 3  # words
_MIN_REPEATED_SHARE = 0.9  # share of the shingles of a text at which it is what was recalled
_MIN_WORDS = 5  # words of a text that is more than one recalled memory
MEMORY_REFERENCE = re.compile(
    r"\[m:[^\[\]\s]+\]"
)  # without "[", no part of a text is looked at twice
"""How a context refers to a memory."""
_FRAMING_STEMS = frozenset(
    {"memori", "memory", "recal", "rememb", "note", "context", "relev", "known"}
)


def repeated_memory(content: str, recalled: Mapping[str, MemoryRecord]) -> MemoryRecord | None:
    """The memory that a text mostly repeats, if all it says was recalled; None otherwise.

    So it is if 9 in 10 of its runs of three words are in what was recalled, and no word of content
    is not. References and words that only frame what was recalled do not count.
    """
    if not recalled:
        return None
    said = words(MEMORY_REFERENCE.sub(" ", content))
    runs = _shingles(said)
    if len(said) < _MIN_WORDS or not runs:
        return None
    of_each = {id: _shingles(words(record.content)) for id, record in recalled.items()}
    known = frozenset[Any]().union(*of_each.values())
    stems = frozenset[str]().union(*(content_stems(r.content) for r in recalled.values()))
    strange = content_stems(MEMORY_REFERENCE.sub(" ", content)) - stems - _FRAMING_STEMS
    if strange or len(runs & known) < _MIN_REPEATED_SHARE * len(runs):
        return None
    return recalled[max(of_each, key=lambda id: (len(runs & of_each[id]), id))]


def _shingles(said: Sequence[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(
        tuple(said[i : i + _SHINGLE_WORDS]) for i in range(len(said) - _SHINGLE_WORDS + 1)
    )
