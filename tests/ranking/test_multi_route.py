"""The "multi_route" profile: its document's figures by hand, and its laws."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import Hit, Memory
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.ranking.signals import rrf
from salience.ranking.stages import Depth, Keep, Pipeline, Retrieve, score
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query
from salience.retrieval.routes import Route, Vector
from salience.search.results import SearchResult
from support.asked import in_options
from support.examples import examples
from support.scoring import DAY, NOW, Designed, check_tree, each_store, opened

VECTORS = (
    "content",
    "user",
    "asst",
    "next_user",
    "facet_personal_info",
    "facet_preferences",
    "facet_events",
)
ROUTES = ("vec_full", *(f"vec_{name}" for name in VECTORS[1:4]), *VECTORS[4:], "lexical")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened("ram", tmp_path, Designed(), profile="multi_route") as memory:
        yield memory


def cosine(value: float) -> list[float]:
    """A vector that has this cosine with every query."""
    return [value, math.sqrt(1.0 - value**2)]


def every(value: float) -> dict[str, list[float]]:
    return dict.fromkeys(VECTORS, cosine(value))


def ask(memory: Memory, query: str = "zumbrel", **more: Any) -> SearchResult:
    return memory.search(query, touch=False, explain=True, **in_options(more))


def node(hit: Hit, name: str) -> float:
    assert hit.explanation is not None
    found = hit.explanation.find(name)
    assert found is not None
    return found.value


def test_it_has_eight_routes_and_goes_through_json() -> None:
    assert {route.name for route in profiles.multi_route.routes} == set(ROUTES)
    vectors = [route for route in profiles.multi_route.routes if isinstance(route, Vector)]
    assert tuple(route.vector for route in vectors) == VECTORS
    assert {route.min_similarity for route in vectors} == {0.0}
    assert Profile.from_json(profiles.multi_route.to_json()) == profiles.multi_route


@pytest.mark.parametrize("k", [1, 4, 8, 9, 10, 50, 1000])
def test_the_pools_are_those_of_the_document(k: int) -> None:
    """Per route max(max(4k, 32) * 2, 40), then max(4k, 32): 64 and 32 for k 4, 80 and 40 for 10.

    Sessions are told from turns before that, so that no number of turns pushes a session out.
    """
    query = Query("", (), 0.0, k=k)
    [recall] = (s for s in profiles.multi_route.pipeline.stages if isinstance(s, Retrieve))
    [keep] = (s for s in profiles.multi_route.pipeline.stages if isinstance(s, Keep))
    assert isinstance(recall.depth, Depth)
    assert isinstance(keep.depth, Depth)
    assert recall.depth.rows(query) == max(max(4 * k, 32) * 2, 40)
    assert keep.depth.rows(query) == max(4 * k, 32)
    assert keep.by == "hybrid_rrf_score"


def test_first_on_all_eight_routes_is_one_half(memory: Memory) -> None:
    """rrf = 8 / (15 + 1) = 0.5; final = 0.5 + 0.1 * 0.5 = 0.55, or 0.6 with a memory_score of 1."""
    memory.add("zumbrel", id="a", vectors=every(0.9))
    [hit] = ask(memory)
    assert hit.routes == dict.fromkeys(ROUTES, 1)
    assert hit.details["rrf_score"] == node(hit, "rrf_score") == 0.5
    assert hit.score == hit.details["final_score"] == 0.5 + 0.1 * 0.5
    assert hit.explanation is not None
    assert hit.explanation.value == hit.score
    check_tree(hit.explanation)
    memory.update("a", memory_score=1.0)
    assert ask(memory)[0].score == 0.6


@pytest.mark.parametrize(
    ("moves", "memory_score"),
    [("+", 0.65), ("-", 0.35), ("+++", 0.95), ("++++", 1.0), ("----", 0.0), ("----+", 0.15)],
)
def test_each_move_of_0_15_in_a_memory_score_moves_the_score_by_a_tenth_of_it(
    memory: Memory, moves: str, memory_score: float
) -> None:
    memory.add("zumbrel", id="a", vectors=every(0.9))
    for move in moves:
        memory.feedback("a", "promote" if move == "+" else "demote")
    assert ask(memory)[0].score == pytest.approx(0.5 + 0.1 * memory_score)


def test_ranks_are_fused_and_a_missing_one_adds_nothing(memory: Memory) -> None:
    """a: 1/16 (full) + 1/16 (user); b: 1/17 (full) + 1/16 (lexical); c: 1/18 (full)."""
    memory.add("one", id="a", vectors={"content": cosine(0.9), "user": cosine(0.5)})
    memory.add("a zumbrel", id="b", vectors={"content": cosine(0.5)})
    memory.add("two", id="c", vectors={"content": cosine(0.1)})
    found = {hit.id: hit.details["rrf_score"] for hit in ask(memory)}
    assert found == pytest.approx({"a": 2 / 16, "b": 1 / 17 + 1 / 16, "c": 1 / 18})


def test_tags_are_searched_and_titles_are_not(memory: Memory) -> None:
    memory.add("one", id="tag", tags=["zumbrel"], vectors={"content": cosine(0.2)})
    memory.add("two", id="title", title="zumbrel", vectors={"content": cosine(0.1)})
    routes = {hit.id: dict(hit.routes) for hit in ask(memory)}
    assert routes == {"tag": {"vec_full": 1, "lexical": 1}, "title": {"vec_full": 2}}


def test_a_facet_of_one_row_ranks_first_for_any_query_unless_it_has_to_be_similar(
    memory: Memory,
) -> None:
    """The explanation shows how similar a vector had to be, 0 as the document has it."""
    memory.add("cos=-0.5", id="a", vectors={"facet_events": cosine(0.01)})
    memory.add("cos=-0.5", id="b", vectors={"facet_preferences": cosine(-0.01)})
    [hit] = ask(memory)
    assert (hit.id, dict(hit.routes)) == ("a", {"facet_events": 1})
    assert hit.explanation is not None
    rank = hit.explanation.find("facet_events.rank")
    assert rank is not None
    assert (rank.value, rank.note) == (1.0, "min_similarity 0")
    strict = Profile.from_json(
        profiles.multi_route.to_json().replace('"min_similarity": 0.0', '"min_similarity": 0.3')
    )
    assert ask(memory, profile=strict).ids == ()


def test_plain_memories_are_found_and_what_is_missing_is_said(memory: Memory) -> None:
    memory.add("zumbrel cos=0.5", id="a")
    found = ask(memory)
    assert dict(found[0].routes) == {"vec_full": 1, "lexical": 1}
    assert found.degraded == tuple(
        f"{route}: no memory has a vector {name!r}"
        for route, name in zip(ROUTES[1:7], VECTORS[1:], strict=True)
    )
    assert ask(memory.for_namespace("empty")).degraded == ()
    assert memory.search("zumbrel", profile="balanced").degraded == ()


# Sessions first


def hybrid(memory: Memory) -> None:
    """Two sessions with a turn chunk each, and one whose turns were not kept."""
    for at, name in enumerate("xyz"):
        vectors = {"content": cosine(0.3 - 0.1 * at)}
        memory.add(f"all {name}", id=name, kind="session_chunk", session_id=name, vectors=vectors)
    for id, alike in {"x1": 0.5, "x2": 0.4}.items():
        vectors = {"content": cosine(-0.9), "user": cosine(alike)}
        memory.add("t", id=id, kind="turn_chunk", session_id="x", vectors=vectors)
    memory.add("zumbrel", id="y1", kind="turn_chunk", session_id="y", vectors=every(0.9))


def test_turns_support_their_session_within_bounds(memory: Memory) -> None:
    """x1 is second on the route of user vectors: 0.6 / 17; y1 is first on all: min(0.12, 0.3).

    The sessions themselves are second, third and fourth on the route of whole vectors.
    """
    hybrid(memory)
    found = {hit.id: hit for hit in ask(memory, "zumbrel")}
    assert set(found) == {"x", "y", "z"}
    x, y, z = found["x"], found["y"], found["z"]
    own = {"x": 1 / 17, "y": 1 / 18, "z": 1 / 19}
    support = {"x": 0.6 / 17, "y": 0.12, "z": 0.0}
    for hit in (x, y, z):
        assert hit.details["session_rrf_score"] == pytest.approx(own[hit.id])
        assert node(hit, "turn_support") == pytest.approx(support[hit.id])
        assert hit.score == pytest.approx(own[hit.id] + support[hit.id] + 0.05)
    assert x.details["turn_support.supporting_turn_count"] == 2
    assert x.details["turn_support.best_turn"] == "x1"
    assert y.details["turn_support.best_turn_routes"] == dict.fromkeys(ROUTES, 1)
    assert "turn_support" not in z.details


def test_without_a_session_chunk_turns_are_found_themselves(memory: Memory) -> None:
    hybrid(memory)
    found = ask(memory, filters={"kind": "turn_chunk"})
    assert set(found.ids) == {"x1", "x2", "y1"}
    assert not any("turn_support" in hit.details for hit in found)


@pytest.mark.parametrize("turns", [50, 300])
@pytest.mark.parametrize("limit", [1, 10])
def test_a_session_behind_any_number_of_turns_comes_first(
    memory: Memory, turns: int, limit: int
) -> None:
    """Every turn is above the session on every route that finds it, and beyond all pools."""
    items = [
        {
            "content": "zumbrel",
            "id": f"t{at:03}",
            "kind": "turn_chunk",
            "session_id": "other",
            "vectors": every(0.9),
        }
        for at in range(turns)
    ]
    whole = {"content": "all of it", "id": "whole", "kind": "session_chunk", "session_id": "s"}
    memory.add_many([*items, {**whole, "vectors": {"content": cosine(0.1)}}])
    found = ask(memory, limit=limit)
    assert found.ids == ("whole",)
    [hit] = found
    rank = min(turns, max(8 * limit, 64)) + 1  # right behind the first rows of its route
    assert dict(hit.routes) == {"vec_full": rank}
    assert hit.score == pytest.approx(1 / (15 + rank) + 0.05)
    assert hit.explanation is not None
    assert hit.explanation.value == hit.score
    check_tree(hit.explanation)


def test_a_session_that_only_its_turns_lead_to_is_found(memory: Memory) -> None:
    """Its own vector points away from the query: min(0.12, 0.6 * 0.5) from its turn."""
    away = {"content": cosine(-0.9)}
    for name in "ab":
        memory.add(f"all {name}", id=name, kind="session_chunk", session_id=name, vectors=away)
    memory.add("zumbrel", id="a1", kind="turn_chunk", session_id="a", vectors=every(0.9))
    [hit] = ask(memory)
    assert hit.id == "a"
    assert (hit.details["rrf_score"], hit.details["session_rrf_score"]) == (0.0, 0.0)
    assert hit.details["hybrid_rrf_score"] == 0.12
    assert hit.score == 0.12 + 0.1 * 0.5
    assert hit.explanation is not None
    assert hit.explanation.value == hit.score
    assert node(hit, "turn_support") == 0.12
    memory.update("a", status="archived")  # filters hold for it, too
    assert ask(memory).ids == ("a1",)
    other = memory.for_namespace("other")
    other.add("all", id="o", kind="session_chunk", session_id="a", vectors=away)
    both = ask(memory, namespaces=[memory.namespace, other.namespace])
    assert both.ids == ("a1",)  # a session of the same name elsewhere is another one


def test_ten_sessions_are_found_where_there_are_ten(memory: Memory) -> None:
    """Turns of one session fill every pool; the other sessions match by a word, late."""
    memory.add_many(
        {"content": "zumbrel", "kind": "turn_chunk", "session_id": "s0", "vectors": every(0.9)}
        for _ in range(120)
    )
    for at in range(12):
        content = f"{'kortil ' * 20} zumbrel"
        vectors = {"content": cosine(-0.5)}
        memory.add(content, id=f"s{at}", kind="session_chunk", session_id=f"s{at}", vectors=vectors)
    found = ask(memory, limit=10)
    assert len(found) == 10
    assert found.ids[0] == "s0"
    assert {hit.kind for hit in (one.record for one in found)} == {"session_chunk"}
    turns = ask(memory, limit=10, filters={"kind": "turn_chunk"})
    assert len(turns) == 10


# Neighbors


def told(memory: Memory, count: int = 5, **more: Any) -> None:
    for at in range(count):
        memory.add(
            "zumbrel" if at == 2 else f"turn {at}",
            id=f"c{at}",
            kind="chunk",
            session_id="s",
            created_at=NOW - (count - at) * DAY,
            vectors={"content": cosine(0.9 if at == 2 else 0.1)},
            **more,
        )


def test_the_chunks_before_and_after_come_along_unscored(memory: Memory) -> None:
    told(memory)
    [hit] = ask(memory, limit=1)
    assert hit.id == "c2"
    assert [neighbor.id for neighbor in hit.neighbors] == ["c1", "c3"]
    memory.search("zumbrel", limit=1)
    memory.upkeep.flush()
    assert {r.id: r.access_count for r in memory.get_all()} == {
        "c0": 0,
        "c1": 0,
        "c2": 1,
        "c3": 0,
        "c4": 0,
    }


def test_neighbors_are_of_the_session_the_kind_and_what_may_be_seen(memory: Memory) -> None:
    told(memory)
    memory.add("other", id="o", kind="note", session_id="s", created_at=NOW - 2.5 * DAY)
    memory.update("c1", status="archived")
    [hit] = ask(memory, limit=1)
    assert [neighbor.id for neighbor in hit.neighbors] == ["c3"]
    [hit] = ask(memory, limit=1, filters={"created_at": {"lt": (NOW - 2.5 * DAY).isoformat()}})
    assert hit.neighbors == ()
    memory.delete("c3")
    [hit] = ask(memory, limit=1)
    assert [neighbor.id for neighbor in hit.neighbors] == ["c4"]


def test_a_hit_is_no_neighbor_and_no_session_has_any(memory: Memory) -> None:
    told(memory, 3)
    assert [hit.neighbors for hit in ask(memory, limit=3)] == [(), (), ()]
    hybrid(memory.for_namespace("hybrid"))
    assert not any(hit.neighbors for hit in ask(memory.for_namespace("hybrid")))


def test_neighbors_are_charged_to_the_budget(memory: Memory) -> None:
    """ "zumbrel" takes 2 tokens, "turn 1" and "turn 3" take 2 each."""
    told(memory)
    for budget, ids in {1: None, 2: [], 3: [], 4: ["c1"], 5: ["c1"], 6: ["c1", "c3"]}.items():
        found = ask(memory, limit=1, token_budget=budget)
        assert [[n.id for n in hit.neighbors] for hit in found] == ([] if ids is None else [ids])


# Diversity


@pytest.mark.parametrize(("alike", "order"), [(0.95, "acb"), (0.93, "abc")])
def test_from_a_redundancy_of_0_94_on_it_is_a_duplicate(
    memory: Memory, alike: float, order: str
) -> None:
    """b is second on all routes: 0.78 * (8 / 17 + 0.05) - 0.22 * 0.95 = 0.197, and yet the last as
    a duplicate; c has 0.78 * (1 / 18 + 0.05) - 0.22 * 0.1 = 0.060."""
    for id, cosines in {"a": 1.0, "b": alike}.items():
        memory.add("zumbrel" + " kortil" * (id == "b"), id=id, vectors=every(cosines))
    memory.add("other", id="c", vectors={"content": cosine(0.1)})
    found = {hit.id: hit.details for hit in ask(memory)}
    assert "".join(found) == order
    assert found["b"]["mmr.redundancy"] == pytest.approx(alike, abs=1e-3)
    if order == "abc":
        value = 0.78 * (8 / 17 + 0.05) - 0.22 * 0.93
        assert found["b"]["mmr.score"] == pytest.approx(value, abs=1e-3)


def test_the_same_thing_is_not_told_twice(memory: Memory) -> None:
    """Final scores 0.1125, 0.1088, 0.1056 (1/16, 1/17, 1/18 + 0.05); a and b are duplicates."""
    memory.add("one", id="a", vectors={"content": cosine(0.9)})
    memory.add("two", id="b", vectors={"content": cosine(0.89)})
    memory.add("three", id="c", vectors={"content": cosine(0.2)})
    found = ask(memory)
    assert found.ids == ("a", "c", "b")
    assert [hit.details["final_score"] for hit in found] == pytest.approx(
        [1 / 16 + 0.05, 1 / 18 + 0.05, 1 / 17 + 0.05]
    )
    alike = 0.9 * 0.2 + math.sqrt((1 - 0.81) * (1 - 0.04))
    assert found[1].details["mmr.redundancy"] == pytest.approx(alike, abs=1e-3)
    assert found[1].details["mmr.with"] == "a"
    assert found[2].details["mmr.redundancy"] >= 0.94
    assert found[1].details["mmr.score"] == pytest.approx(
        0.78 * (1 / 18 + 0.05) - 0.22 * alike, abs=1e-3
    )


def test_searching_twice_and_on_either_store_is_the_same(tmp_path: Path) -> None:
    chance = random.Random(5)
    with each_store(tmp_path, Designed(), profile="multi_route") as stores:
        for at in range(80):
            words = chance.choices(["zumbrel", "kortil", "pandol"], k=chance.randint(1, 6))
            names = chance.sample(VECTORS, 3)
            given: dict[str, Any] = {
                "id": f"m{at}",
                "session_id": f"s{at % 7}",
                "vectors": {name: cosine(round(chance.uniform(-0.2, 1.0), 1)) for name in names},
                "kind": "chunk",
            }
            for memory in stores:
                memory.add(" ".join(words), **given)
        once, *others = (
            [
                (hit.id, hit.score, dict(hit.routes), dict(hit.details), hit.neighbors)
                for hit in ask(memory, "zumbrel pandol", limit=20, token_budget=60)
            ]
            for memory in [*stores, *stores]
        )
    assert once
    assert all(other == once for other in others)


# Fusion

IDS = "abcdef"
rankings = st.lists(st.lists(st.sampled_from(IDS), unique=True, max_size=6), min_size=1, max_size=5)


def fused(routes: list[list[str]], names: list[str], constant: float = 15.0) -> dict[str, float]:
    columns: dict[str, Any] = {}
    for name, ranking in zip(names, routes, strict=True):
        ranks = [float(ranking.index(id) + 1) if id in ranking else np.nan for id in IDS]
        columns[f"{name}.rank"] = np.array(ranks)
    table = Candidates(np.arange(len(IDS)), columns)
    values = rrf(*names, constant=constant).evaluate(Query("", (), 0.0), table)
    return dict(zip(IDS, values.tolist(), strict=True))


MONOTONE: dict[str, Callable[[float], float]] = {
    "cube": lambda x: x**3,
    "root": math.sqrt,
    "half": lambda x: x / 2.0,
    "tenth more": lambda x: (x + 0.1) / 1.1,
}
grades = st.dictionaries(  # cosines of several memories, by the name of the vector
    st.sampled_from(VECTORS),
    st.lists(st.sampled_from([None, *(at / 10 for at in range(1, 11))]), min_size=6, max_size=6),
    min_size=1,
)


def by_id(grades: dict[str, list[float | None]], profile: Profile, monotone: str) -> dict[str, Any]:
    """The fused score and the ranks of each memory, with its cosines changed."""
    with Memory.open("ram://", embedder=Designed(), clock=lambda: NOW) as memory:
        for at, id in enumerate(IDS):
            vectors = {
                name: cosine(MONOTONE[monotone](value) if monotone else value)
                for name, values in grades.items()
                if (value := values[at]) is not None
            }
            memory.add("zumbrel " * at or "kortil", id=id, vectors=vectors)
        found = memory.search("zumbrel", profile=profile, touch=False)
        return {hit.id: (hit.details["rrf_score"], dict(hit.routes)) for hit in found}


@settings(max_examples=examples(40), deadline=None)
@given(grades, st.sampled_from(sorted(MONOTONE)))
def test_only_ranks_count(grades: dict[str, list[float | None]], monotone: str) -> None:
    """Cosines that grow with the old ones leave every rank, and so every fused score, as it was."""
    profile = profiles.multi_route
    assert by_id(grades, profile, monotone) == by_id(grades, profile, "")


@settings(max_examples=examples(40), deadline=None)
@given(grades, st.permutations(profiles.multi_route.routes))
def test_the_order_of_the_routes_changes_nothing(
    grades: dict[str, list[float | None]], routes: list[Route]
) -> None:
    first, _, *rest = profiles.multi_route.pipeline.stages
    assert isinstance(first, Retrieve)
    fused = score(rrf(*(route.name for route in routes)), into="rrf_score")
    mixed = Pipeline((replace(first, routes=tuple(routes)), fused, *rest))
    assert by_id(grades, Profile("mixed", mixed), "") == by_id(grades, profiles.multi_route, "")


@given(rankings)
def test_it_stays_within_its_range_and_grows_with_every_route(routes: list[list[str]]) -> None:
    names = [f"r{at}" for at in range(len(routes))]
    found, fewer = fused(routes, names), fused(routes[:-1] or [[]], names[:-1] or ["r"])
    for id in IDS:
        assert 0.0 <= found[id] <= len(routes) / 16 + 1e-12
        assert found[id] >= fewer[id] - 1e-12
        assert (found[id] == 0.0) == all(id not in ranking for ranking in routes)
