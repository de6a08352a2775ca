"""Receipts of erasures: what a store erased, and that it found none of it afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Self

from salience.display.result import Result
from salience.errors import StoreError
from salience.lazily import dataclass

KINDS = (
    "memories", "terms", "vectors", "former_vectors", "links", "events", "idempotency_keys",
    "mentions", "notes",
)  # fmt: skip
"""The kinds of erased data, under the same names in every store.

`memories` are rows with texts, fields and features; `terms` the hashed words by which these are
found; `former_vectors` those that edits replaced; `events` the history; `idempotency_keys` are in
these events; `mentions` are events of other memories, and labelled questions, that name what is
erased; `notes` are those of upkeep, which go with the last memory.
"""
HOW_CHECKED = (
    "Each transaction of the erasure counted what it was about to erase, looked all of it up again "
    "in every table, by id, row and number, and was committed only when it found nothing."
)
UNTOUCHED = (
    "Not touched: backups, exports, logs of searches (search_log) and of programs, which are files "
    "of their own; access keys; what other memories say in their texts. Of a backup that takes the "
    "place of a store in a file, restore_backup erases it again."
)
NOTHING = "Nothing was there to be erased."
EARLIER = "It was erased before, by a request with the same idempotency key."
IN_MEMORY = "Nothing is on a disk: what was erased was in the memory of this process alone."
Counts = Mapping[str, int]


@dataclass(frozen=True)
class Erasure:
    """The answer of a store that has erased: rows by kind, those found afterwards, and the disk."""

    erased: Counts
    remaining: Counts
    disk: str
    restored: tuple[str, ...] = ()

    @property
    def memories(self) -> int:
        """The number of memories erased."""
        return self.erased.get("memories", 0)


class Erased(int):
    """The number of memories that were erased by their ids.

    `restored` are the ids of memories that hold again, as what had superseded or merged them is
    gone.
    """

    restored: tuple[str, ...]

    def __new__(cls, count: int = 0, restored: Iterable[str] = ()) -> Self:
        erased = super().__new__(cls, count)
        erased.restored = tuple(restored)
        return erased

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any] | None) -> Self:
        """Read a server's answer, which is empty for one memory and nothing else."""
        body = answer or {}
        return cls(body.get("deleted", 1), body.get("restored", ()))

    def __repr__(self) -> str:
        more = f", restored={self.restored!r}" if self.restored else ""
        return f"Erased({int(self)}{more})"

    def __str__(self) -> str:
        return int.__repr__(self)


@dataclass(frozen=True, repr=False)
class ErasureReceipt(Result):
    """Receipt of what was erased from a namespace, and of how that was checked.

    `erased` counts rows by kind, and `remaining` those of them that a look-up found afterwards: 0
    of each kind, or the erasure would have been undone with an error. `user_id` is the user who was
    to be forgotten; `naming` are the ids of memories that stay and have that name in a text, as
    speaker, tag or entity, the newest first, at most 1,000. `disk` says what has become of the
    bytes; `rewritten` is true if the file was written again. `check` says how it was checked, and
    `untouched` what an erasure does not reach. `restored` are the ids of memories that hold again,
    as what had superseded or merged them is gone.
    """

    _computed = ("memories",)
    _shown = ("memories", "namespace", "at")

    namespace: str
    at: datetime
    erased: Counts
    remaining: Counts
    disk: str
    rewritten: bool = False
    user_id: str | None = None
    naming: tuple[str, ...] = ()
    check: str = HOW_CHECKED
    untouched: str = UNTOUCHED
    restored: tuple[str, ...] = ()

    @property
    def memories(self) -> int:
        """The number of memories erased."""
        return self.erased.get("memories", 0)


def checked(erased: Counts, remaining: Counts, disk: str = "") -> Erasure:
    """The counts of one transaction before it erased, and after.

    Raises:
        StoreError: something is left; raised in the transaction, it undoes that.
    """
    left = [f"{count:,} of {kind}" for kind, count in remaining.items() if count]
    if left:
        raise StoreError(
            f"not erased: {', '.join(left)} are still there after their erasure, which was "
            "undone; look for triggers, rules or replication that write them again"
        )
    return Erasure(erased, remaining, disk)


class Tally:
    """The sums of the transactions of one erasure."""

    def __init__(self) -> None:
        self._erased = dict.fromkeys(KINDS, 0)
        self._remaining = dict.fromkeys(KINDS, 0)
        self._disk = NOTHING
        self._restored: dict[str, None] = {}

    def add(self, part: Erasure, ids: Iterable[str] = ()) -> None:
        """Add what a transaction has erased, after its commit; memories of some ids, if named."""
        for id in ids:
            self._restored.pop(id, None)
        for kind, count in part.erased.items():
            self._erased[kind] += count
        for kind, count in part.remaining.items():
            self._remaining[kind] += count
        self._restored.update(dict.fromkeys(part.restored))
        if any(part.erased.values()):
            self._disk = part.disk or self._disk

    @property
    def memories(self) -> int:
        """The number of memories erased so far."""
        return self._erased["memories"]

    @property
    def has_erased(self) -> bool:
        """True if anything was erased so far."""
        return any(self._erased.values())

    def erasure(self, disk: str = "") -> Erasure:
        """The sums, with what has become of the bytes, by default as the last part says."""
        restored = tuple(self._restored)
        return Erasure(self._erased, self._remaining, disk or self._disk, restored)
