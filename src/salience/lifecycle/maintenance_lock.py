"""A lock that is kept in the store, so that two processes do not maintain it at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from salience.errors import Locked
from salience.records.record import new_id, to_json
from salience.records.validation import timestamp
from salience.retrieval.operations import Note, Notes
from salience.retrieval.plan import Plan, T, ask

LOCK_NOTE = "maintenance"  # of the note that is the lock
LOCK_TIMEOUT = timedelta(minutes=15)
"""How long a lock holds that its owner does not renew: whoever died holds up nobody for longer."""
_RENEWAL_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True)
class Owner:
    """Who holds the lock; `gone` says of another owner's name that there is certainly none."""

    name: str
    gone: Callable[[str], bool] = lambda name: False


def this_process() -> Owner:
    """The owner that this process is; it can tell whether others on its machine are gone."""
    import os
    import socket

    host = socket.gethostname()

    def gone(name: str) -> bool:
        other, _, process = name.rpartition(":")[0].rpartition(":")
        if other != host or not process.isdecimal():
            return False
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except OSError:  # it is there, and another user's
            return False
        return False

    return Owner(f"{host}:{os.getpid()}:{new_id()[:8]}", gone)


def acquire(namespace: str, owner: Owner, now: datetime) -> Plan[None]:
    """The plan of taking the lock, or of renewing one's own.

    Raises:
        Locked: somebody else holds it, and renewed it less than 15 minutes ago.
    """
    mine = json.dumps({"owner": owner.name, "at": to_json(now)})
    while True:
        held = (yield from ask(Notes(namespace))).get(LOCK_NOTE)
        if held is not None:
            told = json.loads(held)
            since = timestamp("at", told["at"])
            others = told["owner"] != owner.name and not owner.gone(told["owner"])
            if others and now - since < LOCK_TIMEOUT:
                raise Locked(
                    f"{told['owner']} has been maintaining the namespace {namespace!r} and said so "
                    f"at {told['at']}; wait for it, or until {to_json(since + LOCK_TIMEOUT)} if it "
                    "is gone"
                )
        if (yield from ask(Note(namespace, LOCK_NOTE, mine, held))):
            return


def release(namespace: str, owner: Owner) -> Plan[None]:
    """The plan of giving the lock back; what somebody else has taken since stays theirs."""
    held = (yield from ask(Notes(namespace))).get(LOCK_NOTE)
    if held is not None and json.loads(held)["owner"] == owner.name:
        yield from ask(Note(namespace, LOCK_NOTE, None, held))


def with_lock(
    plan: Plan[T], namespace: str, owner: Owner, clock: Callable[[], datetime]
) -> Plan[T]:
    """A plan that holds the lock from its first batch to its last, renewed every minute.

    Raises:
        Locked: see `acquire`.
    """
    try:
        done = yield from _renewing(plan, namespace, owner, clock)
        yield from release(namespace, owner)
    except GeneratorExit:  # it is no longer driven: nothing would be answered
        raise
    except BaseException:  # an interrupt, too: this process may live on for long
        yield from release(namespace, owner)
        raise
    return done


def _renewing(
    plan: Plan[T], namespace: str, owner: Owner, clock: Callable[[], datetime]
) -> Plan[T]:
    renewed = clock()
    yield from acquire(namespace, owner, renewed)
    try:
        batch = next(plan)
        while True:
            if clock() - renewed > _RENEWAL_INTERVAL:
                renewed = clock()
                yield from acquire(namespace, owner, renewed)
            try:
                answers = yield batch
            except BaseException as problem:  # the plan may handle it
                batch = plan.throw(problem)
            else:
                batch = plan.send(answers)
    except StopIteration as end:
        return end.value
