"""Edits as accesses: in logs of former versions, in exports, and what pruning says of them."""

import io
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from salience import Memory
from salience.records.events import Event, replay

START = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def test_an_edit_of_any_version_is_an_access_if_it_changes_the_content() -> None:
    write = Event("write", "a", START)
    labels = {"set": {"tier": "long"}, "was": {"tier": None}, "use": "write"}  # as was marked once
    label = Event("edit", "a", START + DAY, payload=labels)
    told = Event("edit", "a", START + 2 * DAY, payload={"was": {"content": "draft", "tags": []}})
    state = replay([write, label, told])["a"]
    assert (state["tier"], state["version"], state["write_count"]) == ("long", 3, 1)
    assert state["accesses"] == (START + 2 * DAY, START)


def test_labels_and_judgements_are_no_use_of_a_memory() -> None:
    clock = Clock()
    with Memory.open("ram://", embedder=None, clock=clock) as memory:
        memory.add_many({"content": f"old line {i}", "id": f"{i}"} for i in range(6))
        clock.now += 300 * DAY
        before = {one.id: one.vitality for one in memory.inspect.zones()}
        memory.update("0", tags=["reviewed"])
        memory.update("1", importance=0.9, confidence=0.4)
        memory.update("2", metadata={"seen": True})
        memory.update("3", status="contradicted")
        memory.update("4", title="A title", entities=["Ana"])
        memory.update("5", content="old line 5")
        assert {one.id: one.vitality for one in memory.inspect.zones()} == before
        assert {record.write_count for record in memory.get_all()} == {0}
        memory.update("0", content="a new line")
        assert memory["0"].write_count == 1
        assert memory.upkeep.verify()


@pytest.mark.parametrize("store", ["ram://", "memory.db"])
def test_a_chat_that_goes_on_is_no_use_of_what_was_said(store: str, tmp_path: Path) -> None:
    url = store if store == "ram://" else str(tmp_path / store)
    with Memory.open(url, embedder=None, clock=Clock()) as memory:
        for key, text in ((None, "Take the tram."), (None, "It is early."), ("k", "Go now.")):
            message = {"role": "assistant", "content": text}
            memory.add_chat([message], mode="hybrid", session_id="s", idempotency_key=key)
        records = memory.get_all().memories
        assert {(each.write_count, len(each.accesses)) for each in records} == {(0, 1)}
        assert {each.version for each in records} == {3}
        assert memory.upkeep.verify()
        memory.update(records[0].id, content="Take the bus.")
        assert memory[records[0].id].write_count == 1
        assert memory.upkeep.verify()


def test_a_note_that_is_edited_daily_is_no_candidate() -> None:
    clock = Clock()
    with Memory.open("ram://", embedder=None, clock=clock) as memory:
        memory.add("draft 0", id="note", layer="episodic")
        memory.add("other", id="other", layer="episodic")
        for day in range(60):
            clock.now += DAY
            memory.update("note", content=f"draft {day + 1}")
        assert {one.id: one.zone for one in memory.inspect.zones()} == {
            "note": "active",
            "other": "dormant",
        }
        assert [one.id for one in memory.upkeep.prune().candidates] == ["other"]
        level = memory.search("draft", profile="vitality", explain=True, touch=False)[0].explanation
        assert level is not None
        assert "61 accesses" in str(level)
        clock.now += 900 * DAY
        [note, _] = sorted(memory.upkeep.prune().candidates, key=lambda one: one.id)
        assert note.reasons[1].startswith("never used, edited 60 times; written 960 days ago")


def test_a_memory_that_is_written_anew_was_edited() -> None:
    with Memory.open("ram://", embedder=None, clock=Clock()) as memory:
        memory.add("The key is in the drawer.", id="key")
        memory.add("The key is in the tin.", id="key", on_conflict="replace")
        assert memory["key"].write_count == 1


def test_an_export_has_the_edits() -> None:
    clock, file = Clock(), io.StringIO()
    with Memory.open("ram://", embedder=None, clock=clock) as memory:
        memory.add("draft 0", id="note", layer="activity")
        clock.now += 3 * DAY
        memory.update("note", content="draft 1")
        memory.touch("note", "write")
        memory.export(file)
        vitality = memory.inspect.zones().memories[0].vitality
    with Memory.open("ram://", embedder=None, clock=clock) as other:
        other.load(io.StringIO(file.getvalue()))
        assert (other["note"].write_count, other.inspect.zones().memories[0].vitality) == (
            2,
            vitality,
        )
        assert other.upkeep.verify()
