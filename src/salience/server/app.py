"""The application: its routes over one memory, behind the guards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

import salience
from salience.engine.async_memory import AsyncMemory
from salience.server.operation import OPERATIONS, Call, Operation, foreign
from salience.server.routes import memories, search, system  # noqa: F401  # they enter themselves
from salience.server.settings import ServerSettings

PREFIX = "/v1"


def create_app(settings: ServerSettings | None = None) -> FastAPI:
    """An application over the store that the settings name; those of the environment by default."""
    settings = settings or ServerSettings.from_environment()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_memory(settings) as memory:
            app.state.memory = memory
            await warm(memory)
            app.state.is_ready = True
            try:
                yield
            finally:
                app.state.is_ready = False

    app = FastAPI(
        title="salience",
        version=salience.__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.is_ready = False
    app.state.settings = settings
    for operation in OPERATIONS:
        app.add_route(PREFIX + operation.path, _endpoint(operation, app), [operation.method])
    return app


def open_memory(settings: ServerSettings) -> AsyncMemory:
    """The memory that all requests share."""
    return AsyncMemory(
        settings.db,
        namespace=settings.namespace,
        embedder=None if settings.embedder == "none" else settings.embedder,
        profile=settings.profile,
    )


async def warm(memory: AsyncMemory) -> None:
    """Load the embedder and the index: the first request is as fast as the others."""
    await memory.search("warm", limit=1, touch=False)


def _endpoint(operation: Operation, app: FastAPI) -> Callable[[Request], Awaitable[Response]]:
    """The function that answers the requests of an operation."""

    async def endpoint(request: Request) -> Response:
        return await operation.endpoint(await _call(operation, app, request))

    return endpoint


async def _call(operation: Operation, app: FastAPI, request: Request) -> Call:
    """The call of an operation that a request makes.

    Raises:
        InvalidArguments: its body or query is wrong.
        NotFound: its namespace is not one of the key.
    """
    from salience.access.principal import LOCAL

    principal = LOCAL
    namespace = request.headers.get("salience-namespace")
    if namespace is None:
        namespace = principal.default_namespace or ""
    if not principal.sees(namespace):
        raise foreign(namespace)
    arguments: dict[str, Any] = {}
    if operation.query is not None and request.url.query:
        arguments = operation.query.parse_query(request.query_params.multi_items())
    if operation.body is not None:
        body = await request.body()
        if body or operation.needs_body:
            arguments = operation.body.parse(body)
    state = app.state
    return Call(request, state.memory, state.settings, principal, namespace, arguments)
