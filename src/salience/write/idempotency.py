"""Idempotency keys: a write with the key of an earlier one has its outcome, and adds nothing.

A key that comes again with another item is refused: one of the two would be lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from salience.errors import InvalidInput
from salience.records.events import Event
from salience.retrieval.operations import Events
from salience.retrieval.plan import Plan, ask
from salience.write.dedup import DedupVerdict
from salience.write.items import Item, WriteContext
from salience.write.outcomes import Added

SAME_KEY = "the same idempotency_key again"
"""The reason of an outcome that is told again."""


def note_of(item: Item, verdict: DedupVerdict | None) -> dict[str, Any]:
    """The payload by which the same idempotency key gives the same outcome again."""
    outcome = Added(item.record.id, "ADDED") if verdict is None else verdict.outcome
    if item.supersedes is not None:
        outcome = Added(item.record.id, "SUPERSEDES", "", item.supersedes)
    others = {"match": outcome.match, "settled_by": outcome.settled_by}
    return {
        **key_payload(item),
        **outcome_payload(outcome),
        **{name: value for name, value in others.items() if value is not None},
    }


def key_payload(item: Item) -> dict[str, Any]:
    """The part of the payload that tells the key of an item, and a hash of all that it gave."""
    return {} if item.key is None else {"key": item.key, "body": item.fingerprint}


def outcome_payload(outcome: Added) -> dict[str, Any]:
    """The part of the payload that tells an outcome."""
    return {"outcome": outcome.outcome, "similarity": outcome.similarity}


def key_reused() -> InvalidInput:
    """The error for a key that belongs to a write of something else."""
    problem = "belongs to a write of something else"
    return InvalidInput("idempotency_key", problem, "make a new key for each write")


def earlier_writes(checked: Iterable[Item | Added], scope: WriteContext) -> Plan[dict[str, Event]]:
    """The events of earlier writes with the idempotency keys of some items, by key."""
    keys = tuple({item.key for item in checked if isinstance(item, Item) and item.key is not None})
    if not keys:
        return {}
    events: Sequence[Event] = yield from ask(Events(scope.namespace, keys=keys))
    return {event.payload["key"]: event for event in events}


def refused_keys(
    checked: Sequence[Item | Added], before: Mapping[str, Event]
) -> Iterator[tuple[int, Added]]:
    """The items, by place, whose key belongs to a write of something else, with their outcome."""
    bodies = {key: event.payload.get("body") for key, event in before.items()}
    for place, item in enumerate(checked):
        if isinstance(item, Item) and item.key is not None:
            body = bodies.setdefault(item.key, item.fingerprint)
            if body not in (None, item.fingerprint):  # None: as an older version wrote it
                yield place, Added(item.record.id, "REJECTED", str(key_reused()))


def first_outcome(event: Event) -> Added:
    """The outcome that an event of a keyed write tells."""
    outcome = event.payload.get("outcome", "ADDED")
    match = event.payload.get("match") if event.type == "write" else event.id
    settled_by = event.payload.get("settled_by")
    return Added(
        event.id,
        outcome,
        SAME_KEY,
        match,
        event.payload.get("similarity"),
        (settled_by[0], settled_by[1]) if settled_by else None,
    )
