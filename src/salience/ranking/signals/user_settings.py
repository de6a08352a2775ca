"""User settings: signals of what somebody set or judged, 0 for a memory without it."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation, Values
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.ranking.signals.normalization import feedback
from salience.records.events import FEEDBACK_WEIGHTS
from salience.retrieval.candidates import CategoricalColumn

INCORRECT = "incorrect"
_TWO_JUDGEMENTS = -2.0 * FEEDBACK_WEIGHTS[INCORRECT]
_BELOW = 0.001  # by which the best memory that is sunk is below the last of the others


@dataclass(frozen=True)
class WhereSet(Signal):
    """(x - usual) * by where the column has a number x, else 0."""

    column: str
    usual: float
    by: Signal

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if self.column in unset else None

    def compute(self, ev: Evaluation, by: Values) -> Values:
        values = ev.candidates.floats(self.column)
        unset = np.isnan(values)
        return 0.0 if unset.all() else np.where(unset, 0.0, (values - self.usual) * by)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _leaf(self, ev, row)

    def note(self, ev: Evaluation, row: int) -> str:
        value = ev.candidates.floats(self.column)[row]
        return f"{self.column} is not set" if np.isnan(value) else f"{self.column} {value:g}"


@dataclass(frozen=True)
class WhereIs(Signal):
    """The signal where the text column has the value, else 0."""

    column: str
    value: str
    by: Signal

    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if self.column in unset else None

    def compute(self, ev: Evaluation, by: Values) -> Values:
        column = ev.candidates.columns[self.column]
        if isinstance(column, CategoricalColumn) and self.value not in column.distinct:
            return 0.0
        places, values = ev.distinct(self.column)
        if self.value not in values:
            return 0.0
        return np.where(places == values.index(self.value), by, 0.0)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _leaf(self, ev, row)

    def note(self, ev: Evaluation, row: int) -> str:
        return f"{self.column} {self.value}" if ev.at(self, row) else ""


@dataclass(frozen=True)
class WhereJudged(Signal):
    """(f - 0.5) * by where somebody gave feedback, f from `priors.feedback`, else 0."""

    by: Signal

    def columns(self) -> frozenset[str]:
        return frozenset({"feedback_for", "feedback_against"})

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if self.columns() <= unset else None

    def compute(self, ev: Evaluation, by: Values) -> Values:
        if all(np.isnan(ev.candidates.floats(name)).all() for name in self.columns()):
            return 0.0
        return (feedback().evaluate(ev.query, ev.candidates) - 0.5) * by

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _leaf(self, ev, row)

    def note(self, ev: Evaluation, row: int) -> str:
        good, bad = (
            np.nan_to_num(ev.candidates.floats(name)[row])
            for name in ("feedback_for", "feedback_against")
        )
        return f"{good:g} for and {bad:g} against it" if good or bad else "nobody judged it"


@dataclass(frozen=True)
class Sunk(Signal):
    """low - 0.001 - high for a memory judged incorrect twice, else 0.

    `low` is the least x of all other candidates and `high` the largest x of those judged so. These
    come below all others by it, and keep their order among themselves. 0 where nothing else was
    found, or where they are below it as it is.
    """

    of: Signal

    def columns(self) -> frozenset[str]:
        return frozenset({"review", "feedback_against"})

    def where_unset(self, unset: Set[str]) -> float | None:
        return 0.0 if "feedback_against" in unset else None

    def compute(self, ev: Evaluation, values: Values) -> Values:
        sunk = _is_sunk(ev)
        if not sunk.any() or sunk.all():
            return 0.0
        scores = ev.spread(values)
        fall = scores[~sunk].min() - _BELOW - scores[sunk].max()
        return np.where(sunk, min(0.0, fall), 0.0)

    def explain(self, ev: Evaluation, row: int) -> Explanation:
        return _leaf(self, ev, row)

    def note(self, ev: Evaluation, row: int) -> str:
        return "judged incorrect twice" if _is_sunk(ev)[row] else ""


def _is_sunk(ev: Evaluation) -> NDArray[np.bool_]:
    """True for memories that were judged incorrect twice."""
    against = ev.candidates.floats("feedback_against")
    sunk: NDArray[np.bool_] = against >= _TWO_JUDGEMENTS
    if sunk.any():
        reviews = ev.candidates["review"][sunk].tolist()
        sunk[sunk] = [review == INCORRECT for review in reviews]
    return sunk


def _leaf(signal: Signal, ev: Evaluation, row: int) -> Explanation:
    """The value with its note, without the parts that it was computed from."""
    return Explanation(signal.label(), ev.at(signal, row), note=signal.note(ev, row))
