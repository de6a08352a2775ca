"""A small application behind the guard, and clients for it."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from salience.access.principal import Principal
from salience.errors import StoreError
from salience.server.guard import GuardSettings, InFlight, Metrics, guard
from salience.server.principal import Denied
from salience.server.problems import ProblemResponse

SECRET = "a thought that nobody else may read"


async def authenticate(
    headers: Mapping[str, str], client: str | None, target: str
) -> Principal | Denied:
    """The key is the id: `Bearer ana` is ana's."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or key == "wrong":
        return Denied("missing", key or None)
    return Principal(key, ("default",), frozenset())


class Guarded:
    """An application behind the guard; a search waits while `gate` is closed."""

    def __init__(self, **settings: Any) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.calls: list[str] = []
        self.metrics = Metrics()
        self.in_flight = InFlight()
        self.imported = 0
        routes = [
            _route("/health", self.health),
            _route("/docs", self.page),
            _route("/metrics", self.metrics_page),
            _route("/v1/search", self.search, "POST"),
            _route("/v1/feedback", self.search, "POST"),
            _route("/v1/flush", self.flush, "POST"),
            _route("/v1/memories/{id}", self.memory, "GET", "PATCH"),
            _route("/v1/load", self.take, "POST"),
            _route("/v1/export", self.give),
            _route("/v1/fail/{how}", self.fail, "GET", "POST"),
        ]
        self.inner = Starlette(routes=routes, exception_handlers={StoreError: _problem})
        self.app: ASGIApp = guard(
            self.inner, GuardSettings(**settings), authenticate, self.metrics, self.in_flight
        )

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def page(self, request: Request) -> Response:
        return Response("<html></html>", media_type="text/html")

    async def metrics_page(self, request: Request) -> Response:
        return Response(self.metrics.text())

    async def search(self, request: Request) -> Response:
        body = await request.json()
        self.calls.append(request.state.principal.key_id)
        request.state.counts["hits"] = 2
        request.state.counts["query"] = body.get("query")
        await self.gate.wait()
        return JSONResponse({"calls": len(self.calls), "body": body})

    async def flush(self, request: Request) -> Response:
        return Response(status_code=204)

    async def memory(self, request: Request) -> Response:
        return JSONResponse({"id": request.path_params["id"]}, headers={"ETag": '"1"'})

    async def take(self, request: Request) -> Response:
        async for part in request.stream():
            self.imported += len(part)
        return JSONResponse({"bytes": self.imported})

    async def give(self, request: Request) -> Response:
        async def lines() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b"{}\n"
                await self.gate.wait()

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def fail(self, request: Request) -> Response:
        match request.path_params["how"]:
            case "store":
                raise StoreError(f"/var/lib/{SECRET}.db: the disk is full")
            case "midway":

                async def parts() -> AsyncIterator[bytes]:
                    yield b"the first part"
                    raise ValueError(SECRET)

                return StreamingResponse(parts())
            case status if status.isdecimal():
                self.calls.append(status)
                return JSONResponse({}, int(status))
            case "slow":

                async def slow_parts() -> AsyncIterator[bytes]:
                    yield b"the first part, "
                    await self.gate.wait()
                    yield b"and the last"

                return StreamingResponse(slow_parts())
            case "endless":

                async def all_parts() -> AsyncIterator[bytes]:
                    while True:
                        yield b"x" * 65_536
                        await asyncio.sleep(0)

                return StreamingResponse(all_parts())
        raise ValueError(SECRET)

    def client(self, key: str | None = "ana", **options: Any) -> httpx.AsyncClient:
        """A client in the same process."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, client=options.pop("address", ("::1", 5))),
            base_url="http://localhost:8420",
            headers=headers | options.pop("headers", {}),
            **options,
        )


def _route(path: str, endpoint: Callable[[Request], Awaitable[Response]], *methods: str) -> Route:
    async def named(request: Request) -> Response:
        request.state.route = path
        return await endpoint(request)

    return Route(path, named, methods=methods or ["GET"])


async def _problem(request: Request, error: Exception) -> Any:
    return ProblemResponse(error)


class _Hurry(selectors.DefaultSelector):
    """Waits for nothing but events: the clock of the loop jumps to what is next instead."""

    skipped_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select()
        events = super().select(0)
        self.skipped_seconds += 0.0 if events else max(timeout, 0.0)
        return events


class _Loop(asyncio.SelectorEventLoop):
    """A loop with a clock of its own: a limit of seconds is the same on a machine of any speed."""

    def __init__(self) -> None:
        self._hurry = _Hurry()
        super().__init__(self._hurry)

    def time(self) -> float:
        return self._hurry.skipped_seconds


def with_guard(
    body: Callable[[Guarded, httpx.AsyncClient], Awaitable[None]], **settings: Any
) -> None:
    """Run a test against a guarded application and a client of it; waiting takes no time."""

    async def run() -> None:
        guarded = Guarded(**settings)
        async with guarded.client() as client:
            await body(guarded, client)

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(run())
