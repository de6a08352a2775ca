"""A replica in the memory of a process equals the database, whoever writes."""

import asyncio
import gc
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from salience import AsyncMemory, Memory
from salience.errors import InvalidInput, NotFound, StoreError
from salience.retrieval.operations import PutVectors, RowsById, SetFields
from salience.stores import open_store
from salience.stores.index_reader import INDEX_BUDGET
from salience.stores.postgres import PostgresStore
from salience.stores.postgres.replica import manager as replica_memory
from salience.testing import WordHashEmbedder
from salience.testing.conformance._case import Clock
from salience.write.dedup import DedupPolicy
from support.examples import examples
from support.steps import FILTERED, NEIGHBOURS, apply, ids, steps
from support.waiting import until

EMBEDDER = WordHashEmbedder()
LIMIT = 1 << 30
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("What did Ana say of apples in March?", {}),
    ("When did Bo go for plums", {"profile": "composite"}),
    ("apple pear went Ana Bo 2026", {"profile": NEIGHBOURS}),
    ("plum Ana", {"profile": "six_factor"}),
    ("always Ana", {"profile": "multi_route"}),
    ("pear Bo", {"profile": "vitality.identity"}),
    ("plum always", {"profile": "activation"}),
    ("pear or plum", FILTERED),
    ("apple", {"filters": {"tags": {"contains": "pear"}}}),
    ('"apple pear" go*', {"profile": "vitality"}),
]
events = st.one_of(
    st.tuples(st.just("feedback"), ids, st.sampled_from(["useful", "incorrect", "promote"])),
    st.tuples(st.just("pin"), ids),
    st.tuples(st.just("link"), ids, ids),
    st.tuples(st.just("supersede"), ids, ids),
    st.tuples(st.just("decay")),
    st.tuples(st.just("mend"), ids),
    st.tuples(st.just("erase")),
)
taken_by = st.tuples(st.sampled_from(["keeps", "other"]), st.one_of(steps, steps, events))


def happen(memory: Memory, step: tuple[Any, ...]) -> None:
    """Take a step; one that is refused changes nothing."""
    kind, *given = step
    try:
        if kind == "feedback":
            memory.feedback(given[0], given[1])
        elif kind == "pin":
            memory.pin(given[0])
        elif kind == "link":
            memory.link(*given)
        elif kind == "supersede":
            memory.supersede(*given)
        elif kind == "decay":
            memory.upkeep.decay()
        elif kind == "mend":
            memory._core.dispatcher.batch(
                [SetFields(memory.namespace, {given[0]: {"importance": 0.25}})]
            )
        elif kind == "erase":
            memory.delete_all({"speaker": "Bo"})
        else:
            apply(memory, step)
    except (InvalidInput, NotFound, StoreError):
        return


def ranked(memory: Memory) -> list[list[tuple[str, float]]]:
    return [
        [(hit.id, hit.score) for hit in memory.search(question, touch=False, **options)]
        for question, options in QUESTIONS
    ]


@settings(
    max_examples=examples(10),
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[
        HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture,
    ],
)  # fmt: skip
@given(taken=st.lists(taken_by, min_size=1, max_size=10))
def test_whoever_writes_it_ranks_as_ram_does(
    database: str, taken: list[tuple[str, tuple[Any, ...]]]
) -> None:
    clock, namespace = Clock(), uuid.uuid4().hex

    def opened(store: Any) -> Memory:
        return Memory.open(store, embedder=EMBEDDER, clock=clock, namespace=namespace)

    with (
        opened(PostgresStore(database)) as keeps,
        opened(PostgresStore(database)) as other,
        opened("ram://") as ram,
    ):
        for who, step in taken:
            if step[0] == "wait":
                clock.pass_(days=step[1])
            writes = keeps if who == "keeps" else other
            happen(writes, step)
            happen(ram, step)
            if who == "other":
                other.upkeep.flush()
            assert ranked(keeps) == ranked(ram)


def words(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {"id": f"m{i:04}", "content": f"word{i % 37} of topic{i % 11} said number{i}"}
        for i in range(first, first + count)
    ]


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    store = PostgresStore(database)
    yield store
    store.close()


UNREAD = DedupPolicy(None, 0.0, contradictions=False)
"""Adds that read nothing."""


def holds(store: PostgresStore, namespace: str = "default") -> bool:
    return namespace in store.replicas._indexes


def test_a_namespace_is_kept_from_its_first_search_on(store: PostgresStore) -> None:
    with Memory.open(store, embedder=EMBEDDER, dedup=UNREAD) as memory:
        memory.add_many(words(20))
        assert not holds(store)
        memory.search("topic3")
        assert holds(store)
        assert memory.stats(everywhere=True)["index_mb"] > 0.0


def test_threads_that_search_a_namespace_first_read_it_once(store: PostgresStore) -> None:
    read: list[str] = []
    own = store.replicas._read_all
    with Memory.open(store, embedder=EMBEDDER) as memory:
        memory.add_many(words(300))

        def reading(namespace: str, send: Any) -> None:
            read.append(namespace)
            until(lambda: len(begun) == 12)
            own(namespace, send)

        def search() -> None:
            begun.append(threading.get_ident())
            found.append(memory.search("topic3", touch=False).ids)

        store.replicas._read_all = reading  # type: ignore[method-assign]
        begun: list[int] = []
        found: list[tuple[str, ...]] = []
        threads = [threading.Thread(target=search) for _ in range(12)]  # connections are fewer
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert read == ["default"]
    assert len(found) == 12
    assert len(set(found)) == 1


def test_a_namespace_that_has_become_too_large_is_kept_no_more(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_memory, "_BYTES_PER_MEMORY", 1_000)
    store = PostgresStore(database, memory=100_000)
    with Memory.open(store, embedder=EMBEDDER) as memory:
        memory.add_many(words(40))
        memory.search("topic3")
        assert holds(store)
        memory.add_many(words(20, 40))
        assert len(memory.search("topic3")) == 10
        assert not holds(store)


def test_a_search_of_several_namespaces_needs_room_for_all(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are held together for as long as it lasts, whatever they take."""
    monkeypatch.setattr(replica_memory, "_BYTES_PER_MEMORY", 1)
    names = ["one", "two", "three"]
    store = PostgresStore(database, memory=200_000)
    with (
        Memory.open(store, embedder=EMBEDDER) as memory,
        Memory.open("ram://", embedder=EMBEDDER) as ram,
    ):
        for name in names:
            memory.for_namespace(name).add_many(words(60))
            ram.for_namespace(name).add_many(words(60))
        asked: dict[str, Any] = {"namespaces": names, "touch": False, "now": 2e9}
        for _ in range(2):
            found, known = (each.search("topic3 word1", **asked) for each in (memory, ram))
            assert [(h.id, h.score) for h in found] == [(h.id, h.score) for h in known]


def test_the_setting_has_to_be_a_number(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(replica_memory.MEMORY_VARIABLE, "a lot")
    with pytest.raises(InvalidInput, match="SALIENCE_POSTGRES_MEMORY_MB: is 'a lot'"):
        open_store(database)


def test_by_default_it_is_a_share_of_what_the_machine_or_its_container_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, unlimited = tmp_path / "small", tmp_path / "unlimited"
    small.write_text(f"{1 << 30}\n")
    unlimited.write_text("max\n")
    alone = replica_memory.machine_memory([str(unlimited), str(tmp_path / "none")])
    assert alone > 1 << 28
    assert replica_memory.machine_memory([str(small)]) == min(alone, 1 << 30)
    monkeypatch.delenv(replica_memory.MEMORY_VARIABLE, raising=False)
    assert replica_memory.memory_limit() == min(replica_memory.machine_memory() // 2, 4 << 30)


def test_the_namespace_used_longest_ago_gives_way(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_memory, "_BYTES_PER_MEMORY", 1)
    store = PostgresStore(database, memory=200_000)
    with Memory.open(store, embedder=EMBEDDER) as memory:
        for name in ("one", "two", "three"):
            memory.for_namespace(name).add_many(words(60))
            memory.for_namespace(name).search("topic3")
        assert not holds(store, "one")
        assert holds(store, "three")
        assert len(memory.for_namespace("one").search("topic3")) == 10


def test_replicas_and_the_indexes_of_files_are_within_the_bytes_of_the_process(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()
    monkeypatch.setenv("SALIENCE_INDEX_BYTES", str(INDEX_BUDGET.nbytes + 250_000))
    store = PostgresStore(database)
    with (
        Memory.open(store, embedder=EMBEDDER) as memory,
        Memory.open(tmp_path / "m.db", embedder=EMBEDDER) as beside,
    ):
        for name in ("one", "two", "three", "four"):
            for each in (memory, beside):
                each.for_namespace(name).add_many(words(60))
                each.for_namespace(name).search("topic3")
                assert INDEX_BUDGET.nbytes <= INDEX_BUDGET.limit
        assert not holds(store, "one")
        assert holds(store, "four")
        assert memory.stats(everywhere=True)["index_limit_mb"] >= 0.25
        for name in ("one", "two", "three"):
            beside.for_namespace(name).search("topic3")
        assert not holds(store, "four")
        assert len(memory.for_namespace("one").search("topic3")) == 10


@pytest.mark.parametrize(
    "profile", ["balanced", "composite", "six_factor", "activation", "multi_route", "vitality"]
)
def test_a_kept_namespace_takes_two_round_trips_and_a_third_for_news(
    database: str, profile: str
) -> None:
    store = PostgresStore(database)
    with (
        Memory.open(store, embedder=EMBEDDER) as memory,
        Memory.open(PostgresStore(database), embedder=EMBEDDER) as other,
    ):
        memory.add_many(words(100))
        asked: dict[str, Any] = {"profile": profile, "touch": False, "now": 2e9}
        for text in ("topic3 word1", "topic4 word2"):
            memory.search(text, **asked)
        trips: list[None] = []
        store.database.on_trip = lambda: trips.append(None)
        found = memory.search("topic3 word1", **asked)
        assert len(trips) == 2
        assert found.ids == other.search("topic3 word1", **asked).ids
        other.add("word1 of topic3, and nothing else", id="new")
        trips.clear()
        found = memory.search("topic3 word1", **asked)
        assert len(trips) == 3
        assert found.ids == other.search("topic3 word1", **asked).ids
        assert "new" in found.ids or profile == "vitality"


def test_vectors_made_anew_elsewhere_are_noticed(database: str) -> None:
    with (
        Memory.open(PostgresStore(database), embedder=EMBEDDER) as memory,
        Memory.open(PostgresStore(database), embedder=EMBEDDER) as other,
    ):
        memory.add_many(words(30))
        before = memory.search("topic3", touch=False)
        rows = other._core.dispatcher.batch([RowsById("default", ("m0001",))])[0]
        unlike = -EMBEDDER.embed(["topic3"], kind="query")[0]
        given = PutVectors("default", "content", np.array([rows["m0001"]]), [unlike])
        other._core.dispatcher.batch([given])
        asked: dict[str, Any] = {"profile": "composite", "touch": False, "limit": 30, "now": 2e9}
        after = memory.search("topic3", **asked)
        known = other.search("topic3", **asked)
        assert [(h.id, h.score) for h in after] == [(h.id, h.score) for h in known]
        assert len(before) == 10


@pytest.mark.deep
def test_many_threads_search_while_others_write(database: str) -> None:
    store = PostgresStore(database)
    problems: list[BaseException] = []
    with (
        Memory.open(store, embedder=EMBEDDER) as memory,
        Memory.open(PostgresStore(database), embedder=EMBEDDER) as other,
    ):
        memory.add_many(words(200))
        stop = threading.Event()

        def asking() -> None:
            try:
                while not stop.is_set():
                    assert len(memory.search("topic3 word4", profile="composite")) == 10
                    assert len(memory.search("topic3 word4")) == 10
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=asking) for _ in range(4)]
        for thread in threads:
            thread.start()
        for first in range(200, 400, 20):
            other.add_many(words(20, first))
            other.delete(f"m{first - 200:04}")
            other.update(f"m{first - 199:04}", content="topic3 word4 again")
            memory.feedback(f"m{first - 198:04}", "useful")
        stop.set()
        for thread in threads:
            thread.join()
        assert problems == []
        memory.upkeep.flush()
        asked: dict[str, Any] = {"profile": "composite", "touch": False, "limit": 50, "now": 2e9}
        for text in ("topic3 word4", "again"):
            mine, theirs = memory.search(text, **asked), other.search(text, **asked)
            assert [(h.id, h.score) for h in mine] == [(h.id, h.score) for h in theirs]


def test_what_gives_way_during_a_search_is_read_again(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever operation of the search comes first after it."""
    store = PostgresStore(database)
    asked: dict[str, Any] = {"touch": False, "now": 2e9}
    with Memory.open(store, embedder=EMBEDDER) as memory:
        memory.add_many(words(40))
        known = {
            profile: memory.search("topic3 word4", profile=profile, **asked).ids
            for profile in ("balanced", "composite", "activation")
        }
        supplied = store.replicas._with_columns
        for profile, expected in known.items():
            for left in range(12):
                steps = iter([False] * left + [True])

                def dropping(
                    answer: Callable[[], Any], send: Any, steps: Iterator[bool] = steps
                ) -> Any:
                    if next(steps, False):
                        store.replicas.forget(["default"])
                    return supplied(answer, send)

                monkeypatch.setattr(store.replicas, "_with_columns", dropping)
                assert memory.search("topic3 word4", profile=profile, **asked).ids == expected
                monkeypatch.setattr(store.replicas, "_with_columns", supplied)


def test_a_server_that_was_started_again_is_read_anew(database: str) -> None:
    store = PostgresStore(database)
    with Memory.open(store, embedder=EMBEDDER) as memory:
        memory.add_many(words(40))
        memory.search("topic3")
        space = store.replicas._replicas["default"]
        space.watermark = space.watermark._replace(started=1.0)
        assert len(memory.search("topic3")) == 10
        assert store.replicas._replicas["default"] is not space


def test_an_erased_namespace_is_not_kept(database: str) -> None:
    store = PostgresStore(database)
    with Memory.open(store, embedder=EMBEDDER) as memory:
        memory.add_many(words(20))
        memory.search("topic3")
        assert holds(store)
        memory.delete_all(namespace="default")
        assert not holds(store)
        assert len(memory.search("topic3")) == 0


def test_reading_that_fails_fails_the_search_and_the_next_reads_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(namespace: str, send: Any) -> None:
        raise StoreError("no connection")

    monkeypatch.setattr(store.replicas, "_read_all", broken)
    with Memory.open(store, embedder=EMBEDDER, dedup=UNREAD) as memory:
        memory.add_many(words(20))
        with pytest.raises(StoreError, match="no connection"):
            memory.search("topic3")
        monkeypatch.undo()
        assert len(memory.search("topic3")) == 10
        assert holds(store)


async def _asked_together(database: str) -> list[list[tuple[str, float]]]:
    store = PostgresStore(database)
    async with await AsyncMemory.open(store, embedder=EMBEDDER) as memory:
        await memory.add_many(words(100))
        await memory.search("topic3")
        assert holds(store)
        asked = [
            memory.search(f"topic{i} word{i}", touch=False, profile=profile, now=2e9)
            for i in range(4)
            for profile in ("balanced", "activation")
        ]
        found = await asyncio.gather(*asked)
    return [[(hit.id, hit.score) for hit in each] for each in found]


def test_tasks_search_what_is_kept(database: str) -> None:
    together = asyncio.run(_asked_together(database))
    with Memory.open(PostgresStore(database), embedder=EMBEDDER) as memory:
        alone = [
            memory.search(f"topic{i} word{i}", touch=False, profile=profile, now=2e9)
            for i in range(4)
            for profile in ("balanced", "activation")
        ]
    assert together == [[(hit.id, hit.score) for hit in each] for each in alone]
