"""Maximal marginal relevance: the document's formula by hand, and its limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.errors import InvalidInput
from salience.ranking.stages import Mmr
from salience.retrieval.candidates import Candidates
from support.world import World, query, table

Vectors = dict[str, list[float]]


def angle(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def picked(
    scores: dict[str, float],
    vectors: Vectors,
    tags: Mapping[str, tuple[str, ...]] | None = None,
    k: int = 10,
    stage: Mmr | None = None,
    **more: Any,
) -> Candidates:
    ids = list(scores)
    candidates = table(
        ids, score=list(scores.values()), tags=[(tags or {}).get(id, ()) for id in ids]
    )
    world = World(dict(enumerate(ids, 1)), vectors=vectors)
    return world.run(stage or Mmr(), query(k, **more), candidates)


def order(found: Candidates) -> str:
    return "".join(found["id"].tolist())


def test_the_formula_by_hand() -> None:
    """With a picked, b: 0.78 * 0.40 - 0.22 * cos 30° = 0.312 - 0.1905 = 0.1215;
    c: 0.78 * 0.30 - 0.22 * cos 90° = 0.234, so c comes before b."""
    vectors = {"a": angle(0), "b": angle(30), "c": [0.0, 1.0]}
    found = picked({"a": 0.5, "b": 0.4, "c": 0.3}, vectors)
    assert order(found) == "acb"
    assert found["mmr.score"].tolist() == pytest.approx(
        [0.78 * 0.5, 0.78 * 0.3, 0.78 * 0.4 - 0.22 * math.cos(math.radians(30))], abs=1e-6
    )
    assert found["mmr.redundancy"].tolist() == pytest.approx([0.0, 0.0, 0.8660254], abs=1e-6)
    assert found["mmr.with"].tolist() == [None, None, "a"]


def test_the_first_pick_has_the_best_score() -> None:
    assert order(picked({"b": 0.1, "a": 0.2}, {}, k=1)) == "a"


def test_tags_count_0_35_of_their_jaccard_where_that_is_more_than_the_cosine() -> None:
    """Jaccard {x, y} and {y, z} = 1/3; 0.35 / 3 = 0.1167. Tags compare case-folded."""
    tags = {"a": ("x", "Y"), "b": ("y", "z")}
    found = picked({"a": 0.5, "b": 0.4}, {"a": angle(0), "b": angle(90)}, tags)
    assert found["mmr.redundancy"].tolist() == pytest.approx([0.0, 0.35 / 3])
    near = picked({"a": 0.5, "b": 0.4}, {"a": angle(0), "b": angle(60)}, tags)
    assert near["mmr.redundancy"].tolist() == pytest.approx([0.0, 0.5], abs=1e-6)


def test_the_same_tags_and_no_vectors_are_redundant_by_0_35() -> None:
    found = picked({"a": 0.5, "b": 0.4}, {}, {"a": ("x",), "b": ("x",)})
    assert found["mmr.redundancy"].tolist() == [0.0, 0.35]
    assert found["mmr.score"][1] == pytest.approx(0.78 * 0.4 - 0.22 * 0.35)


def test_a_row_as_redundant_as_a_duplicate_is_one() -> None:
    tags = {"a": ("x",), "b": ("x",)}
    found = picked({"a": 0.5, "b": 0.4, "c": 0.0}, {}, tags, stage=Mmr(duplicate=0.35))
    assert order(found) == "acb"


def test_opposite_vectors_are_not_less_redundant_than_unlike_ones() -> None:
    found = picked({"a": 0.5, "b": 0.4}, {"a": angle(0), "b": angle(180)})
    assert found["mmr.redundancy"].tolist() == [0.0, 0.0]
    assert found["mmr.with"].tolist() == [None, None]


def test_a_duplicate_is_taken_only_if_nothing_else_is_left() -> None:
    """cos 15° = 0.966 >= 0.94; cos 25° = 0.906 is none. Duplicates come by score."""
    vectors = {"a": angle(0), "b": angle(15), "c": angle(25), "d": angle(-5), "e": angle(120)}
    scores = {"a": 0.9, "b": 0.8, "d": 0.85, "c": 0.01, "e": 0.0}
    assert order(picked(scores, vectors)) == "aecdb"


def test_equal_values_go_by_score_then_id() -> None:
    assert order(picked({"c": 0.5, "b": 0.5, "a": 0.5}, {})) == "abc"


def test_as_many_are_picked_as_are_wanted_and_all_with_a_budget() -> None:
    scores = {"a": 0.3, "b": 0.2, "c": 0.1}
    assert len(picked(scores, {}, k=2)) == 2
    assert len(picked(scores, {}, k=2, token_budget=5)) == 3


def test_min_score_holds() -> None:
    assert order(picked({"a": 0.3, "b": 0.1}, {}, min_score=0.2)) == "a"


def test_a_balance_beyond_0_and_1_is_refused() -> None:
    with pytest.raises(InvalidInput, match="balance"):
        Mmr(balance=1.2)


scored = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.0, 1.0), min_size=1)
turned = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.0, 360.0).map(angle))


@given(scored, turned)
def test_with_balance_1_and_no_duplicates_it_is_sorting(
    scores: dict[str, float], vectors: Vectors
) -> None:
    found = picked(scores, vectors, stage=Mmr(balance=1.0, duplicate=2.0))
    assert found["id"].tolist() == sorted(scores, key=lambda id: (-scores[id], id))


@given(scored, turned, st.floats(0.0, 1.0))
def test_every_pick_is_the_best_of_what_was_left(
    scores: dict[str, float], vectors: Vectors, balance: float
) -> None:
    found = picked(scores, vectors, stage=Mmr(balance=balance))
    ids = found["id"].tolist()
    assert sorted(ids) == sorted(scores)

    def alike(one: str, other: str) -> float:
        if one not in vectors or other not in vectors:
            return 0.0
        (a, b), (c, d) = vectors[one], vectors[other]
        return max(0.0, a * c + b * d)

    for at, id in enumerate(ids[1:], 1):
        worst = {x: max(alike(x, before) for before in ids[:at]) for x in ids[at:]}
        value = {x: balance * scores[x] - (1.0 - balance) * worst[x] for x in ids[at:]}
        fresh = [x for x in ids[at:] if worst[x] < 0.94 - 1e-5]
        assert found["mmr.redundancy"][at] == pytest.approx(worst[id], abs=1e-5)
        if fresh:
            assert value[id] >= max(value[x] for x in fresh) - 1e-5
