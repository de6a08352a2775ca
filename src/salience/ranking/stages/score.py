"""Scoring: the value of a formula as a column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from salience.errors import InvalidProfile, shown
from salience.lazily import dataclass
from salience.ranking.evaluation import Evaluation, Program
from salience.ranking.expressions import Signal
from salience.ranking.stages.stage import Stage
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.query import Query

_MAX_PROGRAMS = 256


@dataclass(frozen=True)
class Score(Stage):
    """Writes the value of a signal to the column `into`; every candidate must have a score."""

    signal: Signal
    into: str = "score"

    def reads(self) -> frozenset[str]:
        return self.signal.inputs()

    def writes(self) -> frozenset[str]:
        return frozenset({self.into})

    def formulas(self) -> Mapping[str, Signal]:
        return {self.into: self.signal}

    def reasons(self) -> frozenset[str]:
        return frozenset()

    def apply(self, query: Query, candidates: Candidates) -> Candidates:
        values = self.evaluation(query, candidates).column(self.signal)
        if values.base is not None:  # of the values of all steps, which are not kept for it
            values = values.copy()
        if self.into == "score" and not np.isfinite(values).all():
            self._check_scores(query, candidates, values)
        return candidates.with_columns(**{self.into: values})

    def evaluation(self, query: Query, candidates: Candidates) -> Evaluation:
        """The values of the signal and of its parts over a table."""
        program = self._program(query.reading.features, candidates.unset(self._inputs))
        return Evaluation(query, candidates, program=program)

    def _check_scores(self, query: Query, candidates: Candidates, values: Floats) -> None:
        """Refuse a memory without a score, naming the innermost part that has no value there.

        A memory that was erased since it was found has no values; later stages leave it out.
        """
        ids = candidates["id"].tolist() if "id" in candidates.columns else []
        unscored = np.flatnonzero(~np.isfinite(values)).tolist()
        row = next((at for at in unscored if ids and ids[at] is not None), None)
        if row is None:
            return
        ev, part = Evaluation(query, candidates), self.signal
        while missing := [p for p in part.children() if not math.isfinite(ev.at(p, row))]:
            part = missing[0]
        raise InvalidProfile(
            "score",
            f"has no value for the memory {shown(ids[row])}, as {part.label()} has none there",
            "say what stands in for it: .default(0.0) after that part",
        )

    def _program(self, features: Mapping[str, float], unset: frozenset[str]) -> Program:
        """The signal compiled for such queries and tables, once for all alike."""
        key = (tuple(features.items()), unset)
        program = self._programs.get(key)
        if program is None:
            if len(self._programs) >= _MAX_PROGRAMS:
                self._programs.clear()
            program = Program(features, unset)
            program.place(self.signal)
            self._programs[key] = program
        return program

    @cached_property
    def _programs(self) -> dict[tuple[tuple[tuple[str, float], ...], frozenset[str]], Program]:
        return {}

    @cached_property
    def _inputs(self) -> frozenset[str]:
        return self.signal.inputs()


def score(signal: Signal, into: str = "score") -> Score:
    """Score every candidate with a signal."""
    return Score(signal, into)
