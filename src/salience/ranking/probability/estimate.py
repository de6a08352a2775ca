"""Estimates: the probabilities of a run, from its candidates after they were scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from salience.ranking.evaluation import Evaluation, Program
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.ranking.probability.model import Model, model_for
from salience.ranking.profile import Profile
from salience.ranking.run import RankedRun
from salience.ranking.stages.retrieve import Retrieve
from salience.retrieval.candidates import Floats, Rows
from salience.retrieval.query import Query
from salience.retrieval.routes import Lexical, Vector

_PROGRAMS: dict[tuple[str, tuple[tuple[str, float], ...]], tuple[Model, Program]] = {}
_MAX_PROGRAMS = 256


def has_probability(profile: Profile) -> bool:
    """Test whether a profile's candidates carry the evidence.

    It begins by retrieving, up to a depth, by words on a route called "lexical" and by meaning on
    one called "vector".
    """
    first = profile.pipeline.stages[0]
    if not isinstance(first, Retrieve) or first.depth is None:
        return False
    routes = {(type(route), route.name) for route in first.routes}
    return {(Lexical, "lexical"), (Vector, "vector")} <= routes


@dataclass(frozen=True, eq=False)
class Estimate:
    """The probabilities of the candidates of one run by a model."""

    model: Model
    run: RankedRun

    @cached_property
    def _evaluation(self) -> Evaluation:
        query = self.run.query
        return Evaluation(query, self.run.scored, program=_program(self.model, query))

    @property
    def result(self) -> float:
        """The probability that any candidate answers, in [0, 1]; 0 without candidates."""
        if not len(self.run.scored):
            return 0.0
        return self._evaluation.at(self.model.of_result, 0)

    def of_rows(self, rows: Rows) -> Floats:
        """The probability of each row, in [0, 1]; the rows are candidates."""
        places = {row: place for place, row in enumerate(self.run.scored.rows.tolist())}
        return self._evaluation.column(self.model.of_hit)[[places[row] for row in rows.tolist()]]

    def explain(self, row: int) -> Explanation | None:
        """The tree of a row's probability; None for one that was no candidate."""
        place = self.run.scored.position(row)
        if place is None:
            return None
        tree = self.model.of_hit.explain(self._evaluation, place)
        return replace(tree, label=f"probability ({self.model.name})")


def estimate(run: RankedRun) -> Estimate | None:
    """The estimate of a run; None for a profile whose candidates do not carry the evidence."""
    if not run.query.evidence:
        return None
    embedder = None if run.query.vector is None else run.query.embedder or ""
    return Estimate(model_for(embedder), run)


def _program(model: Model, query: Query) -> Program:
    """The formulas of a model compiled for queries of these features, once for each set of them."""
    features: Mapping[str, float] = query.reading.features
    key = (model.name, tuple(features.items()))
    held = _PROGRAMS.get(key)
    if held is None or held[0] is not model:
        if len(_PROGRAMS) >= _MAX_PROGRAMS:
            _PROGRAMS.clear()
        program = Program(features)
        formulas: tuple[Signal, ...] = (model.of_result, model.of_hit)
        for formula in formulas:
            program.place(formula)
        held = _PROGRAMS[key] = (model, program)
    return held[1]
