"""Runs: the tables of a profile applied to a query, and explanations of its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from salience.lazily import dataclass, field, replace
from salience.ranking.evaluation import Evaluation
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import NamedExpression, Signal
from salience.ranking.profile import Profile
from salience.ranking.serialization import nodes
from salience.ranking.stages.rerank import ModelScores
from salience.ranking.stages.score import Score
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.plan import Plan
from salience.retrieval.query import Query

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
        return self.tables[self._writer("score", len(self.tables))]

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
        approximate = [f"exactness: {self.approximate}"] if self.approximate else []
        return approximate + [
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
        at = self._writer("score", len(self.tables))
        stage, before = self.profile.pipeline.stages[at], self.tables[at - 1]
        if isinstance(stage, Score):  # it keeps the order in which its parts are computed
            ev = stage.evaluation(self.query, before)
        else:
            ev = self._evaluation(at)
        ev.computed(self.profile.signal)  # before its parts, as one may read the sum before it
        return [ev.column(signal) for signal in signals]

    def parts(self) -> dict[str, Any]:
        """The values of every named part over the candidates that its stage scored."""
        parts: dict[str, Any] = {}
        for at, stage in enumerate(self.profile.pipeline.stages):
            for formula in stage.formulas().values():
                ev = self._evaluation(at)
                ev.computed(formula)  # before its parts, as one may read the sum of those before it
                for _, node in nodes(formula, ""):
                    if isinstance(node, NamedExpression):
                        parts[node.name] = ev.column(node)
        return parts

    def rank(self, row: int) -> int | None:
        """The rank (from 1) among all scored candidates, before the cut; None for no candidate."""
        scored = self.scored
        place = scored.position(row)
        if place is None:
            return None
        scores, ids = scored.floats("score"), scored["id"]
        tied = (id or "" for id in ids[scores == scores[place]].tolist())
        own = ids[place] or ""  # a memory that was erased meanwhile has none
        better = np.count_nonzero(scores > scores[place]) + sum(id < own for id in tied)
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


def _same(tree: Explanation | None) -> Explanation | None:
    return tree


def run_profile(profile: Profile, query: Query) -> Plan[RankedRun]:
    """The plan of a profile's pipeline on a query."""
    tables = yield from profile.pipeline.plan(query)
    return RankedRun(profile, query, tables)
