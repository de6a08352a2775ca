"""Weights: the nearest value that turns an outcome does turn it in a search, and nothing nearer."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput, NotFound
from salience.ranking import profiles
from salience.ranking.signals import importance, similarity
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import MatchAll, Vector
from salience.search.explain import WeightChange
from support.asked import in_options
from support.kitchen import QUERY, crowd, kitchen

NAMES = sorted(profiles.BUILT_IN)
NEAR = {"balanced": 2.0**-39, "composite": 0.0, "six_factor": 0.0, "activation": 0.0}
"""How near the value needed is found, by the way to it: versions bend the lines of `balanced`."""


def short_of(change: WeightChange, name: str) -> float:
    """A value that is a little nearer to the weight's own than the one needed."""
    assert change.needed is not None
    if not (near := NEAR.get(name, 1e-3)):
        return math.nextafter(change.needed, change.value)
    return change.value + (change.needed - change.value) * (1.0 - near)


def place(memory: Memory, id: str, options: dict[str, Any]) -> int | None:
    ids = memory.search(QUERY, touch=False, **in_options(options)).ids
    return ids.index(id) + 1 if id in ids else None


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", NAMES)
def test_a_search_with_the_weight_turns_the_outcome_and_one_short_of_it_does_not(name: str) -> None:
    memory = crowd(6)
    options: dict[str, Any] = {"profile": name, "limit": 5}
    rows = memory.inspect.candidates(QUERY, profile=name).rows
    turned = 0
    ids = [row.id for row in rows[1:12:5]]
    for report in memory.explain_many(QUERY, ids, **options) if ids else ():
        assert report.weights is not None
        assert {change.name for change in report.weights} == set(profiles.get(name).weights)
        for change in report.turning[:6]:
            turned += 1
            found = place(memory, report.id, {**options, "weights": {change.name: change.needed}})
            assert (found is not None) != report.found
            assert found == change.rank
            nearer = {change.name: short_of(change, name)}
            assert (
                place(memory, report.id, {**options, "weights": nearer}) is None
            ) != report.found
    assert turned or len(rows) < 5


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["balanced", "composite", "vitality", "multi_route"])
def test_of_two_memories_the_weight_turns_the_order(name: str) -> None:
    memory = crowd(6)
    options: dict[str, Any] = {"profile": name, "limit": 8}
    ids = memory.search(QUERY, touch=False, **in_options(options)).ids
    turned = 0
    for one, other in ((ids[1], ids[0]), (ids[0], ids[3]), (ids[2], ids[5])):
        report = memory.explain(QUERY, one, against=other, **options)
        against = report.against
        assert against is not None
        assert against.before == (ids.index(one) < ids.index(other))
        assert against.rank == ids.index(other) + 1
        assert report.score is not None
        assert against.gap == report.score - (against.score or 0.0)
        shares = math.fsum(part.behind for part in against.parts)
        assert shares == pytest.approx(-against.gap, abs=1e-9)
        for change in report.turning[:5]:
            turned += 1
            told = {**options, "limit": 1000, "weights": {change.name: change.needed}}
            order = memory.search(QUERY, touch=False, **in_options(told)).ids
            assert (order.index(one) < order.index(other)) != against.before
    assert turned


def test_against_says_what_part_would_turn_the_order() -> None:
    memory = kitchen()
    first, second, *_ = memory.search(QUERY, profile="composite", touch=False).ids
    report = memory.explain(QUERY, second, against=first, profile="composite")
    assert f"It stands behind {first}" in str(report)
    assert f"would put it before {first}:" in str(report)
    change = next(c for c in report.changes or () if c.part == "importance")
    memory.update(second, importance=min(1.0, change.needed))
    assert memory.search(QUERY, profile="composite", touch=False).ids[0] == (
        second if change.needed <= 1.0 else first
    )


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(8))
def test_no_value_nearer_than_that_turns_it(seed: int) -> None:
    """Tried among 200 values between, at random."""
    chance, memory = random.Random(seed), crowd(6)
    profile = chance.choice(["balanced", "composite", "six_factor", "vitality"])
    options: dict[str, Any] = {"profile": profile, "limit": 4}
    rows = memory.inspect.candidates(QUERY, profile=profile).rows
    report = memory.explain(QUERY, chance.choice(rows[:8]).id, **options)
    for change in chance.sample(report.turning, min(2, len(report.turning))):
        assert change.needed is not None
        away = change.needed - change.value
        for _ in range(20):
            weights = {change.name: change.value + chance.uniform(-0.99, 0.99) * abs(away)}
            found = place(memory, report.id, {**options, "weights": weights})
            assert (found is not None) == report.found


def test_a_weight_that_turns_nothing_is_said() -> None:
    report = kitchen().explain(QUERY, "curry", profile="composite", limit=8)
    assert report.turning == ()
    assert [change.needed for change in report.weights or ()] == [None] * 3
    assert "No weight alone would remove it." in str(report)


def test_a_weight_that_moves_other_values_is_ranked_again() -> None:
    """The version in force stands just above the older one, whatever the weight."""
    memory = Memory("ram://")
    memory.add("Ana lives in Porto.", id="old", created_at="2026-01-01")
    memory.add("Ana moved to Lisbon.", id="new", created_at="2026-03-01")
    memory.add_many([f"Ben lives in house {number}." for number in range(8)])
    query = "Where does Ana live?"
    table = memory.inspect.candidates(query, hits=2)
    assert any(part.name == "current_version" and part.values for part in table.parts)
    report = memory.explain(query, "new", against="old")
    assert report.against is not None
    assert report.against.before
    for change in report.turning:
        for needed, before in ((change.needed, False), (short_of(change, "none"), True)):
            weights: dict[str, Any] = {change.name: needed}
            ids = memory.search(query, options={"weights": weights}, touch=False).ids
            assert (ids.index("new") < ids.index("old")) == before


def test_what_was_not_ranked_has_no_weights() -> None:
    memory = kitchen()
    memory.update("curry", status="archived")
    report = memory.explain(QUERY, "curry")
    assert (report.found, report.weights) == (False, None)
    with_other = memory.explain(QUERY, "salad", against="curry")
    assert with_other.against is not None
    assert (with_other.against.rank, with_other.against.gap, with_other.weights) == (
        None,
        None,
        None,
    )


def test_min_score_and_equal_scores_count() -> None:
    plain = Profile(
        "plain",
        retrieve(MatchAll(), Vector()) >> score(0.5 * similarity() + 0.5 * importance()) >> cut(),
    )
    memory = kitchen()
    for id in memory.search(QUERY, profile=plain, limit=8, touch=False).ids:
        for told in ({"limit": 3}, {"limit": 8, "min_score": 0.3}):
            options: dict[str, Any] = {**told, "profile": plain}
            report = memory.explain(QUERY, id, **in_options(options))
            for change in report.turning:
                found = place(memory, id, {**options, "weights": {change.name: change.needed}})
                assert (found is not None) != report.found


def test_ids_are_checked() -> None:
    memory = kitchen()
    assert [r.id for r in memory.explain_many(QUERY, ["tea", "curry"])] == ["tea", "curry"]
    for ids in ([], ["curry"] * 21):
        with pytest.raises(InvalidInput, match="ids"):
            memory.explain_many(QUERY, ids)
    with pytest.raises(InvalidInput, match="against"):
        memory.explain(QUERY, "curry", against="curry")
    with pytest.raises(NotFound, match="nowhere"):
        memory.explain(QUERY, "curry", against="nowhere")
