"""What words say beyond themselves: features of a memory, and the analysis of a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recollect.query import When
from recollect.text import stem, words

FEATURES = ("words", "is_question")


@dataclass(frozen=True)
class Reading:
    """What was read out of a question; see `Query` for the parts."""

    terms: tuple[str, ...]
    meaning: str
    speakers: frozenset[str] = frozenset()
    when: tuple[When, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


def features(content: str) -> tuple[float, ...]:
    """The features of a memory's text, in the order of FEATURES."""
    return (float(len(content.split())), float(content.rstrip().endswith("?")))


def analyse(text: str, participants: Sequence[str]) -> Reading:
    """A question read: its terms, what to embed, whom and when it names."""
    return Reading(tuple(dict.fromkeys(stem(w) for w in words(text))), text)
