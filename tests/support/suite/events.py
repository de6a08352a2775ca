"""Events: the log, the state of a memory after its events, the past."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations_with_replacement
from threading import Timer
from typing import Any

import numpy as np
import pytest

from salience import Memory, Profile
from salience.errors import InvalidInput, NotFound
from salience.lifecycle.verify import history
from salience.ranking.profiles import BUILT_IN
from salience.records.events import FEEDBACK_WEIGHTS, STATE, Event, replay
from salience.records.record import ASSUMED
from salience.records.tombstones import Erasing
from salience.retrieval import operations
from salience.retrieval.plan import drive
from salience.testing.conformance._case import (
    EVERYTHING,
    START,
    WORDS,
    Clock,
    StoreCase,
    get_record,
    perform,
)
from salience.write import judgments

PROFILES: tuple[str | Profile, ...] = (
    WORDS,
    EVERYTHING,
    "balanced",
    "composite",
    "six_factor",
    "activation",
    "vitality",
)


def events(memory: Memory, *ids: str, **options: Any) -> list[Event]:
    """The log of some memories, or of the whole namespace."""
    return list(perform(memory, operations.Events(memory.namespace, ids or None, **options)))


def types_and_ids(events: list[Event]) -> list[tuple[str, str | None]]:
    """The type and id of each event."""
    return [(event.type, event.id) for event in events]


class EventLog(StoreCase):
    """The log has every event, and memories are what a replay of it gives."""

    def test_the_newest_events_come_first_and_the_next_are_waited_for(self, memory: Memory) -> None:
        memory.add_many([{"content": f"about {id}", "id": id} for id in "abc"])
        latest = memory.events(limit=2, order="newest")
        assert [event.id for event in latest] == ["c", "b"]
        assert len(memory.events(latest.cursor)) == 0
        assert len(memory.events(latest.cursor, wait=0.01)) == 0
        later = Timer(0.3, lambda: memory.pin("b"))
        later.start()
        try:
            waited = memory.events(latest.cursor, order="newest", wait=30)
        finally:
            later.join()
        assert [(event.type, event.id) for event in waited] == [("pin", "b")]
        for wrong in ({"order": "best"}, {"wait": 31}, {"wait": -1}):
            with pytest.raises(InvalidInput, match=next(iter(wrong))):
                memory.events(**wrong)

    def test_each_thing_that_happens_is_an_event(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a", importance=0.4)
        memory.add("A pear.", id="b", links=[{"target": "a", "type": "supports", "weight": 0.5}])
        clock.pass_(hours=1)
        memory.search("apple", profile=WORDS)
        memory.update("a", content="A plum.", importance=0.6)
        memory.update("b", importance=0.1)
        memory.link("a", "b")
        log = events(memory)
        assert types_and_ids(log) == [
            ("write", "a"),
            ("write", "b"),
            ("link", "b"),
            ("retrieval", "a"),
            ("edit", "a"),
            ("edit", "b"),
            ("link", "a"),
        ]
        assert [event.seq for event in log] == sorted({event.seq for event in log})
        assert [event.at for event in log] == [START] * 3 + [clock.now] * 4
        assert log[0].payload == {"set": {"importance": 0.4}}
        link = {"target": "a", "link": "supports", "weight": 0.5}
        assert log[2].payload == {**link, "brought": True}  # it came with the contents
        assert log[4].payload == {
            "was": {"content": "An apple.", "importance": 0.4},
            "set": {"importance": 0.6},
        }
        was = {"importance": None}
        assert log[5].payload == {"set": {"importance": 0.1}, "was": was}

    def test_the_log_can_be_asked_by_part(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        memory.update("b", importance=0.5)
        memory.for_namespace("other").add("thing", id="b")
        assert types_and_ids(events(memory, "b")) == [("write", "b"), ("edit", "b")]
        assert types_and_ids(events(memory, types=("edit",))) == [("edit", "b")]
        assert types_and_ids(events(memory, last=2)) == [("write", "c"), ("edit", "b")]
        [*_, before, _] = events(memory)
        assert types_and_ids(events(memory, after=before.seq)) == [("edit", "b")]
        assert events(memory, "nobody") == events(memory.for_namespace("nowhere")) == []

    def test_what_an_event_sets_is_set(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "ab")
        at = clock.pass_(days=2)
        pinned = Event("pin", "a", at, "ana", "s1", {"set": {"pinned": 1.0}})
        useful = Event("feedback", "b", at, payload={"feedback": "useful"})
        assert perform(memory, operations.Log("default", (pinned, useful, useful))) == ()
        assert get_record(memory, "a").pinned == 1.0
        assert get_record(memory, "a").updated_at == at
        assert get_record(memory, "b").feedback_for == 2.0
        [_, event] = events(memory, "a")
        assert (event.actor, event.session) == ("ana", "s1")
        assert event.payload == {"set": {"pinned": 1.0}, "was": {"pinned": None}}
        listing = memory.get_all({"pinned": 1.0})
        assert [each.id for each in listing] == ["a"]

    def test_an_event_of_nobody_changes_nothing(self, memory: Memory, clock: Clock) -> None:
        memory.add("x", id="a")
        one = Event("pin", "a", clock.now, payload={"set": {"pinned": 1.0}})
        other = Event("pin", "nobody", clock.now, payload={"set": {"pinned": 1.0}})
        assert perform(memory, operations.Log("default", (one, other))) == ("nobody",)
        assert perform(memory, operations.Log("nowhere", (one,))) == ("a",)
        assert get_record(memory, "a").pinned is None
        assert types_and_ids(events(memory)) == [("write", "a")]

    def test_memories_are_erased_with_events_or_neither(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        one = Event("pin", "a", clock.now, payload={"set": {"pinned": 1.0}})
        other = Event("pin", "nobody", clock.now, payload={"set": {"pinned": 1.0}})
        erasing = Erasing(clock.now, "ana", "undo")
        refused = operations.Log("default", (one, other), (), ("b", "c"), erasing)
        assert perform(memory, refused) == ("nobody",)
        assert memory.count() == 3
        assert get_record(memory, "a").pinned is None
        done = operations.Log("default", (one,), (), ("b", "c", "gone"), erasing)
        assert perform(memory, done) == ()
        assert get_record(memory, "a").pinned == 1.0
        assert memory.search("thing", touch=False).ids == ("a",)
        logged = events(memory)
        assert types_and_ids(logged) == [("write", "a"), ("erase", None), ("pin", "a")]
        assert logged[1] == erasing.event(2, logged[1].seq)
        assert perform(memory, operations.Log("default", (), (), ("a",), erasing)) == ()
        assert memory.count() == 0

    def test_an_event_of_all_is_logged_once(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": "x", "strength": 0.5} for id in "abc")
        at = clock.pass_(days=10)
        perform(memory, operations.Log("default", (Event("decay", None, at),)))
        # 0.5 * exp(-0.01 * 10) = 0.5 * 0.904837418...
        assert {round(get_record(memory, id).strength or 0.0, 9) for id in "abc"} == {0.452418709}
        assert types_and_ids(events(memory, types=("decay",))) == [("decay", None)]
        assert types_and_ids(events(memory, "a")) == [("write", "a"), ("decay", None)]

    def test_uses_are_told_apart(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a")
        [row] = perform(memory, operations.RowsById("default", ("a",))).values()
        rows = np.array([row], dtype=np.int64)
        for type_ in ("retrieval", "read", "reference"):
            perform(memory, operations.Touch(rows, clock.pass_(hours=1), type_, "ana", "s1"))
        assert get_record(memory, "a").access_count == 3
        uses = events(memory, "a")[1:]
        assert types_and_ids(uses) == [("retrieval", "a"), ("read", "a"), ("reference", "a")]
        assert {(event.actor, event.session) for event in uses} == {("ana", "s1")}
        assert [event.at for event in uses] == [START + timedelta(hours=h) for h in (1, 2, 3)]

    def test_a_memory_is_what_its_events_say(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a", created_at=START - timedelta(days=30), tier="long")
        memory.add("A pear.", id="b", strength=0.25, metadata={"k": 1})
        for _ in range(12):
            clock.pass_(hours=7)
            memory.search("apple", profile=WORDS)
        memory.update("a", content="A red apple.", created_at=START - timedelta(days=3))
        memory.update("b", metadata={"k": 2}, expires_at=START + timedelta(days=9))
        perform(memory, operations.Log("default", (Event("decay", None, clock.pass_(days=1)),)))
        memory.search("apple", profile=WORDS)
        for id in "ab":
            state = replay(events(memory, id))[id]
            kept = get_record(memory, id)
            assert {n: state[n] for n in STATE if n not in ASSUMED} == {
                n: getattr(kept, n) for n in STATE if n not in ASSUMED
            }
            for name in ASSUMED:
                assert getattr(kept, name) == (0.5 if state[name] is None else state[name])

    def test_an_edit_keeps_the_old_words_and_vector(self, memory: Memory) -> None:
        memory.add("An apple.", id="a", tags=["fruit"], vectors={"image": [0.0, 1.0]})
        memory.update("a", content="A pear.", tags=None)
        [_, edit] = events(memory, "a")
        assert edit.payload["was"] == {"content": "An apple.", "tags": ["fruit"]}
        former = perform(memory, operations.FormerVectors("default"))
        assert [(seq, name) for seq, name, _ in former] == [(edit.seq, "content")]
        [vector] = self.embedder.embed(["An apple."], kind="document")
        assert np.array_equal(former[0][2], vector.astype(np.float16).astype(np.float32))

    def test_a_link_that_is_removed_is_told(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": "x"} for id in "ab")
        memory.link("a", "b", "supports", 0.5)
        gone = replace(memory.links("a")[0], created_at=clock.pass_(days=1))
        never = replace(gone, type="mentions")
        perform(memory, operations.Put((), unlinks=(gone, never)))
        assert memory.links() == []
        [*_, last] = events(memory)
        assert last.payload == {"target": "b", "link": "supports", "weight": None}
        assert (last.id, last.at) == ("a", clock.now)
        assert len(events(memory)) == 4

    def test_a_vector_beside_does_not_outlast_the_words_it_was_made_of(
        self, memory: Memory
    ) -> None:
        memory.add("Ana plays the cello", id="a")
        memory.add("Ben rows on the lake", id="b")
        unembedded = operations.Unembedded("default", "content", 9, beside=True)
        rows = perform(memory, unembedded)
        vectors = list(np.eye(2, dtype=np.float32))
        perform(
            memory,
            operations.PutVectors("default", "content", rows, vectors, "another", beside=True),
        )
        memory.update("a", tags=["music"])
        assert not len(perform(memory, unembedded))
        memory.update("a", content="The boiler needs a repair")
        [row] = perform(memory, operations.RowsById("default", ("a",))).values()
        assert perform(memory, unembedded).tolist() == [row]
        assert perform(memory, operations.CutOver("another", 0, lambda _: [])) is None
        former = perform(memory, operations.FormerVectors("default"))
        assert [name for _, name, _ in former] == ["content"]

    def test_what_is_erased_leaves_a_tombstone_alone(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        memory.link("b", "a")
        memory.link("a", "c")
        memory.update("a", content="A secret.")
        memory.update("a", content="Another.")
        memory.delete("a")
        kept = [("write", "b"), ("write", "c"), ("erase", None)]
        assert types_and_ids(events(memory)) == kept
        assert perform(memory, operations.FormerVectors("default")) == []
        memory.add("New.", id="a")
        assert types_and_ids(events(memory, "a")) == [("write", "a")]
        memory.upkeep.decay()
        memory.delete_all(namespace="default")
        assert types_and_ids(events(memory)) == [("erase", None)] * 2
        memory.add("New.", id="a")
        assert types_and_ids(events(memory))[2:] == [("write", "a")]

    def test_looking_leaves_everything_as_it_is(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        memory.link("a", "b")
        clock.pass_(days=100)
        before = events(memory), [get_record(memory, id) for id in "abc"]
        for profile in BUILT_IN:
            memory.search("thing", profile=profile, touch=False, explain=True)
            memory.explain("thing", "a", profile=profile)
        memory.inspect.compare("thing", ["composite", "vitality"])
        memory.get_context("thing", touch=False)
        looks: tuple[Any, ...] = (
            memory.get_all,
            memory.links,
            lambda: memory.links(pending=True),
            memory.stats,
        )
        for look in (
            *looks,
            memory.inspect.zones,
            memory.inspect.zone_shares,
            memory.upkeep.verify,
            memory.upkeep.audit,
        ):
            look()
        memory.upkeep.prune()
        memory.upkeep.consolidate()
        memory.upkeep.maintain(dry_run=True)
        memory.history("a")
        memory.upkeep.flush()
        assert (events(memory), [get_record(memory, id) for id in "abc"]) == before

    def test_mending_logs_nothing(self, memory: Memory) -> None:
        memory.add("x", id="a")
        perform(
            memory,
            operations.SetFields("default", {"a": {"access_count": 7}, "nobody": {"boost": 1.0}}),
        )
        assert get_record(memory, "a").access_count == 7
        assert types_and_ids(events(memory)) == [("write", "a")]

    def test_the_log_lasts(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a")
        clock.pass_(minutes=5)
        memory.search("apple", profile=WORDS)
        memory.update("a", content="A pear.")
        before = events(memory)
        again = self.reopen(memory)
        assert events(again) == before
        assert len(perform(again, operations.FormerVectors("default"))) == 1
        again.close()


class Judgments(StoreCase):
    """Uses, feedback, superseding, and the history of a memory."""

    def test_uses_count_and_looking_does_not(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "ab")
        at = clock.pass_(hours=1)
        memory.touch(["a", "b"], "read", session_id="s1")
        memory.touch("a")
        with pytest.raises(NotFound, match="nobody"):
            memory.touch(["b", "nobody"])
        with pytest.raises(InvalidInput, match="use"):
            memory.touch("a", "look")
        memory.get("a")
        memory.get_all()
        memory.history("a")
        memory.explain("thing", "a", profile=WORDS)
        memory.upkeep.verify()
        memory.search("thing", profile=WORDS, touch=False)
        assert (get_record(memory, "a").access_count, get_record(memory, "b").access_count) == (
            2,
            1,
        )
        assert get_record(memory, "a").accesses == (at, at, START)
        assert types_and_ids(events(memory, "a")) == [
            ("write", "a"),
            ("read", "a"),
            ("reference", "a"),
        ]

    def test_an_edit_is_an_access_of_the_type_write(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}", "layer": "episodic"} for id in "abcd")
        for _ in range(12):
            clock.pass_(days=1)
            memory.update("a", content=f"thing a, draft {clock.now:%d}")
            memory.update("b", content=f"thing b, {clock.now:%d}", importance=0.7)
            memory.update("d", importance=0.7, tags=[f"{clock.now:%d}"])
            memory.touch("c", "write", session_id="s1")
        edited = [get_record(memory, id) for id in "abc"]
        for record in edited:
            assert (record.write_count, record.access_count, record.last_accessed) == (12, 0, None)
            assert record.accesses == tuple(clock.now - timedelta(days=n) for n in range(10))
            assert record == memory.get_many([record.id])[0]
        zoned = {one.id: (one.zone, one.vitality) for one in memory.inspect.zones()}
        assert {zone for zone, _ in (zoned[id] for id in "abc")} == {"active"}
        assert zoned["a"] == zoned["b"] == zoned["c"]
        assert [one.id for one in memory.upkeep.prune().candidates] == ["d"]
        assert memory.upkeep.verify().differences == ()
        assert types_and_ids(events(memory, "c"))[1:] == [("rewrite", "c")] * 12
        assert events(memory, "c")[-1].session == "s1"
        with pytest.raises(NotFound, match="nobody"):
            memory.touch(["a", "nobody"], "write")
        assert get_record(memory, "a").write_count == 12
        memory.touch("a", "write", utility=0.5)
        assert (get_record(memory, "a").write_count, get_record(memory, "a").version) == (13, 13)

    @pytest.mark.parametrize("profile", ["composite", "six_factor", "activation", "multi_route"])
    def test_an_edit_counts_in_no_other_profile_than_vitality(
        self, memory: Memory, clock: Clock, profile: str
    ) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "ab")
        clock.pass_(days=20)

        def score() -> float:
            hits = memory.search("thing a", profile=profile, touch=False)
            return next(hit.score for hit in hits if hit.id == "a")

        before = score()
        memory.touch("a", "write")
        assert score() == before

    def test_a_search_at_a_past_time_counts_the_edits_until_then(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("thing", id="a", layer="activity")
        clock.pass_(days=30)
        memory.update("a", content="thing, again")
        at = clock.pass_(days=1)
        options: dict[str, Any] = {"profile": "vitality", "touch": False}
        [then] = memory.search("thing", **options)
        clock.pass_(days=20)
        memory.update("a", content="thing, once more")
        [hit] = memory.search("thing", as_of=at, **options)
        assert hit.score == then.score
        assert (hit.record.write_count, get_record(memory, "a").write_count) == (1, 2)

    def test_history_tells_each_version(self, memory: Memory, clock: Clock) -> None:
        memory.add("Ana lives in Berlin.", id="a", tags=["home"], importance=0.5)
        first = get_record(memory, "a")
        moved = clock.pass_(days=30)
        memory.update("a", content="Ana lives in Lisbon.", tags=["home", "sea"])
        again = clock.pass_(days=30)
        memory.update("a", importance=0.75)
        memory.update("a", content="Ana lives in Porto.")
        told_of = memory.history("a")
        assert told_of[-1] is told_of.events[-1]
        assert [v.record.content for v in told_of.versions] == [
            "Ana lives in Berlin.",
            "Ana lives in Lisbon.",
            "Ana lives in Porto.",
        ]
        assert [(v.since, v.until) for v in told_of.versions] == [
            (START, moved),
            (moved, again),
            (again, None),
        ]
        assert told_of.versions[0].record == first
        assert [v.record.tags for v in told_of.versions[:2]] == [("home",), ("home", "sea")]
        assert [v.record.importance for v in told_of.versions] == [0.5, 0.75, 0.75]
        assert told_of.versions[2].record == get_record(memory, "a")
        assert [event.type for event in told_of] == ["write", "edit", "edit", "edit"]
        with pytest.raises(NotFound, match="nobody"):
            memory.history("nobody")

    def test_a_history_is_told_page_by_page(self, memory: Memory, clock: Clock) -> None:
        memory.add("Version 0.", id="a", importance=0.25)
        memory.add("Another one.", id="b")
        for number in range(1, 4):
            clock.pass_(days=1)
            memory.update("a", content=f"Version {number}.")
            memory.update("b", content=f"Another version {number}.")
            memory.pin("a")
            memory.touch(["a"])
        memory.upkeep.flush()
        whole = memory.history("a")
        assert (len(whole), len(whole.versions), whole.cursor) == (10, 4, None)
        for limit in (1, 2, 3, 9):
            pages = [memory.history("a", limit=limit)]
            while pages[-1].cursor is not None:
                pages.append(memory.history("a", limit=limit, cursor=pages[-1].cursor))
            assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
            assert [event for page in pages for event in page] == list(whole)
            assert [n for page in pages for n in page.numbers] == list(whole.numbers)
            for page in pages:
                first, last = (whole.events.index(page[at]) for at in (0, -1))
                assert list(page.versions) == [
                    version
                    for version, end in zip(whole.versions, (1, 4, 7, 10), strict=True)
                    if end > first and (version.since <= whole[last].at)
                ]
        assert memory.history("a", limit=10) == whole
        for wrong in (0, 10_001, "3"):
            with pytest.raises(InvalidInput, match="limit"):
                memory.history("a", limit=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="cursor: is not one of a page of events"):
            memory.history("a", cursor="x")

    def test_what_waits_to_be_written_is_told_once(self, memory: Memory) -> None:
        memory.add("x", id="a")
        memory.touch(["a"])
        assert [event.type for event in memory.history("a")] == ["write", "reference"]
        first = memory.history("a", limit=1)
        memory.pin("a")
        memory.upkeep.flush()
        told = [*first]
        while first.cursor is not None:
            first = memory.history("a", limit=1, cursor=first.cursor)
            told += first
        assert sorted(event.type for event in told) == ["pin", "reference", "write"]

    def test_what_is_erased_while_its_history_is_told_is_not_there(self, memory: Memory) -> None:
        memory.add("x", id="a")
        batch = memory._core.dispatcher.batch

        def erasing(ops: Sequence[operations.Op]) -> Sequence[Any]:
            if any(isinstance(op, operations.Events) for op in ops):
                memory.delete("a")
            return batch(ops)

        with pytest.raises(NotFound):
            drive(history("a", memory.namespace, 100, None), erasing)

    def test_feedback_adds_up(self, memory: Memory) -> None:
        memory.add("x", id="a")
        for kind in ("useful", "useful", "not_useful"):
            memory.feedback("a", kind, "the answer was read aloud")
        judged = memory.feedback("a", "incorrect")
        assert judged == get_record(memory, "a")
        # useful + useful = 2; not_useful + incorrect = 1 + 3 = 4
        assert (judged.feedback_for, judged.feedback_against) == (2.0, 4.0)
        assert judged.review == "incorrect"
        # 0.5 + 0.1 + 0.1 - 0.1 - 0.3
        assert judged.relevance_score == pytest.approx(0.3)
        assert memory.feedback("a", "outdated").review == "outdated"
        [_, one, *_] = memory.history("a")
        # Beside the key of the request, if a server keeps it.
        judgement = {name: one.payload[name] for name in one.payload.keys() - {"key", "body"}}
        assert judgement == {"feedback": "useful", "context": "the answer was read aloud"}
        with pytest.raises(InvalidInput, match="use one of useful, confirmed"):
            memory.feedback("a", "great")
        with pytest.raises(NotFound, match="nobody"):
            memory.feedback("nobody", "useful")

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("kinds", list(combinations_with_replacement(FEEDBACK_WEIGHTS, 2)))
    def test_judgements_add_up_in_any_order(
        self, memory: Memory, clock: Clock, kinds: tuple[str, str]
    ) -> None:
        memory.add_many([{"content": "x", "id": id} for id in "ab"])
        for id, order in (("a", kinds), ("b", kinds[::-1])):
            for kind in order:
                memory.feedback(id, kind)
        judged = clock.now
        clock.pass_(days=10)
        memory.upkeep.decay()
        one, other = (get_record(memory, id) for id in "ab")
        # 0.5 and what each judgement adds; then exp(-0.01 * 10), or twice that once outdated
        relevance = 0.5 + 0.1 * sum(FEEDBACK_WEIGHTS[kind] for kind in kinds)
        faded = max(0.0, relevance) * math.exp(-0.2 if "outdated" in kinds else -0.1)
        for record in (one, other):
            assert record.relevance_score == pytest.approx(faded, abs=1e-12)
            assert bool(record.outdated) == ("outdated" in kinds)
        for name in ("feedback_for", "feedback_against", "outdated", "strength", "decayed_at"):
            assert getattr(one, name) == getattr(other, name)
        scores = {
            hit.score for hit in memory.search("x", profile="six_factor", limit=2, touch=False)
        }
        assert len(scores) == 1
        assert memory.upkeep.verify()
        then = memory.search("x", profile="six_factor", touch=False, as_of=judged)
        assert [bool(hit.record.outdated) for hit in then] == ["outdated" in kinds] * 2
        assert [v.record.outdated for v in memory.history("a").versions][-1] == one.outdated

    def test_the_mark_of_an_outdated_memory_can_be_taken_back(self, memory: Memory) -> None:
        memory.add("x", id="a")
        memory.feedback("a", "outdated")
        memory.feedback("a", "incorrect")
        memory.update("a", review=None, outdated=False)
        assert (get_record(memory, "a").review, get_record(memory, "a").outdated) == (None, 0.0)
        assert memory.upkeep.verify()

    def test_scores_move_within_bounds(self, memory: Memory) -> None:
        memory.add("x", id="a")
        assert memory.feedback("a", "promote").memory_score == pytest.approx(0.65)
        assert [memory.feedback("a", "promote").memory_score for _ in range(3)][-1] == 1.0
        assert memory.feedback("a", "demote").memory_score == pytest.approx(0.85)
        assert [memory.feedback("a", "demote").memory_score for _ in range(6)][-1] == 0.0
        memory.update("a", strength=0.85)
        assert memory.feedback("a", "reinforce").strength == pytest.approx(0.95)
        assert memory.feedback("a", "reinforce").strength == 1.0

    def test_decaying_twice_at_once_is_decaying_once(self, memory: Memory, clock: Clock) -> None:
        memory.add("x", id="a", relevance_score=0.8)
        memory.add("y", id="b", strength=0.5)
        memory.feedback("b", "outdated")
        clock.pass_(days=20)
        memory.upkeep.decay()
        one = get_record(memory, "a")
        # exp(-0.01 * 20) = 0.818730753...; 0.8 of it is 0.654984602...
        assert one.strength == pytest.approx(0.818730753, abs=1e-9)
        assert one.relevance_score == pytest.approx(0.654984602, abs=1e-9)
        # outdated: 0.4 * exp(-0.02 * 20) = 0.4 * 0.670320046 = 0.268128018
        assert get_record(memory, "b").relevance_score == pytest.approx(0.268128018, abs=1e-9)
        assert get_record(memory, "b").strength == pytest.approx(0.409365377, abs=1e-9)
        for _ in range(3):
            memory.upkeep.decay()
        assert get_record(memory, "a") == one
        clock.pass_(days=20)
        memory.upkeep.decay()
        # exp(-0.4) = 0.670320046
        assert get_record(memory, "a").strength == pytest.approx(0.670320046, abs=1e-9)

    def test_many_memories_decay_like_few(
        self, memory: Memory, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = [f"m{i}" for i in range(7)]
        for namespace in ("few", "many"):
            within = memory.for_namespace(namespace)
            within.add_many({"content": id, "id": id, "relevance_score": 0.8} for id in names)
        clock.pass_(days=20)
        for namespace, together in (("few", 7), ("many", 6)):
            monkeypatch.setattr(judgments, "MAX_DECAYED_TOGETHER", together)
            monkeypatch.setattr(judgments, "_DECAYED_AT_ONCE", 3)
            memory.for_namespace(namespace).upkeep.decay()
        few, many = (
            [get_record(memory.for_namespace(namespace), id) for id in names]
            for namespace in ("few", "many")
        )
        for one, other in zip(few, many, strict=True):
            assert one.strength == other.strength == pytest.approx(math.exp(-0.2))
            assert one.relevance_score == other.relevance_score
            assert one.decayed_at == other.decayed_at == clock.now
        assert memory.for_namespace("many").upkeep.verify()
        assert [event.type for event in memory.for_namespace("many").history("m3")] == [
            "write",
            "decay",
        ]

    def test_pins(self, memory: Memory) -> None:
        memory.add("x", id="a")
        assert memory.pin("a").pinned == 1.0
        assert memory.unpin("a").pinned == 0.0
        assert [event.type for event in memory.history("a")] == ["write", "pin", "pin"]

    def test_one_takes_the_place_of_another(self, memory: Memory, clock: Clock) -> None:
        memory.add("Ana lives in Berlin.", id="old")
        moved = clock.pass_(days=30)
        memory.add("Ana lives in Lisbon.", id="new")
        clock.pass_(days=1)
        memory.supersede("old", "new")
        old, new = get_record(memory, "old"), get_record(memory, "new")
        assert (old.status, old.valid_to) == ("superseded", moved)
        assert (new.status, new.valid_from) == ("active", moved)
        [link] = memory.links()
        assert (link.source, link.target, link.type) == ("new", "old", "supersedes")
        for wrong in (("old", "nobody"), ("nobody", "new")):
            with pytest.raises(NotFound, match="nobody"):
                memory.supersede(*wrong)
        with pytest.raises(InvalidInput, match="itself"):
            memory.supersede("new", "new")
        with pytest.raises(InvalidInput, match="target: 'new' cannot contradict itself"):
            memory.link("new", "new", "contradicts")

    def test_an_older_one_may_take_the_place_of_a_newer(self, memory: Memory, clock: Clock) -> None:
        memory.add("Ana lives in Berlin.", id="old", valid_from="2025-01-01")
        memory.add("Ana lives in Lisbon.", id="new", valid_from="2025-06-01")
        memory.supersede("new", "old")
        new = get_record(memory, "new")
        assert new.valid_to == new.valid_from
        memory.update("new", content="Ana lived in Lisbon.", tags=["home"])
        memory.update("new", importance=0.3)
        # However it came about, a span that is not to be changed is no reason to refuse a change.
        ends = {"set": {"valid_to": "2024-01-01T00:00:00+00:00"}}
        perform(memory, operations.Log("default", (Event("edit", "new", clock.now, payload=ends),)))
        memory.update("new", content="Ana was in Lisbon.", importance=0.2)
        with pytest.raises(InvalidInput, match="valid_to"):
            memory.update("new", valid_from="2025-02-01")
        assert memory.upkeep.verify()

    def test_none_takes_the_place_of_what_took_its_own(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"Ana lives in {id}."} for id in "abcd")
        memory.supersede("b", "c")  # a chain may be told in any order
        memory.supersede("a", "b")
        memory.supersede("c", "d")
        before = memory.get_all().memories, memory.links()
        for old, new in (("b", "a"), ("d", "a"), ("d", "c")):
            with pytest.raises(InvalidInput, match=r"superseded by 'd|b'.*status=\"active\""):
                memory.supersede(old, new)
        assert (memory.get_all().memories, memory.links()) == before
        memory.update("a", status="active", valid_to=None)
        memory.supersede("d", "a")
        assert (get_record(memory, "a").status, get_record(memory, "d").status) == (
            "active",
            "superseded",
        )

    def test_verifying_finds_and_mends(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        for _ in range(12):
            clock.pass_(hours=5)
            memory.search("thing", profile=WORDS, limit=2)
        memory.feedback("c", "useful")
        memory.upkeep.decay()
        whole = memory.upkeep.verify()
        assert whole
        assert (whole.memories, whole.events) == (3, 3 + 24 + 2)
        right = get_record(memory, "a")
        wrong: dict[str, dict[str, Any]] = {
            "a": {"access_count": 99, "accesses": ()},
            "c": {"feedback_for": 0.5},
        }
        perform(memory, operations.SetFields("default", wrong))
        report = memory.upkeep.verify()
        assert not report
        assert {(d.id, d.field) for d in report} == {
            ("c", "feedback_for"),
            ("a", "access_count"),
            ("a", "accesses"),
        }
        assert not report.repaired
        assert memory.upkeep.verify(repair=True).repaired
        assert memory.upkeep.verify()
        assert get_record(memory, "a") == right

    def test_times_far_off_are_what_the_log_says(self, memory: Memory) -> None:
        far = (
            datetime.max,
            datetime.min,
            datetime(2239, 12, 31, 23, 59, 59, 999_999),
            datetime(2240, 1, 1, 0, 0, 0, 123_457),
            datetime(1700, 1, 1, 0, 0, 0, 1),
            datetime(9000, 1, 1, 0, 0, 0, 123_457),
        )
        for i, at in enumerate(far):
            memory.add(f"Apple {i}.", created_at=at, valid_to=at, expires_at=datetime.max)
            memory.add(f"Pear {i}.", id=f"p{i}")
            memory.update(f"p{i}", valid_to=at)
        assert memory.upkeep.verify()


class TimeTravel(StoreCase):
    """`search(as_of=...)`: the memories of a past time, as they were."""

    def test_the_past_is_ranked_as_it_was(self, memory: Memory, clock: Clock) -> None:
        memory.add("Ana lives in Berlin.", id="a", vectors={"image": [1.0, 0.0]})
        memory.add("Ben lives in Rome.", id="b")
        clock.pass_(days=1)
        options: dict[str, Any] = {"query": "Where does Ana live?", "explain": True}
        was = [memory.search(**options, profile=p, touch=False) for p in PROFILES]
        memory.search(**options)
        then = clock.now
        clock.pass_(days=10)
        memory.update("a", content="Ana lives in Lisbon.", importance=0.9)
        memory.add("Ana lives in a house.", id="c")
        memory.link("c", "b")
        memory.feedback("b", "useful")
        memory.update("b", status="archived")
        memory.touch(["a", "b", "c"])
        for profile, before in zip(PROFILES, was, strict=True):
            again = memory.search(**options, profile=profile, as_of=then)
            assert [hit.to_dict() for hit in again] == [hit.to_dict() for hit in before]
        [first] = memory.search("Ana", profile=WORDS, as_of=then).hits
        assert first.content == "Ana lives in Berlin."
        assert memory.explain("Ana", "a", profile=WORDS, as_of=then).rank == 1
        assert (
            memory.inspect.compare("Ana", [WORDS, "composite"], as_of=then).memories[0].record.id
            == "a"
        )
        context = memory.get_context("Where does Ana live?", as_of=then)
        assert "Berlin" in context.text
        assert "house" not in context.text
        assert len(memory.search("Ana", profile=WORDS, as_of=START - timedelta(days=1))) == 0
        assert [hit.content for hit in memory.search("Ana", profile=WORDS, touch=False)] != [
            first.content
        ]

    def test_edited_memories_keep_their_places_in_the_past(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many(
            {"id": id, "content": "A red apple.", "session_id": "s"} for id in ("d", "c", "b", "a")
        )
        memory.update("c", content="A red apple!")  # a new row, in its old place in the session
        memory.update("d", kind="turn", importance=0.5)
        memory.update("a", importance=0.5)  # in place
        memory.add("A red apple.", id="e", session_id="s")
        clock.pass_(days=1)
        options: dict[str, Any] = {"query": "red apple", "explain": True}
        was = [memory.search(**options, profile=p, touch=False) for p in PROFILES]
        then = clock.pass_(days=1)
        memory.update("b", content="A green apple.")
        for profile, before in zip(PROFILES, was, strict=True):
            again = memory.search(**options, profile=profile, as_of=then - timedelta(days=1))
            assert [hit.to_dict() for hit in again] == [hit.to_dict() for hit in before]

    def test_the_past_is_listed_and_read_as_it_was(self, memory: Memory, clock: Clock) -> None:
        memory.add("Ana lives in Berlin.", id="a")
        memory.add("Ben lives in Rome.", id="b", links=[{"target": "a", "type": "mentions"}])
        memory.for_namespace("other").add("Somebody else.", id="a")
        then = clock.pass_(days=1)
        clock.pass_(days=1)
        memory.update("a", content="Ana lives in Lisbon.", importance=0.9)
        memory.add_many({"id": id, "content": f"apple {id}"} for id in "cd")
        memory.supersede("b", "c")
        memory.link("c", "d")
        was = memory.get("a", as_of=then)
        assert was is not None
        assert (was.content, was.importance, was.version) == ("Ana lives in Berlin.", 0.5, 1)
        assert memory.get("c", as_of=then) is None
        records = memory.get_many(["b", "c", "a", "b"], as_of=then)
        contents = [record and (record.content, record.status) for record in records]
        rome = ("Ben lives in Rome.", "active")
        assert contents == [rome, None, (was.content, "active"), rome]
        page = memory.get_all(limit=1, order="oldest", as_of=then.isoformat())
        assert (page.total, [each.content for each in page]) == (2, [was.content])
        rest = memory.get_all(cursor=page.cursor, order="oldest", as_of=then)
        assert ([each.id for each in rest], rest.cursor) == (["b"], None)
        assert memory.get_all({"importance": 0.9}, as_of=then).total == 0
        assert (memory.count(as_of=then), memory.count({"status": "superseded"}, as_of=then)) == (
            2,
            0,
        )
        assert [(link.source, link.target) for link in memory.links(as_of=then)] == [("b", "a")]
        assert memory.links("c", as_of=then) == []
        figures = memory.stats(as_of=then)
        assert figures == {
            **memory.stats(),
            "memories": 2,
            "links": 1,
            "namespaces": {"default": 2},
        }
        assert memory.stats()["memories"] == 4

    def test_a_future_is_no_past(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a")
        later = clock.now + timedelta(seconds=1)
        for read in (
            lambda at: memory.get("a", as_of=at),
            lambda at: memory.get_many(["a"], as_of=at),
            lambda at: memory.get_all(as_of=at),
            lambda at: memory.count(as_of=at),
            lambda at: memory.links("a", as_of=at),
            lambda at: memory.stats(as_of=at),
        ):
            read(clock.now)
            for wrong in (later, "some day", "1700000000"):
                with pytest.raises(InvalidInput, match="as_of"):
                    read(wrong)
        with pytest.raises(InvalidInput, match="as_of: is about one namespace; leave out everyw"):
            memory.stats(everywhere=True, as_of=clock.now)

    def test_going_back_touches_nothing(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a")
        before = events(memory)
        memory.search("apple", as_of=clock.now)
        assert events(memory) == before
        with pytest.raises(InvalidInput, match="future"):
            memory.search("apple", as_of=clock.now + timedelta(seconds=1))

    def test_what_was_erased_is_not_in_the_past_either(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"apple {id}"} for id in "ab")
        then = clock.pass_(days=1)
        assert set(memory.search("apple", profile=WORDS, as_of=then).ids) == {"a", "b"}
        memory.delete("a")
        assert memory.search("apple", profile=WORDS, as_of=then).ids == ("b",)
