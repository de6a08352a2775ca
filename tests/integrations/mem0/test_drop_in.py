"""The shapes, filters and quirks of the drop-in; tests/frameworks/mem0 holds them against mem0."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience import AsyncMemory as AwaitedSalience
from salience import Memory as Salience
from salience.errors import InvalidInput
from salience.integrations.mem0 import (
    AsyncMemory,
    Memory,
    MemoryNotFoundError,
    ValidationError,
)
from salience.testing import WordHashEmbedder
from support.examples import examples
from support.mem0_filters import FILTERS, IDS
from support.real_server import real_server

ANA = {"user_id": "ana"}


def ids(memory: Memory, filters: dict[str, Any]) -> set[str]:
    """What a filter lists; a search without a threshold has to find the same."""
    listed = {each["id"] for each in memory.get_all(filters=filters)["results"]}
    found = memory.search("tea", filters=filters, threshold=0)["results"]
    assert {each["id"] for each in found} <= listed
    return listed


def added(memory: Memory, text: str, **options: Any) -> str:
    id: str = memory.add(text, **{**ANA, "infer": False, **options})["results"][0]["id"]
    return id


def test_a_memory_has_the_fields_of_mem0(memory: Memory) -> None:
    [answer] = memory.add(
        {"role": "user", "content": "I like tea.", "name": "Ana"},
        user_id="ana",
        agent_id="guide",
        run_id="r1",
        app_id="chat",
        metadata={"topic": {"name": "drinks"}, "tags": ["a"]},
        expiration_date=date(2999, 12, 31),
        timestamp=1_767_225_600,
        infer=False,
    )["results"]
    found = memory.get(answer["id"])
    assert found is not None
    assert found.pop("updated_at").endswith("+00:00")
    assert found == {
        "id": answer["id"],
        "memory": "I like tea.",
        "hash": "c39f1beb2119629bf7bb3e28eb951593",
        "metadata": {"topic": {"name": "drinks"}, "tags": ["a"]},
        "score": None,
        "created_at": "2026-01-01T00:00:00+00:00",
        "user_id": "ana",
        "agent_id": "guide",
        "app_id": "chat",
        "run_id": "r1",
        "actor_id": "Ana",
        "role": "user",
        "expiration_date": "2999-12-31",
    }


def test_other_doors_of_the_store_see_the_same(memory: Memory, store: Salience) -> None:
    id = added(memory, "I like tea.", run_id="r1")
    assert (store[id].session_id, store[id].kind, store[id].speaker) == ("r1", "turn", "user")
    theirs = store.add("Ana likes rye.", user_id="ana", session_id="r1", kind="note").id
    assert ids(memory, {"run_id": "r1"}) == {id, theirs}
    store.delete(id)
    assert memory.get(id) is None


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"topic": "*"}, "ab"),
        ({"topic": {"ne": "*"}}, "c"),
        ({"topic": {"contains": "EA"}}, "a"),
        ({"topic": {"icontains": "EA"}}, "a"),
        ({"tags": {"contains": "x"}}, "b"),
        ({"metadata": {"topic": "rye"}}, "b"),
        ({"metadata": {"nested.n": {"gt": 1}}}, "b"),
        ({"nested.n": 1}, "a"),
        ({"keywords": {"contains": "sugar"}}, "c"),
        ({"expiration_date": "2999-12-31"}, "c"),
        ({"expiration_date": {"gt": "2999-12-30"}}, "c"),
        ({"run_id": "r1"}, "b"),
        ({"run_id": {"ne": "r2"}}, "b"),
        ({"run_id": {"nin": ["r1"]}}, ""),
        ({"run_id": "*"}, "b"),
        ({"app_id": {"in": ["chat", "x"]}}, "a"),
        ({"AND": []}, "abc"),
        ({"$or": [{"topic": "tea"}, {"$not": [{"topic": "*"}]}]}, "ac"),
        ({"user_id": "*"}, "abc"),
        ({"AND": [{"user_id": "*"}, {"user_id": "ben"}]}, ""),
        ({"OR": [{"user_id": "ben"}, {"user_id": {"in": ["ben"]}}]}, ""),
    ],
    ids=str,
)
def test_filters(memory: Memory, condition: dict[str, Any], expected: str) -> None:
    names = {
        added(memory, "Tea.", metadata={"topic": "tea", "nested": {"n": 1}}, app_id="chat"): "a",
        added(
            memory,
            "Rye.",
            metadata={"topic": "rye", "nested": {"n": 2}, "tags": ["x"]},
            run_id="r1",
        ): "b",
        added(memory, "Sugar.", expiration_date="2999-12-31"): "c",
    }
    added(memory, "Ben's tea.", user_id="ben", metadata={"topic": "tea"}, run_id="r1")
    found = ids(memory, {"AND": [ANA, condition]})
    assert {names.get(id, "?") for id in found} == set(expected)


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"topic": "tea"},
        {"AND": [{"topic": "tea"}]},
        {**ANA, "topic": {"over": 1}},
        {**ANA, "topic": {}},
        {**ANA, "OR": {"topic": "tea"}},
        {**ANA, "NOT": ["tea"]},
        {"user_id": "ana", 5: "tea"},
        {"user_id": "a b"},
        {"user_id": {"in": ["ana", ""]}},
        {**ANA, "created_at": {"gt": "soon"}},
        {**ANA, "expiration_date": "soon"},
        [ANA],
    ],
    ids=str,
)
def test_a_wrong_filter_is_refused(memory: Memory, filters: Any) -> None:
    for call in (memory.get_all, lambda **options: memory.search("tea", **options)):
        with pytest.raises(InvalidInput):
            call(filters=filters)


@pytest.mark.parametrize("name", ["user_id", "agent_id", "run_id", "app_id"])
def test_a_star_is_no_id(memory: Memory, name: str) -> None:
    with pytest.raises(InvalidInput, match="any id"):
        memory.add("x", infer=False, **{name: "*"})  # type: ignore[arg-type]


def test_a_validation_error_has_what_mem0s_has(memory: Memory) -> None:
    with pytest.raises(ValidationError) as caught:
        memory.add("x")
    assert caught.value.error_code == "VALIDATION_001"
    assert caught.value.message == str(caught.value)
    assert caught.value.suggestion
    assert "provided_ids" in caught.value.details


def test_what_is_not_there_is_both_errors(memory: Memory) -> None:
    with pytest.raises(MemoryNotFoundError):
        memory.update("nothing", text="x")
    with pytest.raises(ValueError, match="nothing not found"):
        memory.delete("nothing")


def test_an_unknown_argument_is_refused(memory: Memory) -> None:
    with pytest.raises(TypeError, match="limit"):
        memory.search("x", filters=ANA, limit=5)


def test_a_listing_goes_beyond_a_page_of_the_store(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salience.integrations.mem0.calls.MAX_PAGE", 3)
    names = [f"Memory {i}." for i in range(8)]
    memory.add([{"role": "user", "content": name} for name in names], **ANA, infer=False)  # type: ignore[arg-type]
    listed = memory.get_all(filters=ANA, top_k=7)["results"]
    assert [each["memory"] for each in listed] == names[:0:-1]


def test_the_score_is_the_cosine_and_no_result_is_below_the_threshold(memory: Memory) -> None:
    for text in ("Green tea.", "Green tea with milk.", "A red boat in the harbour."):
        added(memory, text)
    for threshold in (0.0, 0.3, 0.6, 1.0):
        found = memory.search("green tea", filters=ANA, threshold=threshold, explain=True)
        scores = [each["score"] for each in found["results"]]
        assert all(threshold <= score <= 1.0 for score in scores)
        details = [each["score_details"] for each in found["results"]]
        assert [each["semantic_score"] for each in details] == scores
        assert [each["rank"] for each in details] == list(range(1, len(details) + 1))
    assert scores == []


def test_without_vectors_the_words_score_and_it_is_said() -> None:
    with Memory("ram://", embedder=None, extractor=None) as memory:
        added(memory, "Green tea.")
        added(memory, "A red boat.")
        found = memory.search("green tea", filters=ANA, threshold=0.5)
        assert [each["memory"] for each in found["results"]] == ["Green tea."]
        assert 0.0 < found["results"][0]["score"] < 1.0
        assert found["notes"][0].startswith("threshold: not applied")


def test_reranking_needs_a_profile(store: Salience, memory: Memory) -> None:
    added(memory, "Green tea.")
    assert "rerank" in memory.search("tea", filters=ANA, rerank=True)["notes"][0]
    with Memory(store, extractor=None, rerank_profile="composite") as reranking:
        found = reranking.search("tea", filters=ANA, rerank=True, explain=True)
        assert "notes" not in found
        assert found["results"][0]["score_details"]["profile"] == "composite"


def test_a_day_of_expiration_is_the_last_one(store: Salience, memory: Memory) -> None:
    today = date.today().isoformat()
    lasting, past = added(memory, "Tea.", expiration_date="9999-12-31"), added(memory, "Old tea.")
    memory.update(past, expiration_date="2020-01-01")
    assert ids(memory, ANA) == {lasting}
    assert len(memory.get_all(filters=ANA, show_expired=True)["results"]) == 2
    found = memory.search("tea", filters=ANA, show_expired=True, top_k=1)["results"]
    assert len(found) == 1
    memory.update(past, expiration_date=None)
    assert ids(memory, ANA) == {lasting, past}
    memory.update(past, expiration_date=today)
    assert memory.get(past)["expiration_date"] == today  # type: ignore[index]


def test_a_reference_date_is_the_time_to_ask_for(memory: Memory) -> None:
    added(memory, "Old tea.", expiration_date="2020-01-01")
    found = memory.search("tea", filters=ANA, reference_date="2019-06-01")["results"]
    assert [each["memory"] for each in found] == ["Old tea."]


def test_erasing_leaves_others(memory: Memory) -> None:
    kept = added(memory, "Ben's tea.", user_id="ben", run_id="r1")
    added(memory, "Ana's tea.", run_id="r1")
    added(memory, "Ana's tea.", run_id="r2")
    memory.delete_all(user_id="ana", run_id="r1")
    assert len(ids(memory, ANA)) == 1
    memory.delete_all(user_id="ana")
    assert ids(memory, {"user_id": "*"}) == {kept}
    memory.reset()
    assert ids(memory, {"user_id": "*"}) == set()


def test_reset_leaves_other_namespaces(store: Salience) -> None:
    other = store.for_namespace("other")
    other.add("Elsewhere.")
    with Memory(store, extractor=None) as memory:
        added(memory, "Here.")
        memory.reset()
    assert (store.count(), other.count()) == (0, 1)


@settings(max_examples=examples(60))
@given(
    user=IDS, other=IDS, filters=FILTERS, extra=st.sampled_from(["agent_id", "run_id", "app_id"])
)
def test_no_filter_of_one_user_finds_anothers(
    user: str, other: str, filters: dict[str, Any], extra: str
) -> None:
    with Salience("ram://", embedder=WordHashEmbedder()) as store:
        memory = Memory(store, extractor=None)
        mine = added(memory, "My tea.", user_id=user, **{extra: other})
        foreign = added(memory, "Your tea.", user_id=f"{other}+", **{extra: user})
        for scoped in (
            {"user_id": user, **{k: v for k, v in filters.items() if k != "user_id"}},
            {"AND": [filters, {"user_id": user}]},
            {"user_id": user, "OR": [filters, {"memory_ids": [foreign]}, {"user_id": "*"}]},
        ):
            assert ids(memory, scoped) <= {mine}
        memory.delete_all(user_id=user)
        assert memory.get(foreign) is not None


def test_a_configuration_of_mem0_opens_the_same(tmp_path: Path) -> None:
    store = {"provider": "salience", "config": {"url": str(tmp_path / "a.db"), "embedder": None}}
    endpoint = {"model": "m", "lmstudio_base_url": "http://127.0.0.1:1/v1"}
    config = {
        "vector_store": store,
        "llm": {"provider": "lmstudio", "config": endpoint},
        "reranker": {"provider": "salience", "config": {"profile": "composite"}},
        "history_db_path": "unused.db",
        "custom_instructions": "No pets.",
    }
    with Memory.from_config(config) as memory:
        added(memory, "Tea.")
    with Memory.from_config({"vector_store": store}) as memory:
        assert len(ids(memory, ANA)) == 1
    assert isinstance(AsyncMemory.from_config({"vector_store": store}), AsyncMemory)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"vector_store": {"provider": "qdrant"}}, "vector_store.provider"),
        ({"llm": {"provider": "anthropic", "config": {"model": "m"}}}, "llm.provider"),
        ({"llm": {"provider": "openai", "config": {}}}, "llm.config.model"),
        ({"embedder": "openai"}, "embedder"),
        ({"reranker": {"provider": "cohere"}}, "reranker.provider"),
        ({"graph_store": {}}, "graph_store"),
    ],
)
def test_a_configuration_that_is_not_served_is_refused(config: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Memory.from_config(config)
    assert caught.value.field == field


def test_it_takes_the_memory_of_a_server(tmp_path: Path) -> None:
    with real_server(tmp_path / "a.db", "--embedder", "none") as server:
        with Memory(server.url, extractor=None) as memory:
            id = added(memory, "Green tea.", metadata={"n": 2})
            assert ids(memory, {**ANA, "n": {"gt": 1}}) == {id}
            memory.update(id, text="Black tea.")
            assert len(memory.history(id)) == 2

        async def found() -> list[str]:
            async with AwaitedSalience(server.url) as store, AsyncMemory(store) as memory:
                answer = await memory.search("black tea", filters=ANA)
                return [each["memory"] for each in answer["results"]]

        assert asyncio.run(found()) == ["Black tea."]
