"""Tombstones: what an erasure leaves in the log of its namespace, with nothing of its content.

A tombstone says when, by whom and how memories were erased, and how many. It is kept under a hash
of the namespace, as a name can be telling; where a file can be restored, hashes of the ids say
what was erased since a backup.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Literal, Self

from salience.records.events import Event

ErasureKind = Literal["delete", "delete_all", "forget_user", "undo"]
HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Erasing:
    """An erasure: when it is, by whom, and by which method of `Memory`."""

    at: datetime
    actor: str | None
    kind: ErasureKind

    def without_name(self, user_id: str) -> Self:
        """The same, by nobody who is named if that would be the user."""
        return replace(self, actor=None) if self.actor == user_id else self

    def event(self, memories: int, seq: int) -> Event:
        """The tombstone as an event of a namespace, at a place in its log."""
        payload = {"erasure": self.kind, "memories": memories}
        return Event("erase", None, self.at, self.actor, payload=payload, seq=seq)


def name_hash(namespace: str) -> str:
    """The hash under which the tombstones of a namespace are kept."""
    return _hash(namespace).hex()


def id_hashes(namespace: str, ids: Iterable[str]) -> bytes:
    """The hashes of some ids of a namespace after each other, each of `HASH_BYTES` bytes."""
    return b"".join(sorted(_hash(namespace, id) for id in ids))


def _hash(*words: str) -> bytes:
    return blake2b("\0".join(words).encode(), digest_size=HASH_BYTES).digest()
