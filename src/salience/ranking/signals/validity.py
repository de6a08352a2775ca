"""Validity: signals of facts that held, or did not, at the time that a query is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.expressions import Signal
from salience.ranking.signals.recency import DAY
from salience.retrieval.candidates import Floats

COLUMNS = frozenset({"kind", "created_at", "valid_from", "valid_to"})
FADING_DAYS = 730.0


def _since(ev: Evaluation) -> Floats | None:
    """The time from which each fact holds, in seconds; NaN for other memories, None without facts.

    A fact is a memory of the kind "fact", or one that says itself when it holds. It holds from its
    `valid_from` (else its creation).
    """
    table = ev.candidates
    start, end = table.floats("valid_from"), table.floats("valid_to")
    places, kinds = ev.distinct("kind")
    if "fact" not in kinds and np.isnan(start).all() and np.isnan(end).all():
        return None
    facts = np.array([kind == "fact" for kind in kinds], dtype=bool)[places]
    facts |= ~(np.isnan(start) & np.isnan(end))
    start = np.where(np.isnan(start), table.floats("created_at"), start)
    return np.where(facts, start, np.nan)


def _time(ev: Evaluation) -> tuple[float, float]:
    """The time that the query is about: what it names, else now."""
    return ev.query.reading.past_interval or (ev.query.now, ev.query.now)


@dataclass(frozen=True)
class Expired(Signal):
    """1 for a memory that says itself that it did not hold at the time asked about, else 0.

    The time is the one that the query names ("in March 2024"), else now; all of it is before
    `valid_from`, or not before `valid_to`. The time of telling does not matter: much is told only
    afterwards.
    """

    def columns(self) -> frozenset[str]:
        return frozenset({"valid_from", "valid_to"})

    def compute(self, ev: Evaluation) -> Values:
        table = ev.candidates
        first, last = _time(ev)
        expired = (table.floats("valid_from") > last) | (table.floats("valid_to") <= first)
        return expired.astype(np.float64) if expired.any() else 0.0


@dataclass(frozen=True)
class LatestFact(Signal):
    """exp(-d / 730) for a fact, d the days from its beginning to the end of the time asked about.

    In [0, 1], 0 for other memories and for facts that begin later. Of two facts about the same, the
    later one is likelier to have held; by how much depends only on the time between them. All are 0
    where the query is about no time but the past ("originally").
    """

    def columns(self) -> frozenset[str]:
        return COLUMNS

    def compute(self, ev: Evaluation) -> Values:
        since = ev.shared(_since)
        if since is None:
            return 0.0
        first, last = _time(ev)
        if first == -np.inf:
            return 0.0
        days = (last - since) / DAY
        recency = np.where(days >= 0.0, np.exp(-np.maximum(days, 0.0) / FADING_DAYS), 0.0)
        return np.nan_to_num(recency)
