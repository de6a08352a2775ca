"""Fusing: a formula and a cut are one stage, and a retrieval of everything with them a top-k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from salience.ranking.expressions import Col
from salience.ranking.stages import Pipeline, cut, keep, min_value, neighbors, retrieve, score
from salience.retrieval.operations import (
    FetchColumns,
    Op,
    Ranking,
    ScoreRows,
    SearchRoute,
    SessionNeighbors,
    TopK,
    TopKResult,
)
from salience.retrieval.plan import drive
from salience.retrieval.routes import MatchAll, Vector
from support.world import column, query

SCORES = {1: 0.5, 2: 0.9, 3: 0.7}
EVERYTHING = retrieve(Vector(), depth=None)
DOUBLE = score(Col("vector.score") * 2.0, into="double")
SUM = score(Col("double") + Col("double"))


class Store:
    """Three rows with a cosine each; it finds the best rows by itself if it `ranks`."""

    def __init__(self, *, ranks: bool) -> None:
        self.ranks = ranks
        self.asked: list[type] = []

    def batch(self, ops: Sequence[Op]) -> list[Any]:
        self.asked += map(type, ops)
        return [self._answer(op) for op in ops]

    def _answer(self, op: Op) -> Any:
        if isinstance(op, TopK):
            if not self.ranks:
                return None
            best = np.array(sorted(SCORES, key=lambda row: -SCORES[row])[: op.query.k])
            return TopKResult(best, {"vector": np.arange(1.0, len(best) + 1)}, read=2, of=3)
        if isinstance(op, SearchRoute):
            return Ranking(np.array(list(SCORES)), np.array(list(SCORES.values())))
        if isinstance(op, ScoreRows):
            return np.array([SCORES[row] for row in op.rows.tolist()])
        if isinstance(op, SessionNeighbors):
            return np.full((2, len(op.rows)), -1)
        assert isinstance(op, FetchColumns)
        return {name: column([f"m{row}" for row in op.rows.tolist()]) for name in op.names}


def test_a_retrieval_of_everything_a_formula_and_a_cut_are_one_top_k() -> None:
    pipeline = EVERYTHING >> DOUBLE >> SUM >> cut()
    [(fused, wanted)] = pipeline.fused
    assert wanted == pipeline.wanted
    best = drive(fused.top_k(query(k=2)), Store(ranks=True).batch)
    assert best is not None
    assert best.rows.tolist() == [2, 3]


def test_the_formula_of_a_fused_cut_has_earlier_formulas_in_place_of_their_columns() -> None:
    [(fused, _)] = (DOUBLE >> SUM >> cut()).fused
    double = Col("vector.score") * 2.0
    assert fused.cut_by() == double + double


@pytest.mark.parametrize("ranks", [True, False])
@pytest.mark.parametrize("end", [cut(), cut() >> neighbors()])
def test_there_is_a_table_for_each_stage_however_they_are_run(ranks: bool, end: Any) -> None:
    pipeline = EVERYTHING >> DOUBLE >> SUM >> end
    apart, fused = Store(ranks=ranks), Store(ranks=ranks)
    tables = drive(pipeline.plan(query(k=2)), apart.batch)
    hits_only = drive(pipeline.plan(query(k=2, hits_only=True)), fused.batch)
    assert TopK not in apart.asked
    assert fused.asked[0] is TopK
    assert (SearchRoute in fused.asked) != ranks
    assert len(tables) == len(hits_only) == len(pipeline.stages)
    assert len(hits_only[0]) == (2 if ranks else 3)
    assert hits_only[0].read == ((2, 3) if ranks else None)
    for name in ("score", "double", "vector.rank"):
        np.testing.assert_array_equal(hits_only[-1][name], tables[-1][name])
    np.testing.assert_array_equal(hits_only[-1].rows, [2, 3])


@pytest.mark.parametrize(
    "pipeline",
    [
        retrieve(Vector(), depth=2) >> SUM >> cut(),
        EVERYTHING >> min_value("vector.score", 0.1) >> SUM >> cut(),
        EVERYTHING >> DOUBLE >> keep(2, "double") >> SUM >> cut(),
        retrieve(MatchAll(), depth=2) >> SUM >> keep(1) >> cut(),
    ],
)
def test_other_pipelines_read_what_their_routes_find(pipeline: Pipeline) -> None:
    first, _ = pipeline.fused[0]
    assert first == pipeline.stages[0]
    assert drive(first.top_k(query(hits_only=True)), Store(ranks=True).batch) is None


def test_with_a_token_budget_the_best_rows_are_not_enough() -> None:
    pipeline = EVERYTHING >> DOUBLE >> SUM >> cut()
    [(fused, _)] = pipeline.fused
    assert drive(fused.top_k(query(token_budget=100)), Store(ranks=True).batch) is None
