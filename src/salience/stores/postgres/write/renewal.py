"""Rebuilding parts of a namespace, after which whoever holds it loads it again."""

from __future__ import annotations

from collections.abc import Callable

from salience.stores.postgres.wire.commands import Send, Statement
from salience.stores.postgres.write.event_log import lock_namespace

MARK_RENEWED = (
    "INSERT INTO tallies SELECT namespace, 'renewed', '', 0, 0, version FROM spaces "
    "WHERE namespace = %s ON CONFLICT (namespace, kind, name) DO UPDATE "
    "SET version = excluded.version"
)
"""Lets replicas be loaded again: something that they hold was replaced."""


def renew(namespace: str, work: Callable[[int, Send], None], send: Send) -> None:
    """Lock a namespace and run work, given its next version; whoever holds it reloads."""
    [[[_, version]]] = send(lock_namespace(namespace))
    work(version, send)
    send(
        Statement(MARK_RENEWED, (namespace,)),
        Statement("UPDATE spaces SET linked = version WHERE namespace = %s", (namespace,)),
    )
