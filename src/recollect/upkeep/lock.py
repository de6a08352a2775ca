"""A lock that is kept in the store, so that two processes do not maintain it at once."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from recollect.errors import RecollectError
from recollect.memory import moment, plain
from recollect.ops import Note, Notes
from recollect.plan import Plan, ask

KEY = "maintenance"
STALE = timedelta(minutes=15)
"""How long a lock holds that its owner does not renew: whoever died holds up nobody for longer."""


class Locked(RecollectError):
    """Somebody else maintains the store."""


def acquire(namespace: str, owner: str, now: datetime) -> Plan[None]:
    """The plan of taking the lock, or of renewing one's own.

    Raises:
        Locked: somebody else holds it, and renewed it less than 15 minutes ago.
    """
    mine = json.dumps({"owner": owner, "at": plain(now)})
    while True:
        held = (yield from ask(Notes(namespace))).get(KEY)
        if held is not None:
            told = json.loads(held)
            since = moment("at", told["at"])
            if told["owner"] != owner and now - since < STALE:
                free = plain(since + STALE)
                raise Locked(
                    f"{told['owner']} maintains the namespace {namespace!r} since {told['at']}; "
                    f"wait for it, or until {free} if it is gone"
                )
        if (yield from ask(Note(namespace, KEY, mine, held))):
            return


def release(namespace: str, owner: str) -> Plan[None]:
    """The plan of giving the lock back; what somebody else has taken since stays theirs."""
    held = (yield from ask(Notes(namespace))).get(KEY)
    if held is not None and json.loads(held)["owner"] == owner:
        yield from ask(Note(namespace, KEY, None, held))
