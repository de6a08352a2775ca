"""Recorded searches and the feedback on their hits: questions with known answers.

A hit answers its search if it was judged useful, or went into an answer (`touch`), within an hour
after the search, and was not judged otherwise later in that hour. What is said of a memory is said
of the last search before that has shown it. Searches of whose hits nothing good was said are left
out. The others see the memories that were there when they were made, as these are now. Memories
that were never shown were never judged, so the profile that showed the hits is at an advantage.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from salience.embedders import EmbedderLike
from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.evaluation.datasets import Conversation
from salience.evaluation.runner import Progress, Report, ask, measure
from salience.importers.conversation import Query
from salience.ranking.profile import Profile
from salience.ranking.profiles import get as profile_named
from salience.records.events import Event
from salience.retrieval.metrics import load_ir_measures, mean_intervals
from salience.search.recording import RecordedSearch, parse_line, read_lines
from salience.stores.address import Address

WITHIN = timedelta(hours=1)
_PAGE = 1_000


def read_searches(path: str | Path) -> list[RecordedSearch]:
    """The searches of a file that `Memory.open(search_log=...)` has kept, oldest first.

    Searches of several namespaces, or with a filter that is not a mapping, are left out.

    Raises:
        InvalidInput: the file cannot be read, or a line is no search, and which.
    """
    parsed = (parse_line(path, n, line) for n, line in enumerate(read_lines(path), start=1))
    searches = [search for search in parsed if search is not None]
    return sorted(searches, key=lambda search: search.at)


def questions(memory: Memory, searches: Sequence[RecordedSearch]) -> tuple[Conversation, ...]:
    """The recorded searches that have answers in a store; those of a day are a conversation.

    Raises:
        InvalidInput: no search has one.
    """
    by_namespace: defaultdict[str, list[RecordedSearch]] = defaultdict(list)
    for search in searches:
        by_namespace[search.namespace].append(search)
    by_day: defaultdict[tuple[str, str], list[Query]] = defaultdict(list)
    for namespace, group in sorted(by_namespace.items()):
        within = memory.for_namespace(namespace)
        answers = _answers(within, group)
        for search in group:
            relevant = tuple(sorted(id for id in answers.get(search.id, ()) if id in within))
            if relevant:
                query = Query(
                    search.id, search.query, relevant, at=search.at, filters=_then(search)
                )
                by_day[namespace, search.at.date().isoformat()].append(query)
    if not by_day:
        raise InvalidInput(
            "log",
            f"has {len(searches):,} searches, and nothing good was said of the hits of any",
            'say it within an hour, by feedback(id, "useful") or touch(id)',
        )
    return tuple(
        Conversation(f"{namespace} {day}", (), tuple(queries), None, namespace)
        for (namespace, day), queries in by_day.items()
    )


def labelled(memory: Memory) -> tuple[Conversation, ...]:
    """The labelled questions of a namespace that have an answer, each a conversation of its own.

    Raises:
        InvalidInput: no question has one.
    """
    name = memory.namespace
    conversations = tuple(
        Conversation(each.id, (), (query,), None, name)
        for each in memory.labels.questions()
        if each.relevant
        for query in [Query(each.id, each.query, each.relevant, at=each.at, filters=each.filters)]
    )
    if not conversations:
        remedy = "label some with labels.add or `salience questions add`"
        raise InvalidInput("questions", f"none is labelled in the namespace {name!r}", remedy)
    return conversations


def _then(search: RecordedSearch) -> dict[str, Any]:
    """The filters of a search, and that a memory was there when it was made."""
    was_there = {"added_at": {"lte": search.at.isoformat()}}
    return {"and": [search.filters, was_there]} if search.filters else was_there


def _answers(memory: Memory, searches: Sequence[RecordedSearch]) -> dict[str, set[str]]:
    """The ids of the hits that answer each search, by its id."""
    showing: defaultdict[str, list[RecordedSearch]] = defaultdict(list)
    for search in searches:
        for id in search.ids:
            showing[id].append(search)
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for event in _events(memory):
        judged = _is_good(event)
        if judged is None or event.id is None or event.id not in showing:
            continue
        matches = showing[event.id]
        place = bisect_right(matches, event.at, key=lambda search: search.at) - 1
        if place < 0 or event.at - matches[place].at > WITHIN:
            continue
        if judged:
            answers[matches[place].id].add(event.id)
        else:
            answers[matches[place].id].discard(event.id)
    return answers


def _is_good(event: Event) -> bool | None:
    """True if an event says that a memory was of use, False if not; None if it says nothing."""
    if event.type == "reference":
        return True
    kind = (event.payload or {}).get("feedback") if event.type == "feedback" else None
    return None if kind is None else kind == "useful"


def _events(memory: Memory) -> Iterator[Event]:
    cursor: str | None = None
    while page := memory.events(cursor, limit=_PAGE):
        yield from page
        cursor = page.cursor


# Recall on the recorded searches of a store


def evaluate_log(
    log: str | Path,
    url: Address,
    *,
    profiles: Sequence[str | Profile] = ("balanced",),
    embedder: str = "default",
    progress: Progress | None = None,
) -> Report:
    """Measure every profile on the recorded searches of a store; nothing is written there.

    Raises:
        InvalidInput: the log cannot be read, or no search has an answer; or there is no such
            profile or embedder.
    """
    load_ir_measures()
    report_progress = progress or (lambda step, done, total: None)
    report = Report()
    for profile in [profile_named(profile) for profile in profiles]:
        with Memory.open(url, embedder=embedder, profile=profile) as memory:
            members = questions(memory, read_searches(log))
            report.outcomes.append(
                measure(Path(log).stem, members, memory, profile, embedder, report_progress)
            )
    return report


# Two profiles over the same recorded searches, by interleaving their hits

SHOWN = 10
"""Hits of an interleaved list."""
_DRAFTS = 32


@dataclass(frozen=True, slots=True)
class Preference:
    """The preference of searches for the second of two profiles, and its 95 % interval.

    `wins` are the searches with more points for the first and for the second; the rest are even.
    """

    profiles: tuple[str, str]
    searches: int
    conversations: int
    wins: tuple[int, int]
    preference: float
    low: float
    high: float

    @property
    def better(self) -> str | None:
        """The name of the better profile; None if the difference may be chance."""
        if self.low <= 0.0 <= self.high:
            return None
        return self.profiles[self.preference > 0.0]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {name: getattr(self, name) for name in (*self.__slots__, "better")}


def compare_profiles(
    log: str | Path,
    url: Address,
    first: Profile,
    second: Profile,
    *,
    embedder: EmbedderLike | None = "default",
    progress: Progress | None = None,
) -> Preference:
    """Ask the recorded searches of a store again under two profiles, and interleave their hits.

    Nothing is written: no access is counted.

    Raises:
        InvalidInput: the log cannot be read, or no search has an answer.
    """
    report = progress or (lambda step, done, total: None)
    with (
        Memory.open(url, embedder=embedder, profile=first) as one,
        Memory.open(url, embedder=embedder, profile=second) as other,
    ):
        conversations = questions(one, read_searches(log))
        total = sum(len(conversation.queries) for conversation in conversations)
        preferences: list[float] = []
        names: list[str] = []
        for conversation in conversations:
            for query in conversation.queries:
                report("asking", len(names), total)
                ids, others = (ask(memory, conversation, query).ids for memory in (one, other))
                points = mean_points(ids, others, frozenset(query.relevant), Random(query.id))
                preferences.append(_preference(*points))
                names.append(conversation.name)
    values = np.array(preferences)
    [(low, high)] = mean_intervals(values[:, None], names)
    return Preference(
        (first.name, second.name),
        total,
        len(conversations),
        (int((values < 0.0).sum()), int((values > 0.0).sum())),
        float(values.mean()),
        low,
        high,
    )


def mean_points(
    first: Sequence[str], second: Sequence[str], answers: frozenset[str], random: Random
) -> tuple[float, float]:
    """The answers that each team added to a list of SHOWN hits, the mean over many drafts.

    Each draft is made a second time with all coins turned over, so that equal lists are even.
    """
    points = [0, 0]
    for _ in range(_DRAFTS):
        coins = random.getrandbits(SHOWN)
        for side in (coins, ~coins):
            for id, team in team_draft(first, second, side):
                points[team] += id in answers
    return points[0] / (2 * _DRAFTS), points[1] / (2 * _DRAFTS)


def team_draft(first: Sequence[str], second: Sequence[str], coins: int) -> list[tuple[str, int]]:
    """The interleaved hits of two lists, each with the team that added it: 0 or 1.

    Bit n of `coins` says which team begins turn n.
    """
    drafted: dict[str, int] = {}
    hits = [iter(first), iter(second)]
    for turn in range(SHOWN):
        begins = coins >> turn & 1
        for team in (begins, 1 - begins):
            best = next((id for id in hits[team] if id not in drafted), None)
            if best is not None and len(drafted) < SHOWN:
                drafted[best] = team
    return list(drafted.items())


def _preference(first: float, second: float) -> float:
    return (second - first) / (second + first) if first + second else 0.0
