"""Durability: erased memories, reopening, many memories, threads, vectors made anew."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, count
from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.errors import (
    EmbedderMismatch,
    InvalidInput,
    NotFound,
    StoreClosed,
    VersionConflict,
)
from salience.ranking.profiles import BUILT_IN
from salience.ranking.stages.stage import STORED
from salience.retrieval import operations
from salience.retrieval.plan import drive
from salience.search.search import search
from salience.testing.conformance._case import (
    EVERYTHING,
    WORDS,
    StoreCase,
    get_record,
    list_ids,
    perform,
    search_ids,
)
from salience.testing.embedder import WordHashEmbedder

THREADS = 6
NEW = WordHashEmbedder(48)


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
        memory.within("other").add("elsewhere")
        memory.search("word3", limit=1)
        memory.flush()
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


class ErasureDuringSearch(StoreCase):
    """Memories that are erased during a search are treated like ones that never existed."""

    def test_columns_of_what_is_gone_are_of_the_same_kind(self, memory: Memory) -> None:
        names = (*sorted(STORED), "metadata.k")
        memory.add("An apple.", id="a", session_id="s", tags=["x"], metadata={"k": 1})
        rows = np.array(
            [*perform(memory, operations.RowsById("default", ("a",))).values()], dtype=np.int64
        )
        there = perform(memory, operations.FetchColumns(rows, names))
        kinds = {name: np.asarray(there[name]) for name in names}
        memory.delete("a")
        assert search_ids(memory, "apple") == []
        gone = perform(memory, operations.FetchColumns(rows, names))
        for name in names:
            column = np.asarray(gone[name])
            assert (column.shape, column.dtype) == (kinds[name].shape, kinds[name].dtype), name
            assert all(value is None or value != value for value in column.flat), name

    @pytest.mark.parametrize("profile", BUILT_IN)
    @pytest.mark.parametrize("left", [(), ("x",)], ids=["all", "all but one"])
    def test_a_search_outlives_what_it_looks_at(
        self, memory: Memory, profile: str, left: tuple[str, ...]
    ) -> None:
        for before in range(1, 8):
            own = memory.within(f"before batch {before}")
            own.add("the tea budget", id="x", speaker="Ana", session_id="s", tags=["tea"])
            own.add("unlike anything", id="y", speaker="Ana", session_id="s", kind="session")
            own.link("x", "y")
            batches = count()

            def meanwhile(
                ops: Sequence[operations.Op],
                own: Memory = own,
                before: int = before,
                n: Any = batches,
            ) -> Sequence[Any]:
                if next(n) == before:
                    own.delete_all({"id": {"nin": left}})
                    own.search("other", touch=False)
                return own._core.dispatcher.batch(ops)

            hits = drive(search(own._core.request("tea budget of Ana", profile=profile)), meanwhile)
            assert set(hits.ids) <= {"x", "y"}


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
        assert memory.verify()

    def test_no_access_is_lost(self, memory: Memory) -> None:
        memory.add("apple", id="one")

        def look() -> None:
            for _ in range(25):
                memory.search("apple", profile=WORDS)

        self._together([look] * THREADS)
        assert get_record(memory, "one").access_count == THREADS * 25
        assert list_ids(memory, {"access_count": THREADS * 25}) == ["one"]
        memory.flush()
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


class Reembedding(StoreCase):
    """Two sets of vectors: one is searched at any time."""

    def step(self, memory: Memory, step: Any, to: Any = None, **options: Any) -> Any:
        """Take a step of re-embedding the store of a memory."""
        store = memory._core.dispatcher.store
        return Memory.reembedding(store, to, step=step, **options)

    def filled(self, memory: Memory) -> list[Any]:
        """Add memories with passages and others' vectors; what searches find."""
        memory.add("Ana plays the cello", id="ana", vectors={"image": [1.0, 0.0]})
        memory.add("Ben rows on the lake", id="ben")
        memory.add("\n\n".join(f"Part {i}: word{i} " * 60 for i in range(12)), id="long")
        memory.within("team").add("Deploys happen on Tuesdays", id="deploy")
        return self.found(memory)

    def found(self, memory: Memory) -> list[Any]:
        """The hits of some searches, with scores and routes."""
        return [
            [(hit.id, hit.score, *sorted(hit.routes)) for hit in space.search(text, touch=False)]
            for space in (memory, memory.within("team"))
            for text in ("who plays the cello", "word7", "when are deploys")
        ]

    def test_searches_use_the_old_vectors_until_the_cut_over_and_again_after_a_way_back(
        self, memory: Memory
    ) -> None:
        before = self.filled(memory)
        filled = self.step(memory, "fill", NEW)
        assert (filled.made, filled.embedded, filled.memories) == (4, 4, 4)
        assert (filled.beside, filled.is_former) == (str(NEW.identity), False)
        assert self.found(memory) == before
        cut = self.step(memory, "cut_over", NEW)
        assert (cut.searched, cut.beside) == (str(NEW.identity), str(self.embedder.identity))
        result = memory.search("who plays the cello")
        assert (result.ids[0], "vector" in result.hits[0].routes) == ("ana", False)
        assert str(NEW.identity) in result.degraded[0]
        with pytest.raises(EmbedderMismatch):
            memory.add("A fourth")
        other = Memory.open(memory._core.dispatcher.store, embedder=NEW)
        assert "vector" in other.search("who plays the cello").hits[0].routes
        assert other.search("a b", profile=EVERYTHING).hits
        other.add("Cara bakes bread", id="cara")
        back = self.step(memory, "roll_back", self.embedder)
        assert (back.made, back.is_former) == (1, True)
        assert memory.delete("cara")
        assert self.found(memory) == before
        assert self.step(memory, "finish").beside is None
        assert self.found(memory) == before

    def test_it_ranks_as_if_it_had_always_been_so(self, memory: Memory) -> None:
        self.filled(memory)
        self.step(memory, "fill", NEW)
        compared = self.step(memory, "compare", NEW, embedder=self.embedder).agreement
        assert (compared.queries, compared.recall_before) == (4, None)
        judged = [{"query": "cello", "relevant": ["ana"]}, "lake"]
        compared = self.step(memory, "compare", NEW, embedder=self.embedder, queries=judged)
        assert (compared.agreement.recall_before, compared.agreement.recall_after) == (1.0, 1.0)
        self.step(memory, "cut_over", NEW)
        self.step(memory, "finish")
        with Memory.open("ram://", embedder=NEW) as fresh:
            self.filled(fresh)
            other = Memory.open(memory._core.dispatcher.store, embedder=NEW)
            assert self.found(other) == self.found(fresh)
            assert other.stats()["embedder"] == str(NEW.identity)

    def test_every_memory_has_both_vectors_that_others_write_meanwhile(
        self, memory: Memory
    ) -> None:
        memory.add_many([{"id": f"m{i}", "content": f"Box {i} of tea"} for i in range(8)])
        stop, problems = threading.Event(), list[BaseException]()

        def write(number: int) -> None:
            try:
                for i in range(60):
                    if stop.is_set():
                        return
                    memory.add(f"Crate {number} {i}", id=f"w{number}-{i}")
                    memory.update(f"m{(number + i) % 8}", content=f"Box {number} {i} of coffee")
                    memory.update(f"m{(number + i + 3) % 8}", tags=[f"t{i}"])
            except EmbedderMismatch:
                pass  # it has been cut over
            except VersionConflict:
                pass
            except BaseException as problem:
                problems.append(problem)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for writer in writers:
            writer.start()
        try:
            self.step(memory, "fill", NEW)
            self.step(memory, "cut_over", NEW)
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        assert problems == []
        other = Memory.open(memory._core.dispatcher.store, embedder=NEW)
        assert not other.search("box of tea", touch=False).degraded
        records = list(other.iterate())
        row_of = perform(other, operations.RowsById("default", tuple(r.id for r in records)))
        rows = np.array(sorted(row_of.values()), dtype=np.int64)
        vectors = perform(other, operations.FetchVectors(rows, "content"))
        texts = [record.content for record in perform(other, operations.ReadRecords(rows))]
        expected = NEW.embed(texts).astype(np.float16).astype(np.float32)
        wrong = [texts[i] for i in range(len(texts)) if not np.array_equal(vectors[i], expected[i])]
        assert wrong == [], wrong

    def test_a_step_at_the_wrong_time_is_refused_with_what_can_be_done(
        self, memory: Memory
    ) -> None:
        third = WordHashEmbedder(16)
        self.filled(memory)
        assert "--to NAME" in self.step(memory, "status").next
        for step, remedy in (("roll_back", "no former"), ("compare", "make them first")):
            with pytest.raises(InvalidInput, match=remedy):
                self.step(memory, step, NEW)
        self.step(memory, "fill", NEW)
        with pytest.raises(InvalidInput, match="--cut-over first"):
            self.step(memory, "finish")
        assert self.step(memory, "give_up").beside is None
        self.step(memory, "fill", third)
        assert self.step(memory, "fill", NEW).beside == str(NEW.identity)  # in its place
        self.step(memory, "cut_over", NEW)
        with pytest.raises(InvalidInput, match="--finish"):
            self.step(memory, "fill", third)
        with pytest.raises(InvalidInput, match="former ones"):
            self.step(memory, "give_up")
