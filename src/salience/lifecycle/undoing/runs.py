"""Runs of changes: made together under one name, and undone by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salience.display.result import Result, to_json
from salience.errors import InvalidInput, NotFound, shown
from salience.records.events import USE_EVENTS, Event, EventType, field_from_json
from salience.records.record import Link, MemoryRecord, new_id
from salience.records.validation import native
from salience.retrieval.operations import Events, Log, Put
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext
from salience.write.reading import read_records

RUN_KEY = "run"  # the key of an event's payload that names its run
_MAX_SEQ_DIGITS = 18
_CHUNK_MEMORIES = 1000  # changed in one transaction


@dataclass(frozen=True, slots=True, repr=False)
class Undone(Result):
    """The result of undoing a run: memories restored and erased by id, others with the reason.

    Erased are memories that the run had written.
    """

    run: str
    restored: tuple[str, ...]
    erased: tuple[str, ...]
    left: Mapping[str, str]


@dataclass(frozen=True)
class ChangeRun:
    """Changes that are made together under one name, by which they can be undone.

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

        In one transaction, or one for every 1,000 events and 1,000 memories that are `erased`. If
        there are `unlinks`, links that are removed with the last events, nothing is erased.
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
        """The event of setting fields of a memory; `updated_at` is one of them, to be undone."""
        fields = {name: to_json(value) for name, value in values.items()}
        fields.setdefault("updated_at", to_json(self.scope.now))
        payload = {"set": fields, RUN_KEY: self.name, **payload}
        return Event(type, id, self.scope.now, self.scope.actor, payload=payload)


def run_events(namespace: str, run: str) -> Plan[list[Event]]:
    """The plan of reading the events of a run, oldest first.

    Raises:
        InvalidInput: that is no name of a run.
        NotFound: no run of that name did anything here.
    """
    kind, _, place = run.rpartition("-") if isinstance(run, str) else ("", "", "")
    if not kind or not (place.isdecimal() and len(place) <= _MAX_SEQ_DIGITS):
        raise InvalidInput(
            "run", f"{shown(run)} is no name of a run", "take it from what it printed"
        )
    log: Iterable[Event] = yield from ask(Events(namespace, after=int(place)))
    events = [event for event in log if event.payload.get(RUN_KEY) == run]
    if not events:
        raise NotFound(f"no run {run!r} changed anything in the namespace {namespace!r}")
    return events


def undo(scope: WriteContext, run: str) -> Plan[Undone]:
    """The plan of taking back the changes of a run, in reverse order.

    Memories that the run wrote are erased, unless something other than a use happened to them
    since: then they are archived. Fields get their old values back, unless they were changed since.

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
    """The values of fields before the events of a run, and why they cannot be set again, if so."""
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
    """The plan of finding memories that a run wrote, and to which something happened since."""
    if not ids:
        return []
    log: Iterable[Event] = yield from ask(Events(scope.namespace, tuple(ids)))
    changed = {event.id for event in log if not _changes_nothing_else(event, run)}
    return [id for id in ids if id in changed]
