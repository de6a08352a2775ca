"""Estimates: the probabilities of a run, from its candidates as scored before any reranker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from threading import Lock

import numpy as np

from salience.arithmetic import row_sums
from salience.lazily import dataclass, replace
from salience.ranking.evaluation import Evaluation, Program
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Signal
from salience.ranking.probability.model import Model, model_for
from salience.ranking.probability.signals import any_of
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
    """The probabilities of the candidates of one run by a model.

    `scored` are the candidates, `ranked` the rows of the hits before any are cut, best first.
    """

    model: Model
    query: Query
    scored: Candidates
    ranked: Rows

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation(self.query, self.scored, program=_program(self.model, self.query))

    @property
    def result(self) -> float:
        """The probability that any candidate answers, in [0, 1]; 0 without candidates."""
        if not len(self.scored):
            return 0.0
        return self._evaluation.at(self.model.of_result, 0)

    def of_rows(self, rows: Rows) -> Floats:
        """The probability of each row, in [0, 1]; the rows are candidates.

        One that another stage has ranked below a less likely one has the probability of that.
        """
        return self._of_places(self._places(rows), self.model.of_hit)

    def of_any(self, rows: Rows) -> float:
        """The probability that any of some rows answers: `result` for the first ten, 0 for none.

        It is at least the largest of their own, and at most the sum of them.
        """
        places = self._places(rows)
        if not len(places):
            return 0.0
        raw = any_of(self._of_places(places, self.model.own))
        each = self._of_places(places, self.model.of_hit)
        share = min(1.0, raw / self._evaluation.at(self.model.any_of_first, 0))
        joint = share * self.result
        return float(min(max(joint, each.max()), row_sums(each), 1.0)) if len(each) > 1 else each[0]

    def _of_places(self, places: Rows, formula: Signal) -> Floats:
        values = self._evaluation.column(formula)
        ranked = self._places(self.ranked)
        falling = values.copy()
        falling[ranked] = np.minimum.accumulate(values[ranked])
        return falling[places]

    def _places(self, rows: Rows) -> Rows:
        return self._order[np.searchsorted(self.scored.rows, rows, sorter=self._order)]

    @cached_property
    def _order(self) -> Rows:
        return np.argsort(self.scored.rows)

    def later(self, rows: Rows) -> tuple[Callable[[], float], list[Callable[[], float]]]:
        """Functions that give `of_any`, and `of_rows` one by one, when they are first called.

        They hold the evidence and no index; of many candidates they hold the numbers.
        """
        if "_evaluation" in self.__dict__ or len(self.scored) > MAX_HELD_CANDIDATES:
            values = self.of_rows(rows).tolist()
            return partial(_same, self.of_any(rows)), [partial(_same, value) for value in values]
        columns = self.scored.columns
        table = Candidates(
            self.scored.rows, {n: columns[n] for n in self.model.inputs if n in columns}
        ).unlinked()
        estimate = Estimate(self.model, self.query, table, self.ranked)
        lock = Lock()

        def of_any() -> float:
            with lock:  # they share the values of the formulas
                return estimate.of_any(rows)

        @cache
        def of_all() -> list[float]:
            return estimate.of_rows(rows).tolist()

        def of_hit(place: int) -> float:
            with lock:
                return of_all()[place]

        return of_any, [partial(of_hit, place) for place in range(len(rows))]

    def of_row(self, row: int) -> float:
        """The probability of a row, in [0, 1]; it is a candidate."""
        return float(self.of_rows(np.array([row], dtype=np.int64))[0])

    def explain(self, row: int) -> Explanation | None:
        """The tree of a row's probability; None for one that was no candidate."""
        place = self.scored.position(row)
        if place is None:
            return None
        tree = self.model.of_hit.explain(self._evaluation, place)
        label, capped = f"probability ({self.model.name})", self.of_row(row)
        if capped < tree.value:
            return Explanation(
                label,
                capped,
                "that of a less likely memory ranked above it",
                (replace(tree, label="by its score"),),
            )
        return replace(tree, label=label)


def estimate(run: RankedRun) -> Estimate | None:
    """The estimate of a run; None for a profile whose candidates do not carry the evidence."""
    if not run.query.evidence:
        return None
    embedder = None if run.query.vector is None else run.query.embedder or ""
    return Estimate(model_for(embedder), run.query, run.scored_alone, run.final.rows)


def _same(value: float) -> float:
    return value


def _program(model: Model, query: Query) -> Program:
    """The formulas of a model compiled for queries of these features, once for each set of them."""
    features: Mapping[str, float] = query.reading.features
    key = (model.name, tuple(features.items()))
    cached = _PROGRAMS.get(key)
    if cached is None or cached[0] is not model:
        if len(_PROGRAMS) >= _MAX_PROGRAMS:
            _PROGRAMS.clear()
        program = Program(features)
        formulas: tuple[Signal, ...] = (model.of_result, model.of_hit, model.any_of_first)
        for formula in formulas:
            program.place(formula)
        cached = _PROGRAMS[key] = (model, program)
    return cached[1]
