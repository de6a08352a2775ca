"""Why not: the stage at which a memory left, and by how much it missed."""

from __future__ import annotations

import pytest

from salience import Memory, Profile
from salience.errors import NotFound
from salience.ranking.expressions import Col
from salience.ranking.rejection import gaps
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, Vector
from salience.search.explain import WhyNot
from support.kitchen import QUERY, kitchen
from support.scoring import DAY, NOW


def left(memory: Memory, id: str, **asked: object) -> WhyNot:
    reason = memory.explain(QUERY, id, **asked)  # type: ignore[arg-type]
    assert reason.why_not is not None
    return reason.why_not


def test_filtered() -> None:
    asked = {"importance": {"gte": 0.6}, "created_at": {"gt": "2026-03-08"}, "kind": "note"}
    absent = left(kitchen(), "cake", filters=asked)
    assert absent.stage == "filter"
    assert [each.condition for each in absent.unmet] == [
        "importance >= 0.6",
        "created_at > '2026-03-08T00:00:00Z'",
    ]
    assert absent.unmet[0].values == {"importance": 0.1}
    assert absent.unmet[1].values == {"created_at": "2026-01-09T12:00:00Z"}


def test_either_not_and_missing_values_are_named_as_they_were_asked() -> None:
    asked = {"$or": [{"speaker": "Ana"}, {"tags": {"contains": "food"}}]}
    absent = left(kitchen(), "tea", filters=asked)
    assert absent.unmet[0].condition == "(speaker = 'Ana' or tags contains 'food')"
    assert absent.unmet[0].values == {"speaker": None, "tags": ()}
    assert "speaker is missing" in absent.reason
    absent = left(kitchen(), "tea", filters={"$not": {"kind": "note"}})
    assert absent.unmet[0].condition == "not (kind = 'note')"


def test_status_and_expiry() -> None:
    memory = kitchen()
    memory.update("soup", status="archived")
    assert left(memory, "soup").unmet[0].values == {"status": "archived"}
    memory.add("gone stale", id="stale", expires_at=NOW - DAY)
    absent = left(memory, "stale")
    assert absent.unmet[0].condition == "not (expires_at <= '2026-03-10T12:00:00Z')"
    assert absent.unmet[0].values == {"expires_at": "2026-03-09T12:00:00Z"}


def test_another_namespace_is_looked_into_only_when_asked() -> None:
    memory = kitchen()
    memory.within("team").add("saffron for all", id="ours")
    with pytest.raises(NotFound, match="look for it everywhere"):
        memory.explain(QUERY, "ours")
    absent = left(memory, "ours", everywhere=True)
    assert absent.stage == "namespace"
    assert absent.reason == "it is in the namespace 'team', and 'default' was searched"
    assert memory.explain(QUERY, "ours", namespaces=["default", "team"], limit=20).found


def test_no_route_brings_it() -> None:
    narrow = Profile("narrow", retrieve(Vector(), Lexical(), depth=2) >> score(_dense()) >> cut())
    absent = left(kitchen(), "soup", profile=narrow)
    assert absent.stage == "retrieve"
    vector, lexical = absent.routes
    assert (vector.rank, vector.depth) == (5, 2)
    assert vector.score == pytest.approx(0.4, abs=1e-3)
    assert vector.cut == pytest.approx(0.8, abs=1e-3)
    assert lexical.rank is None
    assert "vector brings 2, and it is number 5 there" in absent.reason
    assert "it would be number 5 of 8" in absent.reason


def test_no_route_has_any_evidence() -> None:
    words = Profile("words", retrieve(Lexical()) >> score(Col("lexical.score")) >> cut())
    assert left(kitchen(), "soup", profile=words).reason == "no route has any evidence for it"


def test_below_the_cut() -> None:
    memory = kitchen()
    hits = memory.search(QUERY, profile="composite", limit=2, explain=True, touch=False)
    absent = left(memory, "soup", profile="composite", limit=2)
    reason = memory.explain(QUERY, "soup", profile="composite", limit=2)
    assert absent.stage == "cut"
    assert absent.rival == hits[-1].id
    assert reason.score is not None
    assert absent.gap == hits[-1].score - reason.score
    tree = hits[-1].explanation
    assert tree is not None
    assert absent.parts[0].name == "similarity"
    assert absent.parts[0].rival == tree.contributions()["similarity"]
    assert absent.parts[0].behind == max(part.behind for part in absent.parts)


def test_below_min_score() -> None:
    absent = left(kitchen(), "salad", profile="composite", min_score=0.5)
    assert absent.stage == "min_score"
    assert absent.gap == pytest.approx(0.5 - (-0.05 + 0.06 + 0.2 * 0.7046881), abs=1e-3)


def test_what_a_search_can_be_asked_can_be_explained() -> None:
    memory = kitchen()
    absent = left(memory, "bread", profile="composite", min_similarity=0.5)
    assert absent.stage == "min_value"
    assert absent.reason == "its vector.score is 0.3000, 0.2000 below 0.5"
    assert absent.gap == pytest.approx(0.2, abs=1e-3)
    assert left(memory, "salad", profile="composite", threshold=0.5).stage == "min_score"
    memory.update("risotto", status="archived")
    assert left(memory, "risotto").stage == "filter"
    assert memory.explain(QUERY, "risotto", include_archived=True).why_not is None
    reason = memory.explain(QUERY, "paella", profile="vitality", context="knowledge")
    assert reason.profile == "vitality.knowledge"


def test_over_the_budget() -> None:
    memory = kitchen()
    memory.add("saffron " * 100 + "cos=0.95", id="long", importance=0.5)
    absent = left(memory, "long", profile="composite", token_budget=60)
    assert absent.stage == "budget"
    assert absent.reason == "it takes 202 tokens, 142 more than the 60 that were left of 60"
    assert memory.search(QUERY, profile="composite", token_budget=60, touch=False).hits


def test_a_duplicate_names_its_twin() -> None:
    memory = kitchen()
    memory.add("saffron risotto takes one hour, cos=0.9", id="again")
    first, second = memory.search(QUERY, profile="multi_route", limit=2, touch=False).ids
    twin = {"again", "risotto"} - {first, second}
    absent = left(memory, twin.pop(), profile="multi_route", limit=2)
    assert absent.stage == "mmr"
    assert absent.rival == first
    assert f"duplicate of {first}" in absent.reason


def test_a_factor_costs_what_it_takes_off_all_parts() -> None:
    memory = kitchen()
    memory.update("risotto", status="contradicted")
    hits = memory.search(QUERY, profile="activation", limit=2, touch=False)
    reason = memory.explain(QUERY, "risotto", profile="activation", limit=2)
    assert reason.why_not is not None
    worst = reason.why_not.parts[0]
    assert (worst.name, worst.own, worst.rival) == ("status_penalty", 0.3, 1.0)
    tree = memory.explain(QUERY, hits[-1].id, profile="activation", limit=2).why
    assert reason.score is not None
    total = sum(part.behind for part in gaps(reason.why, tree))
    assert total == pytest.approx(hits[-1].score - reason.score, abs=1e-12)


def test_a_turn_goes_when_whole_sessions_were_recalled() -> None:
    memory = kitchen()
    memory.add("saffron talk cos=0.5", id="whole", session_id="s", kind="session_chunk")
    memory.add("we cooked with saffron cos=0.9", id="part", session_id="s", kind="turn_chunk")
    absent = left(memory, "part", profile="multi_route")
    assert absent.stage == "session_first"
    assert absent.reason == "whole sessions were recalled, and it is a turn_chunk of s"


def _dense() -> Col:
    return Col("vector.score")
