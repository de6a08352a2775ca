"""Laws of the signal algebra: the explanation is the formula."""

import math
import operator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.errors import InvalidInput
from salience.language.analysis_types import QueryAnalysis
from salience.ranking.evaluation import Evaluation, Program
from salience.ranking.explanation import Explanation
from salience.ranking.expressions import Col, Constant, Product, Signal, Sum
from salience.ranking.functions import Apply, QueryFlag, WhenQuery, exp, maximum, minimum
from salience.ranking.profile import Profile
from salience.ranking.signals import Age, MaxScaled, MinMax, WhereSet
from salience.ranking.stages import cut, retrieve, score
from salience.ranking.weights import rewrite, weighted, with_weights
from salience.retrieval.candidates import UNSET, Candidates, Floats
from salience.retrieval.query import Query
from salience.retrieval.routes import MatchAll
from support.examples import examples
from support.signals import NAMES, cells, trees

QUERY = Query(
    text="x",
    namespaces=("n",),
    now=1e9,
    reading=QueryAnalysis(features={"query_asks_when": 1.0, "query_asks_name": 0.0}),
)


@st.composite
def tables(draw: st.DrawFn, least: int = 1) -> Candidates:
    size = draw(st.integers(least, 6))
    columns: dict[str, Any] = {
        name: np.array(draw(st.lists(cells, min_size=size, max_size=size)), dtype=np.float64)
        for name in NAMES
    }
    group = np.empty(size, dtype=object)
    group[:] = draw(st.lists(st.sampled_from(["s", "t", None]), min_size=size, max_size=size))
    return Candidates(np.arange(size, dtype=np.int64), {**columns, "group": group})


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def folds(node: Explanation) -> bool:
    """Test whether the children make the value, in order and without rounding."""
    values = [np.float64(child.value) for child in node.children]
    if node.how == "sum":
        return same(float(reduce(operator.add, values)), node.value)
    if node.how == "product":
        return same(float(reduce(operator.mul, values)), node.value)
    return True


@settings(max_examples=examples(300), deadline=None)
@given(tree=trees, table=tables())
def test_the_root_of_an_explanation_is_the_value(tree: Signal, table: Candidates) -> None:
    with np.errstate(all="ignore"):
        values = tree.evaluate(QUERY, table)
        ev = Evaluation(QUERY, table)
        assert values.shape == (len(table),)
        assert values.dtype == np.float64
        for row, value in enumerate(values.tolist()):
            explained = tree.explain(ev, row)
            assert same(explained.value, value)
            for node in explained:
                assert folds(node)
            str(explained)


@settings(max_examples=examples(200), deadline=None)
@given(tree=trees, table=tables(0))
def test_evaluating_changes_nothing(tree: Signal, table: Candidates) -> None:
    before = {name: table[name].copy() for name in table.columns}
    with np.errstate(all="ignore"):
        first = tree.evaluate(QUERY, table)
        again = tree.evaluate(QUERY, table)
    assert np.array_equal(first, again, equal_nan=True)
    assert len(first) == len(table)
    for name, column in before.items():
        assert column.tolist() == table[name].tolist() or np.array_equal(
            column.astype(float), table[name].astype(float), equal_nan=True
        )


@settings(max_examples=examples(200), deadline=None)
@given(tree=trees, table=tables(), unset=st.sets(st.sampled_from(NAMES), min_size=1))
def test_a_program_for_columns_without_values_gives_the_same(
    tree: Signal, table: Candidates, unset: set[str]
) -> None:
    table = table.with_columns(**{name: UNSET[: len(table)] for name in unset})
    program = Program(QUERY.reading.features, table.unset(tree.inputs()))
    assert program.unset == tree.inputs() & unset
    short = Evaluation(QUERY, table, program=program).column(tree)
    assert np.array_equal(short, tree.evaluate(QUERY, table), equal_nan=True)


def test_what_no_memory_has_set_takes_no_step() -> None:
    table = Candidates(np.arange(3), {"a": np.ones(3), "b": UNSET[:3]})
    rated = WhereSet("b", 0.5, A * A)
    general, short = Program({}), Program({}, table.unset({"a", "b"}))
    for program in (general, short):
        program.place(2.0 * A + 3.0 * rated.named("rated") + B.default(0.0))
    assert len(short.steps) == len((2.0 * A).parts) < len(general.steps)


@settings(max_examples=examples(200), deadline=None)
@given(tree=trees)
def test_trees_are_values(tree: Signal) -> None:
    copy = rewrite(tree, lambda node: None)
    assert copy == tree
    assert hash(copy) == hash(tree)
    assert str(copy) == str(tree)
    assert tree.inputs() <= {*NAMES, "group"}


def table(**columns: list[float]) -> Candidates:
    size = len(next(iter(columns.values())))
    arrays = {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    return Candidates(np.arange(size, dtype=np.int64), arrays)


A, B = Col("a"), Col("b")


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (A + B, [5.0, math.nan]),
        (A + 1.0, [3.0, 5.0]),
        (1.0 + A, [3.0, 5.0]),
        (A - B, [-1.0, math.nan]),
        (2.0 * A, [4.0, 8.0]),
        (A * B, [6.0, math.nan]),
        (A / B, [2.0 / 3.0, math.nan]),
        (A / 0.0, [0.0, 0.0]),
        (B / 0.0, [0.0, math.nan]),
        (B.default(7.0), [3.0, 7.0]),
        (minimum(A, 3.0), [2.0, 3.0]),
        (maximum(A, 3.0), [3.0, 4.0]),
        (exp(0.0 * A), [1.0, 1.0]),
        (Constant(2.0) / Constant(4.0), [0.5, 0.5]),
        (WhenQuery("query_asks_when", A), [2.0, 4.0]),
        (WhenQuery("query_asks_name", A), [0.0, 0.0]),
        (QueryFlag("query_asks_when") + QueryFlag("query_asks_name"), [1.0, 1.0]),
        (MinMax(A), [0.0, 1.0]),
        (MinMax(B), [0.0, math.nan]),
        (MaxScaled(A), [0.5, 1.0]),
        (MaxScaled(-1.0 * A), [0.0, 0.0]),
    ],
    ids=str,
)
def test_the_arithmetic(tree: Signal, expected: list[float]) -> None:
    values = tree.evaluate(QUERY, table(a=[2.0, 4.0], b=[3.0, math.nan]))
    assert np.array_equal(values, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (A + 2.0 * B + 3.0, "(a + 2 * b + 3)"),
        ((A + B) * 2.0, "(a + b) * 2"),
        (A / (B * 2.0), "a / (b * 2)"),
        (A * (B / 2.0), "a * (b / 2)"),
        (A / (B / 2.0), "a / (b / 2)"),
        (exp(A).named("decay") + 1.0, "(decay + 1)"),
        (A.default(0.5), "default(a, 0.5)"),
    ],
)
def test_a_formula_is_printed_as_it_is_read(tree: Signal, text: str) -> None:
    assert str(tree) == text


def test_an_age_is_never_negative_and_falls_back() -> None:
    day = 86_400.0
    times = table(
        last=[1e9 - 2 * day, 1e9 + day, math.nan, math.nan], made=[0.0, 0.0, 1e9, math.nan]
    )
    values = Age(("last", "made")).evaluate(QUERY, times)
    assert np.array_equal(values, [2.0, 0.0, 0.0, math.nan], equal_nan=True)


def test_a_missing_value_stays_missing_until_something_stands_in() -> None:
    tree = 0.5 * A + 0.5 * B.default(0.25).named("stand_in")
    ev = Evaluation(QUERY, table(a=[1.0, math.nan], b=[math.nan, 1.0]))
    first, second = (tree.explain(ev, row) for row in (0, 1))
    assert first.value == 0.625
    node = first.find("stand_in")
    assert node is not None
    assert node.note == "not there; 0.25 stands in"
    assert math.isnan(second.value)


def test_weights_are_found_and_replaced() -> None:
    tree = 0.5 * A.named("x") + 0.3 * (2.0 * B.named("y")).named("z") + 1.0 * Col("c")
    assert weighted(tree) == {"x": 0.5, "z": 0.3, "y": 2.0}
    changed = with_weights(tree, {"x": 4, "y": 0.0})
    assert weighted(changed) == {"x": 4.0, "z": 0.3, "y": 0.0}
    assert weighted(tree) == {"x": 0.5, "z": 0.3, "y": 2.0}
    assert with_weights(tree, {}) == tree
    assert with_weights(tree, weighted(tree)) == tree


def test_a_weight_is_the_factor_of_the_outermost_place() -> None:
    x = A.named("x")
    inner = (2.0 * x + 3.0 * B.named("y")).named("inner")
    tree = x + 0.5 * inner + exp(4.0 * x)
    assert weighted(tree) == {"x": 1.0, "inner": 0.5, "y": 3.0}
    assert with_weights(tree, {"x": 1, "y": 3}) is tree
    changed = with_weights(tree, {"x": 7, "y": 5})
    assert changed == 7.0 * x + 0.5 * (2.0 * x + 5.0 * B.named("y")).named("inner") + exp(4.0 * x)
    assert with_weights(changed, {"x": 1, "y": 3}) == 1.0 * x + 0.5 * inner + exp(4.0 * x)


@pytest.mark.parametrize(
    ("weights", "field"),
    [
        ({"w": 1.0}, "weights.w"),
        ({"x": math.nan}, "weights.x"),
        ({"x": math.inf}, "weights.x"),
        ({"x": "1"}, "weights.x"),
        ({"x": True}, "weights.x"),
        ({"x": None}, "weights.x"),
        ([("x", 1.0)], "weights"),
    ],
)
def test_a_wrong_weight_is_named(weights: Any, field: str) -> None:
    profile = Profile("x", retrieve(MatchAll()) >> score(0.5 * A.named("x")) >> cut())
    with pytest.raises(InvalidInput) as caught:
        profile.weighted(weights)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: Sum(()), "parts"),
        (lambda: Product(()), "parts"),
        (lambda: Apply("sin", (A,)), "function"),
        (lambda: Apply("exp", (A, B)), "arguments"),
        (lambda: Apply("minimum", (A,)), "arguments"),
    ],
)
def test_what_cannot_be_computed_cannot_be_built(build: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build()
    assert caught.value.field == field


@dataclass(frozen=True)
class Failing(Signal):
    """x, and an error the first time."""

    of: Signal
    tried: list[int] = field(default_factory=list, compare=False)

    def compute(self, ev: Evaluation, of: Floats) -> Floats:
        self.tried.append(1)
        if len(self.tried) == 1:
            raise RuntimeError("not yet")
        return of


def test_what_failed_once_is_computed_when_it_is_asked_for_again() -> None:
    ev = Evaluation(QUERY, table(a=[1.0, 2.0]))
    tree = 2.0 * Failing(A) + 1.0
    with pytest.raises(RuntimeError, match="not yet"):
        ev.column(tree)
    assert np.array_equal(ev.column(tree), [3.0, 5.0])
