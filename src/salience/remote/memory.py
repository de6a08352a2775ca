"""`RemoteMemory`: the methods of `Memory`, answered by a server over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import tzinfo
from functools import update_wrapper
from typing import Any, Self, Unpack

from salience.api.parameters import NOT_GIVEN
from salience.display.result import short_repr
from salience.engine.core import Part, part
from salience.engine.memory import Memory
from salience.engine.options import SETTINGS, Settings
from salience.engine.search_api import ITERATION_PAGE, Iteration
from salience.errors import InvalidInput, NotFound, StoreError
from salience.records.record import MemoryRecord
from salience.records.time_zone import system_zone
from salience.records.validation import boolean, callable_or_none, namespace_name
from salience.remote.calls import CALLS, Call, bound
from salience.remote.errors import as_embedded, refuse_rewrite
from salience.remote.exports import Batches, Received, sent_lines
from salience.remote.settings import RemoteSettings
from salience.remote.transport import Transport
from salience.retrieval.cursor import encode_cursor
from salience.retrieval.erasure import ErasureReceipt
from salience.retrieval.operations import Order, Place
from salience.retrieval.plan import Plan, T
from salience.search.listing import Page, list_request
from salience.search.request import TimeZone
from salience.stores.address import Address
from salience.write.outcomes import AddResult, Transferred


def _method(call: Call) -> Callable[..., Any]:
    """The method of a memory, or of a part of one, that asks a server for an operation."""

    def method(self: Any, /, *args: Any, **options: Any) -> Any:
        return self._call(call, call.arguments(args, options))

    return update_wrapper(method, call.method)


def _with_operations(kind: type[RemoteMemory]) -> type[RemoteMemory]:
    """The class with a method for each operation that it does not define itself.

    The parameters and the docstrings of all are those of `Memory`.
    """
    parts = dict[str, dict[str, Any]]()
    for name, call in CALLS.items():
        of, _, word = name.rpartition(".")
        if of:
            parts.setdefault(of, {})[word] = _method(call)
        elif name in vars(kind):
            update_wrapper(vars(kind)[name], call.method)
        else:
            setattr(kind, name, _method(call))
    for of, methods in parts.items():
        base = getattr(Memory, of)
        setattr(kind, of, part(type(f"Remote{base.__name__}", (_RemotePart, base), methods)))
    return kind


class _RemotePart(Part):
    """A part of a memory at a server."""

    def __init__(self, memory: RemoteMemory) -> None:
        self._call = memory._call

    def _run(self, plan: Plan[T], *, searches: bool = False) -> T:
        raise _beside_the_store()


class AtServer:
    """The part of a memory at a server that waits for nothing."""

    _remote: RemoteSettings
    _transport: Any

    @classmethod
    def over(cls, transport: Transport, settings: RemoteSettings) -> Self:
        """The memory at a server that is connected already."""
        memory = object.__new__(cls)
        memory._remote, memory._transport = settings, transport
        return memory

    def __repr__(self) -> str:
        values = {"url": self._remote.url, "namespace": self._remote.namespace}
        return short_repr(type(self).__name__, values)

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._remote.namespace or SETTINGS["namespace"]

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the key."""
        return self._remote.scopes

    @property
    def time_zone(self) -> tzinfo:
        """The time zone that is sent with each request; this machine's where none was chosen."""
        return self._remote.time_zone or system_zone()

    def for_namespace(
        self, namespace: str, *, actor: str | None = None, time_zone: TimeZone = None
    ) -> Self:
        """Return the memory of another namespace at the same server; closing either closes both.

        Raises:
            InvalidInput: an actor is given; the server takes the owner of the key.
        """
        if actor is not None:
            raise InvalidInput(
                "actor", "is set by the server", "leave it out, use a key of its own"
            )
        return self.over(self._transport, self._remote.for_namespace(namespace, time_zone))


@_with_operations
class RemoteMemory(AtServer, Memory):
    """A memory at a server: `Memory.open("http://host:port", api_key=...)` gives one.

    It has every method of `Memory`, with the same arguments, results and errors. What cannot
    be sent (functions, embedders, stores) is refused by its name. A request that fails is sent
    again where that has the effect of once.
    """

    def __init__(self, url: Address | None = None, **settings: Unpack[Settings]) -> None:
        self._remote = RemoteSettings.of("Memory", url, **settings)
        self._transport = Transport(self._remote)
        self._greet()

    update_wrapper(__init__, Memory.__init__)

    @classmethod
    def greeted(cls, settings: RemoteSettings) -> Self:
        """The memory at the server of some settings, which has answered."""
        memory = cls.over(Transport(settings), settings)
        memory._greet()
        return memory

    def _greet(self) -> None:
        """Learn what the key may do, and its namespace unless another was chosen."""
        try:
            answer = self._transport.send(self._remote.greeting())
        except BaseException:
            self._transport.close()
            raise
        if not isinstance(answer, dict) or "version" not in answer:
            raise StoreError(f"{self._remote.url} answers, but not as a memory does")
        self._remote = self._remote.greeted(answer)

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close the connections; the server goes on."""
        self._transport.close()

    def _call(self, call: Call, arguments: Mapping[str, Any], namespace: str | None = None) -> Any:
        """The result of an operation with some arguments.

        Raises:
            StoreError: the answer is none of this version of the package.
        """
        try:
            request = self._remote.request(call, arguments, namespace)
            answer = self._transport.send(request)
        except InvalidInput as problem:
            raise as_embedded(call.operation.name, arguments, problem) from None
        except NotFound:
            if call.absent is NOT_GIVEN:
                raise
            return call.absent
        try:
            return call.read(answer)
        except (TypeError, ValueError, LookupError, AttributeError) as problem:
            raise StoreError(
                f"the answer of {self._remote.url} to {call.operation.name} cannot be read "
                f"({type(problem).__name__}); is it of another version?"
            ) from problem

    def add_many(self, /, *args: Any, **options: Any) -> AddResult:
        values = CALLS["add_many"].arguments(args, options)
        progress = callable_or_none("progress", values.pop("progress", None))
        strict, is_whole = values.get("strict", False), "idempotency_key" in values
        batches = Batches(values.pop("items"), strict=boolean("strict", strict), is_whole=is_whole)
        for batch in batches:
            try:
                batches.note(self._call(CALLS["add_many"], {**values, "items": batch}))
            except InvalidInput as problem:
                batches.refuse(batch, problem)
            if progress is not None:
                progress(batches.count)
        pending = self.links(pending=True) if batches.may_have_settled_links else ()
        return batches.result(pending)

    def delete_all(self, /, *args: Any, **options: Any) -> ErasureReceipt:
        values = CALLS["delete_all"].arguments(args, options)
        refuse_rewrite(values.get("rewrite", False))
        filters, namespace = values.get("filters"), values.get("namespace")
        if namespace is not None:
            namespace = namespace_name(namespace)
        is_whole = filters is None and namespace is not None
        arguments = {"all": True} if is_whole else {"filters": filters or {}}
        return self._call(CALLS["delete_all"], arguments, namespace)

    def delete_user(self, /, *args: Any, **options: Any) -> ErasureReceipt:
        values = CALLS["delete_user"].arguments(args, options)
        refuse_rewrite(values.pop("rewrite", False))
        return self._call(CALLS["delete_user"], values)

    def iterate(self, /, *args: Any, **options: Any) -> RemoteIteration:
        values: dict[str, Any] = {"order": "newest", "page_size": ITERATION_PAGE}
        values |= bound("iterate", Memory.iterate, args, options)
        order, page_size, cursor = (values["order"], values["page_size"], values.get("cursor"))
        list_request(self.namespace, None, order, page_size, cursor)
        sent = CALLS["get_all"].request({"filters": values.get("filters")}).body["filters"]
        return RemoteIteration(self, sent, order, page_size, cursor)

    update_wrapper(iterate, Memory.iterate)

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str):
            return False
        with suppress(InvalidInput):
            return self.get_many([id])[0] is not None
        return False

    def export(self, /, *args: Any, **options: Any) -> Transferred:
        values = CALLS["export"].arguments(args, options)
        arguments = {n: boolean(n, values.get(n, False)) for n in ("everywhere", "vectors")}
        request = self._remote.request(CALLS["export"], arguments)
        progress = callable_or_none("progress", values.get("progress"))
        with Received(values["target"], progress) as received:
            self._transport.download(request, received.take)
            return received.result()

    def load(self, /, *args: Any, **options: Any) -> Transferred:
        call = CALLS["load"]
        values = call.arguments(args, options)
        everywhere = boolean("everywhere", values.get("everywhere", False))
        request = self._remote.upload(call, everywhere=everywhere)
        progress = callable_or_none("progress", values.get("progress"))
        with sent_lines(values["source"], progress) as lines:
            return call.read(self._transport.send(request, lines))

    def _run(self, plan: Plan[T], *, searches: bool = False) -> T:
        raise _beside_the_store()


def _beside_the_store() -> InvalidInput:
    """The refusal of an operation on a store as a whole."""
    remedy = (
        "do it where the store is, as by `salience backup` or `salience doctor`; "
        "export and verify work here, too"
    )
    return InvalidInput("url", "is the address of a server, not of a store", remedy)


class RemoteIteration(Iteration):
    """Memories of a server one after the other, read page by page."""

    def __init__(
        self, memory: Memory, filters: Any, order: Order, page_size: int, cursor: str | None
    ) -> None:
        self._memory: Any = memory
        self._filters = filters
        self._order, self._page_size = order, page_size
        self._next: str | None = cursor
        self._last: str | None = cursor
        self._page = Page((), 0)
        self._index = 0
        self._has_more = True

    @property
    def cursor(self) -> str | None:
        """The cursor behind the memory that came last; None before the first."""
        return self._last

    @property
    def has_read(self) -> bool:
        """True if the next memory is there, or the end."""
        return self._index < len(self._page) or not self._has_more

    def __next__(self) -> MemoryRecord:
        while self._index >= len(self._page):
            if not self._has_more:
                raise StopIteration
            self._page = self._memory.get_all(
                self._filters, limit=self._page_size, cursor=self._next, order=self._order
            )
            self._next, self._index = self._page.cursor, 0
            self._has_more = self._next is not None
        record = self._page[self._index]
        place = Place(record.created_at.timestamp(), self._page.places[self._index])
        self._index, self._last = self._index + 1, encode_cursor(self._order, place)
        return record
