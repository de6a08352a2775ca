"""Signals of what was said around a memory in its session."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.evaluation import Evaluation, Values
from recollect.expr import Signal


@dataclass(frozen=True)
class Nearby(Signal):
    """sum of x^2 * exp(-distance / tau) over the session's other candidates, distance in turns.

    The `reach` candidates nearest before and after count; 0 where there is no session.
    """

    of: Signal
    tau: float = 4.0
    reach: int = 8

    def columns(self) -> frozenset[str]:
        return frozenset({"session_id", "position"})

    def compute(self, ev: Evaluation) -> Values:
        groups, _ = ev.groups("session_id")
        # Sessions lie a million turns apart, where nothing is near; sorted by this place, who is
        # near in a session is near in the order, too.
        place = groups * 1e6 + np.nan_to_num(ev.candidates.floats("position"))
        order = np.argsort(place, kind="stable")
        count, reach = len(order), self.reach
        scaled = np.full(count + reach, -np.inf)  # behind the last: infinitely far away
        scaled[:count] = place[order] / -self.tau
        weight = np.zeros(count + reach)
        weight[:count] = np.square(np.nan_to_num(ev.column(self.of)[order]))
        later = np.arange(1, reach + 1)[:, np.newaxis] + np.arange(count)
        fading = np.exp(scaled[later] - scaled[:count])
        around = np.bincount(later.ravel(), (fading * weight[:count]).ravel())[:count]
        around += np.add.reduce(fading * weight[later], axis=0)
        found = np.empty(count)
        found[order] = around
        return found

    def how(self) -> str:
        return "candidates around it in its session"

    def __str__(self) -> str:
        return f"nearby({self.of}, {self.tau:g}, {self.reach})"


@dataclass(frozen=True)
class SessionCover(Signal):
    """sum of idf(t) over the query's terms in any candidate of the session / over all terms found.

    In [0, 1]; a memory without a session is one by itself. 0 where no term is found at all.
    """

    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, "session_id"})

    def compute(self, ev: Evaluation) -> Values:
        groups, _ = ev.groups("session_id")
        matched = ev.candidates[self.matched]
        total = float(matched.max(axis=0, initial=0.0).sum())
        if not total > 0.0:
            return 0.0
        order = np.argsort(groups, kind="stable")
        begins = np.diff(groups[order], prepend=-1) != 0
        starts = np.flatnonzero(begins)
        covered = np.add.reduce(np.maximum.reduceat(matched[order], starts, axis=0), axis=1)
        found = np.empty(len(order))
        found[order] = covered[np.cumsum(begins) - 1]
        return found / total

    def __str__(self) -> str:
        return f"session_cover({self.matched})"
