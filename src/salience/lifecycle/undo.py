"""Runs: changes that were made together, recorded under one name, and undone by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salience.errors import InvalidInput, NotFound, shown
from salience.records.events import USE_EVENTS, Event, EventType, field_from_json
from salience.records.record import new_id, to_json
from salience.retrieval.operations import Delete, Events, Log
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext
from salience.write.reading import read_records

RUN_KEY = "run"  # the key of an event's payload that names its run
_DIGITS = 18  # the most of a place in the log
_CHUNK = 2048  # memories changed in one transaction


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a run did: the memories that are as before, those it had written and that are
    erased, and why others were left alone."""

    run: str
    restored: tuple[str, ...]
    erased: tuple[str, ...]
    left: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "run": self.run,
            "restored": list(self.restored),
            "erased": list(self.erased),
            "left": dict(self.left),
        }


def begun(kind: str, namespace: str) -> Plan[str]:
    """The name of a run that begins now: what it does, what tells it from those of others that
    begin at once, and where in the log it begins."""
    last: Sequence[Event] = yield from ask(Events(namespace, last=1))
    return f"{kind}-{new_id()[:8]}-{last[0].seq if last else 0}"


def change(
    scope: WriteContext,
    run: str,
    type: EventType,
    changes: Mapping[str, Mapping[str, Any]],
    why: Mapping[str, Sequence[str]] | None = None,
) -> Plan[list[str]]:
    """Set fields of memories as part of a run; the ids of those that there still are."""
    done: list[str] = []
    items = list(changes.items())
    for start in range(0, len(items), _CHUNK):
        part = dict(items[start : start + _CHUNK])
        while part:
            reasons = {id: {"why": list(why[id])} for id in part} if why else {}
            events = [
                event(scope, run, type, id, values, **reasons.get(id, {}))
                for id, values in part.items()
            ]
            gone = yield from ask(Log(scope.namespace, tuple(events)))
            if not gone:
                done += part
                break
            part = {id: values for id, values in part.items() if id not in gone}
    return done


def event(
    scope: WriteContext,
    run: str,
    type: EventType,
    id: str,
    values: Mapping[str, Any],
    **payload: Any,
) -> Event:
    """A run's setting fields of a memory; that it was updated is told, so that it is undone."""
    became = {name: to_json(value) for name, value in values.items()}
    became.setdefault("updated_at", to_json(scope.now))
    return Event(type, id, scope.now, scope.actor, payload={"set": became, RUN_KEY: run, **payload})


def events_of(namespace: str, run: str) -> Plan[list[Event]]:
    """What a run did, oldest first.

    Raises:
        InvalidInput: that is no name of a run.
        NotFound: no run of that name did anything here.
    """
    kind, _, place = run.rpartition("-") if isinstance(run, str) else ("", "", "")
    if not kind or not (place.isdecimal() and len(place) <= _DIGITS):
        raise InvalidInput(
            "run", f"{shown(run)} is no name of a run", "take it from what it printed"
        )
    logged: Iterable[Event] = yield from ask(Events(namespace, after=int(place)))
    found = [event for event in logged if event.payload.get(RUN_KEY) == run]
    if not found:
        raise NotFound(f"no run {run!r} changed anything in the namespace {namespace!r}")
    return found


def undo(scope: WriteContext, run: str) -> Plan[Undone]:
    """The plan of taking back what a run changed, in the reverse of its order.

    What the run wrote is erased, unless something happened to it since but uses: then it is
    archived. Fields go back to what they were, unless they were changed since.

    Raises:
        InvalidInput, NotFound: see `events_of`.
    """
    by_id: dict[str, list[Event]] = {}
    for event in (yield from events_of(scope.namespace, run)):
        if event.id is not None and event.type != "link":
            by_id.setdefault(event.id, []).append(event)
    now = yield from read_records(scope.namespace, list(by_id))
    left = {id: "was erased since" for id in by_id if id not in now}
    back: dict[str, dict[str, Any]] = {}
    wrote = [id for id in now if by_id[id][0].type == "write"]
    erased, kept = yield from _unwritten(scope, wrote, run)
    left.update(dict.fromkeys(kept, "was changed since it was written, and is archived instead"))
    for id, record in now.items():
        if id in wrote:
            continue
        was, became = _differences(by_id[id])
        moved = {n: v for n, v in became.items() if to_json(getattr(record, n)) != v}
        if moved.pop("updated_at", None):  # something else has happened to it, too
            del was["updated_at"]
        if moved:
            name, value = next(iter(moved.items()))
            left[id] = f"{name} is {to_json(getattr(record, name))!r} now, not {value!r} any more"
        else:
            back[id] = {name: field_from_json(name, value) for name, value in was.items()}
    restored = yield from change(scope, f"undo-{run}", "restore", back)
    archived = {id: {"status": "archived"} for id in kept}
    yield from change(scope, f"undo-{run}", "archive", archived)
    return Undone(run, tuple(restored), tuple(erased), left)


def _differences(events: Sequence[Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What fields were before a memory's events of a run, and what they became."""
    was: dict[str, Any] = {}
    became: dict[str, Any] = {}
    for event in events:
        for name, value in event.payload.get("set", {}).items():
            was.setdefault(name, event.payload.get("was", {}).get(name))
            became[name] = value
    return was, became


def _of(event: Event, run: str) -> bool:
    """Whether an event is a run's, or says nothing of what the memory holds."""
    linked = event.payload.get("link") == "consolidates"
    return linked or event.type in (*USE_EVENTS, "boost") or event.payload.get(RUN_KEY) == run


def _unwritten(
    scope: WriteContext, ids: Sequence[str], run: str
) -> Plan[tuple[list[str], list[str]]]:
    """Erase what a run wrote; the ids that were, and those to which something happened since."""
    if not ids:
        return [], []
    logged: Iterable[Event] = yield from ask(Events(scope.namespace, tuple(ids)))
    changed = {event.id for event in logged if event.id is not None and not _of(event, run)}
    erased = [id for id in ids if id not in changed]
    if erased:
        yield from ask(Delete(scope.namespace, tuple(erased)))
    return erased, [id for id in ids if id in changed]
