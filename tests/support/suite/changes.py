"""Changes to what is there: metadata by key, upserts, many erased at once, exports."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from salience import Memory
from salience.errors import IdTaken, InvalidInput
from salience.retrieval.operations import Log, Op, Put
from salience.retrieval.plan import drive
from salience.testing.conformance._case import (
    EVERYTHING,
    START,
    Clock,
    StoreCase,
    get_record,
    list_ids,
    search_ids,
)
from salience.write.add import add
from salience.write.dedup import DedupPolicy
from salience.write.update import update
from salience.write.upsert import OnConflict

OLD: dict[str, Any] = {"source": "chat", "seen": 1, "place": {"city": "Lisbon", "floor": 2}}


class MetadataMerging(StoreCase):
    """`update(metadata=...)` and `update(replace_metadata=...)`."""

    @pytest.mark.one_in(10)
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
        assert memory.upkeep.verify()

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
            with pytest.raises(InvalidInput, match="metadata: must be a"):
                memory.update("x", **{name: [1]})
        assert get_record(memory, "x").metadata == OLD


FIRST: dict[str, Any] = {
    "id": "x", "title": "Home", "kind": "fact", "speaker": "Ana", "agent_id": "a",
    "tags": ["home"], "entities": ["Lisbon"], "importance": 0.25, "metadata": {"source": "chat"},
}  # fmt: skip


class Upserts(StoreCase):
    """`add` and `add_many` with `on_conflict`."""

    def test_an_id_that_is_taken_is_an_error_unless_told(self, memory: Memory) -> None:
        memory.add("One.", id="x")
        with pytest.raises(IdTaken, match="'x' is taken"):
            memory.add("Two.", id="x")
        with pytest.raises(IdTaken, match="'x' is taken"):
            memory.add_many([{"id": "x", "content": "Two."}], strict=True)
        [outcome] = memory.add_many([{"id": "x", "content": "Two."}], on_conflict="error")
        assert outcome.outcome == "REJECTED"
        assert get_record(memory, "x").content == "One."
        with pytest.raises(InvalidInput, match=r"^on_conflict: is 'merge'"):
            memory.add("Two.", id="x", on_conflict="merge")  # type: ignore[arg-type]

    def test_skipping_leaves_the_memory_and_says_so(self, memory: Memory) -> None:
        memory.add("One.", **FIRST)
        before, log = get_record(memory, "x"), memory.history("x")
        result = memory.add_many(
            [{"id": "x", "content": "Two."}, {"id": "y", "content": "Three."}, "Four."],
            on_conflict="skip",
        )
        assert [item.outcome for item in result] == ["SKIPPED", "ADDED", "ADDED"]
        assert (result.items[0].id, result.items[0].match) == ("x", "x")
        assert memory.add("Two.", id="x", on_conflict="skip").id == "x"
        assert (get_record(memory, "x"), memory.history("x")) == (before, log)

    def test_replacing_keeps_history_uses_and_judgements(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many([{"content": "Ana rents a flat.", **FIRST}, {"id": "z", "content": "Zoo."}])
        memory.link("x", "z", "supports")
        memory.search("flat", limit=1)
        memory.feedback("x", "useful")
        memory.pin("x")
        before = get_record(memory, "x")
        clock.pass_(days=1)
        result = memory.add("Ana owns a house.", id="x", on_conflict="replace", tags=["new"])
        assert [(item.id, item.outcome, item.match) for item in result] == [("x", "UPDATED", "x")]
        after = get_record(memory, "x")
        assert (after.content, after.title, after.kind) == ("Ana owns a house.", None, "note")
        assert (after.speaker, after.agent_id, after.tags) == (None, None, ("new",))
        assert (dict(after.metadata), after.entities) == ({}, ("Ana",))
        kept = ("created_at", "access_count", "feedback_for", "pinned", "importance")
        assert all(getattr(after, name) == getattr(before, name) for name in kept)
        assert after.accesses == (clock.now, *before.accesses)  # to be rewritten is an access
        assert after.updated_at == clock.now
        assert search_ids(memory, "flat") == []
        assert search_ids(memory, "house") == ["x"]
        assert search_ids(memory, "house owns Ana", profile=EVERYTHING)[0] == "x"
        assert [(link.source, link.target) for link in memory.links("x")] == [("x", "z")]
        edit = memory.history("x")[-1]
        assert (edit.type, edit.payload["was"]["content"]) == ("edit", "Ana rents a flat.")
        assert search_ids(memory, "flat", as_of=clock.now - timedelta(hours=1)) == ["x"]
        assert memory.upkeep.verify()

    def test_what_an_item_gives_is_set(self, memory: Memory, clock: Clock) -> None:
        memory.add("One.", id="x", importance=0.25, vectors={"image": [1.0, 0.0]})
        memory.add("Zoo.", id="z")
        day = clock.now - timedelta(days=9)
        links = [{"target": "z", "type": "supports"}]
        new = {"importance": 0.5, "created_at": day, "vectors": {"image": [0, 1]}, "links": links}
        [item] = memory.add_many([{"id": "x", "content": "One.", **new}], on_conflict="replace")
        assert item.outcome == "UPDATED"
        record = get_record(memory, "x")
        assert (record.importance, record.created_at) == (0.5, day)
        assert [(link.source, link.type) for link in memory.links("z")] == [("x", "supports")]
        assert memory.upkeep.verify()

    def test_replacing_by_the_same_changes_nothing(self, memory: Memory, clock: Clock) -> None:
        links = [{"target": "z", "type": "supports", "weight": 0.5}]
        items = [{"id": "z", "content": "Zoo."}, {"content": "Home.", **FIRST, "links": links}]
        assert [item.outcome for item in memory.add_many(items)] == ["ADDED", "ADDED"]
        log = [memory.history(id) for id in "xz"]
        clock.pass_(days=1)
        again = memory.add_many(items, on_conflict="replace")
        assert {(item.outcome, item.reason) for item in again} == {("SKIPPED", "nothing differs")}
        assert [memory.history(id) for id in "xz"] == log

    def test_the_last_of_an_id_holds(self, memory: Memory) -> None:
        items = [{"id": "x", "content": content} for content in ("One.", "Two.", "Two.", "Three.")]
        result = memory.add_many(items, on_conflict="replace")
        assert [item.outcome for item in result] == ["ADDED", "UPDATED", "SKIPPED", "UPDATED"]
        assert get_record(memory, "x").content == "Three."
        result = memory.add_many(items[:2], on_conflict="skip")
        assert [item.outcome for item in result] == ["SKIPPED", "SKIPPED"]

    def test_a_key_gives_the_first_outcome_again(self, memory: Memory) -> None:
        memory.add("One.", id="x")
        for reason in ("", "the same idempotency_key again"):
            [item] = memory.add("Two.", id="x", on_conflict="replace", idempotency_key="k")
            assert (item.outcome, item.id, item.reason) == ("UPDATED", "x", reason)
        with pytest.raises(InvalidInput, match="something else"):
            memory.add("Three.", id="x", on_conflict="replace", idempotency_key="k")
        assert get_record(memory, "x").content == "Two."

    @pytest.mark.parametrize("rule", ["replace", "update"])
    def test_no_item_takes_a_memory_from_its_owner(self, memory: Memory, rule: Any) -> None:
        memory.add("One.", id="x", user_id="ana")
        with pytest.raises(InvalidInput, match="user_id"):
            memory.add("Two.", id="x", user_id="ben", on_conflict=rule)
        items = [{"content": "Two.", "id": "x", "user_id": "ben"}]
        assert memory.add_many(items, on_conflict=rule).items[0].outcome == "REJECTED"
        memory.add("Three.", id="x", on_conflict=rule)
        assert (memory["x"].content, memory["x"].user_id) == ("Three.", "ana")
        memory.update("x", user_id="ben")
        memory.add("Four.", id="x", user_id="ben", on_conflict=rule)
        assert (memory["x"].content, memory["x"].user_id) == ("Four.", "ben")

    def test_a_replacement_may_supersede(self, memory: Memory) -> None:
        memory.add_many([{"id": "old", "content": "Lisbon."}, {"id": "x", "content": "Porto."}])
        for outcome in ("UPDATED", "SKIPPED"):
            [item] = memory.add("Porto.", id="x", on_conflict="replace", supersedes="old")
            assert item.outcome == outcome
        assert get_record(memory, "old").status == "superseded"
        assert [link.type for link in memory.links("x")] == ["supersedes"]

    def test_a_wrong_replacement_is_rejected_alone(self, memory: Memory) -> None:
        memory.add("One.", id="x", valid_from=START)
        wrong: dict[str, Any] = {"id": "x", "valid_to": START - timedelta(days=1)}
        items = [{"content": "Two.", **wrong}, {"id": "y", "content": "Three."}]
        result = memory.add_many(items, on_conflict="replace")
        assert [item.outcome for item in result] == ["REJECTED", "ADDED"]
        with pytest.raises(InvalidInput, match="before valid_from"):
            memory.add("Two.", **wrong, on_conflict="replace")
        assert get_record(memory, "x").content == "One."

    @pytest.mark.parametrize(
        ("rule", "outcome", "content"),
        [("replace", "UPDATED", "Mine."), ("skip", "SKIPPED", "Theirs.")],
    )
    def test_an_id_that_others_take_meanwhile(
        self, memory: Memory, rule: OnConflict, outcome: str, content: str
    ) -> None:
        once = iter([True])

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Put) for op in ops) and next(once, False):
                memory.add("Theirs.", id="x")
            return memory._core.dispatcher.batch(ops)

        scope = memory._core.write_context()
        items = [{"id": "x", "content": "Mine."}, {"id": "y", "content": "Other."}]
        plan = add(items, scope, DedupPolicy(), strict=False, on_conflict=rule)
        assert [item.outcome for item in drive(plan, batch)] == [outcome, "ADDED"]
        assert get_record(memory, "x").content == content

    def test_a_replacement_undoes_nothing_that_others_did_meanwhile(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": id} for id in "xyz")
        once = iter([True])

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Put) for op in ops) and next(once, False):
                memory.feedback("x", "incorrect")
                memory.delete("y")
            return memory._core.dispatcher.batch(ops)

        scope = memory._core.write_context()
        items = [{"id": id, "content": f"new {id}"} for id in "xyz"]
        plan = add(items, scope, DedupPolicy(), strict=False, on_conflict="replace")
        assert [item.outcome for item in drive(plan, batch)] == ["UPDATED", "ADDED", "UPDATED"]
        assert [get_record(memory, id).content for id in "xyz"] == ["new x", "new y", "new z"]
        assert get_record(memory, "x").review == "incorrect"
        assert memory.upkeep.verify()


class DeletingMany(StoreCase):
    """`delete_many`."""

    def test_the_memories_of_the_ids_are_erased_and_counted(self, memory: Memory) -> None:
        memory.add_many({"id": id, "content": f"thing {id}"} for id in "abcd")
        memory.for_namespace("other").add("thing a", id="a")
        memory.link("d", "a")
        assert memory.delete_many(["a", "nobody", "b", "a"]) == 2
        assert memory.delete_many(id for id in "ab") == 0
        assert sorted(list_ids(memory)) == search_ids(memory, "thing") == ["c", "d"]
        assert memory.links() == []
        assert list_ids(memory.for_namespace("other")) == ["a"]

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


class Exports(StoreCase):
    """`export` and `load`."""

    def test_everything_comes_back_and_exports_to_the_same_bytes(
        self, memory: Memory, clock: Clock
    ) -> None:
        memory.add_many({"id": id, "content": f"thing {id}", "metadata": OLD} for id in "abcdef")
        links = [{"target": "later", "type": "mentions"}]
        memory.add("Lisbon.", id="x", vectors={"image": [0.0, 1.0]}, links=links)
        clock.pass_(days=2)
        memory.link("a", "b", "supports", 0.5)
        memory.update("a", content="another thing", metadata={"seen": None})
        memory.update("b", importance=0.75)
        memory.supersede("c", "d")
        memory.feedback("d", "incorrect")
        memory.archive("e")
        memory.search("thing", limit=3)
        memory.delete("f")
        memory.upkeep.decay()
        first, again = io.StringIO(), io.StringIO()
        figures = memory.export(first)
        assert figures.memories == 6
        other = memory.for_namespace("other")
        assert other.load(io.StringIO(first.getvalue())).events == figures.events
        other.export(again)
        lines, lines_again = first.getvalue().splitlines(), again.getvalue().splitlines()
        assert lines_again[2:-1] == lines[2:-1]  # the others name the namespace
        assert other.upkeep.verify()
        assert [event.to_dict() for event in other.history("a")] == [
            event.to_dict() for event in memory.history("a")
        ]
        before = clock.now - timedelta(days=1)
        for options in ({}, {"as_of": before}, {"options": {"include_archived": True}}):
            assert search_ids(other, "thing", **options) == search_ids(memory, "thing", **options)

    def test_what_comes_back_goes_on(self, memory: Memory) -> None:
        memory.add("thing", id="a")
        file = io.StringIO()
        memory.export(file)
        other = memory.for_namespace("other")
        other.load(io.StringIO(file.getvalue()))
        other.add("another thing", id="b")
        other.update("a", content="changed thing")
        other.link("a", "b")
        assert search_ids(other, "thing") == ["a", "b"]
        assert [event.type for event in other.history("a")][-2:] == ["edit", "link"]
        assert other.upkeep.verify()
