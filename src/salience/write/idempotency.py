"""Idempotency keys: a write with the key of an earlier one has its outcome, and adds nothing.

A key that comes again with another item is refused: one of the two would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, cast

from salience.display.result import to_json
from salience.errors import InvalidInput
from salience.lazily import dataclass, replace
from salience.records.events import Event
from salience.records.validation import text
from salience.retrieval.operations import Events, Log, Op, Put
from salience.retrieval.plan import Plan, T, ask
from salience.write.dedup import DedupVerdict
from salience.write.items import MAX_KEY_CHARACTERS, Item, WriteContext
from salience.write.outcomes import Added

SAME_KEY = "the same idempotency_key again"
"""The reason of an outcome that is told again."""


@dataclass(frozen=True)
class Once:
    """An idempotency key of a write of several items, and a hash of all that came with it.

    Each item has a key of its own, by its place among them.
    """

    key: str
    body: str

    @classmethod
    def of(cls, key: Any, given: Any) -> Once:
        """The key of a write of what was given.

        Raises:
            InvalidInput: it is no key.
        """
        body = sha256(repr(to_json(given)).encode("utf-8", "replace")).hexdigest()[:32]
        return cls(text("idempotency_key", key, limit=MAX_KEY_CHARACTERS), body)

    def keyed(self, checked: Iterable[Item | Added], first: int = 0) -> list[Item | Added]:
        """The items with keys, unless they have others; `first` is the place of the first."""
        return [
            replace(item, key=f"{self.key}#{place}", fingerprint=self.body)
            if isinstance(item, Item) and item.key is None
            else item
            for place, item in enumerate(checked, first)
        ]


def session_of(key: Any) -> str:
    """The name of the session that a write with an idempotency key begins."""
    return sha256(str(key).encode("utf-8", "replace")).hexdigest()[:32]


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


# A change of one memory: its event has the key


class DoneBefore(Exception):
    """The change was made before, with the same idempotency key: by the `event`."""

    def __init__(self, event: Event) -> None:
        super().__init__(event)
        self.event = event


def once_only(plan: Plan[T], once: Once, namespace: str) -> Plan[T]:
    """The plan of a change that is made in one transaction, whose first event has a key.

    Raises:
        DoneBefore: an event has the key already.
        InvalidInput: so it has, and that was another change.
    """
    yield from _new_key(once, namespace)
    proceed: Callable[[], Sequence[Op]] = partial(next, plan)
    is_kept = False
    while True:
        try:
            ops = proceed()
        except StopIteration as end:
            return cast("T", end.value)
        keyed = ops if is_kept else [_keyed(op, once) for op in ops]
        try:
            answers = yield keyed
        except BaseException as problem:
            proceed = partial(plan.throw, problem)
            continue
        if any(own is not op for own, op in zip(keyed, ops, strict=True)):
            is_kept = not any(answers)
            if not is_kept:  # perhaps as another process used the key
                yield from _new_key(once, namespace)
        proceed = partial(plan.send, answers)


def _new_key(once: Once, namespace: str) -> Plan[None]:
    """Raise what `once_only` raises where an event has the key."""
    events: Sequence[Event] = yield from ask(Events(namespace, keys=(once.key,)))
    for event in events:
        if event.payload.get("body") != once.body:
            raise key_reused()
        raise DoneBefore(event)


def _keyed(op: Any, once: Once) -> Any:
    """An operation whose first event has a key, if it writes any."""
    key = {"key": once.key, "body": once.body}
    match op:
        case Put(drafts=(first, *rest)):
            return replace(op, drafts=(replace(first, note={**first.note, **key}), *rest))
        case Put(also=Log() as also):
            return replace(op, also=_keyed(also, once))
        case Log(events=(event, *others)):
            event = replace(event, payload={**event.payload, **key})
            return replace(op, events=(event, *others))
    return op
