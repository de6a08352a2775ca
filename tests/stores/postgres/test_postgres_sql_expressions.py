"""Signals as SQL: the server's numbers are those of the process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from salience.language.analysis_types import QueryAnalysis
from salience.language.entities import Aliases, fold_name
from salience.ranking import profiles
from salience.ranking.evaluation import Evaluation
from salience.ranking.expressions import (
    Col,
    Constant,
    Default,
    FirstOf,
    Product,
    Quotient,
    Signal,
    Sum,
)
from salience.ranking.functions import (
    Apply,
    QueryFlag,
    WhenQuery,
    at_most,
    exp,
    log,
    lookup,
    maximum,
)
from salience.ranking.signals import (
    EntityOverlap,
    GroupMax,
    MinMax,
    SaidBy,
    access,
    confidence,
    days_since,
    decay,
    feedback,
    hourly_rate,
    hours_since,
    importance,
    likeness,
    memory_score,
    similarity,
    strength,
    vitality,
)
from salience.ranking.weights import walk
from salience.retrieval.candidates import Candidates, Floats
from salience.retrieval.query import Query
from salience.stores.postgres.sql.compiler import compile_signal
from salience.stores.postgres.sql.expressions import NotCompilable, SqlExpression
from salience.stores.postgres.sql.identifiers import spelling_key
from support.examples import examples

NOW = 1_790_000_000.0
DAY = 86_400.0
TIMES = ("created_at", "last_accessed", "boosted_at", "valid_from")
SHARES = ("importance", "confidence", "strength", "memory_score", "boost", "outdated")
COUNTS = ("access_count", "decay_rate", "feedback_for", "feedback_against")
TEXTS = {
    "tier": ("short", "medium", "long"),
    "review": ("outdated", "incorrect"),
    "layer": ("knowledge", "entity"),
    "speaker": ("Ana", "bo", "Cé"),
}
ALWAYS = ("created_at", "access_count")
NUMBERS = (*TIMES, *SHARES, *COUNTS, "vector.score")
NOTHING = {
    **dict.fromkeys((*NUMBERS, *TEXTS, "entities"), None),
    "created_at": 0.0,
    "access_count": 0.0,
}
QUERY = Query(
    "",
    ("default",),
    NOW,
    reading=QueryAnalysis(speakers=frozenset({"Ana"}), features={"query_asks_when": 1.0}),
    entities=frozenset({"ana", "rome"}),
    aliases=Aliases.of({"la Roma": "Rome"}),
)
COLUMNS = {"vector.score": SqlExpression("m.near", low=-1.0, high=1.0)}


def _row() -> st.SearchStrategy[dict[str, Any]]:
    times = st.floats(-40_000, 30_000).map(lambda days: NOW - days * DAY) | st.just(NOW)
    kinds: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(TIMES, times),
        **dict.fromkeys(SHARES, st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])),
        **dict.fromkeys(COUNTS, st.integers(0, 40).map(float) | st.floats(0, 1e4)),
        **{name: st.sampled_from(values) for name, values in TEXTS.items()},
        "vector.score": st.floats(-1, 1),
        "entities": st.lists(st.sampled_from(["Ana", "Roma", "la  roma", "ROME", "x"]), max_size=3),
    }
    return st.fixed_dictionaries(
        {name: kind if name in ALWAYS else st.none() | kind for name, kind in kinds.items()}
    )


_LEAF: st.SearchStrategy[Signal] = st.one_of(
    st.sampled_from([-2.0, -0.05, 0.0, 0.5, 1.0, 3.0, 20.0, math.nan]).map(Constant),
    st.sampled_from([*SHARES, *COUNTS, "vector.score"]).map(Col),
    st.sampled_from(
        [
            lookup("tier", {"short": 6.0, "long": 2160.0}),
            lookup("layer", {"knowledge": -1.5}),
            lookup("review", {}),
            QueryFlag("query_asks_when"),
            SaidBy("named"),
            SaidBy("user"),
            SaidBy("nobody"),
            EntityOverlap(),
            similarity(),
            likeness(),
            importance(),
            access(),
            feedback(),
            strength(),
            confidence(),
            memory_score(),
            days_since(),
            hours_since("boosted_at"),
            days_since("valid_from", "last_accessed"),
            decay(0.05, days_since()),
            decay(hourly_rate(), hours_since()),
            decay(math.log(2.0) / 7.0, days_since("boosted_at")),
        ]
    ),
)


def _branch(inner: st.SearchStrategy[Signal]) -> st.SearchStrategy[Signal]:
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    functions = st.sampled_from(sorted(set(Apply.FUNCTIONS) - {"power"}))
    return st.one_of(
        parts.map(Sum),
        parts.map(Product),
        st.tuples(inner, inner).map(lambda both: Quotient(*both)),
        st.tuples(inner, st.sampled_from([0.0, 0.5, -1.0])).map(lambda both: Default(*both)),
        parts.map(FirstOf),
        inner.map(lambda of: of.named("part")),
        st.builds(WhenQuery, st.sampled_from(["query_asks_when", "query_asks_number"]), inner),
        functions.flatmap(
            lambda name: st.tuples(
                *[inner] * (2 if name in ("minimum", "maximum", "at_most") else 1)
            ).map(lambda arguments: Apply(name, arguments))
        ),
    )


_TREES = st.recursive(_LEAF, _branch, max_leaves=6)


@pytest.fixture
def server(postgres: Any) -> Iterator[psycopg.Connection[Any]]:
    """A connection with an empty table that has the columns of memories."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        numbers = [f"{name} float8" for name in (*NUMBERS[:-1], "near")]
        texts = [f'{name} text COLLATE "C"' for name in TEXTS]
        connection.execute(
            f"CREATE TEMP TABLE m (at integer, {', '.join([*numbers, *texts])}, "
            'spellings text[] COLLATE "C")'
        )
        yield connection


def _filled(connection: psycopg.Connection[Any], rows: list[dict[str, Any]]) -> Candidates:
    """The rows on the server, and as a table of candidates."""
    names = (*NUMBERS, *TEXTS)
    connection.execute("DELETE FROM m")
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO m VALUES (%s{', %s' * (len(names) + 1)})",
            [[at, *(row[name] for name in names), _spellings(row)] for at, row in enumerate(rows)],
        )
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in rows], dtype=np.float64) for name in NUMBERS
    }
    for name in (*TEXTS, "entities"):
        columns[name] = np.empty(len(rows), dtype=object)
        columns[name][:] = [
            tuple(row[name]) if isinstance(row[name], list) else row[name] for row in rows
        ]
    return Candidates(np.arange(len(rows)), columns)


def _spellings(row: dict[str, Any]) -> list[str]:
    held = [("entities", each) for each in row["entities"] or ()]
    held += [("speaker", row["speaker"])] if row["speaker"] else []
    return [spelling_key(name, fold_name(value)) for name, value in held]


def _numbers(connection: psycopg.Connection[Any], form: SqlExpression) -> Floats:
    found = connection.execute(f"SELECT {form.sql} FROM m ORDER BY at", form.parameters).fetchall()
    return np.array([value for (value,) in found], dtype=np.float64)


@settings(
    max_examples=examples(400),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(st.lists(_row(), min_size=1, max_size=8), _TREES)
@example([NOTHING], profiles.get("six_factor").signal)
def test_the_server_has_the_numbers_of_the_process(
    server: psycopg.Connection[Any], rows: list[dict[str, Any]], tree: Signal
) -> None:
    candidates = _filled(server, rows)
    try:
        form = compile_signal(tree, QUERY, COLUMNS)
    except NotCompilable:
        assume(False)
    try:
        tested = _numbers(server, form)
    except psycopg.errors.NumericValueOutOfRange:  # infinite, or next to nothing, on the way
        assume(False)
    ev = Evaluation(QUERY, candidates)
    expected = ev.column(tree)
    assert (np.isnan(tested) == np.isnan(expected)).all(), (tested, expected)
    assert form.missing or not np.isnan(tested).any()
    there = expected[~np.isnan(expected)]
    assert form.endless or np.isfinite(there).all()
    assert ((form.low <= there) & (there <= form.high)).all()
    # How far two ways of rounding may be apart grows with the numbers on the way.
    sizes = [np.abs(ev.column(node)) for node in walk(tree)]
    scale = max(1.0, *(each[np.isfinite(each)].max(initial=0.0) for each in sizes))
    same = (tested == expected) | np.isnan(expected)
    with np.errstate(invalid="ignore"):  # the same infinity
        apart = np.where(same, 0.0, np.abs(tested - expected))
    assert (apart <= 1e-9 * scale).all(), (tested, expected)
    assert (apart <= form.error).all(), (tested, expected, form.error)


COUNT, SHARE = Col("access_count"), Col("importance")


@pytest.mark.parametrize(
    ("signal", "value"),
    [
        (exp(-1000.0 * (1.0 + COUNT)), 0.0),  # PostgreSQL would say underflow
        (exp(1000.0 * (1.0 + COUNT)), math.inf),  # and overflow
        (Apply("sigmoid", (-1000.0 * (1.0 + COUNT),)), 0.0),
        (log(COUNT), -math.inf),
        (log(COUNT - 1.0), math.nan),
        (Constant(1.0) / COUNT, 0.0),
        (SHARE / COUNT, math.nan),
        (exp(1000.0 * (1.0 + COUNT)) * COUNT, math.nan),
        (maximum(0.5, SHARE), math.nan),
        (at_most(SHARE, 1.0), 0.0),
    ],
    ids=str,
)
def test_where_the_server_is_more_particular(
    server: psycopg.Connection[Any], signal: Signal, value: float
) -> None:
    candidates = _filled(server, [NOTHING])
    [tested] = _numbers(server, compile_signal(signal, QUERY, COLUMNS))
    assert tested == pytest.approx(value, abs=1e-300, nan_ok=True)
    assert signal.evaluate(QUERY, candidates)[0] == pytest.approx(tested, abs=1e-300, nan_ok=True)


@pytest.mark.parametrize(
    ("signal", "why"),
    [
        (1.0 * MinMax(Col("vector.score")), r"min_max\(vector.score\) \(MinMax\) has no SQL form"),
        (GroupMax(Col("importance")), r"GroupMax"),
        (vitality(), "BaseLevel"),
        (Col("metadata.stars"), "metadata.stars is no column of numbers"),
        (Apply("floor", (similarity(),)), "is only nearly the same on the server"),
        (Constant(1.0) / similarity(), "jumps over it"),
        (Constant(1.0) / (1.000001 + similarity()), "may be 0"),
        (at_most(similarity(), 0.5), "jumps over it"),
    ],
    ids=str,
)
def test_what_has_no_form_says_why(signal: Signal, why: str) -> None:
    near = {"vector.score": SqlExpression("m.near", low=-1.0, high=1.0, error=1e-5)}
    with pytest.raises(NotCompilable, match=why):
        compile_signal(signal, QUERY, near)
