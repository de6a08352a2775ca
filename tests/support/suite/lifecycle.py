"""Lifecycle: runs that are previewed, applied and undone as a whole."""

from __future__ import annotations

import json
from asyncio import CancelledError
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest

from salience import Memory
from salience.errors import InvalidInput, Locked, NotFound
from salience.lifecycle.maintenance import Owner, consolidate_new, with_lock
from salience.lifecycle.pruning import archive, unarchive
from salience.lifecycle.undoing import undo
from salience.lifecycle.zones import ZonedMemory
from salience.retrieval import operations
from salience.retrieval.plan import Plan, ask, drive
from salience.testing.conformance._case import START, WORDS, Clock, StoreCase, get_record, perform
from support.suite.events import events
from support.suite.links import ends

POT = "Ana keeps the spare key of the flat under the pot"


def everything(memory: Memory) -> dict[str, dict[str, Any]]:
    """All memories of a namespace, by id; without their versions, which undoing moves on."""
    records = memory.get_all(limit=10_000)
    return {
        record.id: {n: v for n, v in record.to_dict().items() if n != "version"}
        for record in records
    }


def alike(memory: Memory, count: int = 4, others: int = 20) -> None:
    """Add some facts that say the same, and others that do not."""
    memory.add_many(
        {
            "id": f"tea{i}",
            "content": "Ana likes green tea in the morning" + " indeed" * (i % 2),
            "kind": "fact",
            "importance": 0.3 + i / 10,
            "tags": [f"t{i}"],
        }
        for i in range(count)
    )
    memory.add_many(
        {"id": f"x{i}", "content": f"alpha{i} beta{i} gamma{i}", "kind": "fact"}
        for i in range(others)
    )


class Lifecycle(StoreCase):
    """Pruning, archiving, consolidation, maintenance, audits, and undo."""

    def test_pruning_is_a_preview_until_it_is_applied(self, memory: Memory, clock: Clock) -> None:
        ids = [f"m{i:02}" for i in range(12)]
        memory.add_many({"id": id, "content": f"about {id}", "layer": "activity"} for id in ids)
        memory.update("m00", pinned=True)
        memory.add("stays", id="entity", layer="entity")
        memory.link("m01", "m02")
        memory.link("m02", "m03")  # m02 holds them together
        clock.pass_(days=40)
        before = everything(memory)
        report = memory.upkeep.prune()
        assert everything(memory) == before
        assert report.run is None
        assert report.looked_at == 13
        assert report.faded == 12
        assert report.pinned == ("m00",)
        assert report.bridges == ("m02",)
        assert report.protected == 1 / 13
        # Alive is 1 / (1 + 40^1.5) = .0039 for most; m03's decay is 1.5 / 1.1, so it is the last.
        by_now = ["m01", *ids[4:], "m03"]
        assert [one.id for one in report.candidates] == by_now
        assert report.left == 0
        assert report.candidates[0].vitality == pytest.approx(1 / (1 + 40**1.5))
        assert report.candidates[0].reasons == (
            "vitality 0.004 is below 0.1",
            "never used; written 40 days ago",
            "fades at rate 3 (activity); nothing links to it",
        )
        done = memory.upkeep.prune(apply=True, cap=3)
        assert [one.id for one in done.candidates] == ["m01", "m04", "m05"]
        assert done.left == 7
        assert get_record(memory, "m01").status == "archived"
        assert "m01" not in memory.search("about m01", touch=False).ids
        assert (
            memory.search("about m01", options={"include_archived": True}, touch=False)[0].id
            == "m01"
        )
        assert memory.upkeep.prune().faded == 9
        assert done.run is not None
        undone = memory.undo(done.run)
        assert sorted(undone.restored) == ["m01", "m04", "m05"]
        assert undone.left == {}
        assert everything(memory) == before

    def test_the_archive_by_hand(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "abc")
        memory.update("b", status="superseded")
        memory.update("c", pinned=True)
        for ids, problem in ((["a", "nobody"], NotFound), (["a", "c"], InvalidInput)):
            with pytest.raises(problem):
                memory.archive(ids)
        with pytest.raises(InvalidInput, match="not archived"):
            memory.unarchive("a")
        before = everything(memory)
        run = memory.archive(["a", "b"])
        assert run is not None
        assert memory.archive("a") is None
        assert {get_record(memory, id).status for id in "ab"} == {"archived"}
        assert memory.unarchive(["a", "b"]) == {"a": "active", "b": "superseded"}
        assert memory.undo(run).left == {
            "a": "status is 'active' now, not 'archived' any more",
            "b": "status is 'superseded' now, not 'archived' any more",
        }
        assert everything(memory) == before
        with pytest.raises(NotFound, match="prune-99"):
            memory.undo("prune-99")
        with pytest.raises(InvalidInput, match="run"):
            memory.undo("whatever")

    def test_what_others_edit_meanwhile_is_there(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "ab")
        scope, batch = memory._core.write_context(), memory._core.dispatcher.batch

        def editing(times: int) -> Callable[[Sequence[operations.Op]], Sequence[Any]]:
            words = iter([f"words {i} of {times}" for i in range(times)])

            def answers(ops: Sequence[operations.Op]) -> Sequence[Any]:
                if any(isinstance(op, operations.ReadRecords) for op in ops) and (
                    said := next(words, None)
                ):
                    memory.update("a", content=said)
                return batch(ops)

            return answers

        drive(archive(scope, ("a", "b")), editing(2))
        assert {get_record(memory, id).status for id in "ab"} == {"archived"}
        assert drive(unarchive(scope, ("a", "b")), editing(2)) == dict.fromkeys("ab", "active")
        run = drive(archive(scope, ("a", "b")), editing(1))
        assert drive(undo(scope, str(run)), editing(1)).left == {}
        assert {get_record(memory, id).status for id in "ab"} == {"active"}

    def test_runs_that_begin_at_once_are_undone_one_by_one(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "ab")
        scope, batch = memory._core.write_context(), memory._core.dispatcher.batch
        runs: list[str | None] = []

        def meanwhile(ops: Sequence[operations.Op]) -> Sequence[Any]:
            if any(isinstance(op, operations.Log) for op in ops):
                runs.append(memory.archive("b"))
            return batch(ops)

        run = drive(archive(scope, ("a",)), meanwhile)
        assert memory.undo(str(run)).restored == ("a",)
        assert get_record(memory, "b").status == "archived"
        assert memory.undo(str(runs[0])).restored == ("b",)

    def test_consolidating_and_undoing_it(self, memory: Memory, clock: Clock) -> None:
        alike(memory)
        memory.add("Ana likes green tea in the morning", id="said", kind="turn", session_id="s")
        memory.add("Ana likes green tea in the morning", id="kept", kind="fact", pinned=True)
        before, links = everything(memory), memory.links()
        clock.pass_(days=1)
        [cluster] = memory.upkeep.consolidate().clusters
        assert everything(memory) == before
        assert sorted(cluster.members) == ["tea0", "tea1", "tea2", "tea3"]
        assert cluster.importance == pytest.approx(0.7)  # the largest is 0.6
        assert cluster.content == before[cluster.members[0]]["content"]
        done = memory.upkeep.consolidate(apply=True)
        assert done.run is not None
        assert done.clusters[0].id is not None
        one = get_record(memory, done.clusters[0].id)
        assert (one.content, one.importance, one.kind) == (
            cluster.content,
            cluster.importance,
            "fact",
        )
        assert one.tags == ("t0", "t1", "t2", "t3")
        assert {get_record(memory, id).status for id in cluster.members} == {"consolidated"}
        assert {(e.source, e.type, e.target) for e in memory.links(one.id)} == {
            (one.id, "consolidates", id) for id in cluster.members
        }
        ids = memory.search("green tea", limit=100, touch=False).ids
        assert one.id in ids
        assert not set(cluster.members) & set(ids)
        assert memory.upkeep.consolidate().clusters == ()
        undone = memory.undo(done.run)
        assert undone.erased == (one.id,)
        assert sorted(undone.restored) == sorted(cluster.members)
        assert everything(memory) == before
        assert memory.links() == links

    def test_undoing_is_one_write(self, memory: Memory) -> None:
        alike(memory)
        done = memory.upkeep.consolidate(apply=True)
        assert done.run is not None
        dispatcher = memory._core.dispatcher
        with patch.object(dispatcher, "batch", wraps=dispatcher.batch) as batch:
            undone = memory.undo(done.run)
        assert undone.erased
        assert undone.restored
        written = [op for call in batch.call_args_list for op in call.args[0]]
        writes = (operations.Log, operations.Put, operations.Delete)
        assert sum(isinstance(op, writes) for op in written) == 1  # so all is done, or nothing

    def test_a_summariser_says_what_stands_for_them(self, memory: Memory) -> None:
        alike(memory, 0, 20)
        memory.add_many(
            {"id": f"n{i}", "content": f"the cat with number {i} sat on the mat and slept"}
            for i in range(3)
        )
        [cluster] = memory.upkeep.consolidate(apply=True).clusters
        assert cluster.apart == "differ in a number: 0, 1, 2"
        assert cluster.id is None
        assert {get_record(memory, f"n{i}").status for i in range(3)} == {"active"}
        done = memory.upkeep.consolidate(
            apply=True,
            everything=True,
            summarise=lambda records: f"{len(records)} cats sat on the mat",
        )
        assert done.clusters[0].id is not None
        assert get_record(memory, done.clusters[0].id).content == "3 cats sat on the mat"
        memory.update(done.clusters[0].id, content="cats")
        assert done.run is not None
        assert list(memory.undo(done.run).left) == [done.clusters[0].id]
        assert get_record(memory, done.clusters[0].id).status == "archived"
        assert {get_record(memory, f"n{i}").status for i in range(3)} == {"active"}

    @pytest.mark.parametrize(
        ("texts", "apart"),
        [
            (
                [f"the walls of the new flat are {colour}" for colour in ("red", "green", "blue")],
                "differ in a word: blue, green, red",
            ),
            ([POT, POT + " by the door", POT + " by the window"], "differ in a word: door, window"),
            ([POT, POT + " in Rome", POT + " in town"], "differ in a name: rome, town"),
            ([POT, POT + " by the door", POT], ""),
            ([POT, POT.replace("keeps", "never keeps"), POT], "differ in a negation: never"),
        ],
    )
    def test_what_differs_is_left_apart_unless_somebody_summarises(
        self, memory: Memory, texts: list[str], apart: str
    ) -> None:
        alike(memory, 0, 20)
        memory.add_many(
            [{"id": f"m{i}", "content": text, "kind": "fact"} for i, text in enumerate(texts)],
            dedup=False,
        )
        [cluster] = memory.upkeep.consolidate(apply=True).clusters
        assert sorted(cluster.members) == ["m0", "m1", "m2"]
        assert cluster.apart == apart
        assert (cluster.id is None) == bool(apart)
        if apart:
            assert {get_record(memory, id).status for id in cluster.members} == {"active"}
            done = memory.upkeep.consolidate(
                apply=True, everything=True, summarise=lambda _: "in one"
            )
            assert [(one.apart, one.content) for one in done.clusters] == [("", "in one")]
            assert done.merged == 3

    def test_facts_that_contradict_each_other_by_a_link_are_left_apart(
        self, memory: Memory
    ) -> None:
        alike(memory)
        memory.link("tea3", "tea1", "contradicts")
        [cluster] = memory.upkeep.consolidate(apply=True).clusters
        assert (cluster.apart, cluster.id) == ("contradict each other", None)

    @pytest.mark.parametrize("mode", ["chunks", "hybrid"])
    def test_what_was_said_in_two_chats_stays_two(self, memory: Memory, mode: Any) -> None:
        alike(memory, count=1, others=25)
        greeting = [
            {"role": "user", "content": "Good morning, how are you today?"},
            {"role": "assistant", "content": "Fine, thank you. What shall we do?"},
        ]
        for day in ("monday", "tuesday"):
            memory.add_chat(greeting, mode=mode, session_id=day)
        assert memory.upkeep.consolidate().clusters == ()
        assert memory.upkeep.audit()["duplicates"].count == 0

    @pytest.mark.parametrize(
        "change",
        [
            lambda memory: memory.update("tea1", content="Ana has gone off tea."),
            lambda memory: memory.update("tea1", pinned=True),
            lambda memory: memory.delete("tea1"),
        ],
    )
    def test_consolidation_leaves_what_others_change_meanwhile(
        self, memory: Memory, change: Callable[[Memory], Any]
    ) -> None:
        alike(memory)
        changed: list[dict[str, dict[str, Any]]] = []

        def meanwhile(records: Any) -> str:
            change(memory)
            changed.append(everything(memory))
            return "Ana likes tea"

        report = memory.upkeep.consolidate(apply=True, summarise=meanwhile)
        assert (report.clusters, report.run, len(changed)) == ((), None, 1)
        assert everything(memory) == changed[0]
        again = [sorted(one.members) for one in memory.upkeep.consolidate().clusters]
        assert again == [["tea0", "tea2", "tea3"]]  # it was not taken for seen

    def test_what_is_erased_last_of_all_is_not_reported_as_merged(self, memory: Memory) -> None:
        alike(memory)
        batch = memory._core.dispatcher.batch

        def erasing(ops: Sequence[operations.Op]) -> Sequence[Any]:
            if any(isinstance(op, operations.Put) for op in ops):
                memory.delete("tea1")
            return batch(ops)

        report = drive(consolidate_new(memory._core.write_context(), apply=True), erasing)
        assert (report.clusters, report.run) == ((), None)
        assert {one.status for one in memory.get_all()} == {"active"}

    def test_consolidation_looks_at_what_is_new(self, memory: Memory) -> None:
        alike(memory, 2, 18)
        assert memory.upkeep.consolidate().owners == 0  # more than 20 are needed
        memory.add("something else", id="else")
        assert memory.upkeep.consolidate(apply=True).clusters == ()
        seen: list[tuple[int, int]] = []
        report = memory.upkeep.consolidate(progress=lambda done, total: seen.append((done, total)))
        assert (report.owners, report.looked_at, report.fresh) == (1, 21, 0)
        memory.add("Ana likes green tea in the morning", id="new", kind="fact")
        report = memory.upkeep.consolidate(progress=lambda done, total: seen.append((done, total)))
        assert report.fresh == 1
        assert [sorted(one.members) for one in report.clusters] == [["new", "tea0", "tea1"]]
        assert seen[-1] == (22, 22)
        other = [{"id": f"o{i}", "content": "Ana likes green tea", "user_id": "o"} for i in "123"]
        memory.add_many(other)
        assert (
            len(memory.upkeep.consolidate().clusters) == 1
        )  # of another owner, who has only three

    def test_maintenance_does_what_is_due_once(self, memory: Memory, clock: Clock) -> None:
        memory.add("a task", id="old", kind="task")
        memory.add("a task", id="used", kind="task")
        memory.add("soon gone", id="expires", expires_at=clock.now + timedelta(days=7))
        memory.add("x", id="a", links=[{"target": "The Atlas", "type": "mentions"}])
        memory.add("y", id="b", title="the atlas")
        clock.pass_(days=6)
        memory.search("task", profile=WORDS, filters={"id": "used"})
        memory.add("a task", id="new", kind="task")
        assert memory.upkeep.maintain().changed == 1  # the link, which differed in its capitals
        assert ends(memory) == [("a", "b")]
        clock.pass_(days=1)
        planned = memory.upkeep.maintain(dry_run=True)
        before = everything(memory)
        assert (planned["tasks"].ids, planned["expire"].ids) == (("old",), ("expires",))
        done = memory.upkeep.maintain()
        assert done.changed == planned.changed == 2
        assert get_record(memory, "old").status == "completed"
        assert get_record(memory, "expires").status == "archived"
        after, log = everything(memory), events(memory)
        assert memory.upkeep.maintain().changed == 0
        assert (everything(memory), events(memory)) == (after, log)
        for step in done.steps:
            if step.run:
                memory.undo(step.run)
        assert everything(memory) == before

    def test_maintenance_prunes_and_consolidates_if_told_to(
        self, memory: Memory, clock: Clock
    ) -> None:
        alike(memory)
        clock.pass_(days=400)
        with_lock = memory.upkeep.maintain()
        assert with_lock.changed == 0
        assert with_lock["prune"].changed == 10
        assert with_lock["prune"].held_back == "salience prune --apply"
        assert with_lock["consolidate"].changed == 4
        done = memory.upkeep.maintain(steps=["consolidate", "prune"], cap=2)
        assert (done["consolidate"].changed, done["prune"].changed) == (4, 2)
        with pytest.raises(InvalidInput, match="steps"):
            memory.upkeep.maintain(steps=["everything"])

    def test_only_one_maintains_at_a_time(self, memory: Memory) -> None:
        alike(memory)

        def meanwhile(records: Any) -> str:
            with pytest.raises(Locked, match="maintain"):
                memory.upkeep.maintain()
            assert memory.upkeep.maintain(dry_run=True)["expire"].changed == 0  # looking is free
            return "tea"

        memory.upkeep.maintain(steps=["consolidate"], summarise=meanwhile)
        memory.upkeep.maintain()  # it was given back

        def dies(records: Any) -> str:
            raise ZeroDivisionError

        memory.add_many({"id": f"y{i}", "content": "Ben plays the cello well"} for i in range(3))
        with pytest.raises(ZeroDivisionError):
            memory.upkeep.maintain(steps=["consolidate"], summarise=dies)
        memory.upkeep.maintain()

    @pytest.mark.parametrize("stops", [KeyboardInterrupt, CancelledError])
    def test_an_interrupt_gives_the_lock_back(
        self, memory: Memory, clock: Clock, stops: type[BaseException]
    ) -> None:
        batch = memory._core.dispatcher.batch

        def interrupted(ops: Sequence[operations.Op]) -> Sequence[Any]:
            if any(isinstance(op, operations.RowsInWriteOrder) for op in ops):
                raise stops
            return batch(ops)

        def interrupts() -> Plan[None]:
            yield from ask(operations.Dimensions(memory.namespace, ("content",)))
            raise stops

        for plan in (ask(operations.RowsInWriteOrder(memory.namespace)), interrupts()):
            locked = with_lock(plan, memory.namespace, Owner("here"), lambda: clock.now)
            with pytest.raises(stops):
                drive(locked, interrupted)
            assert "maintenance" not in perform(memory, operations.Notes(memory.namespace))

    def test_a_lock_whose_owner_is_silent_goes_stale(self, memory: Memory, clock: Clock) -> None:
        with_lock = json.dumps({"owner": "elsewhere:1:x", "at": clock.now.isoformat()})
        perform(memory, operations.Note(memory.namespace, "maintenance", with_lock, None))
        clock.pass_(minutes=14)
        with pytest.raises(Locked, match="elsewhere"):
            memory.upkeep.maintain()
        clock.pass_(minutes=1)
        memory.upkeep.maintain()
        assert "maintenance" not in perform(memory, operations.Notes(memory.namespace))

    def test_an_audit_counts_and_shows(self, memory: Memory, clock: Clock) -> None:
        memory.add_many(
            {"id": id, "content": content, "kind": kind}
            for id, content, kind in (
                ("a", "Ana likes green tea", "fact"),
                ("b", "ana likes  green tea", "fact"),
                ("c", "Ana said that she likes green tea", "turn"),
                ("d", "null", "note"),
                ("e", "Ben plays the cello", "fact"),
                ("f", "Ben plays the violin", "fact"),
                ("g", "Lisbon is in Portugal", "fact"),
            )
        )
        memory.link("e", "f", "contradicts")
        memory.update("g", status="superseded")
        memory.add("x y z", id="h", links=[{"target": "nobody", "type": "mentions"}])
        audit = memory.upkeep.audit()
        assert audit.memories == 8
        assert {one.name: (one.count, one.of) for one in audit} == {
            "duplicates": (1, 6),
            "junk": (1, 6),
            "dormant": (0, 8),
            "contradicted": (2, 6),
            "orphaned": (2, 8),
            "unembedded": (0, 7),
            "secrets": (0, 7),
        }
        assert audit["duplicates"].examples == (("b", "says the same as a"),)
        [archive] = audit["duplicates"].actions
        assert (archive.method, archive.path, archive.scope) == ("POST", "/v1/archive", "upkeep")
        assert (dict(archive.body), archive.undo) == ({"ids": ["b"]}, "/v1/undo")
        assert audit["junk"].examples == (("d", "is only a placeholder: null"),)
        assert audit["junk"].rate == 1 / 6
        [supersede] = audit["contradicted"].actions
        assert (supersede.path, supersede.undo) == ("/v1/supersede", None)
        assert dict(supersede.body) == {"old": "e", "new": "f"}
        assert [one.name for one in audit if one.count and not one.actions] == []
        assert audit["orphaned"].examples == (
            ("g", "is superseded, but by no memory that is there"),
            ("h", "links to 'nobody', which is no memory"),
        )
        clock.pass_(days=1000)
        assert memory.upkeep.audit()["dormant"].count == 8

    def test_an_audit_lets_turns_disagree(self, memory: Memory) -> None:
        for id, name in (("a", "Ana"), ("b", "Ben")):
            memory.add(f"{name} says the meeting is on day {id}.", id=id, session_id="s")
            memory.add(f"The meeting of {name} is on day {id}.", id=f"fact {id}", dedup=False)
        memory.link("a", "b", "contradicts")
        assert memory.upkeep.audit()["contradicted"].count == 0
        memory.link("fact a", "fact b", "contradicts")
        found = memory.upkeep.audit()["contradicted"]
        bodies = [dict(action.body) for action in found.actions]
        assert (found.count, bodies) == (2, [{"old": "fact a", "new": "fact b"}])

    def test_an_audit_mends_what_it_is_told_to(self, memory: Memory, clock: Clock) -> None:
        memory.add_many(
            {"id": id, "content": content, "kind": "fact"}
            for id, content in (
                ("a", "Ana likes green tea"),
                ("b", "ana likes  green tea"),
                ("c", "Ana likes GREEN tea"),
                ("d", "null"),
                ("e", "TODO"),
                ("f", "Lisbon is in Portugal"),
                ("g", "Porto is in Portugal, too"),
            )
        )
        memory.pin("c")
        memory.pin("e")
        memory.update("f", status="superseded", valid_to=clock.now)  # by nothing
        memory.delete("g")
        memory.add("x y z", id="h", links=[{"target": "nobody", "type": "mentions"}])
        before = everything(memory)
        clock.pass_(days=1)
        found = memory.upkeep.audit(mend=("duplicates", "junk", "orphaned"))
        assert {one.name: one.count for one in found if one.count} == {
            "duplicates": 1,
            "junk": 1,
            "orphaned": 2,
        }
        assert {one.name for one in memory.upkeep.audit() if one.count} == set()
        assert {id: get_record(memory, id).status for id in "abcdefh"} == {
            **dict.fromkeys("acefh", "active"),
            **dict.fromkeys("bd", "archived"),
        }
        assert get_record(memory, "f").valid_to is None
        assert memory.links(pending=True) == []
        assert found.run is not None
        assert sorted(memory.undo(found.run).restored) == ["b", "d", "f"]
        assert everything(memory) == before
        assert memory.upkeep.audit(mend="orphaned")["duplicates"].count == 1
        assert get_record(memory, "b").status == "active"
        assert memory.upkeep.audit(mend="orphaned").run is None
        with pytest.raises(InvalidInput, match="use duplicates, junk, orphaned"):
            memory.upkeep.audit(mend=("dormant",))

    def test_what_gained_a_link_is_not_pruned_for_a_fortnight(
        self, memory: Memory, clock: Clock
    ) -> None:
        ids = ("linked", "argued", "alone")
        memory.add_many({"id": id, "content": f"about {id}", "layer": "activity"} for id in ids)
        clock.pass_(days=900)
        memory.add("new", id="new")
        memory.link("new", "linked")
        memory.link("new", "argued", "contradicts")
        clock.pass_(days=14)
        for apply in (False, True):
            report = memory.upkeep.prune(apply=apply)
            assert [one.id for one in report.candidates] == ["alone", "argued"]
            assert (report.revived, report.faded, report.left) == (("linked",), 3, 0)
        clock.pass_(seconds=1)
        assert [one.id for one in memory.upkeep.prune(apply=True).candidates] == ["linked"]

    def test_the_vitality_of_one_is_what_the_zones_were(self, memory: Memory, clock: Clock) -> None:
        names = ("a", "b", "c", "d")
        memory.add_many({"id": id, "content": f"about {id}", "layer": "activity"} for id in "abcd")
        seen: list[tuple[datetime, dict[str, Any]]] = []

        def look() -> None:
            clock.pass_(hours=5)
            seen.append((clock.now, {one.id: one for one in memory.inspect.zones()}))
            clock.pass_(hours=5)

        steps: tuple[Callable[[], object], ...] = (
            lambda: memory.touch(["a", "b"]),
            lambda: memory.link("a", "b"),
            lambda: memory.link("b", "c", "supports"),  # the graph falls apart without b
            lambda: memory.update("c", content="about another"),
            lambda: memory.link("c", "d", "contradicts"),
            lambda: memory.link("c", "a"),  # b is no bridge any more
            lambda: memory.touch("a", utility=0.8),  # which lends its neighbours a boost
            lambda: memory.add(
                "late", id="e", layer="entity", created_at=START - timedelta(days=99)
            ),
            lambda: memory.link("d", "b", "mentions"),
            lambda: memory.delete("a"),  # nor is it in the past of the others any more
            lambda: memory.supersede("b", "c"),
            lambda: memory.archive(["d"]),
        )
        for step in steps:
            step()
            memory.upkeep.flush()
            look()
        erased = 9  # steps before it: "a" took its links along
        for at, zoned in seen[erased:]:
            for id in (*names[1:], "e"):
                [point] = memory.inspect.vitality(id, since=at, until=at, points=1).points
                one = zoned.get(id)
                assert point.zone == (one and one.zone)
                assert one is None or point.vitality == one.vitality
        early = memory.inspect.vitality("e", since=START, points=2).points
        assert [point.vitality is None for point in early] == [True, False]
        with pytest.raises(NotFound):
            memory.inspect.vitality("a")
        with pytest.raises(InvalidInput, match="until"):
            memory.inspect.vitality("b", until=START - timedelta(days=1))

    def test_the_past_of_one_has_its_links_and_bridges(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"about {id}", "layer": "activity"} for id in "abcd")
        seen, same = [], {"target": "d", "type": "same_as"}
        changes: tuple[Callable[[], object], ...] = (
            lambda: memory.link("a", "b"),
            lambda: memory.link("c", "b"),
            lambda: memory.link("a", "c"),
            lambda: memory.link("b", "d"),
            lambda: memory.add("early", id="e", links=[same, {"target": "x", "type": "mentions"}]),
            lambda: memory.add("later", id="x", layer="activity"),
            lambda: memory.undo_actor("nobody", apply=True),
        )
        for change in changes:
            change()
            memory.upkeep.maintain()
            clock.pass_(days=9)
            seen.append((clock.now, {one.id: one for one in memory.inspect.zones()}))
            clock.pass_(hours=1)
        assert len(memory.links()) == 6
        for at, zoned in seen:
            for id, one in zoned.items():
                [point] = memory.inspect.vitality(id, since=at, until=at, points=1).points
                assert (point.vitality, point.zone) == (one.vitality, one.zone)
        assert {one["b"].bridge for _, one in seen} == {True, False}

    def test_each_change_of_zone_is_at_its_time(self, memory: Memory, clock: Clock) -> None:
        memory.add("about a", id="a", layer="activity")
        clock.pass_(days=9)
        memory.touch("a")
        memory.upkeep.flush()
        clock.pass_(days=1)
        until = clock.now + timedelta(days=90)
        found = memory.inspect.vitality("a", until=until, points=3)
        zones = ["stale", "fading", "dormant", "active", "stale", "fading", "dormant"]
        assert [crossing.zone for crossing in found.crossings] == zones
        assert [point.at for point in found.points] == [START, START + (until - START) / 2, until]
        before = "active"
        for crossing in found.crossings:
            for shift, zone in ((-1e-3, before), (1e-3, crossing.zone)):
                [one] = memory.inspect.zones(now=crossing.at + timedelta(seconds=shift))
                if crossing.at > clock.now:  # zones look at the present state
                    assert one.zone == zone
                at = crossing.at + timedelta(seconds=shift)
                [point] = memory.inspect.vitality("a", since=at, until=at, points=1).points
                assert point.zone == zone
            before = crossing.zone
        assert found.archived_at is not None
        assert abs(found.archived_at - found.crossings[-1].at) < timedelta(seconds=1e-4)
        clock.now = found.archived_at - timedelta(seconds=1)
        assert memory.upkeep.prune(apply=True).candidates == ()
        clock.pass_(seconds=2)
        assert len(memory.upkeep.prune(apply=True).candidates) == 1
        archived = memory.inspect.vitality("a", until=clock.now + timedelta(days=1), points=2)
        assert (archived.archived_at, archived.points[1].zone) == (clock.now, None)

    def test_what_is_never_archived_has_no_time_of_it(self, memory: Memory, clock: Clock) -> None:
        ids = ("pinned", "entity", "linked", "plain")
        memory.add_many({"id": id, "content": f"about {id}", "layer": "activity"} for id in ids)
        memory.add("new", id="new")
        memory.pin("pinned")
        memory.update("entity", layer="entity")
        clock.pass_(days=30)
        memory.link("new", "linked")
        begins = clock.now
        at = {id: memory.inspect.vitality(id, points=1).archived_at for id in ids}
        assert (at["pinned"], at["entity"]) == (None, None)
        assert at["linked"] is not None
        assert at["linked"] - clock.now >= timedelta(days=14)
        clock.now = at["linked"]
        assert "linked" in {one.id for one in memory.upkeep.prune().candidates}
        clock.pass_(seconds=-1)
        assert "linked" not in {one.id for one in memory.upkeep.prune().candidates}
        assert at["plain"] == begins  # long due: it waits for a pruning

    def test_what_is_in_the_archive_has_no_zone(self, memory: Memory, clock: Clock) -> None:
        memory.add_many({"id": id, "content": f"about {id}", "layer": "activity"} for id in "abc")
        before = clock.now
        clock.pass_(days=30)
        assert memory.inspect.zones().counts == {"dormant": 3}
        done = memory.upkeep.prune(apply=True, cap=2)
        assert [one.id for one in memory.inspect.zones()] == ["c"]
        shares = memory.inspect.zone_shares(since=before, points=2)
        assert (shares.counts["active"], shares.counts["dormant"]) == ((3, 0), (0, 1))
        assert done.run is not None
        memory.undo(done.run)
        assert memory.inspect.zones().counts == {"dormant": 3}

    def test_zones_come_in_pages_at_one_time(self, memory: Memory, clock: Clock) -> None:
        for id, days in (("a", 1), ("b", 1), ("c", 9), ("d", 0), ("e", 30)):
            memory.add(f"about {id}", id=id, layer="activity")
            clock.pass_(days=days)
        everything = memory.inspect.zones()
        assert (len(everything), everything.cursor) == (5, None)
        counted = memory.inspect.zones(limit=0)
        assert (counted.memories, counted.cursor) == ((), None)
        assert counted.counts == everything.counts
        assert sum(counted.counts.values()) == 5
        found: list[ZonedMemory] = []
        cursor = None
        while True:
            page = memory.inspect.zones(limit=2, cursor=cursor)
            found += page.memories
            assert page.counts == everything.counts
            if (cursor := page.cursor) is None:
                break
            clock.pass_(days=100)  # all fade meanwhile, but for the pages to come
        assert found == [*everything]
        with pytest.raises(InvalidInput, match="cursor"):
            memory.inspect.zones(limit=2, cursor=memory.get_all(limit=1).cursor)
        with pytest.raises(InvalidInput, match="limit"):
            memory.inspect.zones(limit=-1)

    def test_the_age_of_what_is_imported_counts_from_the_import(
        self, memory: Memory, clock: Clock
    ) -> None:
        old = clock.now - timedelta(days=900)
        memory.add("imported", id="a", layer="activity", created_at=old)
        assert memory.inspect.zones().counts == {"active": 1}
        assert memory.upkeep.prune().faded == memory.upkeep.audit()["dormant"].count == 0
        clock.pass_(days=10)
        [candidate] = memory.upkeep.prune().candidates
        assert candidate.vitality == pytest.approx(1 / (1 + 10**1.5))
        assert candidate.reasons[1] == "never used; written 910 days ago, added 10 days ago"
        assert memory.inspect.zones().counts == {"dormant": 1}
        assert memory.inspect.zone_shares(points=2).counts["dormant"] == (0, 1)
        for as_of, zone in ((None, "dormant"), (clock.now - timedelta(days=9), "stale")):
            [hit] = memory.search("imported", profile="vitality", as_of=as_of, touch=False)
            assert hit.zone == zone

    def test_a_zone_that_is_not_that_of_the_rank_has_its_own_vitality_and_the_reason(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add("imported", id="a", layer="activity", created_at=clock.now - timedelta(days=30))
        memory.add("imported, too", id="b", layer="activity")
        clock.pass_(days=2)
        zoned = {one.id: one for one in memory.inspect.zones()}
        options: dict[str, Any] = {"profile": "vitality", "touch": False, "explain": True}
        hits = {hit.id: hit for hit in memory.search("imported", **options)}
        for id, hit in hits.items():
            tree = hit.explanation.find("vitality") if hit.explanation else None
            assert tree is not None
            ranked = tree.value
            assert hit.zone == zoned[id].zone
            assert hit.details.get("zone.vitality", ranked) == zoned[id].vitality
            assert ("zone.why" in hit.details) == (ranked != zoned[id].vitality) == (id == "a")
        report = memory.explain("imported", "a", profile="vitality")
        assert report.left["zone.vitality"] == zoned["a"].vitality
        assert "created_at" in report.left["zone.why"]
