"""Runs of changes: made together under one name, and undone by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from salience.display.result import Result, to_json
from salience.errors import InvalidInput, NotFound, shown
from salience.lazily import dataclass, replace
from salience.records.events import (
    ACCESSES,
    STATE,
    USE_EVENTS,
    Event,
    EventType,
    events_by_memory,
    field_from_json,
    link_key,
    link_time,
    replay,
)
from salience.records.record import EMPTY, Link, MemoryRecord, new_id
from salience.records.validation import boolean, native, optional_timestamp, text
from salience.retrieval.operations import Events, Log, Put
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext
from salience.write.reading import read_records
from salience.write.update import update

RUN_KEY = "run"  # the key of an event's payload that names its run
_MAX_SEQ_DIGITS = 18
_CHUNK_MEMORIES = 1000  # changed in one transaction


@dataclass(frozen=True, repr=False)
class Undone(Result):
    """The result of undoing a run: memories restored and erased by id, others with the reason.

    The erased ones are memories that the run had written.
    """

    run: str
    restored: tuple[str, ...]
    erased: tuple[str, ...]
    left: Mapping[str, str]


@dataclass(frozen=True)
class ChangeRun:
    """Changes made together under one name, by which they can be undone.

    The name says what the run does, tells it from others that begin at the same time, and ends
    with the `seq` of the last event before it.
    """

    name: str
    scope: WriteContext

    @classmethod
    def begin(cls, kind: str, scope: WriteContext) -> Plan[ChangeRun]:
        """The plan of beginning a run: its name ends with its place in the log."""
        last: Sequence[Event] = yield from ask(Events(scope.namespace, last=1))
        return cls(f"{kind}-{new_id()[:8]}-{last[0].seq if last else 0}", scope)

    def apply(
        self,
        type: EventType,
        changes: Mapping[str, Mapping[str, Any]],
        reasons: Mapping[str, Sequence[str]] | None = None,
    ) -> Plan[list[str]]:
        """The plan of setting fields of memories: the ids of those that still exist."""
        return (yield from self.log(self.events(type, changes, reasons)))

    def events(
        self,
        type: EventType,
        changes: Mapping[str, Mapping[str, Any]],
        reasons: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Event]:
        """The events of setting fields of memories."""
        return [
            self.event(type, id, values, **({"why": list(reasons[id])} if reasons else {}))
            for id, values in changes.items()
        ]

    def log(
        self, events: Sequence[Event], unlinks: Sequence[Link] = (), erased: Sequence[str] = ()
    ) -> Plan[list[str]]:
        """The plan of logging events: the ids of memories that still exist.

        In one transaction, or one for every 1,000 events and 1,000 `erased` memories. If there are
        `unlinks`, links to remove with the last events, nothing is erased.
        """
        changed: list[str] = []
        for start in range(0, max(1, len(events), len(erased)), _CHUNK_MEMORIES):
            end = start + _CHUNK_MEMORIES
            chunk, gone = tuple(events[start:end]), tuple(erased[start:end])
            removed = tuple(unlinks) if end >= len(events) else ()
            while chunk or gone or removed:
                missing = yield from ask(self._written(chunk, gone, removed))
                if not missing:
                    changed += [event.id for event in chunk if event.id is not None]
                    break
                chunk = tuple(event for event in chunk if event.id not in missing)
        return changed

    def _written(
        self, events: tuple[Event, ...], erased: tuple[str, ...], unlinks: tuple[Link, ...]
    ) -> Log | Put:
        """The operation of one transaction."""
        scope = self.scope
        erasing = scope.erasing("undo")
        log = Log(scope.namespace, events, (), erased, erasing) if events or erased else None
        if log is not None and not unlinks:
            return log
        return Put(unlinks=unlinks, actor=scope.actor, also=log, at=scope.now)

    def event(self, type: EventType, id: str, values: Mapping[str, Any], **payload: Any) -> Event:
        """The event of setting fields of a memory, with `updated_at`, to be undone with them."""
        fields = {name: to_json(value) for name, value in values.items()}
        fields.setdefault("updated_at", to_json(self.scope.now))
        payload = {"set": fields, RUN_KEY: self.name, **payload}
        return Event(type, id, self.scope.now, self.scope.actor, payload=payload)


def run_events(namespace: str, run: str) -> Plan[list[Event]]:
    """The plan of reading the events of a run, oldest first.

    Raises:
        InvalidInput: this cannot be the id of a run.
        NotFound: no run of that name did anything here.
    """
    kind, _, place = run.rpartition("-") if isinstance(run, str) else ("", "", "")
    if not kind or not (place.isdecimal() and len(place) <= _MAX_SEQ_DIGITS):
        raise InvalidInput(
            "run", f"there is no run {shown(run)}", "use the id that the run printed or returned"
        )
    log: Iterable[Event] = yield from ask(Events(namespace, after=int(place)))
    events = [event for event in log if event.payload.get(RUN_KEY) == run]
    if not events:
        raise NotFound(f"no run {run!r} changed anything in the namespace {namespace!r}")
    return events


def undo(scope: WriteContext, run: str) -> Plan[Undone]:
    """The plan of taking back the changes of a run, in reverse order.

    Memories that the run wrote are erased; if anything but a use has happened to them since, they
    are archived instead. Fields get their old values back, unless they were changed since.

    Raises:
        InvalidInput, NotFound: see `run_events`.
    """
    run = native(run)
    events_of: dict[str, list[Event]] = {}
    for event in (yield from run_events(scope.namespace, run)):
        if event.id is not None and event.type != "link":
            events_of.setdefault(event.id, []).append(event)
    records = yield from read_records(scope.namespace, list(events_of))
    left = {id: "was erased since" for id in events_of if id not in records}
    written = [id for id in records if events_of[id][0].type == "write"]
    changed = yield from _changed_since(scope, written, run)
    erased = [id for id in written if id not in changed]
    left.update(dict.fromkeys(changed, "was changed since it was written, and is archived instead"))
    old_values: dict[str, dict[str, Any]] = {}
    for id, record in records.items():
        if id in written:
            continue
        was, problem = _old_values(record, events_of[id])
        if problem:
            left[id] = problem
        else:
            old_values[id] = was
    undoing = ChangeRun(f"undo-{run}", scope)
    archived = {id: {"status": "archived"} for id in changed}
    done = yield from undoing.log(
        [*undoing.events("restore", old_values), *undoing.events("archive", archived)],
        erased=erased,
    )
    restored = [id for id in done if id not in archived]
    return Undone(run, tuple(restored), tuple(erased), left)


def _old_values(record: MemoryRecord, events: Sequence[Event]) -> tuple[dict[str, Any], str]:
    """The values of fields before a run, and the reason if they cannot be set again."""
    was: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for event in events:
        for name, value in event.payload.get("set", {}).items():
            was.setdefault(name, event.payload.get("was", {}).get(name))
            values[name] = value
    changed = {n: v for n, v in values.items() if to_json(getattr(record, n)) != v}
    if changed.pop("updated_at", None):  # something else has happened to it, too
        del was["updated_at"]
    if changed:
        name, value = next(iter(changed.items()))
        return {}, f"{name} is {to_json(getattr(record, name))!r} now, not {value!r} any more"
    return {name: field_from_json(name, value) for name, value in was.items()}, ""


def _changes_nothing_else(event: Event, run: str) -> bool:
    """Test whether an event is of a run, or says nothing about the contents of its memory."""
    is_consolidating = event.payload.get("link") == "consolidates"
    is_use = event.type in (*USE_EVENTS, "rewrite", "boost")
    return is_consolidating or is_use or event.payload.get(RUN_KEY) == run


def _changed_since(scope: WriteContext, ids: Sequence[str], run: str) -> Plan[list[str]]:
    """The plan of finding memories that a run wrote and to which something has happened since."""
    if not ids:
        return []
    log: Iterable[Event] = yield from ask(Events(scope.namespace, tuple(ids)))
    changed = {event.id for event in log if not _changes_nothing_else(event, run)}
    return [id for id in ids if id in changed]


# Taking back all that one writer did since a time: what it wrote, changed and linked

_KEPT = {"created_at", "updated_at", "added_at", "version", "written_by", *ACCESSES}
_RESTORED = tuple(name for name in STATE if name not in _KEPT)
Mine = Callable[[Event], bool]
"""Tests whether an event is to be taken back."""


@dataclass(frozen=True, repr=False)
class ActorUndone(Result):
    """The changes of a writer that were undone, or would be.

    `archived` are the memories that it wrote, `restored` those that it changed, with the fields
    that have their former values again, and `links` counts the links removed or made again. `left`
    are memories with what stays because others have changed it since; `erased` counts the memories
    that it erased, which are gone. `run` is for `undo`; None if no status or judgement changed.
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


def undo_actor(scope: WriteContext, actor: str, since: Any, *, apply: bool) -> Plan[ActorUndone]:
    """The plan of undoing what a writer did from a time on (None: ever), except uses.

    What it wrote is archived. Memories that it changed become what their other events make of
    them. A text is again what it was before, unless others have edited it since.
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
    undone = ActorUndone(
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
    """The plan of making all these changes; the name of the run."""
    run = yield from ChangeRun.begin("undo-actor", scope)
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
            events_of.setdefault(link_key(event), []).append(event)
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
