"""The index of a small namespace is small: a server may hold ten thousand of them."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.evaluation.synthetic_chats import realistic
from salience.stores import open_store
from salience.stores.embedded import EmbeddedStore
from salience.stores.index_reader import INDEX_BUDGET

NAMESPACES, MEMORIES = 30, 20
MOST_BYTES = 80_000


def test_a_namespace_of_twenty_memories_takes_eighty_kilobytes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    items = list(realistic(NAMESPACES * MEMORIES))
    with Memory.open(url) as memory:
        for number in range(NAMESPACES):
            own = items[number * MEMORIES :][:MEMORIES]
            memory.for_namespace(f"n{number}").add_many(own, dedup=False)
    with Memory.open(url) as memory:
        for number in range(NAMESPACES):
            assert memory.for_namespace(f"n{number}").search("What did we cook?", touch=False)
        taken = memory.stats(everywhere=True)["index_mb"] * 1e6
        assert taken / NAMESPACES < MOST_BYTES
        memory.for_namespace("n0").add("Another one.", dedup=False)
        memory.for_namespace("n0").search("What did we cook?", touch=False)
        words = memory._core.dispatcher.store._indexes["n0"].table.words  # type: ignore[attr-defined]
        postings = words._postings["content"]
        assert len(postings._segments) == 1  # those that were loaded
        assert [ordinal for ordinal, _ in postings._recent.memories] == [MEMORIES]


def stores(tmp_path: Path, count: int) -> list[EmbeddedStore]:
    opened = [open_store(tmp_path / f"{n}.db") for n in range(count)]
    assert all(isinstance(store, EmbeddedStore) for store in opened)
    return opened  # type: ignore[return-value]


def test_the_indexes_of_all_stores_of_a_process_stay_within_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.collect()  # stores of other tests
    before, limit = INDEX_BUDGET.nbytes, 500_000
    monkeypatch.setenv("SALIENCE_INDEX_BYTES", str(before + limit))
    one, other = stores(tmp_path, 2)
    with Memory(one, embedder=None) as memory, Memory(other, embedder=None) as beside:
        for n in range(30):
            for each in (memory, beside):
                each.for_namespace(f"n{n}").add(f"The cello of {n}.")
        for n in [*range(30), 0, 29]:
            for each in (memory, beside):
                assert len(each.search("cello", namespaces=[f"n{n}"]).hits) == 1
                assert 0 < INDEX_BUDGET.nbytes - before <= limit
        assert min(one.nbytes, other.nbytes) > 0
        figures = memory.stats(everywhere=True)
        assert figures["index_mb"] == pytest.approx(one.nbytes / 1e6, abs=0.001)
        assert figures["index_limit_mb"] == pytest.approx((before + limit) / 1e6, abs=0.001)
        assert "n29" in one._indexes
        for n in range(30):  # those of the one are older than all of the other
            beside.search("cello", namespaces=[f"n{n}"])
        assert not one._indexes
        assert len(memory.search("cello", namespaces=["n3"]).hits) == 1
    assert INDEX_BUDGET.nbytes <= before  # of closed stores there is nothing
    for odd in ("0", "-1", "1.5", "3GB"):
        monkeypatch.setenv("SALIENCE_INDEX_BYTES", odd)
        with pytest.raises(InvalidInput, match="SALIENCE_INDEX_BYTES"):
            Memory.open(tmp_path / "m.db", embedder=None)
        assert not (tmp_path / "m.db").exists()


def test_an_index_that_other_profiles_make_larger_is_measured_again(tmp_path: Path) -> None:
    [store] = stores(tmp_path, 1)
    with Memory(store, dedup=False) as memory:
        for name in ("a", "b"):
            memory.for_namespace(name).add_many(list(realistic(300)))
            memory.for_namespace(name).search("What did we cook?", touch=False)
        for profile in ("multi_route", "activation", "vitality"):
            memory.for_namespace("a").search("Who likes tea in Oslo?", profile=profile, touch=False)
        memory.for_namespace("b").search("What did we cook?", touch=False)
        assert store.nbytes == sum(index.table.nbytes for index in store._indexes.values())


def test_stores_that_threads_read_at_once_do_not_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALIENCE_INDEX_BYTES", "1")
    memories = [Memory(store, embedder=None) for store in stores(tmp_path, 3)]
    for memory in memories:
        for n in range(4):
            memory.for_namespace(f"n{n}").add("A cello.")

    def searched(memory: Memory) -> list[int]:
        names = [f"n{n % 4}" for n in range(60)]
        return [len(memory.for_namespace(name).search("cello", touch=False).hits) for name in names]

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(searched, memories * 2, timeout=120)) == [[1] * 60] * 6
    for memory in memories:
        memory.close()


@pytest.mark.deep
def test_ten_thousand_namespaces_are_searched_within_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, limit = 10_000, 40_000_000
    monkeypatch.setenv("SALIENCE_INDEX_BYTES", str(limit))
    [store] = stores(tmp_path, 1)
    texts = [str(item["content"]) for item in realistic(250)]
    with Memory(store, embedder=None, dedup=False) as memory:
        for n in range(count):
            memory.for_namespace(f"n{n}").add_many(texts[n % 50 * 5 :][:5])
        question = f"Who said: {texts[0]}"
        for n in range(1_000):  # what is kept besides indexes is there, then
            memory.for_namespace(f"n{n}").search(question, touch=False)
        for name in list(store._indexes):
            store._drop(name)
        gc.collect()
        before = INDEX_BUDGET.dropped
        tracemalloc.start()
        try:
            most = 0
            for n in range(count):
                memory.for_namespace(f"n{n}").search(question, touch=False)
                assert INDEX_BUDGET.nbytes <= limit
                most = max(most, tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        kept = len(store._indexes)
    print(f"{kept} indexes of {count} kept, {most:,} bytes at most")
    assert most <= limit * 1.4  # of objects nbytes is an average
    assert INDEX_BUDGET.dropped - before >= count - kept  # those of other tests' stores, too
