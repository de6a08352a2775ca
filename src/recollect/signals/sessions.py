"""Signals of what was said around a memory in its session."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recollect.candidates import Floats
from recollect.expr import Evaluation, Signal


@dataclass(frozen=True)
class Nearby(Signal):
    """sum of x^2 * exp(-distance / tau) over the session's candidates up to `reach` turns away.

    The memory itself is left out; NaN where there is no session.
    """

    of: Signal
    tau: float = 4.0
    reach: int = 12

    def columns(self) -> frozenset[str]:
        return frozenset({"session_id", "position"})

    def compute(self, ev: Evaluation) -> Floats:
        groups, _ = ev.groups("session_id")
        position = np.nan_to_num(ev.candidates.floats("position"))
        order = np.lexsort((position, groups))
        group, place = groups[order], position[order]
        weight = np.square(np.nan_to_num(ev(self.of)))[order]
        around = np.zeros(len(order))
        # Sorted by session and place, who is near is near in the order, too.
        for step in range(1, min(self.reach, len(order) - 1) + 1):
            apart = place[step:] - place[:-step]
            together = (group[step:] == group[:-step]) & (apart <= self.reach)
            if not together.any():
                break
            fading = np.exp(-apart / self.tau, where=together, out=np.zeros(len(apart)))
            around[step:] += fading * weight[:-step]
            around[:-step] += fading * weight[step:]
        found = np.empty(len(order))
        found[order] = around
        return np.where(groups < 0, np.nan, found)

    def how(self) -> str:
        return "candidates around it in its session"

    def __str__(self) -> str:
        return f"nearby({self.of}, {self.tau:g}, {self.reach})"


@dataclass(frozen=True)
class SessionCover(Signal):
    """sum of idf(t) over the query's terms in any candidate of the session / over all terms found.

    In [0, 1]; NaN where there is no session, 0 where no term is found at all.
    """

    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, "session_id"})

    def compute(self, ev: Evaluation) -> Floats:
        groups, count = ev.groups("session_id")
        matched = ev.candidates[self.matched]
        covered = np.zeros((count + 1, matched.shape[1]))
        np.maximum.at(covered, groups, matched)
        total = float(matched.max(axis=0, initial=0.0).sum())
        shares = covered.sum(axis=1) / total if total > 0.0 else np.zeros(count + 1)
        shares[-1] = np.nan
        return shares[groups]

    def __str__(self) -> str:
        return f"session_cover({self.matched})"
