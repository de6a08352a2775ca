"""Tombstones: what an erasure leaves in the log of its namespace, with nothing of its content.

A tombstone says when, by whom and how memories were erased, and how many. It is kept under a hash
of the namespace, as a name can be telling; hashes of the ids say what was erased since a backup.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, Self

from salience.errors import InvalidInput, shown
from salience.lazily import dataclass, replace
from salience.records.events import Event

ErasureKind = Literal["delete", "delete_all", "forget_user", "undo"]
HASH_BYTES = 16


@dataclass(frozen=True)
class Erasing:
    """An erasure: when it is, by whom, and by which method of `Memory`.

    `key` is the idempotency key of its request, `body` a hash of all that the request gave.
    """

    at: datetime
    actor: str | None
    kind: ErasureKind
    key: str | None = None
    body: str | None = None

    def without_name(self, user_id: str) -> Self:
        """The same, by nobody who is named if that would be the user."""
        return replace(self, actor=None) if self.actor == user_id else self

    def event(self, memories: int, seq: int) -> Event:
        """The tombstone as an event of a namespace, at a place in its log."""
        payload: dict[str, Any] = {"erasure": self.kind, "memories": memories}
        if self.key is not None:
            payload |= {"key": self.key, "body": self.body}
        return Event("erase", None, self.at, self.actor, payload=payload, seq=seq)


class Tombstone(NamedTuple):
    """A tombstone as stores keep it; `at` in seconds, `ids` the hashes of the ids."""

    namespace: str
    seq: int
    at: float
    actor: str | None
    kind: ErasureKind
    memories: int
    ids: bytes
    key: str | None = None
    body: str | None = None

    @property
    def place(self) -> tuple[str, int, float]:
        """The key that tells it from all others, in a store and its copies."""
        return self.namespace, self.seq, self.at

    def to_line(self) -> str:
        """A line of the list of what was erased, which `from_line` reads."""
        return json.dumps({**self._asdict(), "ids": self.ids.hex()})

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """The tombstone of a line of the list of what was erased.

        Raises:
            InvalidInput: it is no such line.
        """
        try:
            fields = json.loads(line)
            return cls(**{**fields, "ids": bytes.fromhex(fields["ids"])})
        except (ValueError, TypeError, KeyError):
            remedy = "give a list that `salience erased` has printed"
            raise InvalidInput("line", f"{shown(line)} is no erasure", remedy) from None


def buried(namespace: str, ids: Iterable[str], under: Iterable[Tombstone]) -> tuple[str, ...]:
    """The ids among some of a namespace that are gone by tombstones."""
    hashed = name_hash(namespace)
    hashes = {
        each.ids[start : start + HASH_BYTES]
        for each in under
        if each.namespace == hashed
        for start in range(0, len(each.ids), HASH_BYTES)
    }
    return tuple(id for id in ids if id_hashes(namespace, (id,)) in hashes) if hashes else ()


def name_hash(namespace: str) -> str:
    """The hash under which the tombstones of a namespace are kept."""
    return _hash(namespace).hex()


def id_hashes(namespace: str, ids: Iterable[str]) -> bytes:
    """The hashes of some ids of a namespace after each other, each of `HASH_BYTES` bytes."""
    return b"".join(sorted(_hash(namespace, id) for id in ids))


def _hash(*words: str) -> bytes:
    return blake2b("\0".join(words).encode(), digest_size=HASH_BYTES).digest()
