"""Reasons for a miss: the stage that dropped a memory, and by how much it missed."""

from __future__ import annotations

from typing import Any

import pytest

from salience import Memory, Profile
from salience.errors import NotFound
from salience.ranking.expressions import Col
from salience.ranking.rejection import gaps
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, Vector
from salience.search.explain import WhyNot
from support.asked import in_options
from support.kitchen import QUERY, kitchen
from support.scoring import DAY, NOW


def why_not(memory: Memory, id: str, **options: Any) -> WhyNot:
    report = memory.explain(QUERY, id, **in_options(options))
    assert report.why_not is not None
    return report.why_not


def test_filtered() -> None:
    filters = {"importance": {"gte": 0.6}, "created_at": {"gt": "2026-03-08"}, "kind": "note"}
    dropped = why_not(kitchen(), "cake", filters=filters)
    assert dropped.stage == "filter"
    assert [unmet.condition for unmet in dropped.unmet] == [
        "importance >= 0.6",
        "created_at > '2026-03-08T00:00:00Z'",
    ]
    assert dropped.unmet[0].values == {"importance": 0.1}
    assert dropped.unmet[1].values == {"created_at": "2026-01-09T12:00:00Z"}


def test_either_not_and_missing_values_are_named_as_they_were_asked() -> None:
    filters = {"$or": [{"speaker": "Ana"}, {"tags": {"contains": "food"}}]}
    dropped = why_not(kitchen(), "tea", filters=filters)
    assert dropped.unmet[0].condition == "(speaker = 'Ana' or tags contains 'food')"
    assert dropped.unmet[0].values == {"speaker": None, "tags": ()}
    assert "speaker is missing" in dropped.reason
    dropped = why_not(kitchen(), "tea", filters={"$not": {"kind": "note"}})
    assert dropped.unmet[0].condition == "not (kind = 'note')"


def test_status_and_expiry() -> None:
    memory = kitchen()
    memory.update("soup", status="archived")
    dropped = why_not(memory, "soup")
    assert dropped.unmet[0].values == {"status": "archived"}
    assert dropped.reason == (
        "it is archived, and only what is active is searched; the option include_archived finds it"
    )
    memory.supersede("cake", "tea")
    reason = "it is superseded, and only what is active is searched"
    assert why_not(memory, "cake").reason == reason
    memory.add("gone stale", id="stale", expires_at=NOW - DAY)
    dropped = why_not(memory, "stale")
    assert dropped.unmet[0].condition == "not (expires_at <= '2026-03-10T12:00:00Z')"
    assert dropped.unmet[0].values == {"expires_at": "2026-03-09T12:00:00Z"}
    assert dropped.reason == (
        "it expires at 2026-03-09T12:00:00Z, which is not after 2026-03-10T12:00:00Z"
    )


def test_another_namespace_is_looked_into_only_when_asked() -> None:
    memory = kitchen()
    memory.for_namespace("team").add("saffron for all", id="ours")
    with pytest.raises(NotFound, match="look for it everywhere"):
        memory.explain(QUERY, "ours")
    dropped = why_not(memory, "ours", everywhere=True)
    assert dropped.stage == "namespace"
    assert dropped.reason == "it is in the namespace 'team', and 'default' was searched"
    assert memory.explain(QUERY, "ours", namespaces=["default", "team"], limit=20).found


def test_no_route_brings_it() -> None:
    narrow = Profile("narrow", retrieve(Vector(), Lexical(), depth=2) >> score(_dense()) >> cut())
    dropped = why_not(kitchen(), "soup", profile=narrow)
    assert dropped.stage == "retrieve"
    vector, lexical = dropped.routes
    assert (vector.rank, vector.depth) == (5, 2)
    assert vector.score == pytest.approx(0.4, abs=1e-3)
    assert vector.cut == pytest.approx(0.8, abs=1e-3)
    assert lexical.rank is None
    assert "vector brings 2, and it is number 5 there" in dropped.reason
    assert "it would be number 5 of 8" in dropped.reason


def test_no_route_has_any_evidence() -> None:
    words = Profile("words", retrieve(Lexical()) >> score(Col("lexical.score")) >> cut())
    assert why_not(kitchen(), "soup", profile=words).reason == "no route has any evidence for it"


def test_below_the_cut() -> None:
    memory = kitchen()
    hits = memory.search(QUERY, profile="composite", limit=2, explain=True, touch=False)
    dropped = why_not(memory, "soup", profile="composite", limit=2)
    report = memory.explain(QUERY, "soup", profile="composite", limit=2)
    assert dropped.stage == "cut"
    assert dropped.rival == hits[-1].id
    assert report.score is not None
    assert dropped.gap == hits[-1].score - report.score
    tree = hits[-1].explanation
    assert tree is not None
    assert dropped.parts[0].name == "similarity"
    assert dropped.parts[0].rival == tree.contributions()["similarity"]
    assert dropped.parts[0].behind == max(part.behind for part in dropped.parts)


def test_below_min_score() -> None:
    dropped = why_not(kitchen(), "salad", profile="composite", min_score=0.5)
    assert dropped.stage == "min_score"
    assert dropped.gap == pytest.approx(0.5 - (-0.05 + 0.06 + 0.2 * 0.7046881), abs=1e-3)


def test_what_a_search_can_be_asked_can_be_explained() -> None:
    memory = kitchen()
    dropped = why_not(memory, "bread", profile="composite", min_similarity=0.5)
    assert dropped.stage == "min_value"
    assert dropped.reason == "its vector.score is 0.3000, 0.2000 below 0.5"
    assert dropped.gap == pytest.approx(0.2, abs=1e-3)
    assert why_not(memory, "salad", profile="composite", min_score=0.5).stage == "min_score"
    memory.update("risotto", status="archived")
    assert why_not(memory, "risotto").stage == "filter"
    assert memory.explain(QUERY, "risotto", options={"include_archived": True}).why_not is None
    report = memory.explain(QUERY, "paella", profile="vitality", options={"context": "knowledge"})
    assert report.profile == "vitality.knowledge"


def test_over_the_budget() -> None:
    memory = kitchen()
    memory.add("saffron " * 100 + "cos=0.95", id="long", importance=0.5)
    dropped = why_not(memory, "long", profile="composite", token_budget=60)
    assert dropped.stage == "budget"
    assert dropped.reason == "it takes 202 tokens, 142 more than the 60 that were left of 60"
    assert memory.search(QUERY, profile="composite", options={"token_budget": 60}, touch=False).hits


def test_a_duplicate_names_its_twin() -> None:
    memory = kitchen()
    memory.add("saffron risotto takes one hour, cos=0.9", id="again")
    first, second = memory.search(QUERY, profile="multi_route", limit=2, touch=False).ids
    twin = {"again", "risotto"} - {first, second}
    dropped = why_not(memory, twin.pop(), profile="multi_route", limit=2)
    assert dropped.stage == "mmr"
    assert dropped.rival == first
    assert f"duplicate of {first}" in dropped.reason


def test_a_factor_costs_what_it_takes_off_all_parts() -> None:
    memory = kitchen()
    memory.update("risotto", status="contradicted")
    hits = memory.search(QUERY, profile="activation", limit=2, touch=False)
    report = memory.explain(QUERY, "risotto", profile="activation", limit=2)
    assert report.why_not is not None
    worst = report.why_not.parts[0]
    assert (worst.name, worst.own, worst.rival) == ("status_penalty", 0.3, 1.0)
    tree = memory.explain(QUERY, hits[-1].id, profile="activation", limit=2).why
    assert report.score is not None
    total = sum(part.behind for part in gaps(report.why, tree))
    assert total == pytest.approx(hits[-1].score - report.score, abs=1e-12)


def test_a_turn_goes_when_whole_sessions_were_recalled() -> None:
    memory = kitchen()
    memory.add("saffron talk cos=0.5", id="whole", session_id="s", kind="session_chunk")
    memory.add("we cooked with saffron cos=0.9", id="part", session_id="s", kind="turn_chunk")
    dropped = why_not(memory, "part", profile="multi_route")
    assert dropped.stage == "session_first"
    assert dropped.reason == "whole sessions were recalled, and it is a turn_chunk of s"


def _dense() -> Col:
    return Col("vector.score")
