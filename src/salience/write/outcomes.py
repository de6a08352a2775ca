"""Records: a memory, a link between two, and the outcomes of a write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from salience.errors import InvalidInput
from salience.records.record import Link

Outcome = Literal["ADDED", "DUPLICATE", "MERGED", "SUPERSEDES", "LOOP", "UPDATED", "REJECTED"]


@dataclass(frozen=True, slots=True)
class Added:
    """What happened to one item of a write, and why.

    ADDED: it is a memory now, with this `id`. SUPERSEDES: so it is, and it says otherwise than the
    memory `match`, which it takes the place of if `applied`. DUPLICATE: the memory `match` says
    the same, so it was not added; MERGED: nor was it, but `match` has taken on what it says
    besides. LOOP: it had only just been recalled. REJECTED: it cannot be kept.
    For the outcomes that add nothing, `id` is `match`. `similarity` is their cosine, if compared.
    """

    id: str | None
    outcome: Outcome
    reason: str = ""
    match: str | None = None
    similarity: float | None = None
    applied: bool = False

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready mapping of what there is to say."""
        found = {name: getattr(self, name) for name in ("id", "outcome", "reason", "match")}
        if self.similarity is not None:
            found["similarity"] = self.similarity
        if self.outcome == "SUPERSEDES":
            found["applied"] = self.applied
        return found


@dataclass(frozen=True, slots=True)
class AddResult:
    """The outcome of every item of a write, in the order given.

    `pending` are the links that lead to no memory yet; they will, once one has that id, title or
    alias.
    """

    items: tuple[Added, ...]
    degraded: tuple[str, ...] = ()
    pending: tuple[Link, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the items that were added."""
        kept = ("ADDED", "SUPERSEDES")
        return tuple(item.id for item in self.items if item.id and item.outcome in kept)

    @property
    def id(self) -> str:
        """The id of the first memory that says what was given, added or there already.

        InvalidInput when there is none.
        """
        kept = (*self.ids, *(i.match for i in self.items if i.match and i.outcome != "SUPERSEDES"))
        if not kept:
            raise InvalidInput("items", "nothing was added", "look at .items for the reasons")
        return kept[0]

    @property
    def rejected(self) -> tuple[Added, ...]:
        """The items that were not added, with their reasons."""
        return tuple(item for item in self.items if item.outcome == "REJECTED")

    def __iter__(self) -> Iterator[Added]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
