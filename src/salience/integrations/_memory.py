"""Memories as adapters take and use them: both sides of one store, and names of namespaces."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from copy import copy
from functools import partial, update_wrapper
from hashlib import sha256
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from salience.closing import Closing
from salience.display.for_models import clean
from salience.engine.async_memory import AsyncMemory
from salience.engine.memory import Memory
from salience.engine.options import Settings
from salience.errors import InvalidInput
from salience.records.filters import Filter, all_of, filter_fields, parse_filter
from salience.records.limits import DEFAULT_LIMITS
from salience.records.record import MemoryRecord
from salience.records.validation import MAX_NAMESPACE_CHARACTERS, composed, storable
from salience.retrieval.plan import in_thread
from salience.retrieval.turnstile import until_cancelled
from salience.search.request import Filters
from salience.stores.address import Address, public_url

T = TypeVar("T")
P = ParamSpec("P")
MemoryLike = Memory | AsyncMemory | Address
"""A memory, or the address of one: a file, `postgresql://...`, `http://host:port`."""
ITEM_KIND = "item"
"""The kind of messages that nobody says: calls of tools, their results, images."""
_PAGE = 1_000  # memories read at once
_KEPT = frozenset("-_.@+:=,")  # in labels, beside letters and digits


class Opened(Closing):
    """A memory with both of its sides: `sync` is a `Memory`, `awaited` the `AsyncMemory` beside it.

    It opens an address, and then closes it as well. A memory that was given stays open. Threads
    and event loops may share it.
    """

    def __init__(self, memory: MemoryLike | None, **settings: Unpack[Settings]) -> None:
        """Take a memory, or open the one at an address with some settings of `Memory.open`.

        None opens the default address.

        Raises:
            InvalidInput: an argument is wrong, or is a setting for a memory that is open already.
            StoreClosed: an `AsyncMemory` that was not awaited yet.
            SalienceError: the address cannot be opened.
        """
        self._owns_store = not isinstance(memory, Memory | AsyncMemory)
        if not isinstance(memory, Memory | AsyncMemory):
            self.sync = Memory(memory, **settings)
            return
        if settings:
            problem = "is a setting for a memory that is opened here, and this one is open already"
            raise InvalidInput(min(settings), problem, "leave it out, or give an address")
        self.sync = memory if isinstance(memory, Memory) else memory._beside

    @property
    def awaited(self) -> AsyncMemory:
        """The side that is awaited, in any event loop."""
        if "_remote" not in vars(self.sync):
            return AsyncMemory._of(self.sync)
        from salience.remote.async_memory import AsyncRemoteMemory  # which needs an extra

        return AsyncRemoteMemory._of(self.sync)

    def for_namespace(self, namespace: str) -> Opened:
        """The same store in another namespace; closing either closes both."""
        other = copy(self)
        other.sync = self.sync.for_namespace(namespace)
        return other

    def of_user(self, user_id: str | None) -> Opened:
        """The memories of a user, in the namespace `scope(user_id)`; these themselves for None."""
        return self if user_id is None else self.for_namespace(scope(user_id))

    def close(self) -> None:
        """Close what was opened here."""
        if self._owns_store:
            self.sync.close()

    async def aclose(self) -> None:
        """Close what was opened here."""
        await in_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


def awaited(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that calls another in a thread."""

    async def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        return await until_cancelled(partial(method, self, *args, **options))

    return update_wrapper(call, method)


def without_items(filters: Filters) -> Filter | None:
    """A filter that leaves out what nobody says (`ITEM_KIND`), unless it asks for a `kind`."""
    where = parse_filter(filters)
    if "kind" in filter_fields(where):
        return where
    return all_of(where, parse_filter({"kind": {"ne": ITEM_KIND}}))


def scope(*labels: str) -> str:
    """The name of a namespace of its own for labels, such as an app and a user.

    Labels are joined by "/", so a key for `app/*` sees all users of an app. Other characters than
    letters, digits and `-_.@+:=,` are percent-encoded. Two different tuples never give one name:
    what is longer than a name may be ends in a hash of the whole.

    Raises:
        InvalidInput: there is no label, or one is not text that can be kept.
    """
    if not labels:
        raise InvalidInput("scope", "has no label", "give at least one, as the id of the user")
    name = "/".join(map(_encoded, labels))
    if len(name) <= MAX_NAMESPACE_CHARACTERS:
        return name
    suffix = "~" + sha256(name.encode()).hexdigest()  # no encoded label has a tilde
    front = name[: MAX_NAMESPACE_CHARACTERS - len(suffix)]
    return front[: front.rfind("/") + 1] + suffix


def in_order(memory: Memory, filters: Filters) -> list[MemoryRecord]:
    """All memories that pass a filter, in the order of writing, as clocks may be set back."""
    written: list[tuple[int, MemoryRecord]] = []
    cursor: str | None = None
    while True:
        page = memory.get_all(filters, limit=_PAGE, cursor=cursor)
        written += zip(page.places, page.memories, strict=True)
        if (cursor := page.cursor) is None:
            return [record for _, record in sorted(written, key=itemgetter(0))]


def as_query(words: str) -> str:
    """Words of a conversation as a search takes them: no more than a query may have; "" for none.

    A message may be longer than any question, and have characters that nobody sees.
    """
    return clean(words[: DEFAULT_LIMITS.query]).strip()


def _encoded(label: str) -> str:
    """A label without what has a meaning in a name; "%" for the empty one, as others are longer."""
    if not isinstance(label, str):
        raise InvalidInput("scope", f"has a {type(label).__name__}", "give each label as text")
    label = composed("scope", storable("scope", label))
    return (
        "".join(
            c if c.isalnum() or c in _KEPT else "".join(f"%{byte:02X}" for byte in c.encode())
            for c in label
        )
        or "%"
    )


# The address of a memory in a configuration that is written down


def written_address(memory: Any) -> str:
    """The address that an adapter was given, to be kept in a file that others may read.

    Raises:
        InvalidInput: an open memory was given, or an address with a password.
    """
    if not isinstance(memory, str | os.PathLike):
        problem = "was given open, and no configuration can hold it"
        raise InvalidInput("memory", problem, "give its address")
    address = os.fspath(memory)
    scheme, _, rest = address.partition("://")
    names, _, options = rest.partition("?")
    if rest and scheme != "sqlite" and (":" in names.rpartition("@")[0] or "password" in options):
        problem = f"is an address with a password ({public_url(address)})"
        raise InvalidInput("memory", problem, "leave it out, and set PGPASSWORD")
    return address
