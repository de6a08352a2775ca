"""Rebuilding parts of a namespace, after which whoever holds it loads it again."""

from __future__ import annotations

from collections.abc import Callable

from salience.stores.postgres.wire.commands import Statement, Steps
from salience.stores.postgres.write.event_log import lock_namespace

MARK_RENEWED = (
    "INSERT INTO tallies SELECT namespace, 'renewed', '', 0, 0, version FROM spaces "
    "WHERE namespace = %s ON CONFLICT (namespace, kind, name) DO UPDATE "
    "SET version = excluded.version"
)
"""Lets replicas be loaded again: something that they hold was replaced."""


def renew(namespace: str, steps: Callable[[int], Steps[None]]) -> Steps[None]:
    """Lock a namespace and run steps, given its next version; whoever holds it reloads."""
    [[[_, version]]] = yield [lock_namespace(namespace)]
    yield from steps(version)
    yield [
        Statement(MARK_RENEWED, (namespace,)),
        Statement("UPDATE spaces SET linked = version WHERE namespace = %s", (namespace,)),
    ]
