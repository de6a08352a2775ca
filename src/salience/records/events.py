"""Events: what happened to memories, and what each event makes of the memory it is of.

The log of a namespace is append-only. Whatever a memory has beyond its contents (its accesses, its
status, what it was judged) is a function of its events: `apply`, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from typing import Any, Literal

from salience.records.fields import FIELDS
from salience.records.record import BLANK, EMPTY, Draft, Link, MemoryRecord, recent, to_json
from salience.records.validation import timestamp

EventType = Literal[
    "write", "retrieval", "read", "reference", "feedback", "link", "status", "edit", "pin", "boost",
    "archive", "restore", "reinforce", "decay",
]  # fmt: skip
USES = ("retrieval", "read", "reference")
"""The events that count as an access."""
STATE = ("created_at", *(n for n, f in FIELDS.items() if f.patchable and n != "metadata"))
"""The fields that are a function of the events; the others are contents, which edits change."""
ACCESSES = ("last_accessed", "access_count", "accesses")
WEIGHTS = {"useful": 1.0, "not_useful": -1.0, "outdated": -1.0, "incorrect": -3.0}
"""What a judgement weighs."""
SCORE_STEPS = {"promote": 0.15, "demote": -0.15}
RELEVANCE_STEP, REINFORCEMENT = 0.1, 0.1
DAILY_DECAY = 0.01
_REVIEWED = ("outdated", "incorrect")
_TOLD = {"edit", "status", "pin", "archive", "restore", "feedback"}  # move updated_at
_DAY = 86_400.0
_DEFAULTS = {name: getattr(BLANK, name) for name in STATE}
_BEGUN = tuple(n for n in STATE if n not in ("created_at", "updated_at", "accesses"))
_begun = itemgetter(*_BEGUN)
_USUAL = _begun(vars(BLANK))
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a memory, or (`id` None) to all of its namespace.

    `seq` is its place in the log, 0 until it has one; `actor` who did it, `session` in which
    session. The payload is JSON: `set` are fields and what they became, `was` what they and
    changed contents were before, as `MemoryRecord.to_dict` writes them.
    """

    type: EventType
    id: str | None
    at: datetime
    actor: str | None = None
    session: str | None = None
    payload: Values = field(default_factory=lambda: EMPTY)
    seq: int = 0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping."""
        return {
            "seq": self.seq,
            "type": self.type,
            "id": self.id,
            "at": to_json(self.at),
            "actor": self.actor,
            "session": self.session,
            "payload": dict(self.payload),
        }


def revived(name: str, value: Any) -> Any:
    """A field's value as records have it, out of a payload."""
    if value is None:
        return () if FIELDS[name].type in ("list", "times") else None
    if FIELDS[name].type == "time":
        return timestamp(name, value)
    if FIELDS[name].type == "times":
        return tuple(timestamp(name, each) for each in value)
    return tuple(value) if FIELDS[name].type == "list" else value


def apply(before: Values, event: Event) -> dict[str, Any]:
    """The fields of STATE that an event changes, with what they become.

    `before` are all fields of STATE; it does not matter to a write, which begins anew.
    """
    changes = _EFFECTS.get(event.type, _set)(before, event)
    if event.type in _TOLD:
        changes.setdefault("updated_at", event.at)
    return changes


def fold(events: Iterable[Event]) -> dict[str, Any]:
    """The fields of STATE after all of a memory's events, oldest first; {} before its write."""
    values: dict[str, Any] = {}
    for event in events:
        if values or event.type == "write":
            values.update(apply(values, event))
    return values


def _set(before: Values, event: Event) -> dict[str, Any]:
    return {name: revived(name, v) for name, v in event.payload.get("set", EMPTY).items()}


def _write(before: Values, event: Event) -> dict[str, Any]:
    begun = {"created_at": event.at, "updated_at": event.at}
    values = {**_DEFAULTS, **begun, **_set(before, event)}
    values["accesses"] = values["accesses"] or (values["created_at"],)
    return values


def _use(before: Values, event: Event) -> dict[str, Any]:
    last = before["last_accessed"]
    return {
        "access_count": before["access_count"] + 1,
        "last_accessed": event.at if last is None else max(last, event.at),
        "accesses": recent(before["accesses"], (event.at,)),
    }


def _feedback(before: Values, event: Event) -> dict[str, Any]:
    """See `Memory.feedback`, `Memory.promote` and `Memory.demote`."""
    kind = event.payload["feedback"]
    if kind in SCORE_STEPS:
        return {"memory_score": _unit(_or(before["memory_score"], 0.5) + SCORE_STEPS[kind])}
    weight = WEIGHTS[kind]
    name = "feedback_for" if weight > 0.0 else "feedback_against"
    changes: dict[str, Any] = {
        name: _or(before[name], 0.0) + abs(weight),
        "relevance_score": _unit(_or(before["relevance_score"], 0.5) + RELEVANCE_STEP * weight),
    }
    if kind in _REVIEWED:
        changes["review"] = kind
    return changes


def _reinforce(before: Values, event: Event) -> dict[str, Any]:
    return {"strength": _unit(_or(before["strength"], 1.0) + REINFORCEMENT)}


def _decay(before: Values, event: Event) -> dict[str, Any]:
    """Both times exp(-0.01 * days since the last decay, else since creation)."""
    since = before["decayed_at"] or before["created_at"]
    days = (event.at - since).total_seconds() / _DAY
    if days <= 0.0:
        return {}
    rate = DAILY_DECAY * (2.0 if before["review"] == "outdated" else 1.0)
    return {
        "strength": _or(before["strength"], 1.0) * math.exp(-DAILY_DECAY * days),
        "relevance_score": _or(before["relevance_score"], 0.5) * math.exp(-rate * days),
        "decayed_at": event.at,
    }


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


_EFFECTS: dict[str, Callable[[Values, Event], dict[str, Any]]] = {
    "write": _write,
    **dict.fromkeys(USES, _use),
    "feedback": _feedback,
    "reinforce": _reinforce,
    "decay": _decay,
}


def record_at(record: MemoryRecord, events: Sequence[Event], kept: Sequence[Event]) -> MemoryRecord:
    """The record as it was when no more than some of its events had happened.

    `events` are all of its memory, oldest first, and `kept` those of them that count, its write
    among them. Contents are followed back over the edits that do not, the rest is `folded`.
    """
    back: dict[str, Any] = {}
    counted = {event.seq for event in kept}
    for event in reversed(events):
        if event.seq not in counted:
            was = event.payload.get("was", EMPTY)
            back.update((name, revived(name, v)) for name, v in was.items() if name not in STATE)
    return replace(record, **back, **{n: v for n, v in fold(kept).items() if n in STATE})


def visible_at(events: Iterable[Event], at: datetime) -> list[Event]:
    """The events that count for whoever asks at a time: uses before it, all else until it.

    What a search returns is used at the time of that search, and does not count for it yet.
    """
    return [e for e in events if (e.at < at if e.type in USES else e.at <= at)]


# What a store notes of its own accord


def written(draft: Draft, actor: str | None) -> Event:
    """The event of a memory's being written: what it began with, as far as that is not usual."""
    record = draft.record
    at = record.updated_at
    given = _begun(vars(record))
    begun: dict[str, Any] = {}
    if given != _USUAL:
        each = zip(_BEGUN, given, _USUAL, strict=True)
        begun = {name: to_json(value) for name, value, usual in each if value != usual}
    if record.created_at != at:
        begun["created_at"] = to_json(record.created_at)
    if record.accesses != (record.created_at,):
        begun["accesses"] = to_json(record.accesses)
    payload = {**draft.note, "set": begun} if begun else draft.note
    return Event("write", record.id, at, actor, payload=payload)


def edited(
    old: MemoryRecord, new: MemoryRecord, actor: str | None, vectors: Iterable[str]
) -> Event:
    """The event of a memory's taking the place of its older version: what differs.

    `vectors` are the names of those that it has from now on only.
    """
    differing = [
        name
        for name in FIELDS
        if name not in ("updated_at", *ACCESSES) and getattr(old, name) != getattr(new, name)
    ]
    was = {name: to_json(getattr(old, name)) for name in differing}
    became = {name: to_json(getattr(new, name)) for name in differing if name in STATE}
    payload: dict[str, Any] = {"was": was}
    if became:
        payload["set"] = became
    added = sorted(vectors)
    if added or _is_in_place(payload):  # an empty list tells it from an edit in place
        payload["vectors"] = added
    return Event("edit", new.id, new.updated_at, actor, payload=payload)


def gives_new_row(event: Event) -> bool:
    """Test whether an event gave its memory a new row: its write, or an edit not made in place."""
    return event.type == "write" or (event.type == "edit" and not _is_in_place(event.payload))


def _is_in_place(payload: Values) -> bool:
    """Test whether the payload of an edit is one of fields that were set without a new row."""
    was, values = payload.get("was", EMPTY), payload.get("set", EMPTY)
    patched = was.keys() == values.keys() and all(FIELDS[name].patchable for name in values)
    return bool(values) and patched and "vectors" not in payload


def linked(link: Link, actor: str | None) -> Event:
    """The event of a link's being made; it is of the memory that the link comes from."""
    payload = {"target": link.target, "link": link.type, "weight": link.weight}
    return Event("link", link.source, link.created_at, actor, payload=payload)


def unlinked(link: Link, actor: str | None) -> Event:
    """The event of a link's being removed at its `created_at`: it weighs nothing any more."""
    payload = {"target": link.target, "link": link.type, "weight": None}
    return Event("link", link.source, link.created_at, actor, payload=payload)


def apply_with_previous(before: Values, event: Event) -> tuple[dict[str, Any], Event]:
    """What an event changes, metadata included, and the event with what that was before."""
    changes = apply(before, event)
    named = event.payload.get("set")
    if not named:
        return changes, event
    was = {name: to_json(before[name]) for name in named}
    return changes, Event(
        event.type, event.id, event.at, event.actor, event.session, {**event.payload, "was": was}
    )
