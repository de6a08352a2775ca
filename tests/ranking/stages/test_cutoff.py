"""Packing: never more hits than wanted, never more tokens than the budget."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.errors import InvalidInput, InvalidProfile
from salience.language.tokens import count_tokens
from salience.ranking.expressions import Col
from salience.ranking.stages import (
    Cut,
    Depth,
    Keep,
    Neighbors,
    Pack,
    Stage,
    cut,
    pack,
    retrieve,
    score,
)
from salience.ranking.stages.sessions import neighbors
from salience.retrieval.candidates import Candidates
from salience.retrieval.routes import MatchAll
from support.world import World, query, table


def packed(
    lengths: dict[str, int], budget: int | None, k: int = 10, stage: Stage | None = None
) -> Candidates:
    ids = list(lengths)
    scores = [1.0 - 0.01 * at for at in range(len(ids))]
    texts = {id: "x" * length for id, length in lengths.items()}
    world = World(dict(enumerate(ids, 1)), texts=texts)
    return world.run(stage or Cut(), query(k, token_budget=budget), table(ids, score=scores))


def order(found: Candidates) -> str:
    return "".join(found["id"].tolist())


@pytest.mark.parametrize(("length", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (400, 100)])
def test_a_token_is_4_characters_rounded_up(length: int, tokens: int) -> None:
    assert count_tokens("x" * length) == tokens == math.ceil(length / 4)


def test_one_that_does_not_fit_is_skipped_and_the_next_is_tried() -> None:
    """Of 100 tokens: a takes 50, b needs 75, c takes 40, d needs 15, e takes 10."""
    lengths = {"a": 200, "b": 300, "c": 160, "d": 60, "e": 40}
    found = packed(lengths, 100)
    assert order(found) == "ace"
    assert found["pack.tokens"].tolist() == [50.0, 40.0, 10.0]


def test_nothing_is_returned_over_budget_not_even_the_first() -> None:
    assert order(packed({"a": 41}, 10)) == ""
    assert order(packed({"a": 40}, 10)) == "a"
    assert order(packed({"a": 4}, 0)) == ""


def test_skipping_fills_up_to_the_hits_wanted() -> None:
    lengths = {"a": 4, "b": 400, "c": 4, "d": 4, "e": 4}
    assert order(packed(lengths, 50, k=3)) == "acd"


def test_without_a_budget_it_is_the_best_k() -> None:
    assert order(packed({"a": 4, "b": 400, "c": 4}, None, k=2)) == "ab"


def test_pack_keeps_the_order_of_the_table_and_cut_sorts() -> None:
    candidates = table(["a", "b"], score=[0.1, 0.2])
    world = World({1: "a", 2: "b"})
    assert order(world.run(Pack(), query(), candidates)) == "ab"
    assert order(world.run(Cut(), query(), candidates)) == "ba"


def test_keep_takes_the_best_by_any_column() -> None:
    candidates = table(["a", "b", "c"], score=[0.1, 0.2, 0.3], other=[0.3, 0.3, 0.1])
    assert order(Keep(2, "other").apply(query(), candidates)) == "ab"
    assert order(Keep(Depth(2, min_rows=0)).apply(query(k=1), candidates)) == "cb"


@given(
    st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 90)),
    st.integers(0, 60),
    st.integers(1, 10),
)
def test_it_is_the_greedy_choice_and_never_over_budget(
    lengths: dict[str, int], budget: int, k: int
) -> None:
    found = packed(lengths, budget, k)
    left = budget
    expected: list[str] = []
    for id, length in lengths.items():
        cost = math.ceil(length / 4)
        if cost <= left and len(expected) < k:
            expected.append(id)
            left -= cost
    assert found["id"].tolist() == expected
    assert sum(math.ceil(lengths[id] / 4) for id in expected) <= budget
    assert len(found) <= k


@given(
    st.dictionaries(st.sampled_from("abcdefghij"), st.integers(1, 90), min_size=1),
    st.integers(0, 100),
    st.integers(1, 4),
)
def test_neighbors_are_charged_to_what_the_hits_leave(
    lengths: dict[str, int], budget: int, k: int
) -> None:
    ids = list(lengths)
    texts = {id: "x" * length for id, length in lengths.items()}
    world = World(dict(enumerate(ids, 1)), texts=texts, sessions=[ids])
    candidates = table(ids, score=[0.5] * len(ids), kind=["chunk"] * len(ids))
    asked = query(k, token_budget=budget)
    hits = world.run(Cut(), asked, candidates)
    found = world.run(Neighbors(), asked, hits)
    near = [
        int(row)
        for side in ("neighbors.before", "neighbors.after")
        for row in found[side].tolist()
        if row == row
    ]
    assert len(set(near)) == len(near)
    assert not set(near) & set(found.rows.tolist())
    spent = sum(count_tokens(texts[world.ids[row]]) for row in [*near, *found.rows.tolist()])
    assert spent <= budget
    assert found["neighbors.tokens"].sum() + found["pack.tokens"].sum() == spent


def test_a_pipeline_has_to_begin_end_and_score() -> None:
    scan, scored = retrieve(MatchAll(), depth=5), score(Col("importance").default(0.0))
    (scan >> scored >> cut()).check()
    (scan >> scored >> pack() >> neighbors()).check()
    for wrong in (scored >> cut(), scan >> scored, scan >> cut()):
        with pytest.raises(InvalidProfile):
            wrong.check()
    with pytest.raises(InvalidProfile, match=r"pack\.tokens"):
        (scan >> scored >> neighbors() >> pack()).check()


WRONG_DEPTHS: list[tuple[Any, ...]] = [
    *((0, 0), (-1, 5), (1.5, 0), (True, 0)),
    *((0, 5, 1.1, 9), (0, 5, "half", 9), (0, 5, True, 9), (0, 5, 0.5, -1), (0, 0, 0.5, 9)),
]


@pytest.mark.parametrize("wrong", WRONG_DEPTHS)
def test_impossible_depths_are_refused(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput, match="depth"):
        Depth(*wrong)


@pytest.mark.parametrize(
    ("memories", "rows"), [(0, 200), (1_333, 200), (1_340, 201), (2_000, 300), (10_000, 400)]
)
def test_a_depth_grows_with_the_memories_up_to_a_bound(memories: int, rows: int) -> None:
    depth = Depth(min_rows=200, share=0.15, share_rows=400)
    assert depth.rows(query(memories=memories)) == rows
    assert depth.rows(query(450, memories=memories)) == rows
    assert Depth(1, 200, 0.15, 400).rows(query(450, memories=memories)) == 450
    assert str(depth) == "max(200, min(0.15 memories, 400))"
