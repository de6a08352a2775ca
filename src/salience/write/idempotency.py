"""Idempotency keys: a write with the key of an earlier one has its outcome, and adds nothing.

A key that comes again with another item is refused: one of the two would be lost. No answer is
kept, as it could quote what is erased later: what was done is told by events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, cast

from salience.display.result import to_json
from salience.errors import InvalidInput
from salience.lazily import dataclass, replace
from salience.records.events import Event, EventType
from salience.records.tombstones import Erasing
from salience.records.validation import text
from salience.retrieval.erasure import EARLIER, Erasure
from salience.retrieval.operations import Delete, Events, Log, Op, Put
from salience.retrieval.plan import Plan, T, ask
from salience.write.dedup import DedupVerdict
from salience.write.items import MAX_KEY_CHARACTERS, Item, WriteContext
from salience.write.outcomes import Added

SAME_KEY = "the same idempotency_key again"
"""The reason of an outcome that is told again."""


@dataclass
class Once:
    """An idempotency key of a request, and a hash of all that came with it.

    Of several items, each has a key of its own, by its place among them. `was_done` becomes true
    where a change or an erasure with the key was made before.
    """

    key: str
    body: str
    erases: bool = False
    was_done: bool = False

    @classmethod
    def of(cls, key: Any, given: Any, *, erases: bool = False) -> Once:
        """The key of a request that gave something, perhaps of one that erases.

        Raises:
            InvalidInput: it is no key.
        """
        body = sha256(repr(to_json(given)).encode("utf-8", "replace")).hexdigest()[:32]
        return cls(text("idempotency_key", key, limit=MAX_KEY_CHARACTERS), body, erases)

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


# A change has its key in its first event, an erasure in its tombstones


class DoneBefore(Exception):
    """The change was made before, with the same idempotency key: by the `event`."""

    def __init__(self, event: Event) -> None:
        super().__init__(event)
        self.event = event


def once_only(plan: Plan[T], once: Once, namespace: str) -> Plan[T]:
    """The plan of a change whose first event has a key, and in which only one may have it.

    Raises:
        DoneBefore: an event has the key already.
        InvalidInput: so it has, and that was another change.
    """
    is_kept = False

    def sent(ops: Sequence[Op]) -> Plan[Sequence[Any]]:
        nonlocal is_kept
        keyed = ops if is_kept else [_keyed(op, once) for op in ops]
        answers: Sequence[Any] = yield keyed
        refusals = [no for op, own, no in zip(ops, keyed, answers, strict=True) if op is not own]
        is_kept = is_kept or (bool(refusals) and not any(refusals))
        if any(refusals):  # perhaps as another process used the key
            yield from _new_key(once, namespace)
        return answers

    yield from _new_key(once, namespace)
    return (yield from _through(plan, sent))


def erased_once(plan: Plan[T], once: Once, namespace: str) -> Plan[T]:
    """The plan of an erasure: what was erased with its key before is in its answer.

    One by ids is not done again. Any other is, as it may have been cut short.

    Raises:
        InvalidInput: that was another erasure.
    """
    once.was_done = bool((yield from _events(once, namespace, ("erase",))))

    def sent(ops: Sequence[Op]) -> Plan[Sequence[Any]]:
        erasing = [op for op in ops if isinstance(op, Delete)]
        if not erasing:
            return (yield ops)
        answers: Sequence[Any] = [Erasure({}, {"memories": 0}, "")] * len(ops)
        if not once.was_done or any(op.ids is None for op in erasing):
            answers = yield [_keyed(op, once) for op in ops]
        tombstones = yield from _events(once, namespace, ("erase",))
        memories = sum(event.payload["memories"] for event in tombstones)
        if all(not isinstance(each, Erasure) or each.memories >= memories for each in answers):
            return answers
        # What holds again is told right before the tombstone, with the same time.
        after, at = max(0, tombstones[0].seq - _MOST_RESTORED), tombstones[0].at
        log: Sequence[Event] = yield from ask(Events(namespace, types=("status",), after=after))
        held = [each for each in log if each.at == at and each.payload.get("restored")]
        restored = tuple(each.id for each in held if each.id is not None)
        told = Erasure({"memories": memories}, {"memories": 0}, EARLIER, restored)
        return [told if isinstance(each, Erasure) else each for each in answers]

    return (yield from _through(plan, sent))


_MOST_RESTORED = 10_000  # events before a tombstone that are looked at


def _through(plan: Plan[T], send: Callable[[Sequence[Op]], Plan[Sequence[Any]]]) -> Plan[T]:
    """The plan, each of whose batches is sent by another plan."""
    proceed: Callable[[], Sequence[Op]] = partial(next, plan)
    while True:
        try:
            ops = proceed()
        except StopIteration as end:
            return cast("T", end.value)
        try:
            proceed = partial(plan.send, (yield from send(ops)))
        except BaseException as problem:
            proceed = partial(plan.throw, problem)


def _events(
    once: Once, namespace: str, types: tuple[EventType, ...] | None = None
) -> Plan[Sequence[Event]]:
    """The events with a key; InvalidInput if it was that of something else."""
    events: Sequence[Event] = yield from ask(Events(namespace, types=types, keys=(once.key,)))
    if any(event.payload.get("body") != once.body for event in events):
        raise key_reused()
    return events


def _new_key(once: Once, namespace: str) -> Plan[None]:
    """Raise what `once_only` raises where an event has the key."""
    for event in (yield from _events(once, namespace)):
        once.was_done = True
        raise DoneBefore(event)


def _keyed(op: Any, once: Once) -> Any:
    """An operation whose first event has a key, if it writes any."""
    key = {"key": once.key, "body": once.body}
    match op:
        case Put(drafts=(first, *rest)):
            return replace(op, drafts=(replace(first, note={**first.note, **key}), *rest))
        case Put(also=Log() as also):
            return replace(op, also=_keyed(also, once))
        case Put(links=(_, *_)):
            return replace(op, note=key)
        case Log(events=(event, *others)):
            event = replace(event, payload={**event.payload, **key})
            return replace(op, events=(event, *others))
        case Delete(erasing=Erasing() as erasing):
            return replace(op, erasing=replace(erasing, key=once.key, body=once.body))
    return op
