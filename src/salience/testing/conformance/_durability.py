"""Durability: erased memories, reopening, many memories, threads."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput, NotFound, StoreClosed
from salience.testing.conformance._case import (
    EVERYTHING,
    WORDS,
    StoreCase,
    get_record,
    list_ids,
    search_ids,
)

THREADS = 6


class Durability(StoreCase):
    """Memories survive closing; erased ones are never found again."""

    def test_what_was_erased_or_replaced_is_never_found_again(self, memory: Memory) -> None:
        memory.add_many({"id": f"m{i}", "content": f"apple number{i}"} for i in range(9))
        assert len(search_ids(memory, "apple")) == 9  # the store has looked at them
        memory.delete("m1")
        memory.delete_all({"id": {"in": ["m2", "m3"]}})
        memory.update("m4", content="plum")
        memory.delete("m5")
        memory.add("pear", id="m5")
        left = ["m0", "m6", "m7", "m8"]

        def check(each: Memory) -> None:
            assert sorted(search_ids(each, "apple")) == left
            assert sorted(search_ids(each, "apple", profile=EVERYTHING)) == [
                "m0",
                "m4",
                "m5",
                *left[1:],
            ]
            for gone in ("m1", "m2", "m3"):
                assert each.get(gone) is None
            for i in (1, 2, 3, 4, 5):
                assert search_ids(each, f"number{i}") == []
            assert each.get_all().total == 6

        check(memory)
        again = self.reopen(memory)
        check(again)
        again.close()

    def test_everything_lasts(self, memory: Memory) -> None:
        memory.add_many(
            {"id": f"m{i}", "content": f"apple word{i}", "session_id": "s", "speaker": f"p{i % 2}"}
            for i in range(20)
        )
        memory.link("m1", "m2", "supports", 0.3)
        memory.for_namespace("other").add("elsewhere")
        memory.search("word3", limit=1)
        memory.upkeep.flush()
        records = memory.get_all().memories
        links, stats = memory.links(), memory.stats(everywhere=True)["namespaces"]
        hits = [(h.id, h.score) for h in memory.search("apple word3", touch=False)]
        again = self.reopen(memory)
        assert again.get_all().memories == records
        assert again.links() == links
        assert again.stats(everywhere=True)["namespaces"] == stats
        assert [(h.id, h.score) for h in again.search("apple word3", touch=False)] == hits
        again.close()

    def test_a_closed_store_says_so(self, memory: Memory) -> None:
        memory.close()
        calls: list[Callable[[], Any]] = [
            lambda: memory.add("x"),
            lambda: memory.search("x"),
            lambda: memory.get("x"),
            lambda: memory.get_all(),
            lambda: memory.delete("x"),
            lambda: memory.stats(),
            lambda: memory.links(),
        ]
        for call in calls:
            with pytest.raises(StoreClosed, match="closed"):
                call()
        memory.close()

    def test_ten_thousand_memories(self, memory: Memory) -> None:
        items = [
            {
                "id": f"m{i:05}",
                "content": f"entry number{i} of group{i % 100} with shared words",
                "session_id": f"s{i // 50}",
                "speaker": f"p{i % 2}",
                "importance": (i % 11) / 10,
                "metadata": {"i": i},
            }
            for i in range(10_000)
        ]
        assert len(memory.add_many(items).ids) == 10_000
        for i in (0, 4_999, 9_999):
            assert search_ids(memory, f"number{i}") == [f"m{i:05}"]
        group = [f"m{i:05}" for i in range(42, 10_000, 100)]
        assert sorted(search_ids(memory, "group42")) == group
        assert search_ids(memory, "shared words", limit=1000) == [f"m{i:05}" for i in range(1000)]
        assert memory.get_all({"metadata.i": {"gte": 9_990}}).total == 10
        assert memory.delete_all({"metadata.i": {"lt": 4_000}}).memories == 4_000
        assert sorted(search_ids(memory, "group42")) == [id for id in group if id >= "m04000"]
        assert search_ids(memory, "number3999") == []
        memory.update("m04000", content="changed beyond recognition")
        memory.add("one more with group42", id="late")
        assert len(search_ids(memory, "group42")) == 61
        assert search_ids(memory, "number4000") == []
        assert search_ids(memory, "recognition") == ["m04000"]
        assert memory.stats()["memories"] == 6_001


class Concurrency(StoreCase):
    """Several threads use one memory."""

    def _together(self, jobs: list[Callable[[], Any]]) -> list[Any]:
        start = threading.Barrier(len(jobs))

        def run(job: Callable[[], Any]) -> Any:
            start.wait()
            return job()

        with ThreadPoolExecutor(len(jobs)) as pool:
            return [future.result() for future in [pool.submit(run, job) for job in jobs]]

    def test_concurrent_writers_lose_nothing(self, memory: Memory) -> None:
        def write(who: int) -> None:
            for i in range(12):
                memory.add(f"apple from{who} number{i}", id=f"w{who}-{i:02}", session_id=f"s{who}")
                assert f"w{who}-{i:02}" in search_ids(memory, f"from{who}")
            memory.add_many(({"content": f"bulk from{who}"} for _ in range(40)), dedup=False)

        self._together([lambda who=who: write(who) for who in range(THREADS)])  # type: ignore[misc]
        assert memory.get_all(limit=1).total == THREADS * 52
        assert len(search_ids(memory, "apple")) == THREADS * 12
        for who in range(THREADS):
            assert len(search_ids(memory, f"from{who}")) == 52

    def test_an_id_is_given_once(self, memory: Memory) -> None:
        def claim(who: int) -> str | None:
            try:
                return memory.add(f"claimed by number{who}", id="prize").id
            except InvalidInput:
                return None

        for _ in range(5):
            won = self._together([lambda who=who: claim(who) for who in range(THREADS)])  # type: ignore[misc]
            assert Counter(won) == {"prize": 1, None: THREADS - 1}
            assert len(search_ids(memory, "claimed")) == 1
            memory.delete("prize")

    def test_what_is_kept_from_an_erasure_stays(self, memory: Memory) -> None:
        ids = [f"m{i:03}" for i in range(300)]
        memory.add_many({"id": id, "content": id, "metadata": {"old": 1}} for id in ids)

        def keep(ids: Sequence[str]) -> list[str]:
            updated_ids = []
            for id in ids:
                with suppress(NotFound):
                    updated_ids.append(memory.update(id, metadata={"old": 0}).id)
            return updated_ids

        def erase() -> list[str]:
            while memory.get_all({"metadata.old": 0}, limit=1).total < 9:
                time.sleep(0.001)
            memory.delete_all({"metadata.old": {"gte": 1}})
            return []

        updated_ids = self._together([lambda: keep(ids[::2]), lambda: keep(ids[1::2]), erase])
        assert sorted(list_ids(memory)) == sorted(chain(*updated_ids))

    def test_what_happens_finds_memories_that_are_being_edited(self, memory: Memory) -> None:
        memory.add("apple 0", id="one")

        def edit() -> None:
            for i in range(1, 40):
                memory.update("one", content=f"apple {i}")

        def judge() -> None:
            for _ in range(40):
                memory.feedback("one", "useful")

        self._together([edit, judge, judge])
        record = get_record(memory, "one")
        assert (record.content, record.feedback_for) == ("apple 39", 80)
        assert memory.upkeep.verify()

    def test_no_access_is_lost(self, memory: Memory) -> None:
        memory.add("apple", id="one")

        def look() -> None:
            for _ in range(25):
                memory.search("apple", profile=WORDS)

        self._together([look] * THREADS)
        assert get_record(memory, "one").access_count == THREADS * 25
        assert list_ids(memory, {"access_count": THREADS * 25}) == ["one"]
        memory.upkeep.flush()
        assert get_record(memory, "one").access_count == THREADS * 25
        assert list_ids(memory, {"access_count": THREADS * 25}) == ["one"]

    def test_searching_while_everything_changes(self, memory: Memory) -> None:
        ids = [f"m{i}" for i in range(30)]
        memory.add_many({"id": id, "content": f"apple {id}"} for id in ids)
        done, turns = threading.Event(), threading.Semaphore(0)

        def change() -> None:
            try:
                for round_ in range(3):
                    for id in ids[::3]:
                        memory.delete(id)
                        turns.release()  # readers that never pause would starve the writer
                    for id in ids[::3]:
                        memory.add(f"apple again{round_}", id=id)
                    for id in ids[1::3]:
                        memory.update(id, content=f"apple changed{round_}")
            finally:
                done.set()

        def look() -> None:
            while not done.is_set():
                for profile in ("balanced", "composite"):
                    hits = memory.search("apple", profile=profile, limit=40, explain=True)
                    assert len(set(hits.ids)) == len(hits)
                    assert all(h.explanation and h.explanation.value == h.score for h in hits)
                with suppress(NotFound):  # it may be away at the moment
                    memory.explain("apple", ids[0])
                turns.acquire(timeout=0.5)

        self._together([change, look, look])
        assert sorted(list_ids(memory)) == sorted(ids)
        assert len(search_ids(memory, "apple")) == 30
        assert len(search_ids(memory, "again2")) == len(ids[::3])
        assert search_ids(memory, "again1") == search_ids(memory, "changed1") == []
