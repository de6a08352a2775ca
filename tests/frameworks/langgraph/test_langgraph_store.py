"""`SalienceStore` beside the ways that LangGraph's own store answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from salience import Memory
from salience.errors import InvalidInput
from salience.integrations.langgraph import PAGE, SalienceStore
from support.real_server import real_server


@pytest.fixture
def store() -> Iterator[SalienceStore]:
    with SalienceStore("ram://", embedder=None) as store:
        yield store


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def test_salience_ranks_by_meaning_and_tells_the_score() -> None:
    with SalienceStore("ram://") as store:
        store.put(("ana",), "drink", {"text": "Ana drinks green tea every morning."})
        store.put(("ana",), "home", {"text": "Ana moved to Lisbon in March."})
        store.put(("ana",), "secret", {"text": "Ana moved to Lisbon in March."}, index=False)
        found = store.search(("ana",), query="Where does Ana live?")
    assert keys(found) == ["home", "drink", "secret"]
    scores = [item.score for item in found]
    assert scores[0] > scores[1] > 0
    assert scores[2] is None


def test_an_item_is_found_by_each_of_its_texts_once() -> None:
    with SalienceStore("ram://", index={"fields": ["title", "notes[*].text"]}) as store:
        notes = [{"text": "She plays the cello."}, {"text": "Her dog is called Rex."}]
        store.put(("ana",), "a", {"title": "Ana", "notes": notes, "hidden": "paraglider"})
        store.put(("ana",), "b", {"title": "Something else entirely"})
        assert keys(store.search(("ana",), query="cello")) == ["a", "b"]
        assert keys(store.search(("ana",), query="a dog")) == ["a", "b"]
        assert store.search(("ana",), query="paraglider", limit=1)[0].score is not None
        store.put(("ana",), "a", {"title": "Ana"})
        assert len(store.search(("ana",), query="dog")) == 2
        memories = store._opened.sync
        assert memories.count() == 2
        store.delete(("ana",), "a")
        assert memories.count() == 1


def test_a_text_that_another_writer_left_finds_nothing() -> None:
    with SalienceStore("ram://", embedder=None, index={"fields": ["a", "b"]}) as store:
        store.put(("ana",), "k", {"a": "green", "b": "cello"})
        memory = store._opened.sync
        left = next(record for record in memory if record.content == "cello")
        store.put(("ana",), "k", {"a": "green"})
        assert store.search(("ana",), query="cello") == []
        memory.add(left.content, id=left.id, kind=left.kind, metadata=left.metadata)
        assert store.search(("ana",), query="cello") == []
        assert keys(store.search(("ana",), query="green")) == ["k"]


def test_scores_are_cosines_of_the_given_embeddings() -> None:
    embeddings = DeterministicFakeEmbedding(size=16)
    index: Any = {"embed": embeddings, "dims": 16}
    with SalienceStore("ram://", index=index) as store:
        theirs = InMemoryStore(index=index)
        for i in range(20):
            for either in (store, theirs):
                either.put(("a",), str(i), {"text": f"text {i}"})
        ours = [(item.key, item.score) for item in store.search((), query="query", limit=20)]
        expected = [(item.key, item.score) for item in theirs.search((), query="query", limit=20)]
    assert [key for key, _ in ours] == [key for key, _ in expected]
    assert [score for _, score in ours] == pytest.approx([s for _, s in expected], abs=1e-3)


def test_embeddings_that_can_only_be_awaited() -> None:
    async def embed(texts: Any) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    with SalienceStore("ram://", index={"embed": embed, "dims": 2}) as store:
        store.put(("a",), "k", {"text": "abc"})
        assert store.search(("a",), query="abc")[0].score is not None
        assert len(asyncio.run(store.asearch(("a",), query="abc"))) == 1


def test_embeddings_are_refused_where_the_memory_has_its_own() -> None:
    index: Any = {"embed": DeterministicFakeEmbedding(size=4), "dims": 4}
    with Memory("ram://", embedder=None) as memory:
        for target in (memory, "http://127.0.0.1:1"):
            with pytest.raises(InvalidInput, match="embeddings"):
                SalienceStore(target, index=index)


def test_reads_of_a_batch_see_what_was_there_before_and_the_last_put_wins(
    store: SalienceStore,
) -> None:
    store.put(("a",), "k", {"n": 1})
    before, one, two, found, names = store.batch(
        [
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"n": 2}),
            PutOp(("a",), "k", {"n": 3}),
            SearchOp(("a",), filter={"n": 1}),
            ListNamespacesOp(),
        ]
    )
    assert (before.value, one, two, names) == ({"n": 1}, None, None, [("a",)])  # type: ignore[union-attr]
    assert keys(found) == ["k"]  # type: ignore[arg-type]
    assert store.get(("a",), "k").value == {"n": 3}  # type: ignore[union-attr]


def test_a_put_keeps_the_time_of_the_first_and_moves_that_of_the_last(store: SalienceStore) -> None:
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"m": 2})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.value == {"m": 2}
    assert second.created_at == first.created_at < second.updated_at


def test_what_a_caller_does_to_a_value_is_not_stored(store: SalienceStore) -> None:
    store.put(("a",), "k", {"list": [1]})
    item = store.get(("a",), "k")
    assert item is not None
    item.value["list"].append(2)
    assert store.get(("a",), "k").value == {"list": [1]}  # type: ignore[union-attr]


def test_items_whose_time_is_over_are_gone_and_swept() -> None:
    with SalienceStore("ram://", ttl={"default_ttl": 1e-9}) as store:
        store.put(("a",), "short", {"text": "tea"})
        store.put(("a",), "long", {"text": "tea"}, ttl=60)
        store.put(("a",), "ever", {"text": "tea"}, ttl=None)
        assert store.get(("a",), "short") is None
        assert sorted(keys(store.search(("a",)))) == ["ever", "long"]
        assert sorted(keys(store.search(("a",), query="tea"))) == ["ever", "long"]
        assert store._opened.sync.count() == 3
        assert store.sweep_ttl() == 1
        assert store._opened.sync.count() == 2
        store.put(("a",), "long", {"text": "tea"}, ttl=None)
        assert store._opened.sync.count({"expires_at": {"exists": True}}) == 0


@pytest.mark.parametrize("refresh", [True, False])
def test_reading_lets_an_item_live_as_long_again(refresh: bool) -> None:
    config: Any = {"default_ttl": 60, "refresh_on_read": refresh}
    with SalienceStore("ram://", ttl=config, index={"fields": ["a", "b"]}) as store:
        store.put(("a",), "k", {"a": "green", "b": "tea"})
        memory = store._opened.sync
        soon = datetime.now(timezone.utc) + timedelta(minutes=1)
        for read in (
            lambda: store.get(("a",), "k"),
            lambda: store.search(("a",)),
            lambda: store.search(("a",), query="tea"),
        ):
            for record in memory.get_all():
                memory.update(record.id, expires_at=soon)
            updated_at = read() and store.get(("a",), "k", refresh_ttl=False).updated_at  # type: ignore[union-attr]
            moved = {record.expires_at != soon for record in memory.get_all()}
            assert moved == {refresh}
            assert updated_at == store.get(("a",), "k").updated_at  # type: ignore[union-attr]


def test_a_sweeper_stops(store: SalienceStore) -> None:
    store.put(("a",), "k", {}, ttl=1e-9)
    store.start_ttl_sweeper(1e-5)
    while store._opened.sync.count():
        pass
    store.stop_ttl_sweeper()
    assert store._sweeper is None


def test_other_memories_of_the_namespace_are_left_alone() -> None:
    with Memory("ram://", embedder=None) as memory, SalienceStore(memory) as store:
        memory.add("Green tea is Ana's.", id="other")
        store.put(("a",), "k", {"text": "green tea"}, ttl=1e-9)
        assert store.search((), query="green tea") == []
        store.sweep_ttl()
        assert store.list_namespaces() == []
        assert [record.id for record in memory] == ["other"]


def test_more_items_than_a_page_are_listed(store: SalienceStore) -> None:
    store.batch([PutOp((f"n{i % 3}",), str(i), {"i": i}) for i in range(PAGE + 10)])
    found = store.search((), limit=PAGE + 5, offset=3)
    assert len({item.key for item in found}) == PAGE + 5
    assert store.list_namespaces() == [("n0",), ("n1",), ("n2",)]


def test_a_page_behind_what_a_query_ranks_is_refused(store: SalienceStore) -> None:
    with pytest.raises(InvalidInput, match="offset"):
        store.search((), query="tea", limit=10, offset=1_000)


def test_a_node_of_a_graph_gets_the_store_at_a_server(tmp_path: Path) -> None:
    async def node(state: dict[str, Any], *, store: BaseStore) -> dict[str, Any]:
        await store.aput(("users", "ana"), "food", {"text": "Ana eats no meat."})
        found = await store.asearch(("users", "ana"), query="What does Ana eat?")
        return {"found": [item.value["text"] for item in found]}

    with real_server(tmp_path / "agent.db") as server, SalienceStore(server.url) as store:
        graph = StateGraph(dict).add_node("remember", node)  # type: ignore[type-var]
        graph.add_edge(START, "remember").add_edge("remember", END)
        answer = asyncio.run(graph.compile(store=store).ainvoke({}))
        assert answer == {"found": ["Ana eats no meat."]}
        assert keys(store.search(("users",), filter={"text": {"$ne": "x"}})) == ["food"]
        assert store.list_namespaces(prefix=("users",)) == [("users", "ana")]
        assert asyncio.run(store.asweep_ttl()) == 0
        store.delete(("users", "ana"), "food")
        assert asyncio.run(store.aget(("users", "ana"), "food")) is None


label = st.sampled_from(["a", "b", "ab", "A", "*", "%", "a/b", "a b", "0", "~", "é", "e\u0301"])
namespaces = st.lists(label, min_size=1, max_size=3).map(tuple)
numbers = st.integers(-3, 3) | st.sampled_from([0.5, 1e300, -2.5])
scalars = numbers | st.sampled_from(["", "a", "A", "1"])
values = st.dictionaries(
    st.sampled_from(["x", "y", "x-y", "1"]), scalars | st.lists(scalars, max_size=2), max_size=3
)
edges = st.sampled_from([float("inf"), float("-inf"), float("nan"), 10**100, "a\0"])
operators = st.sampled_from(["$eq", "$ne"])
orders = st.sampled_from(["$gt", "$gte", "$lt", "$lte"])
numeric = numbers | st.sampled_from([float("inf"), float("-inf"), float("nan"), 10**100])
items = st.lists(st.tuples(namespaces, st.sampled_from("kl/#"), values), max_size=6)


@settings(max_examples=60)
@given(items, namespaces, namespaces)
@example([(("a",), "k", {}), (("a", "a"), "k", {})], ("a",), ("a",))
def test_nothing_of_one_user_is_found_by_another(
    stored: list[Any], mine: tuple[str, ...], other: tuple[str, ...]
) -> None:
    with SalienceStore("ram://", embedder=None) as store:
        store.batch(
            [PutOp(namespace, key, {**value, "of": namespace}) for namespace, key, value in stored]
        )
        for query in (None, "a b 1"):
            for item in store.search(mine, query=query, limit=100):
                assert item.namespace[: len(mine)] == mine
                assert tuple(item.value["of"]) == item.namespace
        written = {(namespace, key) for namespace, key, _ in stored}
        for key in {key for _, key in written}:
            assert (store.get(mine, key) is not None) == ((mine, key) in written)
            store.delete(other, key)
        for namespace, key in written:
            assert (store.get(namespace, key) is None) == (namespace == other)


@settings(max_examples=100)
@given(items, st.lists(namespaces, max_size=2), st.data())
def test_the_same_is_found_as_in_the_store_of_langgraph(
    stored: list[Any], prefixes: list[tuple[str, ...]], data: st.DataObject
) -> None:
    equal = st.tuples(operators, scalars | edges | st.lists(scalars, max_size=2))
    condition = st.one_of(
        scalars, edges, st.lists(scalars, max_size=2), equal.map(lambda pair: dict([pair]))
    )
    wanted = data.draw(
        st.dictionaries(st.sampled_from(["x", "y", "x-y", "1"]), condition, max_size=2)
    )
    theirs = InMemoryStore()
    with SalienceStore("ram://", embedder=None) as store:
        puts = [PutOp(*put) for put in stored]
        for either in (store, theirs):
            either.batch(puts)
        for prefix in ((), *prefixes):
            searches = [
                {
                    (item.namespace, item.key)
                    for item in either.search(prefix, filter=wanted, limit=99)
                }
                for either in (store, theirs)
            ]
            assert searches[0] == searches[1]
            for match in ("prefix", "suffix"):
                op = ListNamespacesOp((MatchCondition(match, prefix),), max_depth=2)  # type: ignore[arg-type]
                assert set(store.batch([op])[0]) == set(theirs.batch([op])[0])  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.lists(numbers, max_size=6), orders, numeric)
def test_numbers_are_compared_as_numbers(stored: list[Any], order: str, operand: Any) -> None:
    theirs = InMemoryStore()
    with SalienceStore("ram://", embedder=None) as store:
        for i, number in enumerate(stored):
            for either in (store, theirs):
                either.put(("a",), str(i), {"n": number})
        wanted = {"n": {order: operand}}
        ours, expected = (
            {item.key for item in either.search((), filter=wanted)} for either in (store, theirs)
        )
    assert ours == expected


def test_an_unknown_operator_is_refused(store: SalienceStore) -> None:
    with pytest.raises(ValueError, match=r"\$near"):
        store.search((), filter={"n": {"$near": 1}})
