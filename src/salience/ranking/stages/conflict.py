"""Conflict: of two recalled memories that contradict each other, the weaker one gives way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Signal
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.operations import LinksBetween
from salience.retrieval.plan import Plan, ask
from salience.retrieval.query import Query

_EQUAL = 1e-9


@dataclass(frozen=True)
class Conflict(Stage):
    """conflict = penalty ^ n, n the candidates that it contradicts and is weaker than; in (0, 1].

    Every two candidates joined by a link of the type `link`, in either direction, compare
    `strength` (NaN is weakest); of two that are equal within 1e-9 the older one loses, then the
    one with the larger id.

    Writes the column `into`, 1 for who loses to nobody, with its reasons: `<into>.by` and
    `<into>.over`, the ids of those it lost to and won against, and `<into>.why`.

    Source: the design of the "activation" profile, conflict resolution.
    """

    strength: Signal
    penalty: float = 0.3
    link: str = "contradicts"
    into: str = "conflict"
    around: ClassVar[str | None] = "links"

    def reads(self) -> frozenset[str]:
        return self.strength.inputs() | {"id", "created_at"}

    def writes(self) -> frozenset[str]:
        reasons = (f"{self.into}.{reason}" for reason in ("by", "over", "why"))
        return frozenset({self.into, *reasons})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        edges = yield from ask(LinksBetween(candidates.rows, query))
        place = {row: at for at, row in enumerate(candidates.rows.tolist())}
        pairs = {
            (min(place[a], place[b]), max(place[a], place[b]))
            for a, b, _, type in edges
            if type == self.link and a in place and b in place and a != b
        }
        return self._resolved(
            candidates, Evaluation(query, candidates).column(self.strength), pairs
        )

    def _resolved(
        self, candidates: Candidates, strength: Floats, pairs: set[tuple[int, int]]
    ) -> Candidates:
        strength = np.nan_to_num(strength, nan=-np.inf)
        created, ids = candidates.floats("created_at"), candidates["id"]
        lost: dict[int, dict[str, str]] = {}  # by the loser: the winners' ids, and why
        won: dict[int, list[str]] = {}
        for one, other in pairs:
            loser, winner, why = _compared(one, other, strength, created, ids)
            lost.setdefault(loser, {})[ids[winner]] = why
            won.setdefault(winner, []).append(ids[loser])
        factor = np.ones(len(candidates))
        by, over, reasons = (np.full(len(candidates), None, dtype=object) for _ in range(3))
        for at, winners in lost.items():
            factor[at] = self.penalty ** len(winners)
            by[at] = tuple(sorted(winners))
            reasons[at] = "; ".join(winners[id] for id in sorted(winners))
        for at, losers in won.items():
            over[at] = tuple(sorted(losers))
        return candidates.with_columns(
            **{
                self.into: factor,
                f"{self.into}.by": by,
                f"{self.into}.over": over,
                f"{self.into}.why": reasons,
            }
        )


def _compared(
    one: int, other: int, strength: Floats, created: Floats, ids: np.ndarray[tuple[int], np.dtype]
) -> tuple[int, int, str]:
    """The loser, the winner, and why."""
    first, second = float(strength[one]), float(strength[other])
    if not (first == second or abs(first - second) <= _EQUAL):
        loser, winner = (one, other) if first < second else (other, one)
        return loser, winner, f"{strength[loser]:.9g} against {strength[winner]:.9g}"
    if created[one] != created[other]:
        loser, winner = (one, other) if created[one] < created[other] else (other, one)
        return loser, winner, f"as strong as {ids[winner]}, but older"
    loser, winner = (one, other) if ids[one] > ids[other] else (other, one)
    return loser, winner, f"as strong and old as {ids[winner]}; the smaller id wins"


def conflict(strength: Signal, penalty: float = 0.3) -> Conflict:
    """Let the weaker of two that contradict each other give way."""
    return Conflict(strength, penalty)
