"""Two profiles over the same recorded searches, by interleaving their hits.

Team-draft interleaving (Radlinski, Kurup and Joachims, CIKM 2008): two teams take turns to add
their best hit that is not there yet, and a coin says who begins each turn. A hit that answers the
search is a point for the team that added it. With a and b the mean points of both over many drafts,

    preference of a search = (b - a) / (b + a), 0 where neither has a point

in [-1, 1], and positive where the second is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from salience.embedders import EmbedderLike
from salience.engine.memory import Memory
from salience.evaluation.figures.outcomes import mean_intervals
from salience.evaluation.replay.searches import questions, read_searches
from salience.evaluation.runner import Progress, ask
from salience.ranking.profile import Profile
from salience.stores.address import Address

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
    left = [iter(first), iter(second)]
    for turn in range(SHOWN):
        begins = coins >> turn & 1
        for team in (begins, 1 - begins):
            best = next((id for id in left[team] if id not in drafted), None)
            if best is not None and len(drafted) < SHOWN:
                drafted[best] = team
    return list(drafted.items())


def _preference(first: float, second: float) -> float:
    return (second - first) / (second + first) if first + second else 0.0
