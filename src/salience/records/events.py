"""Events: entries of the append-only log of a namespace, and the effect of each on its memory.

The state of a memory beyond its contents (accesses, status, judgements) is a function of its
events: `apply`, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from typing import Any, Literal

from salience.arithmetic import exp
from salience.display.result import Result, to_json
from salience.lazily import dataclass, field, replace
from salience.records.fields import FIELDS
from salience.records.limits import REVIEWS
from salience.records.record import BLANK, EMPTY, Draft, Link, MemoryRecord, recent
from salience.records.validation import timestamp

EventType = Literal[
    "write", "retrieval", "read", "reference", "feedback", "link", "status", "edit", "pin", "boost",
    "archive", "restore", "reinforce", "decay", "rewrite", "erase",
]  # fmt: skip
USE_EVENTS = ("retrieval", "read", "reference")
"""The events that count as an access."""
EVENT_OF_USE: Mapping[str, EventType] = {
    "retrieval": "retrieval", "read": "read", "reference": "reference", "write": "rewrite",
}  # fmt: skip
"""The event of each use that may be declared; "write" is the event of the first one."""
CONTINUED: Mapping[str, Any] = {"continued": True}
"""The mark of an edit by which a chat goes on, which is no access."""
STATE = ("created_at", *(n for n, f in FIELDS.items() if f.patchable and n != "metadata"))
"""The fields that are a function of the events; the others are contents, which edits change."""
ACCESSES = ("last_accessed", "access_count", "write_count", "accesses")
_KEPT_BY_STORES = ("updated_at", "version", *ACCESSES)
"""The fields that an edit changes in addition to those that it names."""
FEEDBACK_WEIGHTS = {
    "useful": 1.0, "confirmed": 1.0, "not_useful": -1.0, "outdated": -1.0, "incorrect": -3.0,
}  # fmt: skip
"""The weight of each kind of feedback."""
SCORE_STEPS = {"promote": 0.15, "demote": -0.15}
JUDGEMENTS = (*FEEDBACK_WEIGHTS, *SCORE_STEPS, "reinforce")
"""The judgements that `Memory.feedback` takes."""
RELEVANCE_STEP, REINFORCEMENT = 0.1, 0.1
DAILY_DECAY = 0.01
DAY_SECONDS = 86_400.0
UPDATING_EVENTS = ("edit", "status", "pin", "archive", "restore", "feedback")
"""The events that change what somebody wrote or set: these move `updated_at` and `version`."""
_MENTIONS = ("match", "into")
"""The keys of a payload that name another memory, other than the target of a link."""
_DEFAULTS = {name: getattr(BLANK, name) for name in STATE}
BROUGHT = "brought"
"""The key of the payload of a link that came with the contents of its memory."""
FILE_ACTOR = "file_actor"
"""The key of a payload that has the actor in the file from which an event was imported."""
_TIMES_OF_WRITE = ("created_at", "updated_at", "added_at")
_SET_AT_WRITE = tuple(n for n in STATE if n not in (*_TIMES_OF_WRITE, "accesses", "written_by"))
_values_at_write = itemgetter(*_SET_AT_WRITE)
_DEFAULT_VALUES = _values_at_write(vars(BLANK))
Values = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Event(Result):
    """Something that happened to a memory, or (`id` None) to all of its namespace.

    `seq` is its place in the log, 0 until it has one; `actor` is who did it, `session` in which
    session. The payload is JSON: `set` maps fields to their new values, `was` these and changed
    contents to their old ones, as `MemoryRecord.to_dict` writes them.
    """

    _shown = ("seq", "type", "id", "at", "actor")

    type: EventType
    id: str | None
    at: datetime
    actor: str | None = None
    session: str | None = None
    payload: Values = field(default_factory=lambda: EMPTY)
    seq: int = 0

    @property
    def link(self) -> str:
        """The link that it made or removed, in words; empty for other events."""
        words = f"{self.payload.get('link')} {self.payload.get('target')}"
        if self.type != "link":
            return ""
        return words if self.payload["weight"] is not None else f"no longer {words}"


def field_from_json(name: str, value: Any) -> Any:
    """The value of a field as records have it, from its JSON in a payload."""
    if value is None:
        return () if FIELDS[name].type in ("list", "times") else None
    if FIELDS[name].type == "time":
        return timestamp(name, value)
    if FIELDS[name].type == "times":
        return tuple(timestamp(name, moment) for moment in value)
    return tuple(value) if FIELDS[name].type == "list" else value


def apply(before: Values, event: Event) -> dict[str, Any]:
    """The fields of STATE that an event changes, with their new values.

    `before` are all fields of STATE; a write ignores them, as it starts over.
    """
    changes = _EFFECTS.get(event.type, _set)(before, event)
    if event.type in UPDATING_EVENTS:
        changes.setdefault("updated_at", event.at)
        changes["version"] = version_after(before["version"], event)
    return changes


def check_payload(type: str, payload: Values) -> None:
    """Raise a ValueError if a stored payload lacks what the type of its event needs."""
    if not FIELDS.keys() >= {*payload.get("set", ()), *payload.get("was", ())}:
        raise ValueError("an event sets what is not a field")
    if "written_by" in payload.get("set", ()):
        raise ValueError("an event sets who wrote its memory, which its own actor says")
    if type == "feedback" and payload.get("feedback") not in {**FEEDBACK_WEIGHTS, **SCORE_STEPS}:
        raise ValueError("an event is a judgement of no known kind")
    if type == "link" and not payload.keys() >= {"target", "link", "weight"}:
        raise ValueError("an event of a link without its target, type or weight")


def version_after(version: int, event: Event) -> int:
    """The version of a memory after one of its events."""
    if event.type == "write":
        return int(event.payload.get("set", EMPTY).get("version", BLANK.version))
    return version + (event.type in UPDATING_EVENTS)


def replay(events: Iterable[Event]) -> dict[str, dict[str, Any]]:
    """The fields of STATE of memories, by id, after their events, oldest first.

    An event without an id happens to all memories written before it.
    """
    states: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.id is None:
            for state in states.values():
                state.update(apply(state, event))
        elif event.type == "write" or event.id in states:
            state = states.setdefault(event.id, {})
            state.update(apply(state, event))
    return states


def _set(before: Values, event: Event) -> dict[str, Any]:
    return {name: field_from_json(name, v) for name, v in event.payload.get("set", EMPTY).items()}


def _write(before: Values, event: Event) -> dict[str, Any]:
    values = {**_DEFAULTS, **dict.fromkeys(_TIMES_OF_WRITE, event.at), **_set(before, event)}
    values["accesses"] = values["accesses"] or (values["created_at"],)
    values["written_by"] = event.actor
    return values


def is_counted_edit(event: Event) -> bool:
    """Test whether an event is an edit that counts as an access, as it changed the text.

    Labels, judgements and metadata are set without the memory being used, and a chat goes on
    without its earlier messages being so. Former versions marked the edits that counted by another
    rule; the mark is of no effect.
    """
    payload = event.payload
    goes_on = CONTINUED.items() <= payload.items()
    return event.type == "edit" and "content" in payload.get("was", EMPTY) and not goes_on


def _edit(before: Values, event: Event) -> dict[str, Any]:
    counted = _rewrite(before, event) if is_counted_edit(event) else {}
    return {**_set(before, event), **counted}


def _rewrite(before: Values, event: Event) -> dict[str, Any]:
    return counted_edit(before["write_count"], before["accesses"], event.at)


def counted_edit(count: int, accesses: Sequence[Any], at: Any) -> dict[str, Any]:
    """The fields by which an edit is an access: one more, and its time the latest."""
    return {"write_count": count + 1, "accesses": recent(accesses, (at,))}


def _use(before: Values, event: Event) -> dict[str, Any]:
    last = before["last_accessed"]
    return {
        "access_count": before["access_count"] + 1,
        "last_accessed": event.at if last is None else max(last, event.at),
        "accesses": recent(before["accesses"], (event.at,)),
    }


def _feedback(before: Values, event: Event) -> dict[str, Any]:
    """See `Memory.feedback`."""
    kind = event.payload["feedback"]
    if kind in SCORE_STEPS:
        return {"memory_score": _unit(_or(before["memory_score"], 0.5) + SCORE_STEPS[kind])}
    weight = FEEDBACK_WEIGHTS[kind]
    name = "feedback_for" if weight > 0.0 else "feedback_against"
    changes: dict[str, Any] = {
        name: _or(before[name], 0.0) + abs(weight),
        "relevance_score": _unit(_or(before["relevance_score"], 0.5) + RELEVANCE_STEP * weight),
    }
    if kind in REVIEWS:
        changes["review"] = kind
    if kind == "outdated":
        changes["outdated"] = 1.0
    return changes


def _reinforce(before: Values, event: Event) -> dict[str, Any]:
    return {"strength": _unit(_or(before["strength"], 1.0) + REINFORCEMENT)}


def _decay(before: Values, event: Event) -> dict[str, Any]:
    """Both times exp(-0.01 * days since the last decay, else since creation)."""
    since = before["decayed_at"] or before["created_at"]
    days = (event.at - since).total_seconds() / DAY_SECONDS
    if days <= 0.0:
        return {}
    is_outdated = before["outdated"] or before["review"] == "outdated"
    rate = DAILY_DECAY * (2.0 if is_outdated else 1.0)
    return {
        "strength": _or(before["strength"], 1.0) * exp(-DAILY_DECAY * days),
        "relevance_score": _or(before["relevance_score"], 0.5) * exp(-rate * days),
        "decayed_at": event.at,
    }


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


_EFFECTS: dict[str, Callable[[Values, Event], dict[str, Any]]] = {
    "write": _write,
    "edit": _edit,
    "rewrite": _rewrite,
    **dict.fromkeys(USE_EVENTS, _use),
    "feedback": _feedback,
    "reinforce": _reinforce,
    "decay": _decay,
}


def record_at(
    record: MemoryRecord, events: Sequence[Event], visible: Sequence[Event]
) -> MemoryRecord:
    """The record as it was when only some of its events had happened.

    `events` are all events of the memory, oldest first, `visible` those of them that count, its
    write included. Contents are followed back over the edits that do not count; all other fields
    are those of a `replay`.
    """
    contents: dict[str, Any] = {}
    counted = {event.seq for event in visible}
    for event in reversed(events):
        if event.seq not in counted:
            contents.update(_contents_before(event))
    return replace(record, **contents, **_of_state(replay(visible).get(record.id, {})))


def records_after(
    record: MemoryRecord, events: Sequence[Event], counts: Sequence[int]
) -> list[MemoryRecord]:
    """The record after the first n of its events, for each n of ascending counts.

    `events` are all events of the memory from its write on, oldest first. Each is looked at twice,
    however many records are asked for.
    """
    contents: list[dict[str, Any]] = [{}]  # before the events from a count on, the last one first
    state: dict[str, Any] = {}
    states: list[dict[str, Any]] = []
    for count, end in zip(reversed(counts), (len(events), *reversed(counts)), strict=False):
        before = dict(contents[-1])
        for event in reversed(events[count:end]):
            before.update(_contents_before(event))
        contents.append(before)
    for begin, count in pairwise((0, *counts)):
        for event in events[begin:count]:
            state.update(apply(state, event))
        states.append(_of_state(state))
    return [
        replace(record, **before, **values)
        for before, values in zip(reversed(contents[1:]), states, strict=True)
    ]


def _contents_before(event: Event) -> dict[str, Any]:
    """The contents that an event changed, as they were before it."""
    was = event.payload.get("was", EMPTY)
    return {name: field_from_json(name, v) for name, v in was.items() if name not in STATE}


def _of_state(values: Values) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in STATE}


def events_by_memory(log: Iterable[Event]) -> dict[str, list[Event]]:
    """The events of each memory from its write on, with those of all memories, oldest first."""
    events_of: dict[str, list[Event]] = {}
    for event in log:
        if event.id is None:
            for events in events_of.values():
                events.append(event)
        elif event.type == "write":
            events_of[event.id] = [event]
        elif event.id in events_of:
            events_of[event.id].append(event)
    return events_of


def visible_at(events: Iterable[Event], at: datetime) -> list[Event]:
    """The events that count at a time: uses before it, all others up to and including it.

    A search uses its hits at its own time, and these uses must not count for itself.
    """
    return [e for e in events if (e.at < at if e.type in USE_EVENTS else e.at <= at)]


def write_event(draft: Draft, actor: str | None) -> Event:
    """The event of writing a memory: its values of STATE that are not the defaults."""
    record = draft.record
    at = record.updated_at
    values = _values_at_write(vars(record))
    initial: dict[str, Any] = {}
    if values != _DEFAULT_VALUES:
        rows = zip(_SET_AT_WRITE, values, _DEFAULT_VALUES, strict=True)
        initial = {name: to_json(value) for name, value, default in rows if value != default}
    if record.created_at != at:
        initial["created_at"] = to_json(record.created_at)
    if record.added_at not in (None, at):
        initial["added_at"] = to_json(record.added_at)
    if record.accesses != (record.created_at,):
        initial["accesses"] = to_json(record.accesses)
    payload = {**draft.note, "set": initial} if initial else draft.note
    return Event("write", record.id, at, actor, payload=payload)


def edit_event(old: MemoryRecord, draft: Draft, actor: str | None, vectors: Iterable[str]) -> Event:
    """The event of replacing a memory by a new version: the fields that differ.

    `vectors` are the names of the vectors that the old version did not have.
    """
    new = draft.record
    differing = [
        name
        for name in FIELDS
        if name not in _KEPT_BY_STORES and getattr(old, name) != getattr(new, name)
    ]
    was = {name: to_json(getattr(old, name)) for name in differing}
    values = {name: to_json(getattr(new, name)) for name in differing if name in STATE}
    payload: dict[str, Any] = {**draft.note, "was": was}
    if values:
        payload["set"] = values
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


def link_event(
    link: Link, actor: str | None, at: datetime | None = None, *, brought: bool = False
) -> Event:
    """The event of making a link at a time, that of the link by default.

    It belongs to the memory that the link comes from, which may have `brought` it.
    """
    payload: dict[str, Any] = {"target": link.target, "link": link.type, "weight": link.weight}
    if brought:
        payload[BROUGHT] = True
    if at is not None and at != link.created_at:
        payload["created_at"] = to_json(link.created_at)
    return Event("link", link.source, at or link.created_at, actor, payload=payload)


def unlink_event(link: Link, actor: str | None, at: datetime | None = None) -> Event:
    """The event of removing a link at a time, its `created_at` by default: its weight is None."""
    payload = {"target": link.target, "link": link.type, "weight": None}
    return Event("link", link.source, at or link.created_at, actor, payload=payload)


def without_mention(payload: Values) -> Values:
    """The payload of an event that is no link, without the other memory that it names."""
    return {name: v for name, v in payload.items() if name not in (*_MENTIONS, "settled_by")}


def imported(event: Event, importer: str | None) -> Event:
    """An event of a file as `importer` imports it, with the actor of the file beside.

    It stays as it is where nobody is named who imports, where the file names the same, and for a
    use, which nobody claims.
    """
    if importer in (None, event.actor) or event.type in USE_EVENTS:
        return event
    beside = {} if event.actor is None else {FILE_ACTOR: event.actor}
    return replace(event, actor=importer, payload={**event.payload, **beside})


def without_user(payload: Values, user_id: str) -> Values:
    """The payload of an event without the user who did it or owned its memory before it."""
    was = payload.get("was", EMPTY)
    if was.get("user_id") == user_id:
        payload = {**payload, "was": {**was, "user_id": None}}
    if payload.get(FILE_ACTOR) == user_id:
        payload = {name: value for name, value in payload.items() if name != FILE_ACTOR}
    return payload


def link_key(event: Event) -> tuple[str, str, str]:
    """The source, target and type of the link that an event made or removed."""
    return event.id or "", event.payload["target"], event.payload["link"]


def link_time(event: Event) -> datetime:
    """The `created_at` of the link that an event made."""
    created = event.payload.get("created_at")
    return event.at if created is None else timestamp("created_at", created)


def apply_with_previous(before: Values, event: Event) -> tuple[dict[str, Any], Event]:
    """The changes of an event, metadata included, and the event with the values before as `was`."""
    changes = apply(before, event)
    fields_set = event.payload.get("set")
    if not fields_set:
        return changes, event
    was = {name: to_json(before[name]) for name in fields_set}
    return changes, Event(
        event.type, event.id, event.at, event.actor, event.session, {**event.payload, "was": was}
    )
