"""Outcomes of a write: one for each item, with its reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from salience.display.result import Result, short_repr
from salience.errors import InvalidInput
from salience.language.secrets import Secret
from salience.lazily import dataclass
from salience.records.record import Link

Outcome = Literal[
    "ADDED", "CONFLICTS", "SUPERSEDES", "DUPLICATE", "MERGED", "LOOP", "UPDATED", "SKIPPED",
    "REJECTED",
]  # fmt: skip
ADDING_OUTCOMES = ("ADDED", "CONFLICTS", "SUPERSEDES")
"""The outcomes of items that are memories of their own now."""


@dataclass(frozen=True, repr=False)
class Added(Result):
    """The outcome of one item of a write, and its reason.

    ADDED: it is a memory now, with this `id`. CONFLICTS: so it is, but it says otherwise than the
    memory `match`, which keeps its place. SUPERSEDES: it took the place of the memory `match`.
    DUPLICATE: the memory `match` says the same, so it was not added. MERGED: it was not added, but
    `match` has taken on its text, which says more. LOOP: it repeats what was recalled just now.
    To settle a conflict, call `remedy`: the one that begins to hold later supersedes the other.
    UPDATED: the memory of its id says this now. SKIPPED: the memory of its id stays as it is.
    REJECTED: it cannot be kept. For the outcomes that add nothing, `id` is `match`. `similarity`
    is the cosine of the two, if they were compared. `settled_by` is the old and the new memory of a
    conflict. `may_replace` is the earlier memory whose place it may take, with the `chance` that it
    does; both stay as they are, and a search for the present puts the newer one first. `supersede`
    settles it, `keep_both` takes it back. `secret` is the kind of secret that its text seems to
    hold ("key" or "password"), None for none; see `Memory.open(secrets=...)`. `forgets` are the
    memories that its text asks to be forgotten, None if it asks for nothing; `remedy` retires them
    then, and `delete_many` would erase them.
    """

    _computed = ("remedy", "keep_both")
    _shown = ("id", "outcome", "match", "similarity", "reason", "may_replace")

    id: str | None
    outcome: Outcome
    reason: str = ""
    match: str | None = None
    similarity: float | None = None
    settled_by: tuple[str, str] | None = None
    secret: Secret | None = None
    forgets: tuple[str, ...] | None = None
    may_replace: str | None = None
    chance: float | None = None

    @property
    def keep_both(self) -> str | None:
        """The call that takes back what is said in `may_replace`, as a text; None without it."""
        if self.may_replace is None:
            return None
        new, old = json.dumps(self.id), json.dumps(self.may_replace)
        return f'memory.link({new}, {old}, "may_replace", weight=0)'

    @property
    def remedy(self) -> str | None:
        """The call that settles a conflict, or retires what is to be forgotten, as a text."""
        if self.forgets:
            return f"memory.archive({json.dumps([*self.forgets, self.id])})"
        if self.settled_by is None:
            return None
        old, new = map(json.dumps, self.settled_by)
        return f"memory.supersede({old}, {new})"


@dataclass(frozen=True, repr=False)
class AddResult(Result):
    """The outcome of every item of a write, in the order given.

    `pending` are the links that lead to no memory yet; they will, once one has that id, title or
    alias. `run` names the change that retired what the items ask to be forgotten, for `undo`.
    """

    _computed = ("ids",)

    items: tuple[Added, ...]
    degraded: tuple[str, ...] = ()
    pending: tuple[Link, ...] = ()
    run: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the items that were added."""
        return tuple(item.id for item in self.items if item.id and item.outcome in ADDING_OUTCOMES)

    @property
    def id(self) -> str:
        """The id of the first memory that says what was given, added or there already.

        InvalidInput when there is none.
        """
        id = self._first_id()
        if id is None:
            raise InvalidInput("items", "nothing was added", "look at .items for the reasons")
        return id

    def _first_id(self) -> str | None:
        matches = (item.match for item in self.items if item.outcome not in ADDING_OUTCOMES)
        return next(iter((*self.ids, *filter(None, matches))), None)

    @property
    def secrets(self) -> tuple[Added, ...]:
        """The items that are kept and seem to hold a key or a password."""
        return tuple(item for item in self.items if item.secret is not None)

    @property
    def rejected(self) -> tuple[Added, ...]:
        """The items that cannot be kept, with their reasons."""
        return tuple(item for item in self.items if item.outcome == "REJECTED")

    def to_dict(self) -> dict[str, Any]:
        """A mapping of values that JSON has; `id` is null where nothing was added."""
        return {"id": self._first_id(), **Result.to_dict(self)}

    def __repr__(self) -> str:
        if len(self.items) == 1:
            return repr(self.items[0]).replace("Added(", "AddResult(", 1)
        return short_repr("AddResult", Counter(item.outcome for item in self.items))

    def __iter__(self) -> Iterator[Added]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, repr=False)
class Transferred(Result):
    """The contents of an export, or of what was imported; `degraded` says what that lacks."""

    namespaces: tuple[str, ...]
    memories: int
    links: int
    events: int
    degraded: tuple[str, ...] = ()
