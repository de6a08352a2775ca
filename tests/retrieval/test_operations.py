"""What operations decide by themselves: the ids in the way, and the effect of events."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from salience.records.events import Event
from salience.records.record import MemoryRecord
from salience.retrieval.operations import Log
from salience.stores.codec import EVENT_FIELDS

AT = datetime(2026, 1, 1, tzinfo=timezone.utc)


def memory(id: str, **fields: Any) -> MemoryRecord:
    return MemoryRecord(
        id=id, namespace="here", content="An apple.", created_at=AT, updated_at=AT, **fields
    )


def states(*ids: str) -> dict[str, dict[str, Any]]:
    """Memories as a store gives them to a log: each with its row, edited once."""
    return {
        id: {
            **{name: getattr(memory(id), name) for name in EVENT_FIELDS},
            "row": 10 + place,
            "sequence": place,
        }
        for place, id in enumerate(ids, 1)
    }


def test_events_in_a_row_each_see_what_the_one_before_has_changed() -> None:
    first = Event("status", "a", AT, payload={"set": {"importance": 0.2}})
    then = Event("status", "a", AT, payload={"set": {"importance": 0.9}})
    changed, entries = Log("here", (first, then)).applied(states("a", "b"))
    assert {row: fields["importance"] for row, fields in changed.items()} == {11: 0.9}
    assert [(sequence, event.payload["was"]) for sequence, event in entries] == [
        (1, {"importance": None}),
        (1, {"importance": 0.2}),
    ]


def test_an_event_of_all_memories_is_logged_once_and_changes_each() -> None:
    decay = Event("status", None, AT, payload={"set": {"strength": 0.5}})
    changed, entries = Log("here", (decay,)).applied(states("a", "b"))
    assert {row: fields["strength"] for row, fields in changed.items()} == {11: 0.5, 12: 0.5}
    assert [sequence for sequence, _ in entries] == [0]


def test_in_the_way_are_ids_that_are_gone_and_memories_that_others_changed() -> None:
    events = tuple(Event("pin", id, AT) for id in ("a", "b"))
    log = Log("here", events, were=(memory("a"), memory("c")))
    now = {"a": memory("a", access_count=3), "c": memory("c", importance=0.1)}
    assert log.refused_ids({"a"}, now) == ("b", "c")
    assert log.refused_ids({"a", "b"}, {**now, "c": memory("c")}) == ()
