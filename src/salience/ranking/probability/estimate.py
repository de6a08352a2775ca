"""Estimates: the probabilities of a run, from its candidates as scored before any reranker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock

from salience.ranking.evaluation import Evaluation, Program
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.ranking.probability.model import Model, model_for
from salience.ranking.profile import Profile
from salience.ranking.run import MAX_HELD_CANDIDATES, RankedRun
from salience.ranking.stages.retrieve import Retrieve
from salience.retrieval.candidates import Candidates, Floats, Rows
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
        return Evaluation(query, self.run.scored_alone, program=_program(self.model, query))

    @property
    def result(self) -> float:
        """The probability that any candidate answers, in [0, 1]; 0 without candidates."""
        if not len(self.run.scored_alone):
            return 0.0
        return self._evaluation.at(self.model.of_result, 0)

    def of_rows(self, rows: Rows) -> Floats:
        """The probability of each row, in [0, 1]; the rows are candidates."""
        places = {row: place for place, row in enumerate(self.run.scored_alone.rows.tolist())}
        return self._evaluation.column(self.model.of_hit)[[places[row] for row in rows.tolist()]]

    def later(self, rows: Rows) -> tuple[Callable[[], float], list[Callable[[], float]]]:
        """Functions that give `result`, and `of_rows` one by one, when they are first called.

        They hold the evidence and no index; of many candidates they hold the numbers.
        """
        if "_evaluation" in self.__dict__ or len(self.run.scored_alone) > MAX_HELD_CANDIDATES:
            values = self.of_rows(rows).tolist()
            return partial(_same, self.result), [partial(_same, value) for value in values]
        scored, names = self.run.scored_alone, self.model.inputs
        columns = {name: scored.columns[name] for name in names if name in scored.columns}
        table = Candidates(scored.rows, columns).unlinked()
        held = Estimate(self.model, RankedRun(self.run.profile, self.run.query, [table]))
        lock = Lock()

        def result() -> float:
            with lock:  # they share the values of the formulas
                return held.result

        def of_row(row: int) -> float:
            with lock:
                return held.of_row(row)

        return result, [partial(of_row, row) for row in rows.tolist()]

    def of_row(self, row: int) -> float:
        """The probability of a row, in [0, 1]; it is a candidate."""
        place = self.run.scored_alone.position(row)
        assert place is not None
        return self._evaluation.at(self.model.of_hit, place)

    def explain(self, row: int) -> Explanation | None:
        """The tree of a row's probability; None for one that was no candidate."""
        place = self.run.scored_alone.position(row)
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


def _same(value: float) -> float:
    return value


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
