"""Tasks of the store: the requests of a plan over the database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from salience.stores.postgres.wire.commands import Steps

T = TypeVar("T")


@dataclass(frozen=True)
class Flush:
    """Write the pending accesses, at least those of some namespaces."""

    namespaces: Collection[str]


@dataclass(frozen=True)
class ReadOnly:
    """Run steps that only read, about some namespaces."""

    steps: Callable[[], Steps[Any]]
    namespaces: Collection[str]


@dataclass(frozen=True)
class ReadWrite:
    """Run steps as one transaction, about some namespaces."""

    steps: Callable[[], Steps[Any]]
    namespaces: Collection[str]


Work = Generator[Flush | ReadOnly | ReadWrite, Any, T]
"""A plan over the database: `drive` performs one task after the other."""
