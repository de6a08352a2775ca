"""Vectors of the caller, accesses, and the neighbors of a turn in its session."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput
from salience.ranking.expressions import Col
from salience.ranking.stages import cut, retrieve, score
from salience.retrieval.routes import Lexical, Vector
from salience.testing.conformance._case import (
    EVERYTHING,
    START,
    WORDS,
    Clock,
    StoreCase,
    get_record,
    list_ids,
    search_ids,
)


class Vectors(StoreCase):
    """Vectors of the caller, missing vectors, zero vectors."""

    def test_vectors_of_ones_own_are_compared_by_name(self, memory: Memory) -> None:
        embedding = self.embedder.embed(["target"])[0]
        memory.add("nothing alike", id="a", vectors={"image": embedding.tolist()})
        memory.add("nothing either", id="b", vectors={"image": (-embedding).tolist()})
        memory.add("target", id="c", vectors={"image": np.zeros_like(embedding)})
        memory.add("target", id="d")
        by_image = Profile(
            "by_image",
            retrieve(Vector("image", name="image"), depth=None)
            >> score(Col("image.score"))
            >> cut(),
        )
        hits = memory.search("target", profile=by_image, touch=False)
        assert hits.ids == ("a", "c", "b")
        assert [hit.score for hit in hits] == pytest.approx([1.0, 0.0, -1.0], abs=2e-3)
        assert hits[1].score == 0.0
        assert search_ids(memory, "target", profile=EVERYTHING)[:2] == ["c", "d"]

    def test_vectors_of_erased_memories_are_none(self, memory: Memory) -> None:
        by_image = Profile(
            "by_image",
            retrieve(Vector("image", name="image"), Lexical())
            >> score(Col("image.score").default(0.0) + Col("lexical.score").default(0.0))
            >> cut(),
        )
        memory.add("an apple", id="a")
        memory.add("an apple", id="b", vectors={"image": [1.0, 0.0, 0.0]})
        with pytest.raises(InvalidInput, match="3 dimensions"):
            memory.search("apple", profile=by_image, touch=False)
        memory.delete("b")
        hits = memory.search("apple", profile=by_image, touch=False)
        assert hits.ids == ("a",)
        assert hits.degraded == ("image: no memory has a vector 'image'",)

    def test_a_content_vector_of_ones_own_replaces_the_embedders(self, memory: Memory) -> None:
        pears = self.embedder.embed(["pears"])[0].tolist()
        memory.add("apples", id="a", vectors={"content": pears})
        [hit] = memory.search("pears", profile=EVERYTHING)
        assert hit.score == pytest.approx(1.0, abs=2e-3)

    def test_a_memory_without_a_vector_is_found_by_words_only(self, memory: Memory) -> None:
        memory.close()
        without = self.open_memory(embedder=None, namespace="plain")
        result = without.add("an apple", id="a")
        assert any("embedder" in lack for lack in result.degraded)
        assert search_ids(without, "apple") == ["a"]
        assert search_ids(without, "apple", profile=EVERYTHING) == []
        hits = without.search("apple")
        assert hits.ids == ("a",)
        assert any(lack.startswith("vector") for lack in hits.degraded)
        without.close()

    def test_what_a_profile_does_not_use_is_not_lacking(self, memory: Memory) -> None:
        memory.add("an apple", id="a")
        assert memory.search("??", profile="composite", touch=False).degraded == ()
        assert memory.search("??", profile=WORDS, touch=False).degraded == (
            "lexical: the query has no words to look for",
        )
        memory.close()
        with self.open_memory(embedder=None, namespace="plain") as without:
            without.add("an apple", id="a")
            assert without.search("apple", profile=WORDS, touch=False).degraded == ()

    def test_vectors_of_another_length_are_refused(self, memory: Memory) -> None:
        memory.add("x", id="a", vectors={"image": [1.0, 2.0, 3.0]})
        for vectors, field in (
            ({"image": [1.0, 2.0]}, "vectors.image"),
            ({"content": [1.0]}, "vectors.content"),
        ):
            with pytest.raises(InvalidInput) as caught:
                memory.add("y", vectors=vectors)
            assert caught.value.field == field
        result = memory.add_many(
            [
                {"id": "b", "content": "y", "vectors": {"image": [1.0]}},
                {"id": "c", "content": "z", "vectors": {"sound": [1.0, 0.0]}},
                {"id": "d", "content": "z", "vectors": {"sound": [1.0]}},
            ]
        )
        assert result.ids == ("c",)
        assert sorted(list_ids(memory)) == ["a", "c"]
        memory.for_namespace("other").add("y", vectors={"image": [1.0]})
        image = Profile(
            "image",
            retrieve(Vector("image", name="i"), depth=None) >> score(Col("i.score")) >> cut(),
        )
        with pytest.raises(InvalidInput, match=r"vectors\.image"):
            memory.search("x", profile=image)
        memory.delete_all({"id": "a"})
        memory.add("y", id="a", vectors={"image": self.embedder.embed(["y"])[0].tolist()})
        assert search_ids(memory, "y", profile=image) == ["a"]

    def test_text_without_words_has_no_direction(self, memory: Memory) -> None:
        memory.add("🎉", id="party")
        memory.add("words", id="words")
        hits = {hit.id: hit.score for hit in memory.search("words", profile=EVERYTHING)}
        assert hits["party"] == 0.0
        assert memory.search("🎉").ids == memory.search("🎉").ids


class Accesses(StoreCase):
    """A search counts an access of each hit; nothing else does."""

    def test_a_search_touches_what_it_returned(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": f"m{i}", "content": "apple " * (4 - i) + "pear"} for i in range(4))
        clock.pass_(hours=1)
        hits = memory.search("apple", profile=WORDS, limit=2)
        assert [hit.record.access_count for hit in hits] == [0, 0]
        for id in ("m0", "m1"):
            assert get_record(memory, id).access_count == 1
            assert get_record(memory, id).last_accessed == clock.now
        for id in ("m2", "m3"):
            assert (get_record(memory, id).access_count, get_record(memory, id).last_accessed) == (
                0,
                None,
            )
        clock.pass_(hours=1)
        memory.search("apple", profile=WORDS, limit=1)
        assert get_record(memory, "m0").access_count == 2
        assert get_record(memory, "m0").last_accessed == clock.now
        assert sorted(list_ids(memory, {"access_count": {"gt": 0}})) == ["m0", "m1"]
        assert get_record(memory, "m0").updated_at == START

    def test_an_earlier_present_does_not_turn_back_the_last_access(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("apple", id="one")
        memory.search("apple")
        memory.search("apple", now=clock.now - timedelta(days=9))
        assert get_record(memory, "one").access_count == 2
        assert get_record(memory, "one").last_accessed == clock.now

    def test_looking_is_no_access(self, memory: Memory) -> None:
        memory.add("apple", id="one")
        memory.search("apple", touch=False)
        memory.explain("apple", "one")
        memory.get("one")
        memory.get_all()
        memory.links("one")
        memory.update("one", importance=0.5)
        assert (
            get_record(memory, "one").access_count,
            get_record(memory, "one").last_accessed,
        ) == (
            0,
            None,
        )

    def test_an_access_counts_in_the_next_search(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": "apple"} for id in "ab")
        clock.pass_(days=30)
        assert search_ids(memory, "apple", profile="composite") == ["a", "b"]
        memory.search("apple", filters={"id": "b"})
        assert search_ids(memory, "apple", profile="composite") == ["b", "a"]
        memory.upkeep.flush()
        assert search_ids(memory, "apple", profile="composite") == ["b", "a"]
        assert get_record(memory, "b").access_count == 1

    def test_accesses_outlive_the_store(self, memory: Memory, clock: Clock) -> None:
        memory.add("apple", id="one")
        for _ in range(3):
            memory.search("apple")
        again = self.reopen(memory, clock=clock)
        assert get_record(again, "one").access_count == 3
        assert get_record(again, "one").last_accessed == clock.now
        again.close()


class SessionTurns(StoreCase):
    """The turns right before and after a turn in its session count for it, too."""

    before = Profile(
        "before", retrieve(Lexical(before=0.5)) >> score(Col("lexical.score")) >> cut()
    )
    after = Profile("after", retrieve(Lexical(after=0.5)) >> score(Col("lexical.score")) >> cut())

    def _turn(self, memory: Memory, minute: int, content: str, session: str = "s") -> None:
        memory.add(
            content,
            id=f"{session}{minute:02}",
            session_id=session,
            speaker=("Ana", "Bo")[minute % 2],
            created_at=START + timedelta(minutes=minute),
        )

    def _near(self, memory: Memory, word: str) -> tuple[list[str], list[str]]:
        return search_ids(memory, word, profile=self.before), search_ids(
            memory, word, profile=self.after
        )

    def test_neighbours_follow_every_change(self, memory: Memory) -> None:
        for minute, content in ((30, "cherry"), (11, "apple"), (20, "banana"), (41, "damson")):
            self._turn(memory, minute, content)
        self._turn(memory, 25, "cherry elsewhere", session="t")
        assert self._near(memory, "banana") == (["s20", "s30"], ["s20", "s11"])
        self._turn(memory, 15, "between")
        assert self._near(memory, "banana") == (["s20", "s30"], ["s20", "s15"])
        memory.delete("s30")
        assert self._near(memory, "banana") == (["s20", "s41"], ["s20", "s15"])
        memory.update("s20", content="elderberry")
        assert self._near(memory, "banana") == ([], [])
        assert self._near(memory, "elderberry") == (["s20", "s41"], ["s20", "s15"])
        memory.update("s20", created_at=START + timedelta(minutes=59))
        assert self._near(memory, "elderberry") == (["s20"], ["s20", "s41"])
        memory.update("s20", session_id="t")
        assert self._near(memory, "elderberry") == (["s20"], ["s20", "t25"])
        memory.update("s41", session_id=None)
        # Only Bo is left in the session, and nobody answers himself.
        assert self._near(memory, "between") == (["s15"], ["s15"])
        memory.update("s11", speaker="Ana")
        assert self._near(memory, "between") == (["s15"], ["s15", "s11"])

    def test_turns_of_one_moment_stand_in_the_order_of_writing(self, memory: Memory) -> None:
        for id, speaker in (("c", "Ana"), ("a", "Bo"), ("b", "Ana")):
            memory.add(f"word{id}", id=id, speaker=speaker, session_id="s", created_at=START)
        assert self._near(memory, "worda") == (["a", "b"], ["a", "c"])
        memory.update("c", content="wordnew")  # it keeps its place
        assert self._near(memory, "wordnew") == (["c", "a"], ["c"])

    def test_notes_have_no_neighbours(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"word{id}"} for id in "abc")
        assert self._near(memory, "wordb") == (["b"], ["b"])


class Hits(StoreCase):
    """A hit has the fields of its memory."""

    def test_a_hit_reads_like_its_memory(self, memory: Memory) -> None:
        memory.add("an apple", id="a", kind="fact", tags=["fruit"], title="Apple", speaker="Ana")
        memory.add("two apples", id="b", importance=0.0, relevance_score=0.9)
        hits = {hit.id: hit for hit in memory.search("apple", touch=False)}
        for id, hit in hits.items():
            record = get_record(memory, id)
            assert hit.record == record
            assert (hit.kind, hit.tags, hit.title, hit.speaker) == (
                record.kind,
                record.tags,
                record.title,
                record.speaker,
            )
            assert hit.updated_at == record.updated_at
        assert (hits["a"].importance, hits["a"].relevance_score) == (0.5, 0.5)
        assert (hits["b"].importance, hits["b"].relevance_score) == (0.0, 0.9)
        read = get_record(memory, "a")
        assert (read.importance, read.relevance_score) == (0.5, 0.5)
        assert [r.id for r in memory.get_all({"importance": None})] == ["a"]
