"""`AsyncMemory`: the methods of `Memory`, awaited, each in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import tzinfo
from functools import partial, update_wrapper
from typing import Any, Concatenate, ParamSpec, Self, Unpack

from salience.api.parameters import NOT_GIVEN, with_options
from salience.display.function_calls import Offered, Owner, Style, Tools
from salience.engine.core import Core, part
from salience.engine.inspect_api import Inspect, Labels
from salience.engine.judgment_api import MAX_WAIT_SECONDS, POLL_SECONDS
from salience.engine.memory import Memory, shown_memory, tool_limits
from salience.engine.options import SETTINGS, Settings
from salience.engine.search_api import ITERATION_PAGE, Iteration
from salience.engine.upkeep_api import Upkeep
from salience.errors import StoreClosed
from salience.lifecycle.verify import EventPage
from salience.records.field_filters import FIELD_DEFAULTS, FieldFilters
from salience.records.record import MemoryRecord
from salience.records.validation import number
from salience.retrieval.operations import Order
from salience.retrieval.plan import T, in_thread
from salience.retrieval.turnstile import until_cancelled
from salience.search.request import Filters, TimeZone
from salience.stores.address import Address, opened_by
from salience.stores.protocol import Store

P = ParamSpec("P")


def awaited(
    method: Callable[Concatenate[Any, P], T], *, searches: bool = False
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that calls one of `Memory` in a thread; its callbacks are called there, too.

    One that searches has threads of its own, so that no other queues behind searches.
    """

    async def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
        work = partial(getattr(self._beside, method.__name__), *args, **options)
        return await until_cancelled(work, self._threads(searches))

    return update_wrapper(call, method)


def _awaited_function(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    async def call(*args: P.args, **options: P.kwargs) -> T:
        return await in_thread(function, *args, **options)

    return update_wrapper(call, function)


class AsyncPart:
    """Methods of an awaited memory under a name of their own."""

    _name: str

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory

    @property
    def _beside(self) -> Any:
        return getattr(self._memory._beside, self._name)

    def _threads(self, searches: bool) -> ThreadPoolExecutor | None:
        return self._memory._threads(searches)


class AsyncInspect(AsyncPart):
    """Look behind memories: what a search ranks, their links, zones and vitality."""

    _name = "inspect"

    candidates = awaited(Inspect.candidates, searches=True)
    compare = awaited(Inspect.compare, searches=True)
    graph = awaited(Inspect.graph)
    zones = awaited(Inspect.zones)
    zone_shares = awaited(Inspect.zone_shares)
    vitality = awaited(Inspect.vitality)
    searches = awaited(Inspect.searches)


class AsyncLabels(AsyncPart):
    """Label questions with what answers them, and measure profiles on them."""

    _name = "labels"

    questions = awaited(Labels.questions)
    add = awaited(Labels.add)
    delete = awaited(Labels.delete)
    score = awaited(Labels.score, searches=True)


class AsyncUpkeep(AsyncPart):
    """Keep memories in order: prune, consolidate, maintain, audit, verify."""

    _name = "upkeep"

    prune = awaited(Upkeep.prune)
    consolidate = awaited(Upkeep.consolidate)
    maintain = awaited(Upkeep.maintain)
    audit = awaited(Upkeep.audit)
    decay = awaited(Upkeep.decay)
    verify = awaited(Upkeep.verify)
    flush = awaited(Upkeep.flush)
    doctor = awaited(Upkeep.doctor)
    reembed = staticmethod(_awaited_function(Upkeep.reembed))
    reembedding = staticmethod(_awaited_function(Upkeep.reembedding))


class AsyncMemory:
    """The memory of an agent: add to it, search it, ask why.

    Open one with `AsyncMemory("agent.db")` or `AsyncMemory.open("agent.db")`.
    It is safe to share between threads, and several processes may open the same file.
    A wrong argument raises `InvalidInput`, which names it.
    """

    _core: Core
    inspect = part(AsyncInspect)
    labels = part(AsyncLabels)
    upkeep = part(AsyncUpkeep)

    @with_options(Settings, defaults=SETTINGS)
    def __new__(cls, url: Address | Store | None = None, **settings: Unpack[Settings]) -> Self:
        return object.__new__(opened_by(cls, url))

    @with_options(Settings, defaults=SETTINGS)
    def __init__(self, url: Address | Store | None = None, **settings: Unpack[Settings]) -> None:
        """Open (or create) a store when awaited, as `Memory(...)` does.

        Args:
            url: the path of a file, a URL or a store.
        """
        self._opening = partial(Core.open, url, **settings)

    @classmethod
    @with_options(Settings, defaults=SETTINGS)
    async def open(cls, url: Address | Store | None = None, **settings: Unpack[Settings]) -> Self:
        """Open (or create) a store, as `Memory.open` does.

        Args:
            url: the path of a file, a URL or a store.

        Raises:
            StoreError: the file cannot be used.
            EmbedderError: the embedder can never work; says what is missing.
            EmbedderMismatch: the stored vectors come from another embedder.
        """
        return await cls(url, **settings)

    @classmethod
    def _of(cls, memory: Any) -> Self:
        """The awaited side of a memory that is open: closing either closes both."""
        awaited = object.__new__(cls)
        awaited._core = memory._core
        return awaited

    def __getattr__(self, name: str) -> Any:
        if name not in ("_core", "_transport"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        remedy = "use it in `async with memory:`, or open it by `await memory`"
        raise StoreClosed(f"the memory is not open yet; {remedy}")

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        if "_core" not in vars(self):
            self._core = await in_thread(self._opening)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Write queued accesses and release the store.

        Raises:
            StoreError: what was queued could not be written; says how many accesses are not
                counted. All is released nevertheless, and a second call does nothing.
        """
        await self._core.dispatcher.aclose()

    def __repr__(self) -> str:
        return shown_memory(self)

    @property
    def namespace(self) -> str:
        """The namespace that this memory reads and writes."""
        return self._core.namespace

    def for_namespace(
        self, namespace: str, *, actor: str | None = None, time_zone: TimeZone = None
    ) -> Self:
        """Return the memory of another namespace in the same store; closing either closes both.

        What is done through it was done by `actor`; by that of this memory if none is given, and
        so is its time zone.
        """
        return self._of(self._beside.for_namespace(namespace, actor=actor, time_zone=time_zone))

    @property
    def time_zone(self) -> tzinfo:
        """The time zone of calls that give none, and of what is shown to people and models."""
        return self._core.searches.zone()

    @property
    def _beside(self) -> Memory:
        """The `Memory` of the same core."""
        return Memory._over(self._core)

    def _threads(self, searches: bool) -> ThreadPoolExecutor | None:
        """The threads for a method; None for those of the event loop."""
        return self._core.dispatcher.searchers if searches else None

    # What writes
    add = awaited(Memory.add)
    add_chat = awaited(Memory.add_chat)
    add_many = awaited(Memory.add_many)
    update = awaited(Memory.update)
    delete = awaited(Memory.delete)
    delete_many = awaited(Memory.delete_many)
    delete_all = awaited(Memory.delete_all)
    delete_user = awaited(Memory.delete_user)

    # What searches
    search = awaited(Memory.search, searches=True)
    explain = awaited(Memory.explain, searches=True)
    explain_many = awaited(Memory.explain_many, searches=True)
    get_context = awaited(Memory.get_context, searches=True)

    # What reads
    get = awaited(Memory.get)
    get_many = awaited(Memory.get_many)
    get_all = awaited(Memory.get_all)
    about = awaited(Memory.about)
    count = awaited(Memory.count)
    tags = awaited(Memory.tags)
    entities = awaited(Memory.entities)
    stats = awaited(Memory.stats)

    # What judges and tells
    link = awaited(Memory.link)
    links = awaited(Memory.links)
    supersede = awaited(Memory.supersede)
    touch = awaited(Memory.touch)
    feedback = awaited(Memory.feedback)
    pin = awaited(Memory.pin)
    unpin = awaited(Memory.unpin)
    history = awaited(Memory.history)
    _events = awaited(Memory.events)

    # What looks after all of it
    archive = awaited(Memory.archive)
    unarchive = awaited(Memory.unarchive)
    undo = awaited(Memory.undo)
    undo_actor = awaited(Memory.undo_actor)
    export = awaited(Memory.export)
    load = awaited(Memory.load)
    backup = awaited(Memory.backup)
    restore_backup = staticmethod(_awaited_function(Memory.restore_backup))

    async def events(
        self,
        after: str | None = None,
        *,
        limit: int = 100,
        order: Order = "oldest",
        wait: float = 0.0,
    ) -> EventPage:
        until = time.monotonic() + (number("wait", wait, MAX_WAIT_SECONDS) or 0.0)
        while True:  # here, as no thread is to wait
            page = await self._events(after, limit=limit, order=order)
            if page.events or time.monotonic() >= until:
                return page
            await asyncio.sleep(POLL_SECONDS)

    events.__doc__ = Memory.events.__doc__

    @with_options(FieldFilters, defaults=FIELD_DEFAULTS)
    def iterate(
        self,
        filters: Filters = None,
        *,
        order: Order = "newest",
        page_size: int = ITERATION_PAGE,
        cursor: str | None = None,
        **fields: Unpack[FieldFilters],
    ) -> AsyncIteration:
        options: Any = {"order": order, "page_size": page_size, "cursor": cursor, **fields}
        return AsyncIteration(self._beside.iterate(filters, **options))

    iterate.__doc__ = Memory.iterate.__doc__

    def __aiter__(self) -> AsyncIteration:
        return self.iterate()

    @with_options(Owner, defaults=dict.fromkeys(Owner.__annotations__, NOT_GIVEN))
    def tools(
        self, style: Style = "openai", *, max_tokens: int = 2000, **owner: Unpack[Owner]
    ) -> AsyncTools:
        return AsyncTools(self, style, *tool_limits(owner, max_tokens))

    tools.__doc__ = Memory.tools.__doc__


class AsyncTools(Offered):
    """`Tools` of an `AsyncMemory`: each call in a thread."""

    async def answers(self, message: Any) -> list[dict[str, Any]]:
        return await until_cancelled(partial(self._tools.answers, message))

    answers.__doc__ = Tools.answers.__doc__

    async def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        return await until_cancelled(partial(self._tools.call, name, arguments))

    call.__doc__ = Tools.call.__doc__

    @property
    def _tools(self) -> Tools:
        return Tools(self._memory._beside, self._style, self._owner, self._max_tokens)


class AsyncIteration:
    """Memories one after the other, each page read in a thread; not to be shared between tasks."""

    def __init__(self, iteration: Iteration) -> None:
        self._iteration = iteration

    @property
    def cursor(self) -> str | None:
        """The cursor behind the memory that came last; None before the first."""
        return self._iteration.cursor

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> MemoryRecord:
        step = partial(next, self._iteration, None)
        record = step() if self._iteration.has_read else await until_cancelled(step)
        if record is None:
            raise StopAsyncIteration
        return record
