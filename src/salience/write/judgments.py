"""The plans of a memory's life: its use, what it is judged, what takes its place, its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from salience.errors import InvalidInput, shown
from salience.records.events import SCORE_STEPS, USES, WEIGHTS, Event, EventType, as_told
from salience.records.record import Link, MemoryRecord, optional_text, plain, text, texts
from salience.retrieval.operations import Events, Find, Log, Neighbors, Put, Touch
from salience.retrieval.plan import Plan, ask
from salience.write.items import Scope, link
from salience.write.update import link_all, no_memory, read


@dataclass(frozen=True, slots=True)
class Version:
    """A memory as it was from one edit to the next; `until` is None for the present version."""

    record: MemoryRecord
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class History:
    """What happened to a memory, and what it said in turn; oldest first."""

    id: str
    versions: tuple[Version, ...]
    events: tuple[Event, ...]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: int) -> Event:
        return self.events[index]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "id": self.id,
            "versions": [
                {
                    "since": plain(version.since),
                    "until": plain(version.until),
                    **version.record.to_dict(),
                }
                for version in self.versions
            ],
            "events": [event.to_dict() for event in self.events],
        }


def history(id: str, namespace: str) -> Plan[History]:
    """The plan of telling a memory's history.

    Raises:
        NotFound: there is none of that id.
    """
    record = yield from existing(id, namespace)
    events: Sequence[Event] = yield from ask(Events(namespace, (id,)))
    begun = next((at for at, event in enumerate(events) if event.type == "write"), None)
    if begun is None:  # erased since it was read
        raise no_memory(id, namespace)
    events = events[begun:]  # what happened to all before it was there is none of its own
    turns = [at for at, event in enumerate(events) if _reworded(event)]
    starts, ends = [0, *turns], [*turns, len(events)]
    versions = []
    for start, end in zip(starts, ends, strict=True):
        was = as_told(record, events, events[:end])
        until = events[end].at if end < len(events) else None
        versions.append(Version(was, events[start].at, until))
    return History(id, tuple(versions), tuple(events))


def _reworded(event: Event) -> bool:
    return "content" in event.payload.get("was", ())


def existing(id: str, namespace: str) -> Plan[MemoryRecord]:
    """The plan of reading one memory that has to be there."""
    record = yield from read(text("id", id), namespace)
    if record is None:
        raise no_memory(id, namespace)
    return record


def touch(ids: Any, use: str, at: datetime, session: Any, scope: Scope) -> Plan[None]:
    """The plan of counting a use of memories."""
    if not isinstance(use, str) or use not in USES:
        raise InvalidInput("use", f"there is no {shown(use)}", f"use one of {', '.join(USES)}")
    wanted = texts("ids", ids)
    found: Mapping[str, int] = yield from ask(Find(scope.namespace, wanted))
    for id in wanted:
        if id not in found:
            raise no_memory(id, scope.namespace)
    rows = np.array([found[id] for id in wanted], dtype=np.int64)
    if len(rows):
        where = optional_text("session_id", session)
        yield from ask(Touch(rows, at, use, scope.actor, where, True))  # type: ignore[arg-type]


def log(
    id: str, type: EventType, payload: Mapping[str, Any], scope: Scope, session: Any = None
) -> Plan[MemoryRecord]:
    """The plan of logging what happened to a memory; what has become of it."""
    where = optional_text("session_id", session)
    event = Event(type, text("id", id), scope.now, scope.actor, where, payload)
    if (yield from ask(Log(scope.namespace, (event,)))):
        raise no_memory(id, scope.namespace)
    return (yield from existing(id, scope.namespace))


def feedback(id: str, kind: Any, context: Any, session: Any, scope: Scope) -> Plan[MemoryRecord]:
    """The plan of judging a memory."""
    if not isinstance(kind, str) or kind not in WEIGHTS:
        raise InvalidInput("kind", f"there is no {shown(kind)}", f"use one of {', '.join(WEIGHTS)}")
    said = optional_text("context", context)
    payload = {"feedback": kind} if said is None else {"feedback": kind, "context": said}
    return (yield from log(id, "feedback", payload, scope, session))


def move(id: str, action: str, scope: Scope) -> Plan[MemoryRecord]:
    """The plan of moving a memory's score: `action` is promote or demote."""
    if action not in SCORE_STEPS:
        known = ", ".join(SCORE_STEPS)
        raise InvalidInput("action", f"there is no {shown(action)}", f"use one of {known}")
    return (yield from log(id, "feedback", {"feedback": action}, scope))


def decay_all(scope: Scope) -> Plan[None]:
    """The plan of letting every memory of the namespace fade."""
    event = Event("decay", None, scope.now, scope.actor)
    yield from ask(Log(scope.namespace, (event,)))


def supersede(old: str, new: str, scope: Scope) -> Plan[None]:
    """The plan of letting a memory take the place of another.

    What the old one says holds until the new one does: from its `valid_from`, else its creation;
    but never ends before it begins.

    Raises:
        NotFound: one of them does not exist.
        InvalidInput: the old one has taken the place of the new one; both would be out of sight.
    """
    before = yield from existing(text("old", old), scope.namespace)
    after = yield from existing(text("new", new), scope.namespace)
    if old == new:
        raise InvalidInput("new", f"{shown(new)} cannot supersede itself", "name another memory")
    if after.status == "superseded" and (yield from _superseded_by(old, new, scope)):
        raise InvalidInput(
            "new",
            f"{shown(new)} has been superseded by {shown(old)}, directly or through others",
            f'take that back first: update({shown(new)}, status="active", valid_to=None)',
        )
    made = (link(scope, new, old, "supersedes", 1.0),)
    both = Log(scope.namespace, superseding(before, after, scope))
    for id in (yield from ask(Put((), made, actor=scope.actor, also=both))):
        raise no_memory(id, scope.namespace)


def _superseded_by(newest: str, id: str, scope: Scope) -> Plan[bool]:
    """Whether a memory took the place of another, directly or through others."""
    seen, last = {newest}, {newest}
    while last and id not in seen:
        links: Sequence[Link] = yield from ask(Neighbors(scope.namespace, tuple(sorted(last))))
        last = {one.target for one in links if one.type == "supersedes" and one.source in last}
        last -= seen
        seen |= last
    return id in seen


def superseding(before: MemoryRecord, after: MemoryRecord, scope: Scope) -> tuple[Event, ...]:
    """The events of one memory's taking the place of another."""
    turn = after.valid_from or after.created_at
    ends = turn if before.valid_to is None else min(turn, before.valid_to)
    if before.valid_from is not None:  # the newer one may be the older, as after moving back
        ends = max(ends, before.valid_from)
    changes = {
        before.id: {"status": "superseded", "valid_to": plain(ends)},
        after.id: {"valid_from": plain(turn)},
    }
    return tuple(
        Event("status", id, scope.now, scope.actor, payload={"set": values})
        for id, values in changes.items()
    )


def contradict(one: str, other: str, scope: Scope) -> Plan[None]:
    """The plan of saying that two memories contradict each other."""
    if text("one", one) == text("other", other):
        raise InvalidInput(
            "other", f"{shown(other)} cannot contradict itself", "name another memory"
        )
    yield from link_all([link(scope, one, other, "contradicts", 1.0)], scope)
