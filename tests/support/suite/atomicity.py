"""Atomicity: one call is one transaction, and what says the same is one memory."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from unittest.mock import patch

from salience import Memory
from salience.display.result import to_json
from salience.errors import InvalidInput
from salience.records.fields import FIELDS
from salience.retrieval import operations
from salience.retrieval.operations import Op
from salience.testing.conformance._case import Clock, StoreCase, get_record, perform
from salience.write.idempotency import DoneBefore, Once

READING = (
    operations.Embed, operations.Extract, operations.FindByHash,
    operations.NearestVectors, operations.RowsById, operations.ReadRecords, operations.Events,
    operations.Notes, operations.LinksOf, operations.Collect, operations.FetchColumns,
    operations.ReadStats, operations.FetchVectors, operations.ReadTexts, operations.Dimensions,
    operations.ListRecords, operations.FindNames,
    operations.RowsInWriteOrder, operations.RetrievedTexts,
)  # fmt: skip
"""Operations that change nothing."""

PORTO = "Ana lives in Porto."
KEY = "Ana keeps the spare key of the flat under the blue pot."
CHAT = [
    {"role": "user", "content": "Where is the key?", "id": "u1"},
    {"role": "assistant", "content": "Under the pot.", "id": "a1"},
    {"role": "assistant", "content": "The blue one.", "id": "a2"},
    {"role": "user", "content": "Thanks. Who lives in Porto?", "id": "u2"},
    {"role": "assistant", "content": "Ana does.", "id": "a3"},
]
MIXED: list[Any] = [
    {"content": PORTO, "tags": ["city"], "idempotency_key": "city"},
    {"content": KEY.replace("blue", "big blue"), "metadata": {"v": 2}},
    {"content": "Ana lives in Lisbon.", "supersedes": "porto", "kind": "fact", "id": "lisbon"},
    {"content": "Ben has a cello.", "title": "cello", "idempotency_key": "music"},
    {"content": "Ben has a cello.", "tags": ["music"]},
    {
        "content": "The cello is old.",
        "id": "old",
        "links": [{"target": "porto", "type": "mentions"}],
    },
]

CALLS: dict[str, Callable[[Memory], object]] = {
    "add": lambda m: m.add("Ben has a cello.", id="new", title="cello", idempotency_key="k"),
    "add a link": lambda m: m.add("Z.", links=[{"target": "key", "type": "supports"}]),
    "add a duplicate": lambda m: m.add(KEY, tags=["flat"], idempotency_key="k"),
    "add the same again": lambda m: m.add(KEY),
    "add what says more": lambda m: m.add(KEY.replace("blue", "big blue"), dedup=0.8),
    "add in the place of": lambda m: m.add(
        "Ana lives in Lisbon.", supersedes="porto", idempotency_key="k"
    ),
    "add messages": lambda m: m.add(CHAT, session_id="t"),
    "add many": lambda m: m.add_many(MIXED, dedup=0.8),
    "replace many": lambda m: m.add_many(
        [
            {"id": "porto", "content": "Ana lives in Faro.", "tags": ["x"], "supersedes": "key"},
            {"id": "key", "content": KEY, "importance": 0.9},
            {"id": "tea", "content": "Tea is green.", "title": "cello"},
            {"content": "Ana lives in Faro.", "metadata": {"y": 1}},
        ],
        on_conflict="replace",
    ),
    "skip many": lambda m: m.add_many(
        [{"id": "porto", "content": "x"}, {"id": "z", "content": "y", "supersedes": "key"}],
        on_conflict="skip",
    ),
    "add_chat": lambda m: m.add_chat(CHAT[:2], session_id="new", mode="hybrid"),
    "add_chat that goes on": lambda m: m.add_chat(CHAT[2:], session_id="s"),
    "add_chat that goes on as a whole": lambda m: m.add_chat(
        CHAT[2:], session_id="h", mode="hybrid"
    ),
    "update": lambda m: m.update("porto", content="Ana lived in Porto.", tags=["past"]),
    "update in place": lambda m: m.update("porto", status="archived"),
    "update an alias": lambda m: m.update("porto", metadata={"aliases": ["cello"]}),
    "update a title": lambda m: m.update("porto", title="cello"),
    "delete": lambda m: m.delete("porto"),
    "delete_many": lambda m: m.delete_many(["porto", "key"]),
    "delete_all": lambda m: m.delete_all({"id": {"in": ["porto", "key"]}}),
    "link": lambda m: m.link("porto", "tea", "supports", 0.5),
    "supersede": lambda m: m.supersede("porto", "tea"),
    "contradict": lambda m: m.link("porto", "tea", "contradicts"),
    "touch": lambda m: m.touch(["porto", "key"]),
    "touch with a utility": lambda m: m.touch(["porto", "tea"], utility=0.5),
    "feedback": lambda m: m.feedback("porto", "outdated"),
    "promote": lambda m: m.feedback("porto", "promote"),
    "demote": lambda m: m.feedback("porto", "demote"),
    "reinforce": lambda m: m.feedback("porto", "reinforce"),
    "decay_all": lambda m: m.upkeep.decay(),
    "pin": lambda m: m.pin("porto"),
    "unpin": lambda m: m.unpin("porto"),
    "prune": lambda m: m.upkeep.prune(apply=True),
    "archive": lambda m: m.archive(["porto", "key"]),
    "unarchive": lambda m: m.unarchive(["gone"]),
    "audit": lambda m: m.upkeep.audit(mend=["duplicates", "junk", "orphaned"]),
    "undo": lambda m: m.undo(undoable_run(m)),
}


class Killed(BaseException):
    """Raised in place of the answer of an operation, as if the process had ended there."""


def fill(memory: Memory) -> None:
    """Write the memories that `CALLS` change."""
    memory.add_many(
        [
            {"id": "porto", "content": PORTO, "kind": "fact"},
            {"id": "key", "content": KEY},
            {"id": "tea", "content": "Green tea is in the cupboard.", "tags": ["tea"]},
            {"id": "tea2", "content": "Green tea is in the cupboard."},
            {"id": "gone", "content": "The boiler needs a repair."},
        ],
        dedup=False,
    )
    memory.link("porto", "tea")
    memory.add("He plays.", id="player", links=[{"target": "cello", "type": "mentions"}])
    memory.add_chat(CHAT[:2], session_id="s")
    memory.add_chat(CHAT[:2], session_id="h", mode="hybrid")
    memory.archive(["gone"])


def undoable_run(memory: Memory) -> str:
    """The name of the run that archived a memory."""
    archived = [event for event in memory.events() if event.type == "archive"]
    return str(archived[0].payload["run"])


def everything(memory: Memory) -> str:
    """All that a namespace holds, in a form that does not tell random ids and numbers."""
    memory.upkeep.flush()
    records = memory.get_all(limit=1000).memories
    name_of = {record.id: f"{record.content[:60]}|{record.kind}" for record in records}
    fields = [name for name in FIELDS if name not in ("id", "session_id")]
    log = perform(memory, operations.Events(memory.namespace))
    state = {
        "records": sorted(
            json.dumps([to_json(getattr(record, name)) for name in fields]) for record in records
        ),
        "links": sorted(
            (*(name_of.get(end, end) for end in (each.source, each.target)), each.type, each.weight)
            for each in memory.links()
        ),
        "events": sorted(
            json.dumps([e.type, name_of.get(e.id, e.id), sorted(e.payload), e.payload.get("key")])
            for e in log
        ),
    }
    return json.dumps(state)


class Atomicity(StoreCase):
    """Each call that writes does so in one transaction: wherever it ends, all or nothing is done.

    Left out are those that work in steps, each of which is whole: consolidation, maintenance,
    imports and re-embedding.
    """

    def test_a_call_that_is_killed_has_done_all_or_nothing(
        self, memory: Memory, clock: Clock
    ) -> None:
        finished: dict[str, str] = {}
        dispatcher = memory._core.dispatcher
        batch, left = dispatcher.batch, [0]

        def deadly(ops: Sequence[Op]) -> Sequence[Any]:
            is_read_only = all(isinstance(op, READING) for op in ops)
            if is_read_only or left[0] > 1:
                left[0] -= not is_read_only
                return batch(ops)
            if left[0] == 1:
                batch(ops)
            raise Killed

        for name, call in CALLS.items():
            whole, before, after = (
                memory.for_namespace(f"{name} {how}") for how in ("0", "1", "2")
            )
            for space in (whole, before, after):
                fill(space)
            clock.pass_(days=1)
            empty = everything(before)
            assert everything(after) == empty
            if name == "prune":
                clock.pass_(days=4000)
            call(whole)
            finished[name] = everything(whole)
            assert finished[name] != empty or name == "unpin", name
            for space, operations_done, expected in (
                (before, 0, empty),
                (after, 1, finished[name]),
            ):
                left[0] = operations_done
                with patch.object(dispatcher, "batch", deadly), suppress(Killed):
                    call(space)
                assert everything(space) == expected, name
                assert space.upkeep.verify(), name
        if not self.persistent:
            return
        again = self.reopen(memory, clock=clock)
        for name, expected in finished.items():
            assert everything(again.for_namespace(f"{name} 2")) == expected
        again.close()

    def test_an_edit_a_new_memory_and_events_of_both_are_one_write(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("x", id="a")
        memory.add("y", id="b")
        a, b = get_record(memory, "a"), get_record(memory, "b")
        result = memory.add_many(
            [{"id": "a", "content": "z"}, {"id": "c", "content": "w", "supersedes": "a"}],
            on_conflict="replace",
        )
        assert [one.outcome for one in result] == ["UPDATED", "SUPERSEDES"]
        a2, c = get_record(memory, "a"), get_record(memory, "c")
        assert (a2.content, a2.status, a2.version) == ("z", "superseded", a.version + 2)
        assert (c.valid_from, get_record(memory, "b")) == (c.created_at, b)
        assert memory.upkeep.verify()


class SameFacts(StoreCase):
    """Facts that several threads add at once are judged as if added one after the other."""

    def _at_once(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        start = threading.Barrier(len(calls))

        def run(call: Callable[[], Any]) -> Any:
            start.wait()
            return call()

        with ThreadPoolExecutor(len(calls)) as pool:
            return [future.result() for future in [pool.submit(run, call) for call in calls]]

    def test_the_same_fact_is_one_memory(self, memory: Memory) -> None:
        for turn in range(6):
            facts = [f"Ana has bought {turn} apples in {place}." for place in ("Rome", "Oslo")]
            results = self._at_once([lambda: memory.add_many(facts) for _ in range(4)])  # noqa: B023
            for place in range(2):
                outcomes = Counter(result.items[place].outcome for result in results)
                assert outcomes == {"ADDED": 1, "DUPLICATE": 3}
                assert len({result.items[place].id for result in results}) == 1
        assert memory.get_all().total == 12
        assert {record.access_count for record in memory.get_all(limit=20)} == {3}
        assert memory.upkeep.verify()

    def test_one_of_two_contradictory_facts_is_told_of_the_other(self, memory: Memory) -> None:
        for turn in range(6):
            own = memory.for_namespace(f"turn {turn}")
            towns = ("Rome", "Oslo", "Bonn")
            results = self._at_once(
                [
                    lambda town=town: own.add(f"Ana lives in {town}.", kind="fact")  # type: ignore[misc]  # noqa: B023
                    for town in towns
                ]
            )
            outcomes = Counter(result.items[0].outcome for result in results)
            assert outcomes == {"ADDED": 1, "CONFLICTS": 2}

    def test_facts_of_several_owners_are_several_memories(self, memory: Memory) -> None:
        results = self._at_once(
            [lambda who=who: memory.add(PORTO, user_id=f"u{who}") for who in range(4)]  # type: ignore[misc]
        )
        assert [result.items[0].outcome for result in results] == ["ADDED"] * 4

    def test_an_idempotency_key_counts_one_duplicate(self, memory: Memory) -> None:
        memory.add(KEY, id="key")
        results = self._at_once([lambda: memory.add(KEY, idempotency_key="mail") for _ in range(4)])
        assert {result.items[0].outcome for result in results} == {"DUPLICATE"}
        assert get_record(memory, "key").access_count == 1

    def test_a_change_with_an_idempotency_key_is_made_once(self, memory: Memory) -> None:
        memory.add(KEY, id="key")

        def is_made(change: Callable[[Memory], Any], key: str) -> bool:
            own = memory.for_namespace(memory.namespace)
            own._core.once = Once.of(key, "what is asked")
            try:
                change(own)
            except DoneBefore:
                return False
            return True

        changes: dict[str, Callable[[Memory], Any]] = {
            "judged": lambda own: own.feedback("key", "useful"),
            "set": lambda own: own.update("key", importance=0.9),
            "edited": lambda own: own.update("key", content=PORTO),
            "used": lambda own: own.touch("key"),
            "linked": lambda own: own.link("key", "key"),
        }
        for key, change in changes.items():
            made = self._at_once([lambda: is_made(change, key) for _ in range(3)])  # noqa: B023
            assert sorted(made) == [False, False, True], key
        types = [event.type for event in memory.history("key").events]
        assert types == ["write", "feedback", "edit", "edit", "reference", "link"]

    def test_an_erasure_with_an_idempotency_key_tells_all_that_it_erased(
        self, memory: Memory
    ) -> None:
        memory.add(KEY, id="key")

        def erased() -> int:
            own = memory.for_namespace(memory.namespace)
            own._core.once = Once.of("k", "what is asked", erases=True)
            return own.delete("key")

        assert self._at_once([erased] * 3) == [1, 1, 1]

    def test_an_unseen_memory_is_in_the_way(self, memory: Memory) -> None:
        answers: list[Any] = []
        batch = memory._core.dispatcher.batch

        def late(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, operations.Put) for op in ops) and not answers:
                answers.append(None)
                memory.add(PORTO, id="first", dedup=False)
                answers.append(batch(ops))
                return answers[1]
            return batch(ops)

        with patch.object(memory._core.dispatcher, "batch", late):
            result = memory.add(PORTO)
        assert answers[1] == [("first",)]
        assert (result.items[0].outcome, result.items[0].match) == ("DUPLICATE", "first")

    def test_an_id_that_is_taken_meanwhile_says_so(self, memory: Memory) -> None:
        def claim(who: int) -> str:
            try:
                return memory.add(f"claimed by number{who}", id="prize").items[0].outcome
            except InvalidInput:
                return "taken"

        won = self._at_once([lambda who=who: claim(who) for who in range(4)])  # type: ignore[misc]
        assert Counter(won) == {"ADDED": 1, "taken": 3}
