"""The writer of a memory: the actor of its first write, as its log says, and nobody else."""

from __future__ import annotations

import io
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.records.events import FILE_ACTOR
from salience.testing.conformance._case import StoreCase, list_ids, search_ids


def acting(memory: Memory, actor: str) -> Memory:
    """The memory in the hands of somebody; the test is skipped where a server says who that is."""
    try:
        return memory.within(memory.namespace, actor=actor)
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
        ben.restore(["a1"])
        writers = {record.id: record.written_by for record in memory.get_all()}
        assert writers == {"a0": "ana", "a1": "ana", "b0": "ben", "n0": memory["n0"].written_by}
        assert memory.verify()
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
        memory.forget_user("ana")
        writers = {record.id: record.written_by for record in memory.get_all()}
        assert writers == {"a0": None, "a1": None, "b0": "ben", "n0": writers["n0"]}
        assert search_ids(memory, "boat oar", filters={"written_by": "ana"}) == []
        assert memory.verify()

    def test_an_import_was_done_by_who_imports(self, memory: Memory) -> None:
        written(memory)
        file = io.BytesIO()
        memory.export(file)
        target = memory.within("imported", actor="carl")
        file.seek(0)
        target.import_(file)
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
        assert target.verify()
        target.forget_user("ana")
        assert [event.payload.get(FILE_ACTOR) for event in target.events()][:2] == [None, None]
        again = memory.within("again")
        file = io.BytesIO()
        memory.export(file)
        file.seek(0)
        again.import_(file)  # by nobody who is named
        assert {r.id: r.written_by for r in again.get_all()} == {
            r.id: r.written_by for r in memory.get_all()
        }
