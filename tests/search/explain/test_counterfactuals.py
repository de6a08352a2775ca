"""Counterfactuals: the smallest change of one part, which does turn the outcome."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from salience import Explanation, Profile
from salience.ranking.expressions import Signal
from salience.ranking.profiles import balanced
from salience.ranking.signals import importance, similarity
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import MatchAll, Vector
from salience.search.explain.why_not import beyond, rescored
from support.kitchen import QUERY, crowd, kitchen


def toward(value: float, other: float) -> float:
    return math.nextafter(other, value)


def test_the_change_is_the_smallest_that_brings_it_in() -> None:
    memory = crowd(4)
    tried = 0
    for record in memory.get_all(limit=100):
        options = {"profile": "composite", "limit": 20, "touch": False}
        report = memory.explain(QUERY, record.id, profile="composite", limit=20)
        change = next((c for c in report.changes or () if c.part == "importance"), None)
        if change is None or not 0.0 <= change.needed <= 1.0:
            continue
        tried += 1
        memory.update(record.id, importance=change.needed)
        assert (record.id in memory.search(QUERY, **options).ids) != report.found  # type: ignore[arg-type]
        memory.update(record.id, importance=toward(change.value, change.needed))
        assert (record.id in memory.search(QUERY, **options).ids) == report.found  # type: ignore[arg-type]
        memory.update(record.id, importance=record.importance)
    assert tried > 10


def test_likely_changes_come_first_and_say_whether_a_candidate_has_such_a_value() -> None:
    memory = crowd(5)
    for record in memory.get_all(limit=100):
        report = memory.explain(QUERY, record.id, profile="composite", limit=5)
        changes = report.changes or ()
        assert [c.possible for c in changes] == sorted((c.possible for c in changes), reverse=True)
        shares = [c.share for c in changes if c.possible]
        assert shares == sorted(shares)
        assert all(c.possible == (c.low <= c.needed <= c.high) for c in changes)
        if len(shares) > 1:
            return
    pytest.fail("no memory with two possible changes")


def test_a_hit_is_told_what_would_drop_it_out() -> None:
    report = kitchen().explain(QUERY, "curry", profile="composite", limit=3)
    assert report.found
    assert report.changes is not None
    assert all(c.needed < c.value for c in report.changes)
    assert "would remove it" in str(report)


def test_nothing_drops_a_hit_that_has_no_rival() -> None:
    report = kitchen().explain(QUERY, "curry", profile="composite", limit=8)
    assert report.changes == ()
    assert report.outlook == "No single change would remove it."


def test_a_factor_is_a_part_like_any_other() -> None:
    memory = kitchen()
    memory.update("risotto", status="contradicted")
    report = memory.explain(QUERY, "risotto", profile="activation", limit=3)
    assert not report.found
    change = next(c for c in report.changes or () if c.part == "status_penalty")
    assert change.value == 0.3
    assert change.possible
    assert report.why is not None
    again = rescored(report.why, "status_penalty")
    assert again is not None
    assert again(change.needed) == change.score
    assert again(change.value) == report.score


def test_equal_scores_are_decided_by_the_id() -> None:
    plain = Profile("plain", retrieve(MatchAll(), Vector()) >> score(_sum()) >> cut())
    memory = kitchen()
    early = memory.explain(QUERY, "bread", profile=plain, limit=2)
    late = memory.explain(QUERY, "tea", profile=plain, limit=2)
    rival = memory.search(QUERY, profile=plain, limit=2, touch=False)[-1]
    for report in (early, late):
        change = next(c for c in report.changes or () if c.part == "importance")
        if report.id < rival.id:
            assert change.score == rival.score
        else:
            assert change.score > rival.score


def test_min_score_counts_too() -> None:
    report = kitchen().explain(QUERY, "salad", profile="composite", options={"min_score": 0.5})
    change = next(c for c in report.changes or () if c.part == "similarity")
    assert change.score >= 0.5
    assert report.why_not is not None
    assert report.why_not.stage == "min_score"


def test_nothing_possible_is_said() -> None:
    report = kitchen().explain(QUERY, "salad", profile="composite", limit=1)
    assert report.outlook == "No single change would bring it in; these come nearest:"
    assert not any(change.possible for change in report.changes or ())


def test_what_is_scaled_over_the_candidates_is_no_function_of_its_parts() -> None:
    leaf = Explanation("deep", 2.0)
    scaled = Explanation("scaled", 0.5, "share of the largest among the candidates", (leaf,))
    tree = Explanation("score", 1.5, "sum", (Explanation("1", 1.0), scaled))
    assert rescored(tree, "deep") is None
    again = rescored(tree, "scaled")
    assert again is not None
    assert again(0.75) == 1.75


def test_shown_values_suffice() -> None:
    for _ in range(200):
        value, needed = random.uniform(-2, 2), random.uniform(-2, 2)
        shown = float(beyond(value, needed))
        assert shown >= needed - 1e-9 if needed > value else shown <= needed + 1e-9
        assert abs(shown - needed) <= 1.01e-4


def _sum() -> Signal:
    return 0.5 * similarity() + 0.5 * importance()


@pytest.mark.deep
@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("relevance", "relevance_score", 1.0),
        pytest.param("pinned", "pinned", True, marks=pytest.mark.deep),
        pytest.param("long_term", "tier", "long", marks=pytest.mark.deep),
    ],
)
def test_a_search_with_the_weight_that_gives_what_is_needed_turns_the_outcome(
    part: str, field: str, value: Any
) -> None:
    """The part of one memory alone has a value, so that its weight moves no other score."""
    memory = crowd(4)
    weight, tried = balanced.weights[part], 0
    for record in memory.get_all(limit=100):
        memory.update(record.id, **{field: value})
        report = memory.explain(QUERY, record.id, limit=20)
        change = next((c for c in report.changes or () if c.part == part and c.value), None)
        if change is not None:
            tried += 1
            for beyond_it, turned in ((1.0 + 1e-9, True), (1.0 - 1e-9, False)):
                needed = change.value + (change.needed - change.value) * beyond_it
                weights = {part: weight * needed / change.value}
                found = memory.search(QUERY, options={"weights": weights}, limit=20, touch=False)
                assert (record.id in found.ids) == (report.found != turned)
                again = memory.explain(QUERY, record.id, options={"weights": weights}, limit=20)
                assert again.found == (record.id in found.ids)
        memory.update(record.id, **{field: getattr(record, field)})
        if tried == 3:
            return
    pytest.fail(f"no memory with a value of {part} that is to change")
