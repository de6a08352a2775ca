"""Versions: counted with every change, and a condition of the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from salience import Memory
from salience.errors import InvalidInput, VersionConflict
from salience.retrieval.operations import Delete, Events, Log, Op, Put
from salience.retrieval.plan import Plan, drive
from salience.testing.conformance._case import (
    Clock,
    StoreCase,
    check_cases,
    get_record,
    list_ids,
    perform,
    search_ids,
)
from salience.write import judgments, update
from salience.write.items import WriteContext

Change = Callable[[Memory], object]
CHANGES: dict[str, Change] = {
    "content": lambda m: m.update("x", content="It rains."),
    "title": lambda m: m.update("x", title="Weather"),
    "tags": lambda m: m.update("x", tags=("weather",)),
    "metadata": lambda m: m.update("x", metadata={"seen": 1}),
    "importance": lambda m: m.update("x", importance=0.9),
    "validity": lambda m: m.update("x", valid_to="2026-04-01"),
    "tier": lambda m: m.update("x", tier="long"),
    "content and importance": lambda m: m.update("x", content="It rains.", importance=0.9),
    "pin": lambda m: m.pin("x"),
    "unpin": lambda m: m.unpin("x"),
    "archive": lambda m: m.archive("x"),
    "supersede": lambda m: m.supersede("x", "y"),
    "take a place": lambda m: m.supersede("y", "x"),
    "duplicate": lambda m: m.add("The sun shines.", tags=("weather",)),
    "feedback": lambda m: m.feedback("x", "useful"),
    "promote": lambda m: m.feedback("x", "promote"),
    "demote": lambda m: m.feedback("x", "demote"),
}
NO_CHANGES: dict[str, Change] = {
    "look": lambda m: (m.get("x"), m.get_all(), m.history("x")),
    "search": lambda m: m.search("sun"),
    "read": lambda m: m.touch("x", "read"),
    "write elsewhere": lambda m: m.touch("x", "write"),
    "refer to": lambda m: m.touch("x", utility=0.9),
    "link": lambda m: m.link("x", "y"),
    "be linked": lambda m: m.link("y", "x"),
    "contradict": lambda m: m.link("x", "y", "contradicts"),
    "reinforce": lambda m: m.feedback("x", "reinforce"),
    "decay": lambda m: m.upkeep.decay(),
    "another": lambda m: m.update("y", content="Rain all day."),
    "nothing": lambda m: m.update("x"),
}
CONDITIONAL: dict[str, Callable[[WriteContext, int], Plan[Any]]] = {
    "content": lambda scope, version: update.update("x", {"content": "!"}, scope, version),
    "metadata": lambda scope, version: update.update("x", {"metadata": {"n": 1}}, scope, version),
    "delete": lambda scope, version: update.delete("x", scope, version),
    "supersede": lambda scope, version: judgments.supersede("x", "y", scope, version),
    "pin": lambda scope, version: judgments.pin("x", 1.0, scope, version),
    "feedback": lambda scope, version: judgments.feedback(
        "x", "useful", None, None, scope, version
    ),
    "promote": lambda scope, version: judgments.feedback(
        "x", "promote", None, None, scope, version
    ),
    "reinforce": lambda scope, version: judgments.feedback(
        "x", "reinforce", None, None, scope, version
    ),
}


class Versions(StoreCase):
    """The version of a memory, and `if_version`."""

    def add_two(self, memory: Memory, clock: Clock) -> None:
        """Add "x" and "y", a day ago."""
        memory.add("The sun shines.", id="x")
        memory.add("A cello stands there.", id="y")
        clock.pass_(days=1)

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("change", CHANGES)
    def test_a_change_adds_one(self, memory: Memory, clock: Clock, change: str) -> None:
        self.add_two(memory, clock)
        before = get_record(memory, "x")
        CHANGES[change](memory)
        after = get_record(memory, "x")
        assert (before.version, after.version) == (1, 2)
        assert after.updated_at == clock.now > before.updated_at
        CHANGES["title"](memory)
        assert get_record(memory, "x").version == 3
        assert memory.upkeep.verify()
        assert list_ids(memory, {"version": {"gte": 3}}) == ["x"]
        assert get_record(self.reopen(memory) if self.persistent else memory, "x").version == 3

    def test_anything_else_does_not(self, memory: Memory, clock: Clock) -> None:
        self.add_two(memory, clock)
        before = get_record(memory, "x")
        for name, action in NO_CHANGES.items():
            action(memory)
            after = get_record(memory, "x")
            assert (after.version, after.updated_at) == (1, before.updated_at), name
        assert memory.upkeep.verify()

    def test_update_returns_the_new_version(self, memory: Memory) -> None:
        memory.add("The sun shines.", id="x")
        for changes in ({"importance": 0.1}, {"content": "It rains."}, {"metadata": {"a": 1}}):
            changed = memory.update("x", **changes)
            assert changed == get_record(memory, "x")
        assert changed.version == changed.to_dict()["version"] == 4

    @pytest.mark.parametrize("name", CONDITIONAL)
    def test_a_change_of_another_version_is_refused(
        self, memory: Memory, clock: Clock, name: str
    ) -> None:
        self.add_two(memory, clock)
        memory.update("x", importance=0.2)

        def state() -> Any:
            return memory.get_all().memories, memory.links(), perform(memory, Events("default"))

        before = state()
        scope = memory._core.write_context()
        for version in (1, 3):
            with pytest.raises(VersionConflict, match=f"version 2, not {version}") as refusal:
                drive(CONDITIONAL[name](scope, version), memory._core.dispatcher.batch)
            assert refusal.value.record == get_record(memory, "x")
            assert refusal.value.if_version == version
            assert state() == before
        drive(CONDITIONAL[name](scope, 2), memory._core.dispatcher.batch)
        assert state() != before

    @pytest.mark.parametrize("name", CONDITIONAL)
    def test_a_change_just_before_the_write_is_seen(
        self, memory: Memory, clock: Clock, name: str
    ) -> None:
        self.add_two(memory, clock)
        once = iter([True])

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Log | Put | Delete) for op in ops) and next(once, False):
                memory.update("x", importance=0.3)
            return memory._core.dispatcher.batch(ops)

        with pytest.raises(VersionConflict) as refusal:
            drive(CONDITIONAL[name](memory._core.write_context(), 1), batch)
        [present, other] = (get_record(memory, id) for id in "xy")
        assert refusal.value.record == present
        assert (present.version, present.importance, present.status) == (2, 0.3, "active")
        assert (present.content, dict(present.metadata)) == ("The sun shines.", {})
        assert (present.pinned, other.version, memory.links()) == (None, 1, [])
        assert memory.upkeep.verify()

    def test_the_methods_take_it(self, memory: Memory, clock: Clock) -> None:
        self.add_two(memory, clock)
        memory.add("The sun sets.", id="z")
        assert memory.update("x", importance=0.5, if_version=1).version == 2
        assert memory.pin("x", if_version=2).version == 3
        assert memory.unpin("x", if_version=3).version == 4
        assert memory.feedback("x", "promote", if_version=4).version == 5
        assert memory.feedback("x", "demote", if_version=5).version == 6
        assert memory.feedback("x", "useful", if_version=6).version == 7
        assert memory.feedback("x", "reinforce", if_version=7).version == 7
        memory.supersede("x", "y", if_version=7)
        assert memory.delete("x", if_version=8)
        assert not memory.delete("x", if_version=8)
        calls: list[Change] = [
            lambda m: m.update("z", content="Dusk", if_version=2),
            lambda m: m.pin("z", if_version=2),
            lambda m: m.unpin("z", if_version=2),
            lambda m: m.feedback("z", "promote", if_version=2),
            lambda m: m.feedback("z", "demote", if_version=2),
            lambda m: m.feedback("z", "outdated", if_version=2),
            lambda m: m.feedback("z", "reinforce", if_version=2),
            lambda m: m.supersede("z", "y", if_version=2),
            lambda m: m.delete("z", if_version=2),
        ]

        def check(call: Change) -> None:
            with pytest.raises(VersionConflict):
                call(memory)
            assert get_record(memory, "z").version == 1

        check_cases(calls, check)

    @pytest.mark.parametrize("version", [0, -1, True, 1.5, "1", float("nan"), [1]])
    def test_a_version_is_a_whole_number(self, memory: Memory, version: Any) -> None:
        memory.add("The sun shines.", id="x")
        for call in (memory.update, memory.delete, memory.pin):
            with pytest.raises(InvalidInput, match="if_version"):
                call("x", if_version=version)
        assert get_record(memory, "x").version == 1

    def test_the_past_has_its_own(self, memory: Memory, clock: Clock) -> None:
        times = [clock.now]
        memory.add("The sun shines.", id="x")
        for changes in ({"importance": 0.1}, {"content": "The sun sets."}, {"tier": "long"}):
            times.append(clock.pass_(days=1))
            memory.update("x", **changes)
        versions = []
        for at in times:
            [hit] = memory.search("sun", as_of=at, touch=False)
            versions.append(hit.record.version)
        assert versions == [1, 2, 3, 4]
        history = memory.history("x")
        assert [version.record.version for version in history.versions] == [2, 4]
        assert history.to_dict()["versions"][1]["record"]["version"] == 4
        assert history.to_dict()["numbers"] == [1, 2, 3, 4]

    def test_undoing_is_a_later_version(self, memory: Memory, clock: Clock) -> None:
        self.add_two(memory, clock)
        run = memory.archive("x")
        assert run is not None
        assert get_record(memory, "x").version == 2
        memory.undo(run)
        after = get_record(memory, "x")
        assert (after.version, after.status) == (3, "active")
        memory.archive("x")
        memory.unarchive("x")
        assert get_record(memory, "x").version == 5

    def test_an_erased_memory_begins_anew(self, memory: Memory) -> None:
        memory.add("The sun shines.", id="x")
        memory.update("x", importance=0.5)
        memory.delete("x")
        memory.add("The sun shines again.", id="x")
        assert get_record(memory, "x").version == 1
        assert search_ids(memory, "sun") == ["x"]

    @pytest.mark.parametrize("name", sorted(CONDITIONAL.keys() - {"delete"}))
    def test_what_was_erased_meanwhile_is_not_mixed_with_what_took_its_id(
        self, memory: Memory, clock: Clock, name: str
    ) -> None:
        """Another has erased the memory and added one of its id, so of its version, too."""
        erased: dict[str, Any] = {"metadata": {"erased": 1}, "valid_to": "2020-01-01"}
        memory.add("The sun shines.", id="x", importance=0.9, **erased)
        memory.add("A cello stands there.", id="y")
        scope, once = memory._core.write_context(), iter([True])

        def batch(ops: Sequence[Op]) -> Sequence[Any]:
            if any(isinstance(op, Log | Put) for op in ops) and next(once, False):
                memory.delete("x")
                memory.add("It rains.", id="x", importance=0.1)
            return memory._core.dispatcher.batch(ops)

        answer = drive(CONDITIONAL[name](scope, 1), batch)
        after = get_record(memory, "x")
        assert name == "supersede" or answer.in_effect() == after
        assert (after.content, after.importance) == ("!" if name == "content" else "It rains.", 0.1)
        assert dict(after.metadata) == ({"n": 1} if name == "metadata" else {})
        y = get_record(memory, "y")
        assert after.valid_to == (y.created_at if name == "supersede" else None)
        assert memory.upkeep.verify()

    def test_no_increment_is_lost(self, memory: Memory) -> None:
        memory.add("A counter", id="x", metadata={"n": 0})
        threads = [threading.Thread(target=increment, args=(memory, 15)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        record = get_record(memory, "x")
        assert (record.metadata["n"], record.version) == (60, 61)
        assert memory.upkeep.verify()


def increment(memory: Memory, times: int, id: str = "x") -> None:
    """Count the `n` of a memory's metadata up by reading and changing it, again on a conflict."""
    record = get_record(memory, id)
    for _ in range(times):
        while True:
            metadata = {"n": record.metadata["n"] + 1}
            try:
                record = memory.update(id, metadata=metadata, if_version=record.version)
            except VersionConflict as conflict:
                record = conflict.record
            else:
                break
