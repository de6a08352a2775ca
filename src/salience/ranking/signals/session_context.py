"""Session context: signals of the turns around a memory in its session."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.arithmetic import exp, row_sums
from salience.errors import InvalidInput, shown
from salience.lazily import dataclass
from salience.ranking.evaluation import KERNEL_OF, Evaluation, Program, Values, groups_of
from salience.ranking.expressions import Signal
from salience.retrieval.candidates import Floats

MAX_REACH = 100
"""The most turns on each side; a memory takes room for each."""


@dataclass(frozen=True)
class NeighborMass(Signal):
    """sum of x^2 * exp(-distance / tau) over the session's other candidates, distance in turns.

    The `reach` candidates nearest before and after count; 0 where there is no session.
    """

    of: Signal
    tau: float = 4.0
    reach: int = 8

    def __post_init__(self) -> None:
        reach = self.reach
        if isinstance(reach, bool) or not isinstance(reach, int) or not 1 <= reach <= MAX_REACH:
            raise InvalidInput("reach", f"is {shown(reach)}", f"give 1 to {MAX_REACH}")
        if not 0.0 < self.tau < math.inf:
            raise InvalidInput("tau", f"is {shown(self.tau)}", "give a number above 0")

    def columns(self) -> frozenset[str]:
        return frozenset({"session_id", "position"})

    def compile(self, program: Program) -> int:
        of, turns = program.place(self.of), (Program.EVALUATION,)
        inputs: list[int] | None = None
        if not self._table[-1] > 0.0:  # all that is beyond the table has faded
            inputs = [
                program.step(lambda ev: ev.shared(_ordered_turns)[0], turns),
                program.step(lambda ev: ev.shared(_ordered_turns)[1], turns),
                program.step(lambda: self._table, ()),
                program.number(self.reach),
                of,
            ]
        mass = self.compute if inputs else self._checked
        return program.step(mass, (Program.EVALUATION, of), inputs)

    def compute(self, ev: Evaluation, values: Values) -> Floats:
        order, ordered = ev.shared(_ordered_turns)
        count, reach = len(order), self.reach
        places = np.full(count + reach, np.inf)  # behind the last: infinitely far away
        places[:count] = ordered
        weight = np.zeros(count + reach)
        np.fmax(np.square(ev.spread(values)[order]), 0.0, out=weight[:count])
        # Row d is about the candidates d + 1 places later.
        fading = self._fading(_later(places, reach) - places[:count])
        around = np.add.reduce(fading * _later(weight, reach), axis=0)
        earlier = np.zeros((reach, count + reach))
        np.multiply(fading, weight[:count], out=earlier[:, reach:])
        around += np.add.reduce(_shifted(earlier), axis=0)
        mass = np.empty(count)
        mass[order] = around
        return mass

    def _fading(self, distances: Floats) -> Floats:
        """exp(-distance / tau), from a table as far as that reaches."""
        table = self._table
        near = np.minimum(distances, len(table) - 1.0).astype(np.intp)
        fading = table.take(near)
        if table[-1] > 0.0:  # it ends before all has faded
            far = distances >= len(table) - 1.0
            fading[far] = exp(distances[far] / -self.tau)
        return fading

    @cached_property
    def _table(self) -> Floats:
        faded = min(750.0 * self.tau, 65_536.0)  # exp(-750) is 0
        return np.asarray(exp(np.arange(faded + 1.0) / -self.tau), dtype=np.float64)

    def how(self) -> str:
        return "candidates around it in its session"


def _ordered_turns(ev: Evaluation) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The order of candidates by session and turn, and their places in that order.

    Sessions lie a million turns apart, where nothing is near. In the order of these places,
    neighbors in a session are neighbors.
    """
    position = np.fmax(ev.candidates.floats("position"), 0.0)
    place = ev.groups("session_id").of * 1e6 + position
    order = place.argsort()
    ordered = place[order]
    if np.count_nonzero(ordered[1:] == ordered[:-1]):  # equal ones in the same order everywhere
        order = place.argsort(kind="stable")
    return order, ordered


@dataclass(frozen=True)
class SessionCover(Signal):
    """sum of idf(t) over the query's terms in any candidate of the session / over all terms found.

    In [0, 1]; a memory without a session is one by itself. 0 where no term is found at all.
    """

    matched: str = "lexical.matched"

    def columns(self) -> frozenset[str]:
        return frozenset({self.matched, "session_id"})

    def compile(self, program: Program) -> int:
        ev = (Program.EVALUATION,)
        matched = program.step(lambda ev: ev.candidates[self.matched], ev)
        return program.step(self.compute, ev, (program.place(groups_of("session_id")), matched))

    def compute(self, ev: Evaluation) -> Values:
        groups = ev.groups("session_id")
        covered = groups.largest(ev.candidates[self.matched])  # idf(t) if any turn has t
        total = float(row_sums(np.maximum.reduce(covered, axis=0)))
        if not total > 0.0:
            return 0.0
        return (row_sums(covered) / total)[groups.of]


KERNEL_OF |= {NeighborMass.compute: "neighbor_mass", SessionCover.compute: "session_cover"}


def _later(values: Floats, reach: int) -> Floats:
    """Row d has the values d + 1 places later; the last `reach` values begin no column."""
    [step] = values.strides
    shape = (reach, len(values) - reach)
    return np.ndarray(shape, values.dtype, values, step, (step, step))


def _shifted(values: Floats) -> Floats:
    """Row d of (reach, count + reach) moved d + 1 columns on, without the first `reach` of them.

    The first `reach` columns have to be zeros.
    """
    reach, width = values.shape
    row, step = values.strides
    shape = (reach, width - reach)
    return np.ndarray(shape, values.dtype, values, (reach - 1) * step, (row - step, step))
