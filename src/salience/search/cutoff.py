"""The cut by probability: leave out the hits that do not answer the query.

cut="auto": no hits if P(any memory answers) < floor, else those with P >= share * best P, and
            newer versions of these
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, replace
from salience.ranking.evaluation import Evaluation
from salience.ranking.probability import Estimate, has_probability
from salience.ranking.profile import Profile
from salience.ranking.rejection import WhyNot
from salience.ranking.run import RankedRun
from salience.ranking.signals.validity import newer_versions
from salience.records.validation import finite, native

Cut = Literal["auto", "careful", "greedy", "none"]


@dataclass(frozen=True)
class Cutoff:
    """The bounds below which hits are left out; 0 for no bound.

    floor: of the probability that any memory answers; below it there are no hits.
    share: of a hit's probability, in proportion to that of the best hit.
    least: of a hit's probability.
    """

    floor: float = 0.0
    share: float = 0.0
    least: float = 0.0

    def apply(self, run: RankedRun, estimate: Estimate | None) -> RankedRun:
        """The run with the hits that pass."""
        if self == NO_CUTOFF or estimate is None or not len(run.final):
            return run
        probabilities = estimate.of_rows(run.final.rows)
        least = max(self.least, self.share * float(np.max(probabilities)))
        passing = (probabilities >= least) & (estimate.result >= self.floor)
        if passing.any() and not passing.all():
            passing |= newer_versions(Evaluation(run.query, run.final), passing)
        return replace(run, tables=[*run.tables[:-1], run.final.take(passing)])

    def why_not(self, run: RankedRun, estimate: Estimate | None, row: int) -> WhyNot | None:
        """The reason for which a hit is left out; None for one that passes, and for no hit."""
        if run.final.position(row) is None or estimate is None:
            return None
        if self.apply(run, estimate).final.position(row) is not None:
            return None
        if estimate.result < self.floor:
            reason = f"the chance that any memory answers is {estimate.result:.3f}"
            return WhyNot(
                "cut", f"{reason}, below {self.floor:g}", gap=self.floor - estimate.result
            )
        probabilities = estimate.of_rows(run.final.rows)
        least = max(self.least, self.share * float(np.max(probabilities)))
        p = float(estimate.of_rows(np.array([row], dtype=np.int64))[0])
        return WhyNot("cut", f"its probability is {p:.3f}, below {least:.3f}", gap=least - p)


NO_CUTOFF = Cutoff()
CUTOFFS: Mapping[str, Cutoff] = {
    "careful": Cutoff(floor=0.6, share=0.4),
    "auto": Cutoff(floor=0.35, share=0.2),
    "greedy": Cutoff(floor=0.2, share=0.1),
    "none": NO_CUTOFF,
}

ONE_ANSWERS = "The chance that this memory answers the query."
"""The meaning of the probability of a hit; a result's is that at least one of its hits does."""

DOUBTFUL = 0.4
"""The probability below which the hits are said to answer hardly."""


def doubt(probability: float | None) -> str | None:
    """A sentence on hits that hardly answer; None unless their probability is clearly low."""
    if probability is None or probability >= DOUBTFUL:
        return None
    return f"What is found may not answer this (probability {probability:.2f})."


def verdict(probability: float) -> str:
    """`doubt`, or the probability in words."""
    return doubt(probability) or f"answered with probability {probability:.2f}"


def cutoff(profile: Profile, min_probability: Any, cut: Any) -> Cutoff:
    """The cutoff of a search with these options; by default it leaves nothing out.

    Raises:
        InvalidInput: one is wrong, or asks for a probability where the profile gives none.
    """
    least = _probability(min_probability)
    cut = native(cut)
    if not isinstance(cut, str | None) or cut not in (None, *get_args(Cut)):
        raise InvalidInput("cut", f"is {shown(cut)}", f"use one of {', '.join(get_args(Cut))}")
    chosen = replace(CUTOFFS[cut or "none"], least=least)
    if chosen != NO_CUTOFF and not has_probability(profile):
        raise InvalidInput(
            "min_probability" if cut in (None, "none") else "cut",
            f"the profile {profile.name} gives no probability",
            'use "balanced", or leave hits out by min_score',
        )
    return chosen


def _probability(value: Any) -> float:
    plain = native(value)
    if plain is None:
        return 0.0
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not finite(plain):
        raise InvalidInput("min_probability", f"is {shown(value)}", "give a number from 0 to 1")
    if not 0.0 <= plain <= 1.0:
        raise InvalidInput("min_probability", f"is {plain:g}", "give a number from 0 to 1")
    return float(plain)
