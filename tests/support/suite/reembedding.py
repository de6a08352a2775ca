"""Searches while memories are erased, and while their vectors are rebuilt."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

from salience import Memory
from salience.errors import EmbedderMismatch, InvalidInput, VersionConflict
from salience.ranking.profiles import BUILT_IN
from salience.ranking.stages.stage import STORED
from salience.retrieval import operations
from salience.retrieval.plan import drive
from salience.search.search import search
from salience.testing.conformance._case import EVERYTHING, StoreCase, perform, search_ids
from salience.testing.embedder import WordHashEmbedder
from support.waiting import HANG_SECONDS

NEW = WordHashEmbedder(48)


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

    @pytest.mark.one_in(7)
    @pytest.mark.parametrize("profile", BUILT_IN)
    @pytest.mark.parametrize("left", [(), ("x",)], ids=["all", "all but one"])
    def test_a_search_outlives_what_it_looks_at(
        self, memory: Memory, profile: str, left: tuple[str, ...]
    ) -> None:
        for before in range(1, 8):
            own = memory.for_namespace(f"before batch {before}")
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


class Reembedding(StoreCase):
    """Two sets of vectors: one is searched at any time."""

    def step(self, memory: Memory, step: Any, to: Any = None, **options: Any) -> Any:
        """Take a step of re-embedding the store of a memory."""
        store = memory._core.dispatcher.store
        return Memory.upkeep.reembedding(store, to, step=step, **options)

    def filled(self, memory: Memory) -> list[Any]:
        """Add memories with passages and others' vectors; what searches find."""
        memory.add("Ana plays the cello", id="ana", vectors={"image": [1.0, 0.0]})
        memory.add("Ben rows on the lake", id="ben")
        memory.add("\n\n".join(f"Part {i}: word{i} " * 60 for i in range(12)), id="long")
        memory.for_namespace("team").add("Deploys happen on Tuesdays", id="deploy")
        return self.found(memory)

    def found(self, memory: Memory) -> list[Any]:
        """The hits of some searches, with scores and routes."""
        return [
            [(hit.id, hit.score, *sorted(hit.routes)) for hit in space.search(text, touch=False)]
            for space in (memory, memory.for_namespace("team"))
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
        self.check_vectors(memory)

    def test_it_ends_however_steadily_others_write(self, memory: Memory) -> None:
        memory.add_many([f"Box {i} of tea" for i in range(8)])
        stop, problems = threading.Event(), list[BaseException]()

        def write(number: int) -> None:
            own, batches = memory.for_namespace(f"team {number}"), count()
            try:
                while not stop.is_set():
                    own.add_many([f"Crate {next(batches)} {number} {i}" for i in range(5)])
            except EmbedderMismatch:
                pass  # it has been cut over
            except BaseException as problem:
                problems.append(problem)

        cut = threading.Thread(target=self.step, args=(memory, "cut_over", NEW), daemon=True)
        writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for thread in (*writers, cut):
            thread.start()
        cut.join(HANG_SECONDS)
        stop.set()
        for writer in writers:
            writer.join()
        assert not cut.is_alive()
        assert problems == []
        for number in range(3):
            self.check_vectors(memory.for_namespace(f"team {number}"))

    def check_vectors(self, memory: Memory) -> None:
        """All memories of a namespace are found by their vectors of the new embedder."""
        store = memory._core.dispatcher.store
        other = Memory.open(store, embedder=NEW, namespace=memory.namespace)
        assert not other.search("box of tea", touch=False).degraded
        records = list(other.iterate())
        ids = tuple(record.id for record in records)
        row_of = perform(other, operations.RowsById(memory.namespace, ids))
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
