"""The types of an analysed question: its terms, the speakers and dates that it names."""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any, ClassVar

from salience.display.result import Result
from salience.lazily import dataclass, field

_NO_FEATURES: Mapping[str, float] = MappingProxyType({})
_NOTHING_TAKEN: Mapping[str, tuple[str, ...]] = MappingProxyType({})
_NO_WORDINGS: Mapping[str, tuple[Wording, ...]] = MappingProxyType({})
QUERY_FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "namespace_has_user": "somebody in the namespace talks with an assistant",
        "query_names_one_speaker": "names exactly one speaker",
        "query_names_date": "asks about a time: a day, a week, a month, a year",
        "query_asks_summary": "asks for a summary, and names no speaker",
        "query_is_about_assistant": "asks what the assistant said or did",
        "query_is_first_person": "speaks of I, my, we, and asks about no one else",
        "query_asks_when": "asks for a time",
        "query_asks_number": "asks for a number",
        "query_asks_name": "asks for a person, a place or the name of a thing",
        "query_asks_kind": "asks for things of a kind, as which sports or how many pets",
        "query_asks_advice": "asks for advice, a plan, a draft or leave to do something",
        "query_asks_whether": "asks for yes or no",
        "query_is_about_body": "asks for advice on food, medicine or sport",
        "query_is_about_food_or_sport": "asks for advice on food or sport, not on medicine",
        "query_has_concern": "asks for advice on a topic of everyday life",
        "query_asks_present": "asks for the present state",
        "query_asks_state": "asks for what may change, as where somebody lives",
        "query_is_not_recall": "does not ask about what was said or done",
        "embedder_reads_context": "is embedded by a model that reads words in their context",
    }
)
"""The features of a query that a formula may depend on, by name, with their meanings."""
Term = tuple[str, ...]
"""The stems of one word's forms, which count as one term: ("go", "went", "gone")."""
Wording = tuple[Term, ...]
"""Terms that together name something, in any order: (("june", "jun"), ("12", "12th"))."""


@dataclass(frozen=True)
class Speakers:
    """The speakers of a namespace.

    `by_word` maps each word of a name to the speakers who have it in theirs; `turns` counts the
    memories of each speaker, `all_turns` those of all of them.
    """

    by_word: Mapping[str, Set[str]]
    users: frozenset[str]
    assistants: frozenset[str]
    turns: Mapping[str, int]
    all_turns: int


@dataclass(frozen=True)
class NamedDates:
    """The dates a question names: its years, its months (1-12), its days as (month, day)."""

    years: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    days: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, repr=False)
class TimeRange(Result):
    """A stretch of time that a question names, start <= t < end in seconds, and its words."""

    _readers: ClassVar[Mapping[str, Any]] = dict.fromkeys(
        ("start", "end"), lambda time: datetime.fromisoformat(time).timestamp()
    )

    start: float
    end: float
    words: str

    def to_dict(self) -> dict[str, Any]:
        """A mapping of values that JSON has: start and end in ISO 8601, and the words."""
        start, end = (
            datetime.fromtimestamp(seconds, timezone.utc).isoformat()
            for seconds in (self.start, self.end)
        )
        return {"start": start, "end": end, "words": self.words}


@dataclass(frozen=True)
class QueryAnalysis:
    """The parts of a question that the ranking reads.

    Attributes:
        terms: for the lexical route.
        semantic_text: the text to embed, without the names of speakers.
        speakers: the speakers that it names.
        wordings: the wordings by which a text names what the question names: the speakers under
            "named", its dates under "date", days of at most a week under "weekday" and
            "tomorrow", things of the kind that it asks for under "kind".
        users: the speakers whose role is the user.
        assistants: the speakers whose role is the assistant.
        asked_times: the times that it asks about: start <= t < end in seconds, and how likely each
            is meant, in (0, 1].
        time_terms: the places of the terms that are words for these times.
        features: the features of the query that hold, each as 1.0 (see `QUERY_FEATURES`).
        phrases: the parts in quotation marks.
        prefixes: the beginnings of words before a star, folded.
        during: the time that the search keeps to.
        past_interval: the past time that it is about, from and until in seconds.
        question: the question proper, to be embedded as well, where much else stands around it;
            else empty.
        language: the code of its language, where it is one with a table; "und" for another one in
            Latin script, and "" for English.
        writing: the script that it is written in, and the share of it (see `scripts.writing`).
        request: the probability that it asks for advice or a piece of work, in [0, 1].
        asks_former: whether it surely asks for what held before.
        state: the number of the attribute that it asks for, below 0 if not of who asks; else 0.
        state_subject: the places of the terms that name whose attribute it is.
        weights: the weight of each term; empty if all have 1.
        content_words: number of its words that are not stop words.
        taken: the words that each misspelt one was taken for, the likeliest first.
    """

    terms: tuple[Term, ...] = ()
    semantic_text: str = ""
    speakers: frozenset[str] = frozenset()
    wordings: Mapping[str, tuple[Wording, ...]] = field(default_factory=lambda: _NO_WORDINGS)
    users: frozenset[str] = frozenset()
    assistants: frozenset[str] = frozenset()
    asked_times: tuple[tuple[float, float, float], ...] = ()
    time_terms: frozenset[int] = frozenset()
    features: Mapping[str, float] = field(default_factory=lambda: _NO_FEATURES)
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    during: TimeRange | None = None
    past_interval: tuple[float, float] | None = None
    question: str = ""
    language: str = ""
    writing: tuple[int, float] = (0, 0.0)
    request: float = 0.0
    asks_former: bool = False
    state: float = 0.0
    state_subject: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    content_words: int = 0
    taken: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NOTHING_TAKEN)

    @property
    def topic_terms(self) -> list[int]:
        """The places of the terms that are no words for a time."""
        return [at for at in range(len(self.terms)) if at not in self.time_terms]
