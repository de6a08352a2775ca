"""What happened to memories: the log, and what events make of a memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from recollect import Memory, ops
from recollect.events import STATE, Event, folded
from recollect.plan import ask, drive
from recollect.testing._case import START, WORDS, Clock, StoreCase, record


def answer(memory: Memory, operation: ops.Op) -> Any:
    """What the store answers to one operation."""
    return drive(ask(operation), memory._core.world.batch)


def events(memory: Memory, *ids: str, **asked: Any) -> list[Event]:
    """The log of some memories, or of the whole namespace."""
    return list(answer(memory, ops.Events(memory.namespace, ids or None, **asked)))


def told(found: list[Event]) -> list[tuple[str, str | None]]:
    """Type and id of each event."""
    return [(event.type, event.id) for event in found]


class Logging(StoreCase):
    """The log: what is in it, and that memories are what it says."""

    def test_each_thing_that_happens_is_an_event(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a", importance=0.4)
        memory.add("A pear.", id="b", links=[{"target": "a", "type": "supports", "weight": 0.5}])
        clock.pass_(hours=1)
        memory.search("apple", profile=WORDS)
        memory.update("a", content="A plum.", importance=0.6)
        memory.update("b", importance=0.1)
        memory.link("a", "b")
        found = events(memory)
        assert told(found) == [
            ("write", "a"),
            ("write", "b"),
            ("link", "b"),
            ("retrieval", "a"),
            ("edit", "a"),
            ("edit", "b"),
            ("link", "a"),
        ]
        assert [event.seq for event in found] == sorted({event.seq for event in found})
        assert [event.at for event in found] == [START] * 3 + [clock.now] * 4
        assert found[0].payload == {"set": {"importance": 0.4}}
        assert found[2].payload == {"target": "a", "link": "supports", "weight": 0.5}
        assert found[4].payload == {
            "was": {"content": "An apple.", "importance": 0.4},
            "set": {"importance": 0.6},
        }
        assert found[5].payload == {"set": {"importance": 0.1}, "was": {"importance": None}}

    def test_the_log_can_be_asked_by_part(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        memory.update("b", importance=0.5)
        memory.within("other").add("thing", id="b")
        assert told(events(memory, "b")) == [("write", "b"), ("edit", "b")]
        assert told(events(memory, types=("edit",))) == [("edit", "b")]
        assert told(events(memory, last=2)) == [("write", "c"), ("edit", "b")]
        [*_, before, _] = events(memory)
        assert told(events(memory, after=before.seq)) == [("edit", "b")]
        assert events(memory, "nobody") == events(memory.within("nowhere")) == []

    def test_what_an_event_sets_is_set(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "ab")
        at = clock.pass_(days=2)
        pinned = Event("pin", "a", at, "ana", "s1", {"set": {"pinned": 1.0}})
        useful = Event("feedback", "b", at, payload={"feedback": "useful"})
        assert answer(memory, ops.Log("default", (pinned, useful, useful))) == ()
        assert record(memory, "a").pinned == 1.0
        assert record(memory, "a").updated_at == at
        assert record(memory, "b").feedback_for == 2.0
        [_, kept] = events(memory, "a")
        assert (kept.actor, kept.session) == ("ana", "s1")
        assert kept.payload == {"set": {"pinned": 1.0}, "was": {"pinned": None}}
        found = memory.get_all({"pinned": 1.0})
        assert [each.id for each in found] == ["a"]

    def test_an_event_of_nobody_changes_nothing(self, memory: Memory, clock: Clock) -> None:
        memory.add("x", id="a")
        one = Event("pin", "a", clock.now, payload={"set": {"pinned": 1.0}})
        other = Event("pin", "nobody", clock.now, payload={"set": {"pinned": 1.0}})
        assert answer(memory, ops.Log("default", (one, other))) == ("nobody",)
        assert answer(memory, ops.Log("nowhere", (one,))) == ("a",)
        assert record(memory, "a").pinned is None
        assert told(events(memory)) == [("write", "a")]

    def test_an_event_of_all_is_logged_once(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": "x", "strength": 0.5} for id in "abc")
        at = clock.pass_(days=10)
        answer(memory, ops.Log("default", (Event("decay", None, at),)))
        # 0.5 * exp(-0.01 * 10) = 0.5 * 0.904837418...
        assert {round(record(memory, id).strength or 0.0, 9) for id in "abc"} == {0.452418709}
        assert told(events(memory, types=("decay",))) == [("decay", None)]
        assert told(events(memory, "a")) == [("write", "a"), ("decay", None)]

    def test_uses_are_told_apart(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a")
        [row] = answer(memory, ops.Find("default", ("a",))).values()
        rows = np.array([row], dtype=np.int64)
        for type_ in ("retrieval", "read", "reference"):
            answer(memory, ops.Touch(rows, clock.pass_(hours=1), type_, "ana", "s1"))
        assert record(memory, "a").access_count == 3
        found = events(memory, "a")[1:]
        assert told(found) == [("retrieval", "a"), ("read", "a"), ("reference", "a")]
        assert {(event.actor, event.session) for event in found} == {("ana", "s1")}
        assert [event.at for event in found] == [START + timedelta(hours=h) for h in (1, 2, 3)]

    def test_a_memory_is_what_its_events_say(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a", created_at=START - timedelta(days=30), tier="long")
        memory.add("A pear.", id="b", strength=0.25, metadata={"k": 1})
        for _ in range(12):
            clock.pass_(hours=7)
            memory.search("apple", profile=WORDS)
        memory.update("a", content="A red apple.", created_at=START - timedelta(days=3))
        memory.update("b", metadata={"k": 2}, expires_at=START + timedelta(days=9))
        answer(memory, ops.Log("default", (Event("decay", None, clock.pass_(days=1)),)))
        memory.search("apple", profile=WORDS)
        for id in "ab":
            state = folded(events(memory, id))
            assert {n: state[n] for n in STATE} == {
                n: getattr(record(memory, id), n) for n in STATE
            }

    def test_an_edit_keeps_the_old_words_and_vector(self, memory: Memory) -> None:
        memory.add("An apple.", id="a", tags=["fruit"], vectors={"image": [0.0, 1.0]})
        memory.update("a", content="A pear.", tags=None)
        [_, edit] = events(memory, "a")
        assert edit.payload["was"] == {"content": "An apple.", "tags": ["fruit"]}
        former = answer(memory, ops.FormerVectors("default"))
        assert [(seq, name) for seq, name, _ in former] == [(edit.seq, "content")]
        [made] = self.embedder.embed(["An apple."], kind="document")
        assert np.array_equal(former[0][2], made.astype(np.float16).astype(np.float32))

    def test_a_link_that_is_removed_is_told(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": "x"} for id in "ab")
        memory.link("a", "b", "supports", 0.5)
        gone = replace(memory.links("a")[0], created_at=clock.pass_(days=1))
        never = replace(gone, type="mentions")
        answer(memory, ops.Put((), unlinks=(gone, never)))
        assert memory.links() == []
        [*_, last] = events(memory)
        assert last.payload == {"target": "b", "link": "supports", "weight": None}
        assert (last.id, last.at) == ("a", clock.now)
        assert len(events(memory)) == 4

    def test_what_is_erased_leaves_no_trace(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abc")
        memory.link("b", "a")
        memory.link("a", "c")
        memory.update("a", content="A secret.")
        memory.update("a", content="Another.")
        memory.delete("a")
        assert told(events(memory)) == [("write", "b"), ("write", "c")]
        assert answer(memory, ops.FormerVectors("default")) == []
        memory.add("New.", id="a")
        assert told(events(memory, "a")) == [("write", "a")]
        memory.delete_all(namespace="default")
        assert events(memory) == []

    def test_mending_logs_nothing(self, memory: Memory) -> None:
        memory.add("x", id="a")
        answer(memory, ops.Mend("default", {"a": {"access_count": 7}, "nobody": {"boost": 1.0}}))
        assert record(memory, "a").access_count == 7
        assert told(events(memory)) == [("write", "a")]

    def test_the_log_lasts(self, memory: Memory, clock: Clock) -> None:
        memory.add("An apple.", id="a")
        clock.pass_(minutes=5)
        memory.search("apple", profile=WORDS)
        memory.update("a", content="A pear.")
        before = events(memory)
        again = self.reopen(memory)
        assert events(again) == before
        assert len(answer(again, ops.FormerVectors("default"))) == 1
        again.close()
