"""Conflict: of two candidates that contradict each other, the weaker one is penalized."""

from __future__ import annotations

import numpy as np

from salience.arithmetic import power
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import Signal
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates, CategoricalColumn, ColumnData, Floats
from salience.retrieval.operations import LinksBetween
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query

_EQUAL_WITHIN = 1e-9


@dataclass(frozen=True)
class Conflict(Stage):
    """conflict = penalty ^ n, n the number of stronger candidates that it contradicts; in (0, 1].

    Two candidates joined by a link of the type `link`, in either direction, compare `strength` (NaN
    is weakest). If they are equal within 1e-9, the older one loses, then the one with the larger
    id.

    Writes the column `into`, 1 for a memory that never loses, with its reasons: `<into>.by` and
    `<into>.over`, the ids of the memories it lost to and won against, and `<into>.why`.

    Source: the design of the "activation" profile, conflict resolution.
    """

    strength: Signal
    penalty: float = 0.3
    link: str = "contradicts"
    into: str = "conflict"

    def reads(self) -> frozenset[str]:
        return self.strength.inputs() | {"id", "created_at"}

    def writes(self) -> frozenset[str]:
        return frozenset({self.into, *map(f"{self.into}.{{}}".format, ("by", "over", "why"))})

    def plan(
        self, query: Query, candidates: Candidates, wanted: frozenset[str]
    ) -> Plan[Candidates]:
        [edges] = yield [LinksBetween(candidates.rows, query, self.link)]
        linked = [(a, b) for a, b, *_ in edges if a != b]
        place = {row: at for at, row in enumerate(candidates.rows.tolist())} if linked else {}
        pairs = {
            (min(place[a], place[b]), max(place[a], place[b]))
            for a, b in linked
            if a in place and b in place
        }
        if not pairs:
            none = CategoricalColumn(np.zeros(len(candidates), np.intp), [None], none=0)
            columns: dict[str, ColumnData] = dict.fromkeys(self.writes(), none)
            columns[self.into] = np.ones(len(candidates))
            return candidates.with_columns(**columns)
        return self._resolved(
            candidates, Evaluation(query, candidates).column(self.strength), pairs
        )

    def _resolved(
        self, candidates: Candidates, strength: Floats, pairs: set[tuple[int, int]]
    ) -> Candidates:
        strength = np.nan_to_num(strength, nan=-np.inf)
        created, ids = candidates.floats("created_at"), candidates["id"]
        winners_of: dict[int, dict[str, str]] = {}  # by loser: the reason by the winner's id
        losers_of: dict[int, list[str]] = {}
        for one, other in pairs:
            loser, winner, why = _compared(one, other, strength, created, ids)
            winners_of.setdefault(loser, {})[ids[winner]] = why
            losers_of.setdefault(winner, []).append(ids[loser])
        factor = np.ones(len(candidates))
        by, over, reasons = (np.full(len(candidates), None, dtype=object) for _ in range(3))
        for place, winners in winners_of.items():
            factor[place] = power(self.penalty, len(winners))
            by[place] = tuple(sorted(winners))
            reasons[place] = "; ".join(winners[id] for id in sorted(winners))
        for place, losers in losers_of.items():
            over[place] = tuple(sorted(losers))
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
    """The loser, the winner, and the reason."""
    first, second = float(strength[one]), float(strength[other])
    if not (first == second or abs(first - second) <= _EQUAL_WITHIN):
        loser, winner = (one, other) if first < second else (other, one)
        return loser, winner, f"{strength[loser]:.9g} against {strength[winner]:.9g}"
    if created[one] != created[other]:
        loser, winner = (one, other) if created[one] < created[other] else (other, one)
        return loser, winner, f"as strong as {ids[winner]}, but older"
    loser, winner = (one, other) if ids[one] > ids[other] else (other, one)
    return loser, winner, f"as strong and old as {ids[winner]}; the smaller id wins"


def conflict(strength: Signal, penalty: float = 0.3) -> Conflict:
    """Penalize the weaker of two candidates that contradict each other."""
    return Conflict(strength, penalty)
