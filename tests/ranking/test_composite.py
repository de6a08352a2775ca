"""The profile `composite`: 0.5 cosine + 0.3 importance + 0.2 exp(-0.05 days since last access)."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from salience import Hit, Memory
from salience.embedders import EmbedderIdentity, Kind, Rows
from salience.errors import EmbedderError
from support.asked import in_options

NOW = datetime(2026, 6, 1, 9, 0, tzinfo=timezone.utc)
PLANE: dict[str, tuple[float, float]] = {  # exact at half precision
    "east": (1.0, 0.0),
    "north": (0.0, 1.0),
    "west": (-1.0, 0.0),
    "nowhere": (0.0, 0.0),
}


class PlaneEmbedder:
    """Texts as directions in the plane: the name of one, or an angle in degrees."""

    identity = EmbedderIdentity("test", "plane", 2, "1")

    def embed(self, texts: Sequence[str], *, kind: Kind = "document") -> Rows:
        if "unreadable" in texts:
            raise EmbedderError("it cannot be read")
        return np.array([self._direction(text) for text in texts], dtype=np.float32)

    @staticmethod
    def _direction(text: str) -> tuple[float, float]:
        if text in PLANE:
            return PLANE[text]
        angle = math.radians(float(text))
        return math.cos(angle), math.sin(angle)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(
        "ram://", embedder=PlaneEmbedder(), profile="composite", clock=lambda: NOW
    ) as memory:
        yield memory


def only(memory: Memory, query: str, **options: Any) -> Hit:
    [hit] = memory.search(query, explain=True, touch=False, **in_options(options))
    return hit


def part(hit: Hit, name: str) -> float:
    assert hit.explanation is not None
    node = hit.explanation.find(name)
    assert node is not None
    return node.value


@pytest.mark.parametrize(
    ("days", "figure"),
    [(0, 1.000), (1, 0.951), (7, 0.705), (14, 0.497), (30, 0.223), (60, 0.050)],
)
def test_the_decay_table(memory: Memory, days: int, figure: float) -> None:
    memory.add("east", created_at=NOW - timedelta(days=days))
    recency = part(only(memory, "east"), "recency")
    assert round(recency, 3) == figure
    assert recency == pytest.approx(math.exp(-0.05 * days), abs=1e-15)


def test_an_opposite_vector_with_no_importance_given_at_age_zero(memory: Memory) -> None:
    memory.add("west")
    assert only(memory, "east").score == pytest.approx(0.5 * -1.0 + 0.3 * 0.5 + 0.2 * 1.0)
    assert only(memory, "east").score == pytest.approx(-0.15)


@pytest.mark.parametrize(
    ("direction", "cosine"), [("east", 1.0), ("north", 0.0), ("west", -1.0), ("nowhere", 0.0)]
)
@pytest.mark.parametrize(("importance", "counted"), [(None, 0.5), (0.0, 0.0), (1.0, 1.0)])
@pytest.mark.parametrize("days", [0, 10])
def test_the_formula(
    memory: Memory,
    direction: str,
    cosine: float,
    importance: float | None,
    counted: float,
    days: int,
) -> None:
    memory.add(direction, importance=importance, created_at=NOW - timedelta(days=days))
    hit = only(memory, "east")
    assert (part(hit, "similarity"), part(hit, "importance")) == (cosine, counted)
    expected = 0.5 * cosine + 0.3 * counted + 0.2 * math.exp(-0.05 * days)
    assert hit.score == pytest.approx(expected, abs=1e-12)


def test_the_explanation_says_what_stands_in(memory: Memory) -> None:
    memory.add("east")
    hit = only(memory, "east")
    assert hit.explanation is not None
    node = hit.explanation.find("importance")
    assert node is not None
    assert node.note == "not there; 0.5 stands in"
    assert hit.explanation.how == "sum"
    total = 0.0
    for child in hit.explanation.children:
        total += child.value
    assert total == hit.explanation.value == hit.score


def test_the_last_access_counts_and_before_any_the_creation(memory: Memory) -> None:
    memory.add("east", id="one", created_at=NOW - timedelta(days=30))
    assert part(only(memory, "east"), "recency") == pytest.approx(math.exp(-0.05 * 30))
    memory.search("east", now=NOW - timedelta(days=10))
    assert part(only(memory, "east"), "recency") == pytest.approx(math.exp(-0.05 * 10))
    later = only(memory, "east", now=NOW + timedelta(days=4))
    assert part(later, "recency") == pytest.approx(math.exp(-0.05 * 14))


def test_a_time_in_the_future_counts_as_now(memory: Memory) -> None:
    memory.add("east", created_at=NOW + timedelta(days=400))
    assert part(only(memory, "east"), "recency") == 1.0
    early = only(memory, "east", now=NOW - timedelta(days=4_000))
    assert part(early, "recency") == 1.0


def test_equal_scores_are_ordered_by_id(memory: Memory) -> None:
    memory.add_many({"id": id, "content": "north"} for id in ("m2", "m10", "m1", "M1", "é"))
    assert memory.search("east").ids == ("M1", "m1", "m10", "m2", "é")


def test_every_memory_is_ranked_exactly(memory: Memory) -> None:
    rng = np.random.default_rng(7)
    angles = rng.uniform(0.0, 360.0, 1500).round(3)
    weights = rng.uniform(0.0, 1.0, 1500)
    ages = rng.uniform(0.0, 90.0, 1500)
    memory.add_many(
        {
            "id": f"m{i:04}",
            "content": str(angle),
            "importance": weight,
            "created_at": NOW - timedelta(days=age),
        }
        for i, (angle, weight, age) in enumerate(zip(angles, weights, ages, strict=True))
    )
    half = np.array([PlaneEmbedder._direction(str(angle)) for angle in angles])
    kept = half.astype(np.float32).astype(np.float16).astype(np.float64)
    scores = 0.5 * kept[:, 0] + 0.3 * weights + 0.2 * np.exp(-0.05 * ages)
    expected = [f"m{i:04}" for i in np.argsort(-scores)]
    hits = memory.search("east", limit=1000)
    assert [hit.score for hit in hits] == pytest.approx(sorted(scores, reverse=True)[:1000])
    assert list(hits.ids) == expected[:1000]
    far = f"m{int(np.argmin(kept[:, 0])):04}"  # the last by meaning is ranked like any other
    assert memory.explain("east", far).score == pytest.approx(scores[int(far[1:])])


def test_importance_and_age_outweigh_nearness_where_the_sum_says_so(memory: Memory) -> None:
    old, fresh = NOW - timedelta(days=365), NOW
    memory.add("east", id="near", importance=0.0, created_at=old)  # 0.5 + 0.0 + 0.0
    memory.add("north", id="weighty", importance=1.0, created_at=fresh)  # 0.0 + 0.3 + 0.2
    memory.add("60", id="between", importance=0.5, created_at=fresh)  # 0.25 + 0.15 + 0.2
    hits = memory.search("east")
    assert hits.ids == ("between", "near", "weighty")
    assert [hit.score for hit in hits] == pytest.approx([0.6, 0.5, 0.5], abs=1e-3)


def test_a_memory_without_an_embedding_is_not_ranked(memory: Memory) -> None:
    memory.add("east", id="with")
    result = memory.add("unreadable", id="without")
    assert result.ids == ("without",)
    assert "it cannot be read" in result.degraded[0]
    assert memory.search("east").ids == ("with",)
    assert memory.get("without") is not None


@pytest.mark.parametrize("status", ["consolidated", "completed", "archived"])
def test_what_is_not_active_is_not_ranked(memory: Memory, status: str) -> None:
    memory.add("east", id="active")
    memory.add("east", id="other")
    memory.update("other", status=status)
    assert memory.search("east").ids == ("active",)


def test_an_agents_own_memories_and_its_teams(memory: Memory) -> None:
    memory.add("east", id="own", importance=0.2)
    memory.for_namespace("team").add("east", id="shared", importance=0.9)
    assert memory.search("east").ids == ("own",)
    assert memory.search("east", namespaces=["team"]).ids == ("shared",)
    assert memory.search("east", namespaces=["default", "team"]).ids == ("shared", "own")


def test_other_weights(memory: Memory) -> None:
    memory.add("west", importance=1.0, created_at=NOW - timedelta(days=365))
    weights = {"similarity": 1.0, "importance": 0.25, "recency": 0.0}
    assert only(memory, "east", weights=weights).score == pytest.approx(-1.0 + 0.25)


# What is known already, and what is kept as one


def at(cosine: float) -> dict[str, list[float]]:
    """A vector that has this cosine with [1, 0]."""
    return {"content": [cosine, math.sqrt(1.0 - cosine**2)]}


@pytest.mark.parametrize(("old", "new", "kept"), [(0.3, 0.8, 0.8), (0.8, 0.3, 0.8)])
@pytest.mark.parametrize(("cosine", "known"), [(1.0, True), (0.921, True), (0.919, False)])
def test_from_a_cosine_of_0_92_on_it_is_known(
    memory: Memory, cosine: float, known: bool, old: float, new: float, kept: float
) -> None:
    first = memory.add("cup of tea with scones", vectors=at(1.0), importance=old).id
    [one] = memory.add("a cup of tea with scones", vectors=at(cosine), importance=new)
    record = memory.get(first)
    assert record is not None
    assert memory.get_all().total == (1 if known else 2)
    assert (one.outcome, one.match) == (("DUPLICATE", first) if known else ("ADDED", None))
    assert record.importance == (kept if known else old)
    assert (record.access_count, record.last_accessed) == ((1, NOW) if known else (0, None))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("Ana works at Google", "Ana works at Microsoft", "name"),
        ("Ana pays 40 a month", "Ana pays 45 a month", "number"),
        ("Ana moves in May", "Ana moves in June", "date"),
        ("Ana eats fish", "Ana never eats fish", "negation"),
    ],
)
def test_an_update_is_no_duplicate_however_alike(
    memory: Memory, old: str, new: str, what: str
) -> None:
    first = memory.add(old, vectors=at(1.0)).id
    [one] = memory.add(new, vectors=at(0.99))
    assert (one.outcome, one.match) == ("CONFLICTS", first)
    assert what in one.reason
    assert len(memory.search("east")) == 2


@pytest.mark.parametrize(
    ("importances", "merged"),
    [((0.2, 0.6, 0.4), 0.7), ((0.2, 0.95, 0.4), 1.0), ((None, None, None), 0.6)],
)
def test_what_stands_for_a_cluster_weighs_0_1_more_than_the_largest_up_to_1(
    memory: Memory, importances: Sequence[float | None], merged: float
) -> None:
    for i, importance in enumerate(importances):
        memory.add("tea and scones", id=f"c{i}", vectors=at(0.9), importance=importance)
    memory.add_many({"content": "nowhere", "id": f"x{i}"} for i in range(17))
    assert memory.upkeep.consolidate().clusters == ()  # of 20 memories; more are needed
    memory.add("nowhere", id="x17")
    [cluster] = memory.upkeep.consolidate().clusters
    assert sorted(cluster.members) == ["c0", "c1", "c2"]
    assert cluster.importance == pytest.approx(merged)


@pytest.mark.parametrize(("cosine", "clusters"), [(0.81, 1), (0.79, 0)])
def test_a_cluster_has_cosines_of_0_80(memory: Memory, cosine: float, clusters: int) -> None:
    for i in range(2):
        memory.add("tea and scones", id=f"c{i}", vectors=at(1.0))
    memory.add("scones and tea", id="c2", vectors=at(cosine))
    memory.add_many({"content": "nowhere", "id": f"x{i}"} for i in range(18))
    assert len(memory.upkeep.consolidate().clusters) == clusters
