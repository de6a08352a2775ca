"""The best of all memories, ranked by the server: the hits that reading all of them would give."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salience import Memory, Profile
from salience.ranking import profiles
from salience.ranking.expressions import Col
from salience.ranking.functions import at_most, exp, log, maximum
from salience.ranking.signals import MinMax, confidence, days_since, decay, importance, similarity
from salience.ranking.stages import cut, keep, retrieve, score
from salience.retrieval.routes import MatchAll, Vector
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.sql import threshold
from salience.stores.postgres.wire.commands import Command, Statement
from salience.testing import WordHashEmbedder
from support.examples import examples

NOW = 1_790_000_000.0
DAY = 86_400.0
WORDS = ("apple", "pear", "plum", "Rome", "Ana")
OWN = Profile(
    "own",
    retrieve(Vector(), MatchAll(), depth=None)
    >> score(similarity() + 0.5 * exp(-1.0 * log(1.0 + Col("access_count"))), into="first")
    >> score(0.5 * Col("first") + confidence() * at_most(days_since(), 14.0))
    >> cut(),
)

_MEMORIES = st.lists(
    st.fixed_dictionaries(
        {"words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=2)},
        optional={
            "importance": st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1),
            "confidence": st.sampled_from([0.5, 1.0]),
            "tier": st.sampled_from(["short", "medium", "long"]),
            "speaker": st.sampled_from(["Ana", "Bo"]),
            "decay_rate": st.sampled_from([0.0, 0.01, 3.0]),
            "expires_at": st.sampled_from([NOW - 1.0, NOW + 1.0]),
            "age": st.sampled_from([0.0, 1.0, 1.0, 20.0, 20_000.0]) | st.floats(-5, 60),
        },
    ),
    min_size=1,
    max_size=40,
)
_FILTERS = st.sampled_from([None, {"speaker": "Ana"}, {"importance": {"gte": 0.5}}])


def _items(memories: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, memory in enumerate(memories):
        fields = {name: value for name, value in memory.items() if name not in ("words", "age")}
        created = NOW - DAY * memory.get("age", 3.0)
        content = " ".join(memory["words"])
        # Ids do not follow rows.
        yield {"id": f"m{number * 7 % 41:02}", "content": content, "created_at": created, **fields}


@pytest.fixture(autouse=True)
def _usual_size(monkeypatch: pytest.MonkeyPatch) -> None:
    # whatever a test makes of it
    monkeypatch.setattr(threshold, "FIRST_ROUND_ROWS", threshold.FIRST_ROUND_ROWS)


@pytest.fixture
def heard() -> list[Command]:
    """The statements that the store has sent to the server."""
    return []


@pytest.fixture
def both(database: str, heard: list[Command]) -> Iterator[tuple[Memory, Memory]]:
    store = PostgresStore(database, memory=0)
    store.database.on_command = heard.append
    same: dict[str, Any] = {
        "embedder": WordHashEmbedder(dimensions=16),
        "clock": lambda: datetime.fromtimestamp(NOW, timezone.utc),
    }
    with Memory.open(store, **same) as tested, Memory.open("ram://", **same) as known:
        yield tested, known
    store.close()


def _ranked_by_server(heard: list[Command]) -> bool:
    return any(isinstance(each, Statement) and "scored" in each.sql for each in heard)


def _in_orders(heard: list[Command]) -> bool:
    return any(
        isinstance(each, Statement) and "m.last_accessed, m.created_at FROM" in each.sql
        for each in heard
    )


PROFILES = [
    profiles.get("composite"),
    profiles.get("composite").weighted({"similarity": 1.0, "recency": 0.0}),
    profiles.get("six_factor"),
    OWN,
]


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    _MEMORIES,
    st.sampled_from(PROFILES),
    st.integers(1, 12),
    _FILTERS,
    st.sampled_from([None, 0.4]),
    st.sampled_from([2, 512]),
)
def test_the_hits_are_those_of_reading_everything(
    both: tuple[Memory, Memory],
    heard: list[Command],
    memories: list[dict[str, Any]],
    profile: Profile,
    limit: int,
    filters: Any,
    least: float | None,
    first: int,
) -> None:
    for memory in both:
        memory.delete_all(namespace="default")
        memory.add_many(_items(memories), strict=True, dedup=False)
        memory.touch([f"m{number * 7 % 41:02}" for number in range(0, len(memories), 5)], now=NOW)
    heard.clear()
    threshold.FIRST_ROUND_ROWS = first
    tested, known = (
        memory.search(
            "an apple for Ana", profile=profile, limit=limit, filters=filters, min_score=least,
            now=NOW, touch=False, explain=True,
        )
        for memory in both
    )  # fmt: skip
    rises = profile.name == "composite"
    assert _in_orders(heard) if rises else _ranked_by_server(heard)
    assert [hit.to_dict() for hit in tested] == [hit.to_dict() for hit in known]


@pytest.mark.parametrize(
    "profile",
    [
        Profile("scaled", retrieve(MatchAll(), depth=None) >> score(MinMax(importance())) >> cut()),
        Profile(
            "kept", retrieve(MatchAll(), depth=None) >> score(importance()) >> keep(3) >> cut()
        ),
        Profile("few", retrieve(MatchAll(), depth=5) >> score(importance()) >> cut()),
        Profile(
            "near",
            retrieve(Vector(min_similarity=0.1), depth=None) >> score(similarity()) >> cut(),
        ),
        Profile(
            "far",
            retrieve(Vector(), depth=None)
            >> score(exp(100.0 * maximum(0.0, similarity())))
            >> cut(),
        ),
    ],
    ids=lambda profile: profile.name,
)
def test_what_the_server_cannot_rank_is_read(
    both: tuple[Memory, Memory], heard: list[Command], profile: Profile
) -> None:
    memories = [
        {"words": [word], "importance": at / 10} for at, word in enumerate((*WORDS, *WORDS))
    ]
    for memory in both:
        memory.add_many(_items(memories), strict=True)
    tested, known = (
        memory.search("apple", profile=profile, now=NOW, touch=False, limit=3) for memory in both
    )
    assert [hit.to_dict() for hit in tested] == [hit.to_dict() for hit in known]
    assert len(tested) == 3 or profile.name == "near"
    assert (_ranked_by_server(heard) or _in_orders(heard)) == (profile.name == "far")


def test_what_is_infinite_here_and_an_error_there(both: tuple[Memory, Memory]) -> None:
    fading = importance() + decay(1e308, days_since())  # 300 days times that
    profile = Profile("fading", retrieve(MatchAll(), depth=None) >> score(fading) >> cut())
    memories = [{"words": [word], "age": 300.0} for word in WORDS]
    for memory in both:
        memory.add_many(_items(memories), strict=True)
    tested, known = (
        memory.search("apple", profile=profile, now=NOW, touch=False) for memory in both
    )
    assert len(tested) == len(WORDS)
    assert [hit.to_dict() for hit in tested] == [hit.to_dict() for hit in known]


def test_several_namespaces_are_read(both: tuple[Memory, Memory], heard: list[Command]) -> None:
    for memory in both:
        memory.add("An apple.", id="mine")
        memory.within("team").add("A pear.", id="theirs")
        found = memory.search("apple", profile="composite", namespaces=["default", "team"])
        assert set(found.ids) == {"mine", "theirs"}
    assert not _ranked_by_server(heard)
    assert not _in_orders(heard)


def test_few_are_read_and_none_of_the_best_is_missed(
    both: tuple[Memory, Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is first in no order may be the best: only the threshold tells."""
    monkeypatch.setattr(threshold, "FIRST_ROUND_ROWS", 4)
    rng = np.random.default_rng(3)
    words = [f"word{number}" for number in range(30)]
    items = [
        {
            "id": f"m{number:03}",
            "content": " ".join(rng.choice(words, 4)),
            "importance": float(rng.uniform(0.3, 0.7)),
            "created_at": NOW - DAY * float(rng.uniform(0.0, 12.0)),
        }
        for number in rng.permutation(400).tolist()
    ]
    for memory in both:
        memory.add_many(items, strict=True, dedup=False)
    shares = []
    for asked in range(40):
        text, limit = " ".join(rng.choice(words, 3)), 1 + asked % 3
        tested, known = (
            memory.search(text, profile="composite", limit=limit, now=NOW, touch=False)
            for memory in both
        )
        assert [hit.to_dict() for hit in tested] == [hit.to_dict() for hit in known], text
        assert known.read is None
        assert tested.read is not None
        assert tested.read[1] == 400
        shares.append(tested.read[0] / 400)
    assert min(shares) < 0.1
    assert sorted(shares)[20] < 1.0


def test_how_many_were_read_is_told(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest, the most important and the newest 5 are 15 memories; one of them is the best."""
    monkeypatch.setattr(threshold, "FIRST_ROUND_ROWS", 5)
    store = PostgresStore(database, memory=0)
    with Memory.open(store, embedder=WordHashEmbedder(), profile="composite") as memory:
        memory.add_many(
            {
                "id": f"m{number:02}",
                "content": "apples" if number == 10 else f"word{number}",
                "importance": 1.0 if number == 10 else number / 100,
                "created_at": NOW - DAY * (0 if number == 10 else 100 - number),
            }
            for number in range(60)
        )
        found = memory.search("apples", limit=1, now=NOW, touch=False, explain=True)
        assert found.ids == ("m10",)
        assert found.read is not None
        read, of = found.read
        assert of == 60
        assert 5 <= read <= 15
        assert found.to_dict()["read"] == {"memories": read, "of": 60}
        reason = memory.explain("apples", "m11", limit=1, now=NOW)
        assert reason.to_dict()["read"] == {"memories": read, "of": 60}
        assert f"the search reads {read} of 60 memories" in str(reason)
        assert memory.search("apples", profile="balanced", touch=False).read is None


def test_the_orders_have_indexes(
    both: tuple[Memory, Memory], heard: list[Command], database: str
) -> None:
    memory, _ = both
    memory.add_many(_items([{"words": [word]} for word in WORDS]), strict=True)
    heard.clear()
    memory.search("apple", profile="composite", now=NOW, touch=False)
    asked = [each for each in heard if isinstance(each, Statement) and "DESC LIMIT" in each.sql]
    assert len(asked) == 2
    with psycopg.connect(database, options="-c search_path=salience,public") as connection:
        connection.execute("SET enable_sort = off")
        connection.execute("SET enable_seqscan = off")
        for each, index in zip(asked, ("memories_by_importance", "memories_by_use"), strict=True):
            plan = connection.execute(f"EXPLAIN {each.sql}", each.parameters).fetchall()
            assert any(f"Index Scan using {index}" in line for (line,) in plan)
