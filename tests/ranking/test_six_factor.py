"""The "six_factor" profile: every figure of its document, by arithmetic that can be followed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.ranking import profiles
from salience.ranking.expressions import Constant
from salience.ranking.profile import Profile
from salience.ranking.signals import DAY as DAY_SECONDS
from salience.ranking.signals.vitality import HALF_LIFE_HOURS
from support.scoring import DAY, HOUR, NOW, Designed, check_tree, opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened("ram", tmp_path, Designed(), profile="six_factor") as memory:
        yield memory


def part(memory: Memory, id: str, name: str, query: str = "anything") -> float:
    """The value of one factor, without its weight."""
    hits = memory.search(query, explain=True, touch=False, limit=1000)
    tree = next(hit.explanation for hit in hits if hit.id == id)
    assert tree is not None
    node = tree.find(name)
    assert node is not None
    return node.value


def test_the_weights_are_those_of_the_document() -> None:
    assert profiles.six_factor.weights == {
        "similarity": 0.40,
        "recency": 0.20,
        "importance": 0.15,
        "access": 0.10,
        "feedback": 0.10,
        "entity": 0.05,
    }
    assert math.isclose(sum(profiles.six_factor.weights.values()), 1.0)
    assert Profile.from_json(profiles.six_factor.to_json()) == profiles.six_factor


def test_a_fresh_memory_with_similarity_1_reaches_0_725(memory: Memory) -> None:
    memory.add("cos=1.0")
    assert memory.search("anything", options={"min_score": 0.8}, limit=10).ids == ()
    assert len(memory.search("anything", options={"min_score": 0.72}, limit=100, touch=False)) == 1
    [hit] = memory.search("anything", explain=True)
    # 0.40 * 1 + 0.20 * 1 + 0.15 * 0.5 + 0.10 * 0 + 0.10 * 0.5 + 0.05 * 0
    assert hit.score == pytest.approx(0.40 + 0.20 + 0.075 + 0.0 + 0.05 + 0.0, abs=1e-12)
    assert hit.score == pytest.approx(0.725, abs=1e-12)
    assert hit.explanation is not None
    assert hit.explanation.value == hit.score
    check_tree(hit.explanation)


def test_the_best_memory_reaches_1(memory: Memory) -> None:
    id = memory.add("cos=1.0 Sarah", importance=1.0).id
    for _ in range(20):
        memory.search("nobody")
    memory.update(id, feedback_for=1e9)
    [hit] = memory.search("What does Sarah do?")
    assert hit.score == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("tier", "rate", "half_life"),
    [
        ("short", 0.115525, 6 * HOUR),
        ("medium", 0.00412588, 7 * DAY),
        ("long", 0.000320901, 90 * DAY),
    ],
)
def test_recency_halves_by_tier(memory: Memory, tier: str, rate: float, half_life: object) -> None:
    hours = HALF_LIFE_HOURS[tier]
    assert math.log(2) / hours == pytest.approx(rate, rel=5e-6)
    assert half_life == hours * HOUR
    for halvings in (0, 1, 2):
        id = memory.add("cos=0.1", tier=tier, created_at=NOW - halvings * hours * HOUR).id
        assert part(memory, id, "recency") == pytest.approx(0.5**halvings, rel=1e-9)


def test_without_a_tier_long_stands_in(memory: Memory) -> None:
    old = memory.add("cos=0.1", created_at=NOW - 90 * DAY).id
    assert part(memory, old, "recency") == pytest.approx(0.5)


def test_an_hour_ago_beats_a_week_ago_in_the_same_tier(memory: Memory) -> None:
    hour = memory.add("cos=0.5", tier="medium", created_at=NOW - HOUR).id
    week = memory.add("cos=0.5", tier="medium", created_at=NOW - 7 * DAY).id
    assert memory.search("anything").ids == (hour, week)


def test_a_rate_of_its_own_overrides_the_tier(memory: Memory) -> None:
    id = memory.add("cos=0.1", tier="long", decay_rate=0.01, created_at=NOW - 100 * HOUR).id
    assert part(memory, id, "recency") == pytest.approx(math.exp(-0.01 * 100))
    memory.update(id, decay_rate=0.0)
    assert part(memory, id, "recency") == 1.0


def test_outdated_decays_at_twice_the_rate(memory: Memory) -> None:
    id = memory.add("cos=0.1", tier="short", created_at=NOW - 6 * HOUR).id
    memory.update(id, review="outdated", feedback_against=1.0)
    assert part(memory, id, "recency") == pytest.approx(0.25)  # two half-lives in six hours
    memory.update(id, review="incorrect", feedback_against=3.0)
    assert part(memory, id, "recency") == pytest.approx(0.5)


@pytest.mark.parametrize("kinds", [("outdated", "incorrect"), ("incorrect", "outdated")])
def test_no_judgement_cancels_the_decay_of_an_outdated_memory(
    memory: Memory, kinds: tuple[str, str]
) -> None:
    id = memory.add("cos=0.1", tier="short", created_at=NOW - 6 * HOUR).id
    for kind in kinds:
        memory.feedback(id, kind)
    assert part(memory, id, "recency") == pytest.approx(0.25)  # two half-lives in six hours


def test_recency_counts_from_the_last_access_and_the_future_is_now(memory: Memory) -> None:
    id = memory.add("cos=0.1", tier="short", created_at=NOW - 6 * HOUR).id
    memory.search("anything", now=NOW - 3 * HOUR)
    assert part(memory, id, "recency") == pytest.approx(2 ** (-3 / 6))
    ahead = memory.add("cos=0.1", created_at=NOW + DAY).id
    assert part(memory, ahead, "recency") == 1.0


@pytest.mark.parametrize(
    ("accesses", "value"), [(0, 0.0), (1, 0.05), (10, 0.5), (20, 1.0), (25, 1.0)]
)
def test_access_is_a_twentieth_each_up_to_1(memory: Memory, accesses: int, value: float) -> None:
    id = memory.add("cos=0.1").id
    for _ in range(accesses):
        memory.search("anything")
    assert part(memory, id, "access") == pytest.approx(value)


def test_touching_can_be_switched_off(memory: Memory) -> None:
    id = memory.add("cos=0.1").id
    memory.search("anything", touch=False)
    assert part(memory, id, "access") == 0.0


@pytest.mark.parametrize(
    ("good", "bad", "value"),
    [
        (None, None, 1 / 2),  # no feedback
        (1, 0, 2 / 3),  # useful
        (0, 1, 1 / 3),  # not_useful
        (0, 3, 1 / 5),  # incorrect
        (2, 1, 3 / 5),
        (8, 0, 9 / 10),
    ],
)
def test_feedback_is_the_mean_of_a_beta(
    memory: Memory, good: float | None, bad: float | None, value: float
) -> None:
    id = memory.add("cos=0.1").id
    memory.update(id, feedback_for=good, feedback_against=bad)
    assert part(memory, id, "feedback") == pytest.approx(value)


@pytest.mark.parametrize(
    ("kind", "value", "rate", "relevance", "review"),
    [
        ("useful", (1 + 1) / (2 + 1), 1, 0.5 + 0.1, None),
        ("not_useful", 1 / (2 + 1), 1, 0.5 - 0.1, None),
        ("outdated", 1 / (2 + 1), 2, 0.5 - 0.1, "outdated"),
        ("incorrect", 1 / (2 + 3), 1, 0.5 - 0.3, "incorrect"),
    ],
)
def test_each_kind_of_feedback(
    memory: Memory, kind: Any, value: float, rate: float, relevance: float, review: str | None
) -> None:
    id = memory.add("cos=0.1", tier="short", created_at=NOW - 6 * HOUR).id
    memory.feedback(id, kind)
    [hit] = memory.search("anything", touch=False, explain=True)
    assert part(memory, id, "feedback") == pytest.approx(value)
    assert part(memory, id, "recency") == pytest.approx(0.5**rate)
    assert hit.relevance_score == pytest.approx(relevance)
    assert hit.record.review == review


@pytest.mark.parametrize(
    ("held", "value"),
    [
        (["Sarah", "migration"], 1 / 2),  # of Sarah and React, which the question names
        (["React", "migration", "Q2"], 1 / 2),
        (["Sarah", "Vue", "React"], 2 / 2),
        ([], 0.0),
    ],
)
def test_entity_overlap_of_entities_as_given(memory: Memory, held: list[str], value: float) -> None:
    id = memory.add("anything", entities=held).id
    asked = "What does Sarah think about the React migration?"
    assert part(memory, id, "entity", asked) == value


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("Sarah mentioned concerns about the migration timeline", 0.5),
        ("The React migration is scheduled for Q2", 0.5),
        ("Sarah prefers Vue over React", 1.0),
        ("nobody at all", 0.0),
    ],
)
def test_entity_overlap_as_in_the_document(memory: Memory, content: str, value: float) -> None:
    id = memory.add(content).id
    asked = "What does Sarah think about the React migration?"  # Sarah, React
    assert part(memory, id, "entity", asked) == pytest.approx(value)
    assert part(memory, id, "entity", "what do we know of it?") == 0.0


def test_entities_compare_folded_and_by_alias(tmp_path: Path) -> None:
    with opened(
        "ram", tmp_path, None, profile="six_factor", aliases={"JS": "JavaScript"}
    ) as memory:
        id = memory.add("anything", entities=["javascript", "ANA"]).id
        assert part(memory, id, "entity", "does Ana write JS?") == 1.0


@pytest.mark.parametrize(("cosine", "value"), [(0.87, 0.87), (0.45, 0.45), (-0.5, 0.0)])
def test_similarity_is_the_cosine_but_never_below_0(
    memory: Memory, cosine: float, value: float
) -> None:
    id = memory.add(f"cos={cosine}").id
    assert part(memory, id, "similarity") == pytest.approx(value, abs=1e-3)  # half precision
    [hit] = memory.search("anything")
    assert hit.similarity == pytest.approx(value, abs=1e-3)


def test_importance_defaults_to_a_half(memory: Memory) -> None:
    plain = memory.add("cos=0.1", id="a").id
    chief = memory.add("cos=0.1", id="b", importance=0.95).id
    assert part(memory, plain, "importance") == pytest.approx(0.5)
    assert part(memory, chief, "importance") == pytest.approx(0.95)
    memory.update(chief, importance=0.8)
    assert part(memory, chief, "importance") == pytest.approx(0.8)


def test_relevance_score_is_returned_and_no_part_of_the_score(memory: Memory) -> None:
    memory.add("cos=0.5", relevance_score=0.75, tier="long", id="a")
    memory.add("cos=0.5", relevance_score=0.1, tier="long", id="b")
    first, second = memory.search("anything")
    assert (first.score, first.id) == (second.score, "a")
    assert first.relevance_score == 0.75


def test_the_result_has_the_fields_of_the_document(memory: Memory) -> None:
    memory.add("cos=0.89 User prefers Python", tier="long", relevance_score=0.75, importance=0.9)
    result = memory.search("which language?", options={"min_score": 0.5}, limit=100).to_dict()
    assert (result["search_type"], result["min_score"]) == ("semantic", 0.5)
    [hit] = result["hits"]
    assert hit["similarity"] == pytest.approx(0.89, abs=1e-3)
    assert (hit["relevance_score"], hit["tier"]) == (0.75, "long")
    assert hit["created_at"] == "2026-03-10T12:00:00Z"
    assert {"id", "content"} <= set(hit)


def test_the_least_score_and_similarity(memory: Memory) -> None:
    near = memory.add("cos=1.0", importance=1.0).id  # 0.40 + 0.20 + 0.15 + 0.05 = 0.80
    far = memory.add("cos=0.2", importance=1.0).id  # 0.08 + 0.20 + 0.15 + 0.05 = 0.48
    none = memory.add("no vector to speak of").id
    assert memory.search("anything", touch=False).ids == (near, far, none)
    assert memory.search("anything", touch=False, options={"min_score": 0.5}).ids == (near,)
    assert memory.search("anything", touch=False, options={"min_score": 0.45}).ids == (near, far)
    assert memory.search("anything", touch=False, options={"min_similarity": 0.1}).ids == (
        near,
        far,
    )
    with pytest.raises(InvalidInput, match="min_similarity"):
        memory.search("anything", options={"min_similarity": math.nan})


def test_filters_of_the_document(memory: Memory) -> None:
    memory.add("cos=0.5", tier="long", memory_nature="semantic", content_type="fact", id="a")
    memory.add("cos=0.5", tier="short", memory_nature="episodic", content_type="event", id="b")
    for filters in (
        {"tier": "long"},
        {"tier": "long", "memory_nature": "semantic"},
        {"content_type": {"in": ["fact", "document"]}},
    ):
        assert memory.search("anything", filters=filters).ids == ("a",)
    memory.add("cos=0.5 Ana", tags=["diet"], entities=["Ana"], metadata={"room": 7}, id="c")
    others: Any = ({"tags": "diet"}, {"entities": {"contains": "Ana"}}, {"metadata.room": 7})
    for filters in others:
        assert memory.search("anything", filters=filters).ids == ("c",)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("tier", ("short", "medium", "long")),
        ("memory_nature", ("episodic", "semantic")),
        ("content_type", ("text", "conversation", "document", "event", "fact")),
    ],
)
def test_what_a_field_may_say(memory: Memory, field: str, values: tuple[str, ...]) -> None:
    for value in values:
        [one] = memory.add_many([{"content": f"cos=0.5 {value}", field: value}])
        assert memory.search("anything", filters={field: value}).ids == (one.id,)
    with pytest.raises(InvalidInput, match=field):
        memory.add_many([{"content": "x", field: "forever"}], strict=True)


def test_an_expired_memory_is_not_found(memory: Memory) -> None:
    id = memory.add("cos=0.5", expires_at=NOW + DAY).id
    assert memory.search("anything", now=NOW + DAY - HOUR).ids == (id,)
    assert memory.search("anything", now=NOW + DAY).ids == ()
    assert memory.search("anything", now=NOW + DAY, profile="composite").ids == ()


def test_everything_is_ranked_without_an_embedder(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path, None, profile="six_factor") as memory:
        low = memory.add("one", importance=0.1).id
        high = memory.add("two", importance=0.9).id
        result = memory.search("anything")
    assert result.ids == (high, low)
    # 0.40 * 0 + 0.20 * 1 + 0.15 * 0.9 + 0.10 * 0 + 0.10 * 0.5 + 0.05 * 0
    assert result[0].score == pytest.approx(0.2 + 0.135 + 0.05)
    assert result.degraded == ("vector: the store was opened without an embedder",)


def test_the_explanation_says_what_stood_in(memory: Memory) -> None:
    id = memory.add("cos=0.5", created_at=NOW - DAY).id
    [hit] = memory.search("anything", explain=True, touch=False)
    assert hit.explanation is not None
    rate = hit.explanation.find("rate")
    assert rate is not None
    assert rate.value == pytest.approx(math.log(2) / (90 * 24))
    assert any("stands in" in node.note for node in rate)
    assert part(memory, id, "recency") == pytest.approx(0.5 ** (1 / 90))


def test_constants_agree() -> None:
    assert DAY_SECONDS == 86_400.0
    assert Constant(0.4) in profiles.six_factor.signal.children()[0].children()


@pytest.mark.parametrize("least", [1.5, -1.0])
def test_a_least_score_that_no_memory_can_have_is_refused(memory: Memory, least: float) -> None:
    with pytest.raises(InvalidInput, match=r"min_score: is .* six_factor scores from 0 to 1"):
        memory.search("apple", profile="six_factor", options={"min_score": least})
    memory.search("apple", profile="six_factor", options={"min_score": 1.0})
    memory.search(
        "apple", profile="six_factor", options={"min_score": 1.5, "weights": {"recency": 3.0}}
    )
