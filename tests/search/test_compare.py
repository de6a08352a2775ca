"""Compare: rank beside rank, and the parts that moved a memory."""

from __future__ import annotations

import json

import pytest

from salience.errors import InvalidInput
from salience.ranking import profiles
from support.kitchen import QUERY, check_snapshot, crowd, kitchen

NAMES = sorted(profiles.BUILT_IN)


def test_ranks_are_those_of_the_searches() -> None:
    memory = crowd(6)
    compared = memory.inspect.compare(QUERY, NAMES, limit=6)
    assert compared.profiles == tuple(NAMES)
    for at, name in enumerate(NAMES):
        hits = memory.search(QUERY, profile=name, limit=6, touch=False)
        ranks = {m.id: m.standings[at].rank for m in compared if m.standings[at].left is None}
        assert ranks == {hit.id: hit.rank for hit in hits}
        scores = {m.id: m.standings[at].score for m in compared if m.standings[at].left is None}
        assert scores == {hit.id: hit.score for hit in hits}


def test_lifts_add_up_to_the_standing_of_the_score() -> None:
    compared = crowd(6).inspect.compare(QUERY, NAMES, limit=6)
    for at in range(len(NAMES)):
        standings = [m.standings[at] for m in compared if m.standings[at].score is not None]
        scores = [s.score for s in standings if s.score is not None]
        if len(scores) < 2:
            continue
        mean, spread = sum(scores) / len(scores), max(scores) - min(scores)
        for standing, score in zip(standings, scores, strict=True):
            assert sum(standing.lifts.values()) == pytest.approx((score - mean) / spread)


def test_causes_point_the_way_the_memory_moved() -> None:
    moved = 0
    for memory in crowd(6).inspect.compare(QUERY, ["composite", "six_factor", "balanced"], limit=6):
        for move in memory.moves:
            for _, shift in move.causes:
                assert move.by
                assert shift * move.by > 0
                moved += 1
            sizes = [abs(shift) for _, shift in move.causes]
            assert sizes == sorted(sizes, reverse=True)
    assert moved


def test_the_part_that_was_reweighted_is_the_cause() -> None:
    flat = profiles.composite.weighted({"importance": 0.0})
    compared = crowd(6).inspect.compare(QUERY, ["composite", flat], limit=6)
    assert compared.profiles == ("composite", "composite (2)")
    moved = [memory.moves[0] for memory in compared if abs(memory.moves[0].by or 0) > 1]
    assert moved
    assert {move.causes[0][0] for move in moved} == {"importance"}


def test_comparing_touches_nothing_and_is_repeatable() -> None:
    memory = crowd(7)
    before = [record.to_dict() for record in memory.get_all(limit=100)]
    once = memory.inspect.compare(QUERY, NAMES)
    again = memory.inspect.compare(QUERY, NAMES)
    memory.upkeep.flush()
    assert [record.to_dict() for record in memory.get_all(limit=100)] == before
    assert once.to_dict() == again.to_dict()
    assert json.loads(json.dumps(once.to_dict()))["profiles"] == NAMES


def test_snapshot() -> None:
    compared = kitchen().inspect.compare(QUERY, ["composite", "multi_route", "activation"], limit=3)
    check_snapshot("compare.txt", str(compared))


@pytest.mark.parametrize("profiles", [["balanced"], [], "balanced", {"name": "x"}])
def test_two_profiles_are_needed(profiles: object) -> None:
    with pytest.raises(InvalidInput, match="profiles"):
        kitchen().inspect.compare(QUERY, profiles)  # type: ignore[arg-type]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InvalidInput, match="there is no 'balanse'"):
        kitchen().inspect.compare(QUERY, ["balanced", "balanse"])
