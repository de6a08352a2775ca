"""Forks: what a process must not share with its parent is reopened in the copy.

A connection that both use would bring either the answers of the other.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """An object with connections, locks or threads of its process."""

    def after_fork(self) -> None:
        """Take connections, locks and threads of its own, in the copy of a process."""
        ...


_FORKED: WeakSet[Forked] = WeakSet()
_PARENTS: list[object] = []


def renew_after_fork(owner: Forked) -> None:
    """Call `owner.after_fork()` in each copy of this process, as long as there is an owner."""
    _FORKED.add(owner)


def leave_to_parent(connection: object) -> None:
    """Keep a connection of the parent, unused: freeing it might tell its server to close it."""
    _PARENTS.append(connection)


def _renew_all() -> None:
    for owner in list(_FORKED):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
