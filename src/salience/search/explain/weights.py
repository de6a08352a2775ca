"""Weights: for each, the value nearest to its own that turns an outcome, found by ranking with it.

Scores are straight lines of a weight as long as no other value moves with it. So the value is
solved from the scores at the ends of a range, and found to the last bit by ranking with what is
next to it. Where scores bend, or do not decide alone, it is looked for step by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from salience.display.result import Result
from salience.lazily import dataclass
from salience.ranking.explanation import figure
from salience.ranking.probability import estimate
from salience.ranking.run import RankedRun, Reweighing
from salience.retrieval.candidates import Floats
from salience.retrieval.plan import Plan
from salience.search.cutoff import NO_CUTOFF, Cutoff
from salience.search.explain.why_not import Search, beyond, edge, nearest

REACH = 1_000.0  # how far from its own a weight is tried
_STEPS = [4.0**power for power in range(-4, 6)]  # away from its own, where no line leads to it
_PAST = 1.0 + 2.0**-16
_MARGINS = (2.0**-50, 2.0**-46, 2.0**-40, 2.0**-26)  # of the way to where lines cross: rounding
_FEW_STEPS = (1.0, 4.0)  # for weights that stages before the score have
_LESS_NEAR = 2.0**-14  # for these, as each trial runs these stages again
_NEAR = 2.0**-40  # of the way to a value that no line leads to: it is no nearer than that
_GUESSES = 2  # crossings that are tried
_STRAIGHT = 1e-9  # by which a score may miss its line, in proportion


@dataclass(frozen=True, repr=False)
class WeightChange(Result):
    """A weight of the profile, and the value nearest to its own with which the outcome turns.

    `needed` is None where no value within 1,000 of its own was found to turn it; of a weight that a
    stage before the score has, within four times its own. `rank` is the place of the memory among
    the hits with that weight, None if it is none of them.
    """

    name: str
    value: float
    needed: float | None = None
    rank: int | None = None

    @property
    def change(self) -> str:
        """Its own value and the one needed, as text; empty without one."""
        if self.needed is None:
            return ""
        return f"{figure(self.value)} -> {beyond(self.value, self.needed)}"


@dataclass(frozen=True)
class Aim:
    """The outcome that may turn: that a row is a hit, or stands before the row of a rival."""

    row: int
    rival: int | None = None
    cutoff: Cutoff = NO_CUTOFF

    def rank(self, run: RankedRun) -> int | None:
        """The place of the row among the hits of a run, from 1; None if it is none of them."""
        place = self._cut(run).final.position(self.row)
        return None if place is None else place + 1

    def holds(self, run: RankedRun) -> bool:
        """True if the row is a hit of a run, or stands before the rival."""
        if self.rival is None:
            return self.rank(run) is not None
        run = self._cut(run)
        rows = (self.row, self.rival)
        stage, rival_stage = (-1 if at is None else at for at in map(run.last_seen, rows))
        if stage != rival_stage or stage < 0:
            return stage > rival_stage
        table = run.tables[stage]
        places = [table.position(row) or 0 for row in rows]
        if stage == len(run.tables) - 1 or "score" not in table.columns:
            return places[0] < places[1]
        keys = table.tie_keys(np.array(places))
        position, rival_position = zip((-table.floats("score")[places]).tolist(), keys, strict=True)
        return bool(position < rival_position)

    def _cut(self, run: RankedRun) -> RankedRun:
        return run if self.cutoff == NO_CUTOFF else self.cutoff.apply(run, estimate(run))


def weight_changes(reweighing: Reweighing, aim: Aim) -> Plan[tuple[WeightChange, ...]]:
    """The plan of finding the value of each weight that turns the outcome.

    The least change comes first, and weights that turn nothing last. Those after which a model
    would have to read the texts again are left out.
    """
    changes = []
    for name in reweighing.weights:
        if not reweighing.asks_model(name):
            changes.append((yield from _Trial(reweighing, name, aim).change()))
    return tuple(sorted(changes, key=_order))


def _order(change: WeightChange) -> tuple[bool, float, str]:
    away = 0.0 if change.needed is None else abs(change.needed - change.value)
    return change.needed is None, away, change.name


class _Outcome(NamedTuple):
    """Result of a value: the score of each row of the run, the rank, and whether it turns."""

    scores: Floats
    rank: int | None
    turns: bool


class _Trial:
    """One weight of a run, and what came of each value that was tried."""

    def __init__(self, reweighing: Reweighing, name: str, aim: Aim) -> None:
        self._reweighing, self._name, self._aim = reweighing, name, aim
        self._run, self._own = reweighing.run, reweighing.weights[name]
        self._now = aim.holds(self._run)
        self._tried = {self._own: self._outcome(self._run)}

    def change(self) -> Plan[WeightChange]:
        """The plan of finding the nearest value that turns the outcome."""
        if not self._reweighing.counts(self._name):
            return WeightChange(self._name, self._own)
        search, needed = self._search(), None
        try:
            value = next(search)
            while True:
                if value not in self._tried:
                    run = yield from self._reweighing.again(self._name, value)
                    self._tried[value] = self._outcome(run)
                value = search.send(self._tried[value].turns)
        except StopIteration as end:
            needed = end.value
        rank = None if needed is None else self._tried[needed].rank
        return WeightChange(self._name, self._own, needed, rank)

    def _outcome(self, run: RankedRun) -> _Outcome:
        scores, rows = run.scored.floats("score"), self._run.scored.rows
        if run.scored.rows is not rows:
            scores = run.scored.at_rows(scores, rows)
        return _Outcome(scores, self._aim.rank(run), self._aim.holds(run) != self._now)

    def _search(self) -> Search:
        """Look for the nearest value: along lines, else step by step."""
        base, ends, turned = self._own, (self._own + REACH, self._own - REACH), False
        if not self._reweighing.is_added(self._name):
            scale = max(1.0, abs(base))
            return (yield from nearest(base, [scale * step for step in _FEW_STEPS], self._between))
        for end in ends:
            turned |= yield end
        guesses = [next(self._crossings(base, end), math.inf) for end in ends]
        if min(guesses) < math.inf:
            _, end = min((abs(guess - base), end) for guess, end in zip(guesses, ends, strict=True))
            crossing = yield from self._along(base, end)
            if crossing is not None and self._is_straight(crossing, end):
                return crossing
        else:
            for value in (base + 1.0, base - 1.0):
                turned |= yield value
            straight = all(map(self._is_straight, (base + 1.0, base - 1.0), ends))
            if straight and not turned:
                return None
        return (yield from nearest(base, _STEPS, self._between))

    def _between(self, inside: float, outside: float) -> Search:
        """Look for the turning value between two, only the second of which turns the outcome."""
        value = yield from self._along(inside, outside)
        if value is None:
            near = _NEAR if self._reweighing.is_added(self._name) else _LESS_NEAR
            value = yield from edge(inside, outside, near, self._own)
        return value

    def _along(self, inside: float, outside: float) -> Search:
        """Look where lines cross between two values; None if the outcome turns at none of these."""
        for crossing in self._crossings(inside, outside):
            past = inside + (crossing - inside) * _PAST
            yield past  # a line from there leads nearer to it
            guess = next(self._crossings(inside, past), crossing)
            for margin in _MARGINS:
                step = (guess - inside) * margin
                if (yield guess + step) and not (yield guess - step):
                    return (yield from edge(guess - step, guess + step))
        return None

    def _crossings(self, inside: float, outside: float) -> Iterator[float]:
        """The values at which the outcome turns by lines between two values, the nearest first."""
        table, aim = self._run.scored, self._aim
        at = table.position(aim.row)
        if at is None:
            return
        low, high = self._tried[inside].scores, self._tried[outside].scores
        rivals = table.rows == aim.rival if aim.rival is not None else table.rows != aim.row
        before, after = low[at] - low[rivals], high[at] - high[rivals]
        crossed = (before < 0.0) != (after < 0.0)
        shares = before[crossed] / (before[crossed] - after[crossed])
        order = np.argsort(shares)
        behind = int(np.count_nonzero(before < 0.0))
        ahead = behind + np.cumsum(np.where(after[crossed][order] < 0.0, 1, -1))
        hits = 1 if aim.rival is not None else self._run.query.k
        turning = shares[order][(ahead < hits) != (behind < hits)].tolist()
        least = self._run.query.min_score
        if least is not None and aim.rival is None and (low[at] < least) != (high[at] < least):
            turning.append((low[at] - least) / (low[at] - high[at]))
        shares = sorted(filter(math.isfinite, turning))[:_GUESSES]
        yield from (inside + share * (outside - inside) for share in shares)

    def _is_straight(self, value: float, end: float) -> bool:
        """True if the scores of a value are on the lines from those of its own to an end's."""
        low, high, scores = (self._tried[at].scores for at in (self._own, end, value))
        line = low + (value - self._own) / (end - self._own) * (high - low)
        return bool(np.allclose(scores, line, _STRAIGHT, _STRAIGHT, equal_nan=True))
