"""The writer of a memory: the actor of its first write, as its log says, and nobody else."""

from __future__ import annotations

import io
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.records.events import ACCESSES, FILE_ACTOR
from salience.testing.conformance._case import Clock, StoreCase, list_ids, search_ids


def acting(memory: Memory, actor: str) -> Memory:
    """The memory in the hands of somebody; the test is skipped where a server says who that is."""
    try:
        return memory.for_namespace(memory.namespace, actor=actor)
    except InvalidInput:
        pytest.skip("the server says who writes")


def written(memory: Memory) -> None:
    """Memories of two writers and of nobody, one of them edited by the other."""
    acting(memory, "ana").add_many(
        [{"id": "a0", "content": "The boat is red."}, {"id": "a1", "content": "The oar is old."}]
    )
    acting(memory, "ben").add("The boat has a leak.", id="b0")
    memory.add("The boat is in the harbour.", id="n0")
    acting(memory, "ben").update("a0", content="The boat is blue.")


class Writers(StoreCase):
    def test_the_first_write_says_who_wrote_a_memory(self, memory: Memory) -> None:
        written(memory)
        ben = acting(memory, "ben")
        ben.add("The oar is new.", id="a1", on_conflict="replace")
        ben.feedback("a0", "useful")
        ben.archive(["a1"])
        ben.unarchive(["a1"])
        writers = {record.id: record.written_by for record in memory.get_all()}
        assert writers == {"a0": "ana", "a1": "ana", "b0": "ben", "n0": memory["n0"].written_by}
        assert memory.upkeep.verify()
        again = self.reopen(memory)
        assert {record.id: record.written_by for record in again.get_all()} == writers
        again.close()

    def test_filters_find_what_somebody_wrote(self, memory: Memory) -> None:
        written(memory)
        for condition, ids in (
            ("ana", {"a0", "a1"}),
            ({"in": ["ben", "carl"]}, {"b0"}),
            ({"ne": "ana"}, {"b0", "n0"}),
            ({"exists": True}, {"a0", "a1", "b0"}),
            (None, {"n0"}),
        ):
            filters: Any = {"written_by": condition}
            assert set(list_ids(memory, filters)) == ids, condition
            found = search_ids(memory, "boat oar", filters=filters)
            assert set(found) == ids, condition
        assert memory.delete_all({"written_by": "ana"}).memories == 2
        assert set(list_ids(memory)) == {"b0", "n0"}

    def test_nobody_writes_in_the_name_of_another(self, memory: Memory) -> None:
        memory.add("The boat is red.", id="m")
        calls: tuple[Any, ...] = (
            lambda: memory.add("The oar is old.", written_by="ana"),  # type: ignore[call-arg]
            lambda: memory.update("m", written_by="ana"),
        )
        for call in calls:
            with pytest.raises((InvalidInput, TypeError)):
                call()
        [item] = memory.add_many([{"content": "The oar is old.", "written_by": "ana"}]).items
        assert (item.outcome, str(item.reason).split(":")[0]) == ("REJECTED", "written_by")

    def test_a_user_who_is_forgotten_wrote_nothing(self, memory: Memory) -> None:
        written(memory)
        memory.delete_user("ana")
        writers = {record.id: record.written_by for record in memory.get_all()}
        assert writers == {"a0": None, "a1": None, "b0": "ben", "n0": writers["n0"]}
        assert search_ids(memory, "boat oar", filters={"written_by": "ana"}) == []
        assert memory.upkeep.verify()

    def test_an_import_was_done_by_who_imports(self, memory: Memory) -> None:
        written(memory)
        file = io.BytesIO()
        memory.export(file)
        target = memory.for_namespace("imported", actor="carl")
        file.seek(0)
        target.load(file)
        assert {record.written_by for record in target.get_all()} == {"carl"}
        was = [
            (event.type, event.actor, event.payload.get(FILE_ACTOR)) for event in target.events()
        ]
        assert was == [
            ("write", "carl", "ana"),
            ("write", "carl", "ana"),
            ("write", "carl", "ben"),
            ("write", "carl", None),
            ("edit", "carl", "ben"),
        ]
        assert target.upkeep.verify()
        target.delete_user("ana")
        assert [event.payload.get(FILE_ACTOR) for event in target.events()][:2] == [None, None]
        again = memory.for_namespace("again")
        file = io.BytesIO()
        memory.export(file)
        file.seek(0)
        again.load(file)  # by nobody who is named
        assert {r.id: r.written_by for r in again.get_all()} == {
            r.id: r.written_by for r in memory.get_all()
        }


class UndoingWriters(StoreCase):
    def test_all_that_a_writer_did_since_a_time_is_taken_back(
        self, memory: Memory, clock: Clock
    ) -> None:
        ana, ben = acting(memory, "ana"), acting(memory, "ben")
        ben.add("The sail is white.", id="sail")
        for id, text in (
            ("boat", "The boat is red."),
            ("oar", "The oar is old."),
            ("key", "Here."),
        ):
            ana.add(text, id=id, tags=[id])
        ana.add("The rope is long.", id="rope")
        ana.link("boat", "oar", "mentions")
        before = {id: memory[id] for id in ("boat", "oar", "sail")}
        since = clock.pass_(hours=1)
        ben.add("The boat is stolen.", id="poison")
        ben.update("boat", content="The boat is sunk.", metadata={"sunk": True}, importance=1.0)
        ben.feedback("oar", "incorrect")
        ben.pin("oar")
        ben.link("oar", "boat", "contradicts")
        ben.update("key", content="Gone.", importance=0.9)
        ben.delete("rope")
        clock.pass_(hours=1)
        ana.update("key", content="In the drawer.")
        log = list(memory.events())

        shown = memory.undo_actor("ben", since=since)
        assert (shown.applied, shown.run, list(memory.events())) == (False, None, log)
        done = memory.undo_actor("ben", since=since, apply=True)
        assert done.archived == shown.archived == ("poison",)
        assert {id: set(names) for id, names in done.restored.items()} == {
            "boat": {"content", "metadata", "importance"},
            "oar": {"feedback_against", "relevance_score", "review", "pinned"},
            "key": {"importance"},
        }
        assert (set(done.left), done.links, done.erased) == ({"key"}, 1, 1)
        for id, record in before.items():
            names = {"updated_at", "version", *ACCESSES}
            assert memory[id].equals_except(names, record), id
        assert (memory["key"].content, memory["key"].importance) == ("In the drawer.", 0.5)
        assert memory["poison"].status == "archived"
        assert search_ids(memory, "red", limit=1) == ["boat"]
        assert [(link.source, link.type) for link in memory.links("boat")] == [("boat", "mentions")]
        assert memory.upkeep.verify()
        assert not memory.undo_actor("ben", since=since).archived

        memory.undo(str(done.run))
        assert memory["poison"].status == "active"
        assert memory["oar"].review == "incorrect"
        assert memory.upkeep.verify()

    def test_who_did_nothing_is_not_undone(self, memory: Memory, clock: Clock) -> None:
        written(memory)
        done = memory.undo_actor("ana", since=clock.pass_(hours=1), apply=True)
        assert (done.archived, dict(done.restored), done.links, done.run) == ((), {}, 0, None)
        assert memory.undo_actor("carl", since=0).archived == ()
        assert set(memory.undo_actor("ana").archived) == {"a0", "a1"}
        wrong: tuple[tuple[Any, Any], ...] = (("", 0), (None, 0), ("ana", "soon"), ("x" * 513, 0))
        for actor, since in wrong:
            with pytest.raises(InvalidInput):
                memory.undo_actor(actor, since=since)
