"""A query: what is asked, of whom, when, and what could be read out of its words."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import MappingProxyType

_NO_FACTS: Mapping[str, float] = MappingProxyType({})
_NO_WORDINGS: Mapping[str, tuple[Wording, ...]] = MappingProxyType({})
Term = tuple[str, ...]
"""The stems of one word's forms, which count as one word: ("go", "went", "gone")."""
Wording = tuple[Term, ...]
"""Words by which a text names something, in any order: (("june", "jun"), ("12", "12th"))."""


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who speaks in a namespace: by the words of their names, by role, and how many turns each."""

    names: Mapping[str, Set[str]]
    users: frozenset[str]
    assistants: frozenset[str]
    turns: Mapping[str, int]
    all_turns: int


@dataclass(frozen=True, slots=True)
class NamedDates:
    """The dates a question names: its years, its months (1-12), its days as (month, day)."""

    years: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    days: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time that a question names: start <= t < end, in seconds; and its words."""

    start: float
    end: float
    words: str

    def to_dict(self) -> dict[str, str]:
        """A JSON-ready mapping: start and end in ISO 8601, and the words."""
        times = {"start": self.start, "end": self.end}
        return {
            **{n: datetime.fromtimestamp(t, timezone.utc).isoformat() for n, t in times.items()},
            "words": self.words,
        }


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """What was read out of a question.

    `terms` are for the lexical route; `meaning` is the text to embed; `speakers` are the
    participants it names; `users` and `assistants` are who talks with whom here by role;
    `wordings` tell by what words a text names what the question names: the participants under
    "named", its dates under "year", "month" and "day"; `facts` are properties of the question
    as 0.0 or 1.0, see `analyze_query`. `phrases` stood in quotation marks, `prefixes` before a
    star (folded), `during` is a time it asks about, which the search keeps to. `asked` is the
    past time that it is about by its words, from and until in seconds. `question` is what it
    asks, to be embedded as well, where much else stands around that; else empty.
    """

    terms: tuple[Term, ...] = ()
    meaning: str = ""
    speakers: frozenset[str] = frozenset()
    wordings: Mapping[str, tuple[Wording, ...]] = field(default_factory=lambda: _NO_WORDINGS)
    users: frozenset[str] = frozenset()
    assistants: frozenset[str] = frozenset()
    dates: NamedDates = NamedDates()
    facts: Mapping[str, float] = field(default_factory=lambda: _NO_FACTS)
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    during: TimeRange | None = None
    asked: tuple[float, float] | None = None
    question: str = ""
