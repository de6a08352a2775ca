"""A lock kept as a note in the store, so that two processes do not maintain it at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from salience.display.result import to_json
from salience.errors import Locked
from salience.records.record import new_id
from salience.records.validation import timestamp
from salience.retrieval.operations import LOCK_NOTE, Note, Notes
from salience.retrieval.plan import Plan, T, ask

LOCK_TIMEOUT = timedelta(minutes=15)
"""A lock that was not renewed for this long is free: its owner has died."""
_RENEWAL_INTERVAL = timedelta(minutes=1)
_running: set[str] = set()  # the names of the owners whose plans this process runs


@dataclass(frozen=True)
class Owner:
    """The holder of a lock; `gone` is true of the names of others that certainly run no more."""

    name: str
    gone: Callable[[str], bool] = lambda name: False


def this_process() -> Owner:
    """The owner that this process is; it can tell whether others on its machine are gone.

    So is an earlier owner of this process that could not release its lock, as on a full disk.
    """
    import os
    import socket

    host = socket.gethostname()

    def gone(name: str) -> bool:
        other, _, process = name.rpartition(":")[0].rpartition(":")
        if other != host or not process.isdecimal():
            return False
        if int(process) == os.getpid():
            return name not in _running
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
        except OSError:  # it is there, and another user's
            return False
        return False

    return Owner(f"{host}:{os.getpid()}:{new_id()[:8]}", gone)


def acquire(namespace: str, owner: Owner, now: datetime) -> Plan[None]:
    """The plan of taking the lock, or renewing it.

    Raises:
        Locked: somebody else holds it, and renewed it less than 15 minutes ago.
    """
    mine = json.dumps({"owner": owner.name, "at": to_json(now)})
    while True:
        current = (yield from ask(Notes(namespace))).get(LOCK_NOTE)
        if current is not None:
            lock = json.loads(current)
            since = timestamp("at", lock["at"])
            is_taken = lock["owner"] != owner.name and not owner.gone(lock["owner"])
            if is_taken and now - since < LOCK_TIMEOUT:
                raise Locked(
                    f"{lock['owner']} has been maintaining the namespace {namespace!r} and said so "
                    f"at {lock['at']}; wait for it, or until {to_json(since + LOCK_TIMEOUT)} if it "
                    "is gone"
                )
        if (yield from ask(Note(namespace, LOCK_NOTE, mine, current))):
            return


def release(namespace: str, owner: Owner) -> Plan[None]:
    """The plan of releasing the lock, unless somebody else has taken it since."""
    current = (yield from ask(Notes(namespace))).get(LOCK_NOTE)
    if current is not None and json.loads(current)["owner"] == owner.name:
        yield from ask(Note(namespace, LOCK_NOTE, None, current))


def with_lock(
    plan: Plan[T], namespace: str, owner: Owner, clock: Callable[[], datetime]
) -> Plan[T]:
    """Run a plan with the lock held from its first batch to its last, renewed every minute.

    Raises:
        Locked: see `acquire`.
    """
    _running.add(owner.name)
    try:
        result = yield from _renewing(plan, namespace, owner, clock)
        yield from release(namespace, owner)
    except GeneratorExit:  # it is no longer driven: nothing would be answered
        raise
    except BaseException:  # an interrupt, too: this process may live on for long
        yield from release(namespace, owner)
        raise
    finally:
        _running.discard(owner.name)
    return result


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
