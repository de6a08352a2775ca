"""Taking back all that one writer did since a time: what he wrote, changed and linked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from salience.display.result import Result
from salience.errors import NotFound
from salience.lifecycle.undoing.runs import ChangeRun
from salience.records.events import (
    ACCESSES,
    STATE,
    USE_EVENTS,
    Event,
    events_by_memory,
    field_from_json,
    link_time,
    replay,
)
from salience.records.record import EMPTY, Link, MemoryRecord
from salience.records.validation import boolean, optional_timestamp, text
from salience.retrieval.operations import Events, Put
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext
from salience.write.reading import read_records
from salience.write.update import update

_KEPT = {"created_at", "updated_at", "added_at", "version", "written_by", *ACCESSES}
_RESTORED = tuple(name for name in STATE if name not in _KEPT)
Mine = Callable[[Event], bool]
"""Tests whether an event is to be taken back."""


@dataclass(frozen=True, slots=True, repr=False)
class WriterUndone(Result):
    """The doings of a writer that were taken back, or would be.

    `archived` are the memories that he wrote, `restored` those that he changed, with the fields
    that have their former values again, and `links` counts the links removed or made again. `left`
    are memories with what is left as others have changed it since; `erased` counts the memories
    that he erased, which are gone. `run` is for `undo`; None if no status or judgement changed.
    """

    actor: str
    since: datetime | None
    applied: bool
    archived: tuple[str, ...]
    restored: Mapping[str, tuple[str, ...]]
    links: int
    left: Mapping[str, str]
    erased: int
    run: str | None = None


def undo_writer(scope: WriteContext, actor: str, since: Any, *, apply: bool) -> Plan[WriterUndone]:
    """The plan of taking back what a writer did from a time on (None: ever); uses are left.

    What he wrote is archived. What he changed is as if he had not: the state of a memory follows
    from its other events, and a text is the one from before him, unless others edited it since.

    Raises:
        InvalidInput: names the argument that is wrong.
    """
    actor, first = text("actor", actor, limit=512), optional_timestamp("since", since)
    apply = boolean("apply", apply)

    def is_mine(event: Event) -> bool:
        is_since = first is None or event.at >= first
        return event.actor == actor and is_since and event.type not in USE_EVENTS

    log: Sequence[Event] = yield from ask(Events(scope.namespace))
    events_of = {
        id: events
        for id, events in events_by_memory(log).items()
        if any(event.id == id and is_mine(event) for event in events)
    }
    records = yield from read_records(scope.namespace, list(events_of))
    archived = [
        id for id, record in records.items()
        if is_mine(events_of[id][0]) and record.status != "archived"
    ]  # fmt: skip
    former: dict[str, dict[str, Any]] = {}
    left: dict[str, str] = {}
    for id, record in records.items():
        if not is_mine(events_of[id][0]):
            values, kept = _former_values(record, events_of[id], is_mine)
            former |= {id: values} if values else {}
            left |= {id: f"others have changed {', '.join(kept)} since"} if kept else {}
    made, removed = _links(scope.namespace, log, is_mine)
    undone = WriterUndone(
        actor,
        first,
        apply,
        tuple(archived),
        {id: tuple(values) for id, values in former.items()},
        len(made) + len(removed),
        left,
        sum(event.payload["memories"] for event in log if event.type == "erase" and is_mine(event)),
    )
    if not apply:
        return undone
    return replace(undone, run=(yield from _apply(scope, archived, former, made, removed)))


def _apply(
    scope: WriteContext,
    archived: Sequence[str],
    former: Mapping[str, Mapping[str, Any]],
    made: Sequence[Link],
    removed: Sequence[Link],
) -> Plan[str | None]:
    """The plan of changing all that; the name of the run."""
    run = yield from ChangeRun.begin("undo-writer", scope)
    for id, values in former.items():
        contents = {name: value for name, value in values.items() if name not in STATE}
        if "metadata" in contents:
            contents["replace_metadata"] = contents.pop("metadata")
        if contents:
            try:
                yield from update(id, contents, scope)
            except NotFound:
                continue  # erased since
    states = {
        id: {name: value for name, value in values.items() if name in STATE}
        for id, values in former.items()
    }
    done = yield from run.log(
        [
            *run.events("archive", {id: {"status": "archived"} for id in archived}),
            *run.events("restore", {id: values for id, values in states.items() if values}),
        ]
    )
    if made or removed:
        yield from ask(Put((), tuple(made), tuple(removed), actor=scope.actor, at=scope.now))
    return run.name if done else None


def _former_values(
    record: MemoryRecord, events: Sequence[Event], is_mine: Mine
) -> tuple[dict[str, Any], list[str]]:
    """The fields of a memory without some of its events, and those that others changed since."""
    state = replay(event for event in events if not is_mine(event))[record.id]
    values = {name: state[name] for name in _RESTORED if state[name] != getattr(record, name)}
    kept: list[str] = []
    edits = [event for event in events if event.type == "edit"]
    contents = {n: None for e in edits if is_mine(e) for n in e.payload.get("was", EMPTY)}
    for name in (name for name in contents if name not in STATE):
        changes = [event for event in edits if name in event.payload.get("was", EMPTY)]
        first = len(changes)
        while first and is_mine(changes[first - 1]):
            first -= 1
        if first == len(changes):
            kept.append(name)
        else:
            values[name] = field_from_json(name, changes[first].payload["was"][name])
    return values, kept


def _links(namespace: str, log: Iterable[Event], is_mine: Mine) -> tuple[list[Link], list[Link]]:
    """The links to make and to remove again; what others have linked or removed since stays."""
    events_of: dict[tuple[str, str, str], list[Event]] = {}
    for event in log:
        if event.type == "link" and event.id is not None:
            key = (event.id, event.payload["target"], event.payload["link"])
            events_of.setdefault(key, []).append(event)
    made: list[Link] = []
    removed: list[Link] = []
    for key, events in events_of.items():
        if not is_mine(events[-1]):
            continue
        before = next((event for event in reversed(events) if not is_mine(event)), None)
        weight = None if before is None else before.payload["weight"]
        if before is not None and weight is not None:
            made.append(Link(namespace, *key, weight, link_time(before)))
        elif events[-1].payload["weight"] is not None:
            removed.append(Link(namespace, *key, 0.0, events[-1].at))
    return made, removed
