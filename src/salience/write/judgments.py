"""Judging memories: uses, feedback, decay, and which memory supersedes or contradicts which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from salience.display.result import to_json
from salience.errors import InvalidInput, shown
from salience.records.events import (
    EVENT_OF_USE,
    JUDGEMENTS,
    USE_EVENTS,
    Event,
    EventType,
    apply,
)
from salience.records.record import Link, MemoryRecord
from salience.records.validation import MAX_TAG_CHARACTERS, native, optional_text, text, texts
from salience.retrieval.operations import LinksOf, Log, Put, ReadStats, RowsById, Touch
from salience.retrieval.plan import Plan, ask
from salience.write.items import WriteContext, parse_link
from salience.write.reading import (
    MAX_ATTEMPTS,
    check_version,
    checked_version,
    contention_error,
    not_found,
    read_existing,
    read_table,
)

MAX_DECAYED_TOGETHER = 10_000  # memories that decay by one event
_DECAYED_AT_ONCE = 1_000  # memories that decay in one transaction, if there are more
MAX_REASON_CHARACTERS = 10_000  # of a judgement


def use_events(ids: Any, use: Any, session: Any, scope: WriteContext) -> tuple[Event, ...]:
    """The events of a use of memories.

    Raises:
        InvalidInput: there is no such use, or an id or the session is not text.
    """
    use, session_id = native(use), optional_text("session_id", session)
    if not isinstance(use, str) or use not in EVENT_OF_USE:
        raise InvalidInput(
            "use", f"there is no {shown(use)}", f"use one of {', '.join(EVENT_OF_USE)}"
        )
    type, names = EVENT_OF_USE[use], texts("ids", ids, required=True)
    return tuple(Event(type, id, scope.now, scope.actor, session_id) for id in names)


def touch(ids: Any, use: Any, session: Any, scope: WriteContext) -> Plan[None]:
    """The plan of counting a use of memories."""
    uses = use_events(ids, use, session, scope)
    names = tuple(event.id for event in uses if event.id is not None)
    if uses and uses[0].type not in USE_EVENTS:  # writes are seldom: these do not wait
        for id in (yield from ask(Log(scope.namespace, uses))):
            raise not_found(id, scope.namespace)
        return
    row_of: Mapping[str, int] = yield from ask(RowsById(scope.namespace, names))
    for id in names:
        if id not in row_of:
            raise not_found(id, scope.namespace)
    rows = np.array([row_of[id] for id in names], dtype=np.int64)
    if uses:
        first = uses[0]
        yield from ask(Touch(rows, first.at, first.type, first.actor, first.session, True))


def log_event(
    id: str,
    type: EventType,
    payload: Mapping[str, Any],
    scope: WriteContext,
    session: Any = None,
    if_version: Any = None,
) -> Plan[MemoryRecord]:
    """The plan of logging an event of a memory, if it has a version; the memory after it.

    Without a version there can be no conflict, and the memory is read right after: it may have
    later changes of others.

    Raises:
        NotFound: there is no such memory.
        VersionConflict: it has another version than `if_version`.
    """
    id, session_id = text("id", id), optional_text("session_id", session)
    version = checked_version(if_version)
    event = Event(type, id, scope.now, scope.actor, session_id, payload)
    for _ in range(MAX_ATTEMPTS):
        if version is None:
            refused = yield from ask(Log(scope.namespace, (event,)))
            after = yield from read_existing(id, scope.namespace)
        else:
            before = yield from read_existing(id, scope.namespace)
            check_version(before, version)
            refused = yield from ask(Log(scope.namespace, (event,), (before,)))
            after = replace(before, **apply(vars(before), event))
        if not refused:
            return after
    raise contention_error(id)


def pin(id: str, pinned: float, scope: WriteContext, if_version: Any = None) -> Plan[MemoryRecord]:
    """The plan of pinning (1) or unpinning (0) a memory, if it has a version."""
    payload = {"set": {"pinned": pinned}}
    return (yield from log_event(id, "pin", payload, scope, if_version=if_version))


def feedback(
    id: str,
    kind: Any,
    context: Any,
    session: Any,
    scope: WriteContext,
    if_version: Any = None,
) -> Plan[MemoryRecord]:
    """The plan of recording feedback on a memory, if it has a version; the memory after it."""
    kind = native(kind)
    if not isinstance(kind, str) or kind not in JUDGEMENTS:
        raise InvalidInput(
            "kind", f"there is no {shown(kind)}", f"use one of {', '.join(JUDGEMENTS)}"
        )
    reason = None if context is None else text("context", context, limit=MAX_REASON_CHARACTERS)
    extra = {} if reason is None else {"context": reason}
    if kind == "reinforce":
        return (yield from log_event(id, "reinforce", extra, scope, session, if_version))
    payload = {"feedback": kind, **extra}
    return (yield from log_event(id, "feedback", payload, scope, session, if_version))


def decay_all(scope: WriteContext) -> Plan[None]:
    """The plan of letting all memories of the namespace decay.

    This is one event of all of them or, if they are many, one event each, some in a transaction:
    others can write in between. Another call continues one that was cut short: the decay of a time
    is the product of the decays of its parts.
    """
    figures: Mapping[str, Any] = yield from ask(ReadStats((scope.namespace,)))
    if figures["memories"] <= MAX_DECAYED_TOGETHER:
        yield from ask(Log(scope.namespace, (Event("decay", None, scope.now, scope.actor),)))
        return
    table = yield from read_table(scope, None, ("id",))
    ids = table["id"].tolist()
    for start in range(0, len(ids), _DECAYED_AT_ONCE):
        chunk = ids[start : start + _DECAYED_AT_ONCE]
        while chunk:
            events = tuple(Event("decay", id, scope.now, scope.actor) for id in chunk)
            missing = yield from ask(Log(scope.namespace, events))
            if not missing:
                break
            chunk = [id for id in chunk if id not in missing]


def supersede(
    old: str,
    new: str,
    scope: WriteContext,
    if_version: Any = None,
) -> Plan[None]:
    """The plan of superseding an old memory by a new one, if the old one has a version.

    The old one is valid until the new one begins (`valid_from`, else its creation), but never ends
    before its own beginning.

    Raises:
        NotFound: one of them does not exist.
        InvalidInput: the old one has superseded the new one; no search would find either.
        VersionConflict: the old one has another version than `if_version`.
    """
    version, old, new = checked_version(if_version), _id("old", old), _id("new", new)
    for _ in range(MAX_ATTEMPTS):
        before = yield from read_existing(old, scope.namespace)
        after = yield from read_existing(new, scope.namespace)
        check_version(before, version)
        yield from check_supersession(before, after, scope)
        links = (parse_link(scope, new, old, "supersedes"),)
        events = supersession_events(before, after, scope)
        log = Log(scope.namespace, events, (before, after))
        if not (yield from ask(Put((), links, actor=scope.actor, also=log, at=scope.now))):
            return
    raise contention_error(old)


def check_supersession(
    before: MemoryRecord, after: MemoryRecord, scope: WriteContext
) -> Plan[None]:
    """The plan of checking that the memory `after` can supersede the memory `before`.

    Raises:
        InvalidInput: they are the same, or it has been superseded by the other.
    """
    old, new = before.id, after.id
    if old == new:
        raise InvalidInput("new", f"{shown(new)} cannot supersede itself", "name another memory")
    if after.status == "superseded" and (yield from _superseded_by(old, new, scope)):
        raise InvalidInput(
            "new",
            f"{shown(new)} has been superseded by {shown(old)}, directly or through others",
            f'take that back first: update({shown(new)}, status="active", valid_to=None)',
        )


def _superseded_by(newest: str, id: str, scope: WriteContext) -> Plan[bool]:
    """Test whether a memory has superseded another, directly or through others."""
    seen, last = {newest}, {newest}
    while last and id not in seen:
        links: Sequence[Link] = yield from ask(LinksOf(scope.namespace, tuple(sorted(last))))
        last = {k.target for k in links if k.type == "supersedes" and k.source in last}
        last -= seen
        seen |= last
    return id in seen


def supersession(before: MemoryRecord, after: MemoryRecord) -> tuple[MemoryRecord, MemoryRecord]:
    """Both memories when the memory `before` is superseded by the memory `after`."""
    begins = after.valid_from or after.created_at
    ends = begins if before.valid_to is None else min(begins, before.valid_to)
    if before.valid_from is not None:  # the newer one may be the older, as after moving back
        ends = max(ends, before.valid_from)
    return (
        replace(before, status="superseded", valid_to=ends),
        replace(after, valid_from=begins),
    )


def supersession_events(
    before: MemoryRecord, after: MemoryRecord, scope: WriteContext
) -> tuple[Event, ...]:
    """The events of superseding the memory `before` by the memory `after`."""
    old, new = supersession(before, after)
    changes = {
        old.id: {"status": old.status, "valid_to": to_json(old.valid_to)},
        new.id: {"valid_from": to_json(new.valid_from)},
    }
    return tuple(
        Event("status", id, scope.now, scope.actor, payload={"set": values})
        for id, values in changes.items()
    )


def _id(name: str, id: Any) -> str:
    """The id of a memory that an argument names; InvalidInput otherwise."""
    return text(name, id, limit=MAX_TAG_CHARACTERS)
