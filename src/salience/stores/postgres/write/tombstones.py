"""Tombstones in PostgreSQL: who erased how many memories when, under a hash of the namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salience.records.events import Event
from salience.records.tombstones import Erasing, name_hash
from salience.retrieval import operations
from salience.stores import codec
from salience.stores.postgres.wire.commands import Send, Statement


def insert_tombstone(namespace: str, place: int, erasing: Erasing, memories: int) -> Statement:
    """Leave a tombstone at a place of the log."""
    at = codec.encode("created_at", erasing.at)
    return Statement(
        "INSERT INTO erasures (namespace, seq, at, actor, kind, memories) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        (name_hash(namespace), place, at, erasing.actor, erasing.kind, memories),
    )


def select_tombstones(op: operations.Events) -> Statement:
    """Read the tombstones of a namespace after a place of its log."""
    return Statement(
        "SELECT at, actor, kind, memories, seq FROM erasures WHERE namespace = %s AND seq > %s",
        (name_hash(op.namespace), op.after),
    )


def tombstones(rows: Sequence[Sequence[Any]]) -> list[Event]:
    """The events of what `select_tombstones` has read."""
    return [
        Erasing(codec.decode("created_at", at), actor, kind).event(memories, seq)
        for at, actor, kind, memories, seq in rows
    ]


def resume_log(namespace: str, send: Send) -> None:
    """Let the log of a new namespace go on after the tombstones of a former one of its name."""
    [[[last]]] = send(
        Statement(
            "SELECT coalesce(max(seq), 0) FROM erasures WHERE namespace = %s",
            (name_hash(namespace),),
        )
    )
    if last:
        send(
            Statement(
                "INSERT INTO clocks (namespace, seq) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (namespace, last),
            )
        )


def forget_actor(namespace: str, user_id: str, send: Send) -> None:
    """Take the name of a user out of the tombstones of a namespace."""
    send(
        Statement(
            "UPDATE erasures SET actor = NULL WHERE namespace = %s AND actor = %s",
            (name_hash(namespace), user_id),
        )
    )
