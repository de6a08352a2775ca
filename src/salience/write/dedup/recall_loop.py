"""Recall loops: texts that repeat what a search has just returned."""

from __future__ import annotations

import re
from collections.abc import Mapping

from salience.write.dedup.sameness import MAX_COMPARED_CHARACTERS
from salience.write.dedup.written_words import PAUSE, QUESTION, plain, written

MEMORY_REFERENCE = re.compile(r"\[m:[^\[\]\s]+\]")  # without "[", no part is looked at twice
"""The form in which a context refers to a memory."""
_MIN_WORDS = 5  # of a text that repeats memories
_FRAMES = frozenset(
    "context known memories memory note noted recall recalled relevant remember".split()
)
_BESIDE_FRAMES = frozenset("as from i in is my of per that the to we you".split())

_SaidSentence = tuple[str, ...]


def repeated_memory(content: str, recalled: Mapping[str, str]) -> str | None:
    """The id of the memory that a text repeats most, if all that it says was recalled; else None.

    A text repeats what was recalled if each of its sentences is in there, word for word.
    References and words that only frame a memory ("I recall that") do not count. Texts of more
    than `MAX_COMPARED_CHARACTERS` are left out.
    """
    if not recalled or len(content) > MAX_COMPARED_CHARACTERS:
        return None
    said = _said(MEMORY_REFERENCE.sub(". ", content).replace("[m:", " "))
    if sum(map(len, said)) < _MIN_WORDS:
        return None
    holding: dict[str, list[_SaidSentence]] = {}
    for id, text in recalled.items():
        if len(text) <= MAX_COMPARED_CHARACTERS:
            folded = plain(text).casefold()
            likely = [sentence for sentence in said if _may_be_in(sentence, folded)]
            if likely:
                known = set(_said(text))
                holding[id] = [sentence for sentence in likely if sentence in known]
    if not set(said) <= set().union(*holding.values()):
        return None
    return max(holding, key=lambda id: (len(holding[id]), id))


def _may_be_in(sentence: _SaidSentence, folded: str) -> bool:
    """False only if a text lacks a word of a sentence; it is read word for word after that."""
    return all(word.casefold() in folded for word in sentence if word != QUESTION)


def _said(text: str) -> list[_SaidSentence]:
    """The sentences of a text in small letters, without what frames them."""
    folded = (
        tuple(word.folded for word in sentence if word.text != PAUSE)
        for sentence in written(text).sentences
    )
    return [said for sentence in folded if (said := _without_frame(sentence))]


def _without_frame(sentence: _SaidSentence) -> _SaidSentence:
    """A sentence from the end of the words on that frame it."""
    frame = 0
    for place, word in enumerate(sentence):
        if word in _FRAMES:
            frame = place + 1
        elif word not in _BESIDE_FRAMES:
            break
    while 0 < frame < len(sentence) and sentence[frame] == "that":
        frame += 1
    return sentence[frame:]
