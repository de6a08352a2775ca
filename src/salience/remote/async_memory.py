"""`AsyncRemoteMemory`: the methods of `RemoteMemory`, awaited, each in a thread."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, Unpack

from salience.api.parameters import takes
from salience.engine.async_memory import AsyncMemory, awaited
from salience.engine.judgment_api import MAX_WAIT_SECONDS
from salience.engine.options import SETTINGS, Settings
from salience.lifecycle.verify import EventPage
from salience.records.validation import number
from salience.remote.memory import AtServer, RemoteMemory
from salience.remote.settings import RemoteSettings
from salience.retrieval.operations import Order
from salience.retrieval.plan import in_thread
from salience.stores.address import Address

_WAIT_SECONDS = 2.0  # of one request for events: a thread whose task was cancelled waits no longer


class AsyncRemoteMemory(AtServer, AsyncMemory):
    """A memory at a server: `AsyncMemory.open("http://host:port", api_key=...)` gives one.

    It has every method of `AsyncMemory`, with the same arguments, results and errors. Each request
    waits in a thread, of at most as many as there are connections.
    """

    @takes(Settings, defaults=SETTINGS)
    def __init__(self, url: Address | None = None, **settings: Unpack[Settings]) -> None:
        """Open the memory of a server when it is awaited.

        Args:
            url: the address of the server, as `http://host:port`; by default that in the
                environment's SALIENCE_DB.

        Raises:
            InvalidInput: an argument is wrong, or is a setting of the server.
        """
        self._remote = RemoteSettings.of("AsyncMemory", url, **settings)

    @classmethod
    def _of(cls, memory: Any) -> Self:
        awaited = object.__new__(cls)
        awaited._remote, awaited._transport = memory._remote, memory._transport
        return awaited

    async def __aenter__(self) -> Self:
        if "_transport" not in vars(self):
            memory = await in_thread(RemoteMemory.greeted, self._remote)
            self._remote, self._transport = memory._remote, memory._transport
        return self

    async def close(self) -> None:
        """Close the connections; the server goes on."""
        await in_thread(self._transport.close)

    @property
    def _beside(self) -> RemoteMemory:
        return RemoteMemory.over(self._transport, self._remote)

    def _threads(self, searches: bool) -> ThreadPoolExecutor | None:
        threads: ThreadPoolExecutor = self._transport.threads
        return threads

    _page_of_events = awaited(RemoteMemory.events)

    async def events(
        self,
        after: str | None = None,
        *,
        limit: int = 100,
        order: Order = "oldest",
        wait: float = 0.0,
    ) -> EventPage:
        until = time.monotonic() + (number("wait", wait, MAX_WAIT_SECONDS) or 0.0)
        while True:
            left = max(until - time.monotonic(), 0.0)
            options: Any = {"limit": limit, "order": order, "wait": min(left, _WAIT_SECONDS)}
            page = await self._page_of_events(after, **options)
            if page.events or time.monotonic() >= until:
                return page

    events.__doc__ = AsyncMemory.events.__doc__
