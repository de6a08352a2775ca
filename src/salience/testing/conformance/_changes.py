"""Changes to what is there: metadata by key, many erased at once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput
from salience.retrieval.operations import Log, Op, Put
from salience.retrieval.plan import drive
from salience.testing.conformance._case import Clock, StoreCase, get_record, list_ids, search_ids
from salience.write.update import update

OLD: dict[str, Any] = {"source": "chat", "seen": 1, "place": {"city": "Lisbon", "floor": 2}}


class MetadataMerging(StoreCase):
    """`update(metadata=...)` and `update(replace_metadata=...)`."""

    @pytest.mark.parametrize(
        ("changes", "after"),
        [
            ({"metadata": {"seen": 2}}, {**OLD, "seen": 2}),
            ({"metadata": {"new": [1, None]}}, {**OLD, "new": [1, None]}),
            ({"metadata": {"place": {"city": "Porto"}}}, {**OLD, "place": {"city": "Porto"}}),
            ({"metadata": {"source": None, "place": None}}, {"seen": 1}),
            ({"metadata": {"nowhere": None}}, OLD),
            ({"metadata": {}}, OLD),
            ({"metadata": None}, {}),
            ({"replace_metadata": {"new": None}}, {"new": None}),
            ({"replace_metadata": {}}, {}),
            ({"replace_metadata": None}, {}),
        ],
    )
    @pytest.mark.parametrize("others", [{}, {"importance": 0.5}, {"content": "It rains."}])
    def test_keys_are_merged_and_none_removes_one(
        self, memory: Memory, changes: dict[str, Any], after: Any, others: dict[str, Any]
    ) -> None:
        memory.add("The sun shines.", id="x", metadata=OLD)
        changed = memory.update("x", **changes, **others)
        assert changed == get_record(memory, "x")
        assert changed.metadata == after
        assert all(getattr(changed, name) == value for name, value in others.items())
        assert memory.verify()

    def test_filters_and_history_have_the_merged_keys(self, memory: Memory, clock: Clock) -> None:
        memory.add("The sun shines.", id="x", metadata={"a": 1, "b": 2})
        clock.pass_(hours=1)
        memory.update("x", metadata={"b": None, "c": 3})
        assert memory.get_all({"metadata.c": 3}).total == 1
        assert memory.get_all({"metadata.b": 2}).total == 0
        payload = memory.history("x")[-1].payload
        assert payload["was"]["metadata"] == {"a": 1, "b": 2}
        assert payload["set"]["metadata"] == {"a": 1, "c": 3}
        before = clock.now - timedelta(minutes=1)
        hits = memory.search("sun", filters={"metadata.b": 2}, as_of=before, touch=False)
        assert hits.ids == ("x",)

    @pytest.mark.parametrize("others", [{}, {"content": "It rains."}])
    def test_keys_that_others_set_meanwhile_stay(
        self, memory: Memory, others: dict[str, Any]
    ) -> None:
        memory.add("The sun shines.", id="x", metadata={"a": 1, "b": 1})
        once = iter([True])

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Log | Put) for op in ops) and next(once, False):
                memory.update("x", metadata={"b": None, "c": 3})
            return memory._core.dispatcher.batch(ops)

        drive(update("x", {"metadata": {"a": 2}, **others}, memory._core.write_context()), batch)
        assert get_record(memory, "x").metadata == {"a": 2, "c": 3}

    def test_merging_and_replacing_at_once_is_refused(self, memory: Memory) -> None:
        memory.add("The sun shines.", id="x", metadata=OLD)
        with pytest.raises(InvalidInput, match="does not go with metadata"):
            memory.update("x", metadata={"a": 1}, replace_metadata={"b": 1})
        for name in ("metadata", "replace_metadata"):
            with pytest.raises(InvalidInput, match="metadata: must be a mapping"):
                memory.update("x", **{name: [1]})
        assert get_record(memory, "x").metadata == OLD


class DeletingMany(StoreCase):
    """`delete_many`."""

    def test_the_memories_of_the_ids_are_erased_and_counted(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abcd")
        memory.within("other").add("thing a", id="a")
        memory.link("d", "a")
        assert memory.delete_many(["a", "nobody", "b", "a"]) == 2
        assert memory.delete_many(id for id in "ab") == 0
        assert list_ids(memory) == search_ids(memory, "thing") == ["c", "d"]
        assert memory.links() == []
        assert list_ids(memory.within("other")) == ["a"]

    def test_no_ids_erase_nothing(self, memory: Memory) -> None:
        memory.add("x", id="a")
        assert memory.delete_many([]) == 0
        assert list_ids(memory) == ["a"]

    @pytest.mark.parametrize("ids", [["a", 7], ["a", ""], 7, {"a": 1}])
    def test_what_is_no_list_of_ids_erases_nothing(self, memory: Memory, ids: Any) -> None:
        memory.add("x", id="a")
        with pytest.raises(InvalidInput, match=r"^ids: "):
            memory.delete_many(ids)
        assert list_ids(memory) == ["a"]

    def test_more_ids_than_a_statement_takes(self, memory: Memory) -> None:
        ids = [f"m{number}" for number in range(2500)]
        memory.add_many({"id": id, "content": "x"} for id in ids[1:])
        assert memory.delete_many(ids[:-1]) == len(ids) - 2
        assert list_ids(memory) == ids[-1:]
