"""Recall loops: texts that repeat what a search has just returned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from salience.language.tokens import words
from salience.records.record import MemoryRecord
from salience.write.dedup.text_differences import MAX_COMPARED_CHARACTERS, content_stems

MEMORY_REFERENCE = re.compile(r"\[m:[^\[\]\s]+\]")  # without "[", no part is looked at twice
"""The form in which a context refers to a memory."""
_SHINGLE_WORDS = 3
_MIN_REPEATED_SHARE = 0.9  # of the shingles of a text that repeats memories
_MIN_WORDS = 5  # of a text that repeats memories
_FRAMING_STEMS = frozenset(
    {"memori", "memory", "recal", "rememb", "note", "context", "relev", "known"}
)


def repeated_memory(content: str, recalled: Mapping[str, MemoryRecord]) -> MemoryRecord | None:
    """The memory that a text repeats most, if all that it says was recalled; None otherwise.

    A text repeats what was recalled if 9 in 10 of its shingles (runs of three words) and all of its
    words of content are in there. References and words that only frame a memory do not count.
    Texts of more than `MAX_COMPARED_CHARACTERS` are left out.
    """
    if len(content) > MAX_COMPARED_CHARACTERS:
        return None
    recalled = {
        id: record
        for id, record in recalled.items()
        if len(record.content) <= MAX_COMPARED_CHARACTERS
    }
    if not recalled:
        return None
    text = MEMORY_REFERENCE.sub(" ", content)
    tokens = words(text)
    shingles = _shingles(tokens)
    if len(tokens) < _MIN_WORDS or not shingles:
        return None
    shingles_of = {id: _shingles(words(record.content)) for id, record in recalled.items()}
    recalled_shingles = frozenset[Any]().union(*shingles_of.values())
    recalled_stems = frozenset[str]().union(*(content_stems(r.content) for r in recalled.values()))
    new_stems = content_stems(text) - recalled_stems - _FRAMING_STEMS
    if new_stems or len(shingles & recalled_shingles) < _MIN_REPEATED_SHARE * len(shingles):
        return None
    return recalled[max(shingles_of, key=lambda id: (len(shingles & shingles_of[id]), id))]


def _shingles(tokens: Sequence[str]) -> frozenset[tuple[str, ...]]:
    starts = range(len(tokens) - _SHINGLE_WORDS + 1)
    return frozenset(tuple(tokens[start : start + _SHINGLE_WORDS]) for start in starts)
