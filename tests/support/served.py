"""Servers for tests: in a thread of this process, over a store of a test, with its clock.

They share one port, and each has a path of its own.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cache
from itertools import count
from typing import Any

import pytest
import uvicorn

from salience import AsyncMemory, Memory
from salience.remote.memory import RemoteMemory
from salience.search.request import TimeZone
from salience.server.app import create_app
from salience.server.settings import ServerSettings
from salience.stores import Store, open_store

_FUNCTION = "a function that summarises cannot be sent"
_OPERATIONS = "the operations of a plan are inside the server"
NOT_OVER_HTTP = {
    "test_a_summariser_says_what_stands_for_them": _FUNCTION,
    "test_what_differs_is_left_apart_unless_somebody_summarises": _FUNCTION,
    "test_consolidation_leaves_what_others_change_meanwhile": _FUNCTION,
    "test_only_one_maintains_at_a_time": _FUNCTION,
    "test_consolidation_looks_at_what_is_new": "no progress is told of work inside the server",
    "test_a_lock_whose_owner_is_silent_goes_stale": "a server tells nobody whose a lock is",
    "test_each_thing_that_happens_is_an_event": "the log has the key by which a write is done once",
    "test_who_comes_second_with_a_key_gets_the_first_outcome": "a server's keys have owners",
    "test_facets_may_be_given_or_extracted_otherwise": "a function for facets cannot be sent",
    "test_an_extractor_may_find_no_facets": "a function that finds facets cannot be sent",
    "test_a_call_that_is_killed_has_done_all_or_nothing": _OPERATIONS,
    "test_an_unseen_memory_is_in_the_way": _OPERATIONS,
    "test_a_change_with_an_idempotency_key_is_made_once": "over HTTP a header has the key",
    "test_an_erasure_with_an_idempotency_key_tells_all_that_it_erased": "so it has",
    "test_undoing_is_one_write": _OPERATIONS,
    "test_sync_and_async_agree": "two memories over one store are compared",
}
"""Tests that do not apply to a memory at a server, and why."""
_CLIENTS_OWN = ("namespace", "profile", "dedup")


class _Listener(uvicorn.Server):
    """The one server of this process: the first part of a path says which application is meant."""

    def __init__(self) -> None:
        super().__init__(
            uvicorn.Config(
                self._route, port=0, log_level="error", lifespan="off", interface="asgi3"
            )
        )
        self.applications: dict[str, Any] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        self._ready.wait()
        atexit.register(self.close)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        port = self.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._ready.set()

    async def _route(self, scope: Any, receive: Any, send: Any) -> None:
        prefix = "/" + scope["path"].split("/")[1]
        path, raw_path = scope["path"][len(prefix) :], scope["raw_path"][len(prefix) :]
        inner = {**scope, "path": path, "raw_path": raw_path}
        await self.applications[prefix](inner, receive, send)

    def close(self) -> None:
        self.should_exit = True
        self._thread.join()


@cache
def _listener() -> _Listener:
    return _Listener()


class Server:
    """A server of an application, at an address of its own until it is closed."""

    _count = count(1)

    def __init__(self, app: Any) -> None:
        self._listener, self._prefix = _listener(), f"/{next(self._count)}"
        self.url = self._listener.url + self._prefix
        self._is_started: Future[None] = Future()
        self._end = asyncio.Event()
        life = self._live(app)
        self._is_over = asyncio.run_coroutine_threadsafe(life, self._listener.loop)
        self._is_started.result()

    async def _live(self, app: Any) -> None:
        try:
            async with app.router.lifespan_context(app):
                self._listener.applications[self._prefix] = app
                self._is_started.set_result(None)
                await self._end.wait()
                del self._listener.applications[self._prefix]
        except BaseException as problem:
            if self._is_started.done():
                raise
            self._is_started.set_exception(problem)

    def close(self) -> None:
        self._listener.loop.call_soon_threadsafe(self._end.set)
        self._is_over.result()


class Served(RemoteMemory):
    """A memory behind a server of its own, which stops with it.

    What tests do to the store itself they do through `_core`, that of a memory over the same store.
    """

    _behind: Memory
    _server: Server

    @property
    def url(self) -> str:
        return self._remote.url

    def for_namespace(
        self, namespace: str, *, actor: str | None = None, time_zone: TimeZone = None
    ) -> Served:
        other = super().for_namespace(namespace, actor=actor, time_zone=time_zone)
        other._server, other._behind = self._server, self._behind.for_namespace(namespace)
        other._core = other._behind._core
        return other

    def close(self) -> None:
        super().close()
        self._server.close()


def opened(address: str, **settings: Any) -> Memory:
    """The memory of an address; of "http" one at a server of its own, over a store in memory."""
    if address == "http":
        return serve_memory("ram://", **settings)
    return Memory.open(address, **settings)


@pytest.fixture(autouse=True, params=["embedded", pytest.param("http", marks=pytest.mark.deep)])
def transport(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test of a folder twice: as it is, and with its memories at servers (`deep`).

    For a folder, its conftest imports this.
    """
    if request.param == "embedded":
        yield
        return
    if reason := NOT_OVER_HTTP.get(request.function.__name__):
        pytest.skip(reason)
    if hasattr(request.function, "hypothesis"):
        pytest.skip("a hundred examples would open as many servers")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        open_memory, open_awaited = Memory.open, AsyncMemory.open

        def open_served(url: Any = None, **settings: Any) -> Memory:
            if url != "ram://":
                return open_memory(url, **settings)
            memory = serve_memory(url, **settings)
            stack.callback(memory.close)
            return memory

        async def open_awaited_served(url: Any = None, **settings: Any) -> AsyncMemory:
            if url != "ram://":
                return await open_awaited(url, **settings)
            memory = serve_memory(url, **settings)
            stack.callback(memory.close)
            own = {name: settings[name] for name in _CLIENTS_OWN if name in settings}
            return await AsyncMemory(memory.url, **own)

        patch.setattr(Memory, "open", open_served)
        patch.setattr(AsyncMemory, "open", open_awaited_served)
        yield


def serve_memory(address: str | Store, **settings: Any) -> Served:
    """The memory at a server that opens a store with the settings; what a client sets, it sets."""
    store = open_store(address) if isinstance(address, str) else address
    behind = Memory(store, **settings)
    own = {name: settings.pop(name) for name in _CLIENTS_OWN if name in settings}
    app = create_app(ServerSettings(db="ram://"), lambda _: AsyncMemory(store, **settings))
    server = Server(app)
    try:
        memory = Served(server.url, **own)
    except BaseException:
        server.close()
        raise
    memory._server, memory._behind = server, behind
    memory._core = behind._core
    return memory
