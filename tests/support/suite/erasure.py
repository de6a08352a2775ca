"""Erasure: its receipt counts what went, and nothing that is left names it."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.records.events import Event
from salience.retrieval.erasure import KINDS
from salience.retrieval.operations import Events, Log
from salience.testing.conformance._case import (
    START,
    Clock,
    StoreCase,
    list_ids,
    perform,
    search_ids,
)
from support.suite.lifecycle import alike
from support.suite.writers import acting

_GONE = "qwrtzpsdfg"
"""The id of a memory that is erased, which occurs nowhere else."""


class ErasureReceipts(StoreCase):
    def test_a_receipt_counts_what_was_erased_and_finds_none_of_it(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("Ana plays the cello.", id="m0", tags=["music"], idempotency_key="once")
        memory.add("The cello is old.", id="m1", tags=["music"], title="Cello")
        memory.add("Bruno repairs bicycles.", id="kept")
        memory.link("kept", "m0", "mentions")
        memory.link("m0", "m1", "supports")
        memory.update("m1", content="The cello was made in 1890.")
        receipt = memory.delete_all({"tags": "music"})
        erased = dict(receipt.erased)
        assert erased.pop("idempotency_keys") >= 1  # a remote memory gives each write one
        assert erased == {
            "memories": 2,
            "terms": 14,
            "vectors": 2,
            "former_vectors": 1,
            "links": 2,
            "events": 4,  # two writes, a link, an edit
            "mentions": 1,  # the link from the memory that is kept
            "notes": 0,
        }
        assert receipt.remaining == dict.fromkeys(KINDS, 0)
        assert (receipt.namespace, receipt.at) == (memory.namespace, clock.now)
        assert (receipt.memories, receipt.rewritten, receipt.user_id) == (2, False, None)
        assert all((receipt.disk, receipt.check, "search_log" in receipt.untouched))
        assert list_ids(memory) == ["kept"]
        assert [event.type for event in memory.history("kept")] == ["write"]

    def test_nothing_erased_is_a_receipt_of_nothing(self, memory: Memory) -> None:
        memory.add("Bruno repairs bicycles.", id="kept")
        receipt = memory.delete_all({"tags": "music"})
        assert receipt.erased == receipt.remaining == dict.fromkeys(KINDS, 0)
        assert list_ids(memory) == ["kept"]

    def test_a_whole_namespace_goes_with_its_notes_and_events_of_all(self, memory: Memory) -> None:
        memory.add_many([{"id": f"m{i}", "content": f"Fact {i}."} for i in range(3)])
        memory.upkeep.decay()
        memory.upkeep.consolidate(apply=True)
        receipt = memory.delete_all(namespace=memory.namespace)
        assert receipt.memories == 3
        assert receipt.erased["notes"] >= 1
        assert receipt.erased["events"] >= 4
        assert not any(receipt.remaining.values())
        assert memory.stats(everywhere=True)["namespaces"] == {}

    def test_a_namespace_that_was_erased_begins_anew(self, memory: Memory) -> None:
        for erased, text in enumerate(("The cello is old.", "The viola is new.")):
            memory.add(text, id="m", session_id="s", speaker=text.split()[1])
            log = memory.events()
            assert [event.type for event in log] == ["erase"] * erased + ["write"]
            assert [event.seq for event in log] == sorted({event.seq for event in log})
            assert search_ids(memory, text.split()[1]) == ["m"]
            assert memory.search("What is it?", touch=False)[0].content == text
            memory.delete_all(namespace=memory.namespace)
            assert memory.search("What is it?", touch=False).ids == ()
        assert memory.upkeep.verify()

    def test_no_event_names_what_was_erased(self, memory: Memory) -> None:
        memory.add("Ana lives in Porto.", id=_GONE, kind="fact")
        conflicting: dict[str, Any] = {
            "content": "Ana lives in Lisbon.",
            "id": "new",
            "kind": "fact",
        }
        before = memory.add(**conflicting, idempotency_key="once")
        assert (before.items[0].outcome, before.items[0].match) == ("CONFLICTS", _GONE)
        memory.supersede(_GONE, "new")
        memory.touch([_GONE], utility=0.9)
        memory.delete(_GONE)
        assert _GONE not in _exported(memory)
        again = memory.add(**conflicting, idempotency_key="once").items[0]
        assert (again.id, again.outcome, again.match) == ("new", "CONFLICTS", None)
        assert memory.upkeep.verify().differences == ()

    def test_what_a_mistaken_successor_had_superseded_holds_again(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("Ana lives in Porto.", id="porto", kind="fact", valid_to="2030-01-01")
        before = memory["porto"]
        clock.pass_(days=1)
        memory.add("Ana lives in Lisbon.", id="lisbon", kind="fact", supersedes="porto")
        assert memory["porto"].status == "superseded"
        clock.pass_(days=1)
        erased = memory.delete("lisbon")
        assert (erased, erased.restored) == (1, ("porto",))
        now = memory["porto"]
        assert (now.status, now.valid_to) == ("active", before.valid_to)
        assert memory.search("Where does Ana live?", touch=False).ids == ("porto",)
        last = memory.history("porto").events[-1]
        assert (last.type, last.at, last.payload["restored"]) == ("status", clock.now, True)
        past = memory.search("Ana lives", as_of=clock.now - timedelta(hours=1), touch=False)
        assert past.ids == ()  # it was superseded then, and what superseded it is erased
        assert memory.upkeep.verify()

    def test_what_is_superseded_in_turn_holds_and_not_what_was_before(self, memory: Memory) -> None:
        for id in ("porto", "lisbon", "faro"):
            memory.add(f"Ana lives in {id.title()}.", id=id)
        memory.supersede("porto", "lisbon")
        memory.supersede("lisbon", "faro")
        assert memory.delete_many(["lisbon"]).restored == ()
        assert {link.target for link in memory.links("faro")} == {"porto"}
        assert memory["porto"].status == "superseded"
        assert memory.delete_all({"id": "faro"}).restored == ("porto",)
        assert (memory["porto"].status, memory["porto"].valid_to) == ("active", None)
        assert memory.upkeep.verify()

    def test_what_two_have_superseded_waits_for_both(self, memory: Memory) -> None:
        for id in ("old", "one", "two"):
            memory.add(f"The plan {id}.", id=id)
        memory.supersede("old", "one")
        memory.supersede("old", "two")
        assert memory.delete("two").restored == ()
        assert memory["old"].status == "superseded"
        assert memory.delete("one").restored == ("old",)
        assert (memory["old"].status, memory["old"].valid_to) == ("active", None)

    def test_what_was_changed_since_stays_as_it_is(self, memory: Memory) -> None:
        for id in ("old", "new"):
            memory.add(f"The plan {id}.", id=id)
        memory.supersede("old", "new")
        memory.update("old", status="completed", valid_to="2031-01-01")
        before = memory["old"]
        assert memory.delete_all({"id": "new"}).restored == ()
        assert memory["old"] == before

    def test_what_was_merged_holds_again_without_what_took_its_place(self, memory: Memory) -> None:
        alike(memory)
        [cluster] = memory.upkeep.consolidate(apply=True).clusters
        assert cluster.id is not None
        members = set(cluster.members)
        assert {memory[id].status for id in members} == {"consolidated"}
        assert set(memory.delete(cluster.id).restored) == members
        assert {memory[id].status for id in members} == {"active"}
        assert memory.upkeep.verify()

    def test_no_event_names_a_merged_memory_that_was_erased(self, memory: Memory) -> None:
        alike(memory)
        [cluster] = memory.upkeep.consolidate(apply=True).clusters
        id = str(cluster.id)
        assert id in _exported(memory)
        memory.delete(id)
        assert id not in _exported(memory)
        assert {event.type for event in memory.history("tea0")} == {"write", "status"}

    def test_no_question_names_what_was_erased(self, memory: Memory) -> None:
        memory.add_many([{"id": id, "content": f"Fact {id}."} for id in (_GONE, "a", "b")])
        memory.labels.add(f"What is {_GONE}?", _GONE, ["a"])
        by_filter = {"or": [{"kind": "fact"}, {"id": {"in": [_GONE, "a"]}}]}
        memory.labels.add("Which of the two?", filters=by_filter)
        named = memory.labels.add("Which fact?", ["a", _GONE], id="some")
        refused = memory.labels.add("None of them?", not_relevant=[_GONE, "b"], id="none")
        other = memory.for_namespace("other").labels.add("And there?", _GONE)
        receipt = memory.delete_all({"id": _GONE})
        assert (receipt.erased["mentions"], receipt.remaining["mentions"]) == (4, 0)
        left = {each.id: each for each in memory.labels.questions()}
        assert left == {
            "some": replace(named, relevant=("a",)),
            "none": replace(refused, not_relevant=("b",)),
        }
        assert _GONE not in _exported(memory)
        assert [*memory.for_namespace("other").labels.questions()] == [other]
        memory.delete_many(["a", "b"])
        assert [each.id for each in memory.labels.questions()] == []  # they go with the last memory


class Tombstones(StoreCase):
    """An erasure leaves in the log who erased how many memories when, and nothing of what."""

    def test_the_log_says_who_erased_how_much_when_and_how(
        self, memory: Memory, clock: Clock
    ) -> None:
        items = [{"id": f"{_GONE}{i}", "content": f"Fact {i} of {_GONE}."} for i in range(6)]
        items[3]["tags"], items[4]["user_id"] = [_GONE], _GONE  # type: ignore[assignment]
        memory.add_many(items)
        actor = memory[f"{_GONE}0"].written_by
        erasures = (
            ("delete", 1, lambda: memory.delete(f"{_GONE}0")),
            ("delete", 2, lambda: memory.delete_many([f"{_GONE}1", f"{_GONE}2", "nobody"])),
            ("delete_all", 1, lambda: memory.delete_all({"tags": _GONE})),
            ("forget_user", 1, lambda: memory.delete_user(_GONE)),
            ("delete_all", 1, lambda: memory.delete_all(namespace=memory.namespace)),
        )
        for _, _, erase in erasures:
            clock.pass_(hours=1)
            erase()
        told = [event for event in memory.events() if event.type == "erase"]
        assert [(e.payload["erasure"], e.payload["memories"]) for e in told] == [
            (kind, memories) for kind, memories, _ in erasures
        ]
        assert [event.at for event in told] == [
            START + timedelta(hours=hours + 1) for hours in range(len(told))
        ]
        assert {event.actor for event in told} == {actor}
        assert {event.id for event in told} == {None}
        assert _GONE not in str([event.to_dict() for event in told])
        assert memory.stats(everywhere=True)["namespaces"] == {}

    def test_nothing_erased_leaves_no_tombstone(self, memory: Memory) -> None:
        memory.add("Bruno repairs bicycles.", id="kept")
        memory.delete("nobody")
        memory.delete_all({"tags": "none"})
        memory.delete_user("nobody")
        assert [event.type for event in memory.events()] == ["write"]

    def test_tombstones_belong_to_no_memory_and_come_in_their_place(self, memory: Memory) -> None:
        memory.add("Bruno repairs bicycles.", id="kept")
        memory.add("Ana plays the cello.", id="gone")
        memory.delete("gone")
        memory.pin("kept")
        assert [event.type for event in memory.history("kept")] == ["write", "pin"]
        assert [event.type for event in memory.events()] == ["write", "erase", "pin"]
        page = memory.events(limit=2)
        assert [event.type for event in page] == ["write", "erase"]
        assert [event.type for event in memory.events(after=page.cursor)] == ["pin"]
        assert memory.upkeep.verify()
        assert [e.type for e in memory.for_namespace("other").events()] == []

    def test_tombstones_stay(self, memory: Memory) -> None:
        memory.add("Ana plays the cello.", id="gone")
        memory.delete("gone")
        told = list(memory.events())
        again = self.reopen(memory)
        assert list(again.events()) == told
        again.close()

    def test_who_is_forgotten_erased_nothing_either(self, memory: Memory) -> None:
        ana = acting(memory, "ana")
        for id in ("a", "b"):
            ana.add(f"Fact {id}.", id=id, user_id="ana" if id == "b" else None)
        ana.delete("a")
        ana.delete_user("ana")
        told = memory.events()
        assert [event.type for event in told] == ["erase", "erase"]
        assert [event.actor for event in told] == [None, None]


class ForgettingUsers(StoreCase):
    def test_all_memories_of_a_user_go(self, memory: Memory) -> None:
        other = memory.for_namespace("other")
        for space in (memory, other):
            space.add("Ana plays the cello.", id="a0", user_id="ana", idempotency_key="once")
            space.add("Ana is away.", id="a1", user_id="ana", session_id="s", speaker="Ana")
            space.add("Ben plays the viola.", id="b0", user_id="ben")
            space.link("b0", "a0", "mentions")
        memory.archive(["a1"])
        receipt = memory.delete_user("ana")
        assert (receipt.memories, receipt.user_id) == (2, "ana")
        assert (receipt.erased["links"], receipt.erased["mentions"]) == (1, 1)
        assert receipt.erased["idempotency_keys"] >= 1
        assert not any(receipt.remaining.values())
        assert list_ids(memory) == ["b0"]
        assert "ana" not in _exported(memory).casefold()
        assert len(list_ids(other)) == 3
        assert memory.delete_user("ana").memories == 0

    def test_a_person_is_one_for_all_that_lists_or_erases(self, memory: Memory) -> None:
        memory.add("I have two dogs.", id="owned", user_id="Ana")
        memory.add("I have a parrot.", id="said", speaker="ana")
        memory.add("I have a cat.", id="both", speaker="Ana", user_id="Ana")
        memory.add("I have a snake.", id="other", speaker="Ana", user_id="ben")
        memory.add("Ana's PIN is 4711.", id="pin", user_id="ben")
        memory.add("Bananas are ripe, says Susana.", id="none", user_id="ben")
        memory.add("The tall one is away.", id="tagged", tags=["ana"])
        own = {"owned", "said", "both"}
        assert {fact.memory.id for fact in memory.about("Ana")} == own
        assert set(list_ids(memory, {"person": "Ana"})) == own
        assert memory.count({"not": {"person": {"in": ["Ana", "nobody"]}}}) == 4
        receipt = memory.delete_user("Ana")
        assert (receipt.memories, set(receipt.naming)) == (3, {"other", "pin", "tagged"})
        assert set(list_ids(memory)) == {"other", "pin", "none", "tagged"}
        assert memory.delete_user("ben").naming == ()
        with pytest.raises(InvalidInput, match="person"):
            memory.count({"person": {"exists": True}})

    def test_no_question_is_about_the_user(self, memory: Memory) -> None:
        memory.add("The key is under the mat.", id="key")
        kept = memory.labels.add("Is ana there?", filters={"speaker": "ana"})
        for filters in ({"user_id": "ana"}, {"not": {"written_by": {"in": ["ben", "ana"]}}}):
            memory.labels.add("Where is the key?", "key", filters=filters)
        receipt = memory.delete_user("ana")
        assert (receipt.memories, receipt.erased["mentions"]) == (0, 2)
        assert [*memory.labels.questions()] == [kept]
        assert [event.type for event in memory.events()] == ["write", "erase"]

    def test_a_memory_that_was_the_users_before_says_so_no_longer(self, memory: Memory) -> None:
        memory.add("The key is with the neighbour.", id="key", user_id="ana")
        memory.update("key", user_id="ben", content="The key is under the mat.")
        receipt = memory.delete_user("ana")
        assert (receipt.memories, receipt.erased["mentions"]) == (0, 1)
        edit = memory.history("key").events[-1]
        assert edit.payload["was"]["user_id"] is None
        assert edit.payload["was"]["content"] == "The key is with the neighbour."
        assert memory.upkeep.verify().differences == ()

    def test_the_events_of_others_no_longer_name_the_user(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many([{"id": f"m{i}", "content": f"Fact {i}."} for i in range(3)])
        pins = [
            Event("pin", f"m{i}", clock.now, actor, payload={"set": {"pinned": 1.0}})
            for i, actor in enumerate(("ana", "ben", "ana"))
        ]
        everything = Event("decay", None, clock.now, "ana")
        perform(memory, Log(memory.namespace, (*pins, everything)))
        before = perform(memory, Events(memory.namespace))
        receipt = memory.delete_user("ana")
        assert receipt.erased == {**dict.fromkeys(KINDS, 0), "mentions": 3}
        after = perform(memory, Events(memory.namespace))
        expected = [replace(e, actor=None if e.actor == "ana" else e.actor) for e in before]
        assert after[:-1] == expected
        assert (after[-1].type, after[-1].payload["memories"]) == ("erase", 0)
        assert memory.upkeep.verify().differences == ()

    def test_what_is_no_id_is_refused(self, memory: Memory) -> None:
        memory.add("The key is with the neighbour.", id="key")
        wrong: tuple[Any, ...] = ("", " ", None, 7, "\0")
        for user_id in wrong:
            with pytest.raises(InvalidInput) as caught:
                memory.delete_user(user_id)
            assert caught.value.field == "user_id"
        assert list_ids(memory) == ["key"]


def _exported(memory: Memory) -> str:
    target = io.BytesIO()
    memory.export(target)
    return target.getvalue().decode()
