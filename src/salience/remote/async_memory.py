"""`AsyncRemoteMemory`: the methods of `RemoteMemory`, awaited, each in a thread."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import update_wrapper
from typing import Any, Self, Unpack

from salience.engine.async_memory import AsyncMemory, awaited
from salience.engine.judgment_api import MAX_WAIT_SECONDS
from salience.engine.options import Settings
from salience.lifecycle.verify import EventPage
from salience.records.validation import number
from salience.remote.calls import CALLS
from salience.remote.memory import AtServer, RemoteMemory
from salience.remote.settings import RemoteSettings
from salience.retrieval.plan import in_thread
from salience.stores.address import Address

_WAIT_SECONDS = 2.0  # of one request for events: a thread whose task was cancelled waits no longer


class AsyncRemoteMemory(AtServer, AsyncMemory):
    """A memory at a server: `AsyncMemory.open("http://host:port", api_key=...)` gives one.

    It has every method of `AsyncMemory`, with the same arguments, results and errors. Each request
    waits in a thread, of at most as many as there are connections.
    """

    def __init__(self, url: Address | None = None, **settings: Unpack[Settings]) -> None:
        self._remote = RemoteSettings.of("AsyncMemory", url, **settings)

    update_wrapper(__init__, AsyncMemory.__init__)

    @classmethod
    def _of(cls, memory: Any) -> Self:
        return cls.over(memory._transport, memory._remote)

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

    async def events(self, /, *args: Any, **options: Any) -> EventPage:
        values = CALLS["events"].arguments(args, options)
        until = time.monotonic() + (number("wait", values.get("wait", 0), MAX_WAIT_SECONDS) or 0.0)
        while True:
            seconds = max(until - time.monotonic(), 0.0)
            page = await self._page_of_events(**{**values, "wait": min(seconds, _WAIT_SECONDS)})
            if page.events or time.monotonic() >= until:
                return page

    update_wrapper(events, AsyncMemory.events)
