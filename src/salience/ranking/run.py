"""Runs: the tables of a profile applied to a query, and explanations of its scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from salience.lazily import dataclass, field, replace
from salience.ranking.evaluation import Evaluation
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import NamedExpression, Signal
from salience.ranking.profile import Profile, reweighted
from salience.ranking.serialization import nodes
from salience.ranking.stages import Pipeline
from salience.ranking.stages.rerank import ModelScores
from salience.ranking.stages.score import Score
from salience.ranking.weights import weighted
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query

_NAMED = 3  # memories that are named among those left out
MAX_HELD_CANDIDATES = 2_048  # of a search that is explained later


@dataclass(frozen=True, eq=False)
class RankedRun:
    """A finished search: the table after each stage of the profile that made it."""

    profile: Profile
    query: Query
    tables: list[Candidates]
    _evaluations: dict[int, Evaluation] = field(default_factory=dict, repr=False)

    @property
    def final(self) -> Candidates:
        """The table that the last stage left, best first."""
        return self.tables[-1]

    @property
    def scored(self) -> Candidates:
        """The table right after the score was written: every candidate that has one."""
        return self.tables[self.scored_at]

    @property
    def scored_at(self) -> int:
        """The last stage, by place, that writes the score."""
        return self._writer("score", len(self.tables))

    @property
    def scored_alone(self) -> Candidates:
        """The table right after the last score that no reranker has a share in."""
        stages = self.profile.pipeline.stages[: len(self.tables)]
        models = (at for at, stage in enumerate(stages) if isinstance(stage, ModelScores))
        return self.tables[self._writer("score", next(models, len(stages)))]

    @property
    def approximate(self) -> str:
        """The reason that the store may not have found all candidates; empty if it has."""
        return self.tables[0].approximate if self.tables else ""

    @property
    def problems(self) -> list[str]:
        """The lack that each stage had to cope with, after the name of the stage."""
        stages = self.profile.pipeline.stages
        lacks = [f"exactness: {self.approximate}"] if self.approximate else []
        if left_out := self.tables[0].left_out if self.tables else ():
            more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
            ids = ", ".join(left_out[:_NAMED]) + more
            lacks.append(f"memories: what is stored of {ids} is damaged; see `salience doctor`")
        return lacks + [
            f"{stage.label()}: {table.problem}"
            for stage, table in zip(stages, self.tables, strict=True)
            if table.problem is not None
        ]

    def explain(self, rows: Any) -> list[Explanation | None]:
        """The score's tree for each row; None for one that was no candidate."""
        trees = [self.tree(row) for row in np.asarray(rows).tolist()]
        label = f"score ({self.profile.name})"
        return [tree and replace(tree, label=label) for tree in trees]

    def explain_later(self, rows: Any) -> list[Callable[[], Explanation | None]]:
        """Functions that build the score's tree for each row: the one that `explain` gives now.

        They hold what the trees are made of and nothing of the store; of many candidates they hold
        the trees instead.
        """
        stages = self.profile.pipeline.stages
        scored = {at - 1 for at, stage in enumerate(stages) if stage.formulas()}
        if sum(len(self.tables[at]) for at in scored) > MAX_HELD_CANDIDATES:
            return [partial(_same, tree) for tree in self.explain(rows)]
        tables = [
            table.detached() if at in scored else Candidates.empty()
            for at, table in enumerate(self.tables)
        ]
        run, lock = replace(self, tables=tables, _evaluations={}), Lock()

        def build(row: int) -> Explanation | None:
            with lock:  # they share the values of the formula
                return run.explain([row])[0]

        return [partial(build, row) for row in np.asarray(rows).tolist()]

    def tree(
        self, row: int, column: str = "score", before: int | None = None
    ) -> Explanation | None:
        """The tree of a scored column for a row, as the stages before a place left it."""
        at = self._writer(column, len(self.tables) if before is None else before)
        return self._tree(at, row, column)

    def score_values(self, signals: Sequence[Signal]) -> list[Floats]:
        """The values of parts of the score's formula, in the order of the rows of `scored`."""
        ev = self.score_evaluation()
        return [ev.column(signal) for signal in signals]

    def score_evaluation(self) -> Evaluation:
        """The evaluation of the score's formula over the table that it was given."""
        at = self.scored_at
        stage, before = self.profile.pipeline.stages[at], self.tables[at - 1]
        if isinstance(stage, Score):  # it keeps the order of computing its parts
            ev = stage.evaluation(self.query, before)
        else:
            ev = self._evaluation(at)
        ev.computed(self.profile.signal)  # before its parts, as one may read the sum before it
        return ev

    def parts(self) -> dict[str, Any]:
        """The values of every named part over the candidates that its stage scored."""
        parts: dict[str, Any] = {}
        for at, stage in enumerate(self.profile.pipeline.stages):
            for formula in stage.formulas().values():
                ev = self._evaluation(at)
                ev.computed(formula)  # before its parts, as one may read the sum of those before it
                outermost: dict[str, Any] = {}  # the outermost of a name, as explanations find it
                for _, node in nodes(formula, ""):
                    if isinstance(node, NamedExpression):
                        outermost.setdefault(node.name, ev.column(node))
                parts |= outermost
        return parts

    def rank(self, row: int) -> int | None:
        """The rank (from 1) among all scored candidates, before the cut; None for no candidate."""
        scored = self.scored
        place = scored.position(row)
        if place is None:
            return None
        scores, ids = scored.floats("score"), scored.columns["id"]
        tied = (id or "" for id in ids[scores == scores[place]].tolist())
        own_id = ids[place] or ""  # a memory that was erased meanwhile has none
        better = np.count_nonzero(scores > scores[place]) + sum(id < own_id for id in tied)
        return int(better) + 1

    def last_seen(self, row: int) -> int | None:
        """The last stage, by place, whose table still holds the row; None if none ever did."""
        places = [at for at, table in enumerate(self.tables) if table.position(row) is not None]
        return places[-1] if places else None

    def _writer(self, column: str, before: int) -> int:
        """The last scoring stage before a place that wrote the column; -1 for none."""
        stages = self.profile.pipeline.stages[:before]
        return max((i for i, stage in enumerate(stages) if column in stage.formulas()), default=-1)

    def _evaluation(self, at: int) -> Evaluation:
        """The evaluation of the scoring stage at a place, over the table that it was given."""
        if at not in self._evaluations:
            before = self.tables[at - 1]

            def origin(column: str, place: int) -> Explanation | None:
                return self._tree(self._writer(column, at), int(before.rows[place]), column)

            self._evaluations[at] = Evaluation(self.query, before, origin)
        return self._evaluations[at]

    def _tree(self, at: int, row: int, column: str) -> Explanation | None:
        """The tree of the column that the scoring stage at a place wrote for a row."""
        place = None if at < 0 else self.tables[at - 1].position(row)
        if place is None:
            return None
        formula = self.profile.pipeline.stages[at].formulas()[column]
        return replace(formula.explain(self._evaluation(at), place), label=column)


class Reweighing:
    """A run again with another value of one weight, from the first stage on that it changes.

    Where that is the score alone, the sum is added again from the values of its parts, to the bit
    as the stage adds it; only parts that depend on the sum before them are computed again. Besides
    what later stages read, the table then has the columns `read`.
    """

    def __init__(self, run: RankedRun, read: frozenset[str]) -> None:
        self.run, self.weights = run, run.profile.weights
        self._stages, self._at = run.profile.pipeline.stages, run.scored_at
        self._evaluation, scored = run.score_evaluation(), run.scored
        self._parts = [
            (part, signal, values)
            for part, signal in run.profile.parts
            for values in [self._evaluation.column(signal)]
            if part.factor or signal.reads_subtotal or np.any(values)  # adding 0 is not a step
        ]
        names = run.profile.pipeline.wanted[self._at] | read | {"id", "namespace"}
        columns = {name: scored.columns[name] for name in names & scored.columns.keys()}
        self._table = Candidates(scored.rows, columns)
        self._places: dict[str, list[int]] = {name: [] for name in self.weights}
        for at, stage in enumerate(self._stages):
            pairs = {pair for signal in stage.signals() for pair in weighted(signal).items()}
            for name, _ in pairs & self.weights.items():
                self._places[name].append(at)
        self._adds_up = np.array_equal(self._scores({}), run.scored.floats("score"))

    def counts(self, name: str) -> bool:
        """True unless the weight is of a part of the score that is 0 for every candidate."""
        values = [values for part, _, values in self._parts if part.name == name]
        return self._places[name] != [self._at] or bool(np.any(values))

    def asks_model(self, name: str) -> bool:
        """True if a model would have to read the texts again."""
        return any(isinstance(stage, ModelScores) for stage in self._stages[self._from(name) :])

    def again(self, name: str, weight: float) -> Plan[RankedRun]:
        """The plan of the run with another weight."""
        profile, at, stages = self.run.profile, self._from(name), list(self._stages)
        if self.is_added(name):
            table = self._table.with_columns(score=self._scores({name: weight}))
        else:
            at -= 1
            table = self.run.tables[at]
            for place in self._places[name]:
                stages[place] = reweighted(stages[place], {name: weight}, self.weights)
            profile = replace(profile, pipeline=Pipeline(tuple(stages)))
        tables = [*self.run.tables[:at], table]
        wanted = self.run.profile.pipeline.wanted[at + 1 :]  # whatever the weights
        for stage, columns in zip(stages[at + 1 :], wanted, strict=True):
            table = yield from stage.plan(self.run.query, table, columns)
            tables.append(table)
        return RankedRun(profile, self.run.query, tables)

    def _from(self, name: str) -> int:
        """The first stage, by place, that the weight changes."""
        return min(self._places[name], default=self._at)

    def is_added(self, name: str) -> bool:
        """True if the sum of the score alone has the weight, and is added again."""
        return (
            self._places[name] == [self._at]
            and self._adds_up
            and any(part.name == name and part.weight is not None for part, _, _ in self._parts)
        )

    def _scores(self, weights: Mapping[str, float]) -> Floats:
        """The scores with other weights, added from left to right."""
        total: Floats | None = None
        for part, signal, values in self._parts:
            if total is not None and signal.reads_subtotal:
                values = self._evaluation.after(total).column(signal)
            if part.weight is not None:
                values = weights.get(part.name, part.weight) * values
            if total is not None:
                values = total * values if part.factor else total + values
            total = values
        return np.zeros(len(self._table)) if total is None else total


def _same(tree: Explanation | None) -> Explanation | None:
    return tree


def run_profile(
    profile: Profile, query: Query, read: frozenset[str] = frozenset()
) -> Plan[RankedRun]:
    """The plan of a profile's pipeline on a query; see `Pipeline.plan`."""
    tables = yield from profile.pipeline.plan(query, read)
    return RankedRun(profile, query, tables)
