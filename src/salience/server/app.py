"""The application: its operations over one memory, behind the guard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

import salience
from salience.access import LOCAL, Keyring, Principal
from salience.access.oauth import TokenVerifier
from salience.api.operations import PREFIX, READ
from salience.engine.async_memory import AsyncMemory
from salience.engine.extraction import Extractor
from salience.errors import InvalidInput, SalienceError
from salience.importers import ImportProblem
from salience.mcp.app import ToolSettings
from salience.records.validation import namespace_name
from salience.retrieval.operations import CheckWritable
from salience.server import compat, inspector
from salience.server.document import as_sent
from salience.server.encoding import Wanted, answer
from salience.server.guard import InFlight, Metrics, guard
from salience.server.guard.idempotency import key_reused
from salience.server.mcp_door import PATH as MCP_PATH
from salience.server.mcp_door import McpDoor
from salience.server.models.arguments import no_query
from salience.server.openapi import document
from salience.server.operation import (
    Call,
    Operation,
    Readiness,
    count_write,
    foreign,
    memory_of,
    scope_missing,
)
from salience.server.principal import Authenticator, Denied
from salience.server.problems import Problem, ProblemResponse, Refused
from salience.server.routes import OPERATIONS
from salience.server.settings import ServerSettings
from salience.stores import Store, open_store

_log = logging.getLogger(__name__)
WARM_AGAIN_SECONDS = 2.0
COMPRESSED_BYTES = 16_384  # the smallest answer that is compressed for a client that takes it
COMPRESSION = 4  # nine tenths of what the highest level saves, in a third of the time
DRAIN_SECONDS = 30.0  # that requests in flight have when the server is told to stop
Endpoint = Callable[[Request], Awaitable[Response]]
READ_ONLY = Problem(
    "ReadOnly", "this server only reads; `salience inspect --write` starts one that writes, too"
)
MATCHED_FIRST = ("search", "get_context", "add")  # routes are tried one after the other
ALSO_WITHOUT_PREFIX = ("/health", "/ready", "/version", "/metrics", "/openapi.json", "/docs")


def create_app(
    settings: ServerSettings | None = None,
    open_memory: Callable[[Store], AsyncMemory] | None = None,
) -> FastAPI:
    """An application over the store that the settings name; those of the environment by default.

    `open_memory` opens the memory over that store, where the settings do not say all of it, as for
    an embedder of one's own.
    """
    server = Server(settings or ServerSettings.from_environment(), open_memory)
    app = FastAPI(
        title="salience",
        version=salience.__version__,
        lifespan=server.lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.server = server
    # The calls of mem0, like MCP, count uses.
    offered = OPERATIONS if server.settings.read_only else (*OPERATIONS, *compat.OPERATIONS)
    for path, operations in _by_path(offered).items():
        methods = {each.method: server.endpoint(each) for each in operations}
        app.router.routes.append(KnownRoute(path, _by_method(methods), methods=[*methods]))
    for path, page in inspector.pages().items():
        app.router.routes.append(KnownRoute(path, page, methods=["GET"]))
    if not server.settings.read_only:
        app.router.routes.append(KnownRoute(MCP_PATH, server.mcp, methods=["POST"]))
    if server.tokens is not None:
        app.add_route(server.tokens.settings.metadata_path, server.resource_metadata, ["GET"])
    for error in (SalienceError, ImportProblem, Refused, HTTPException, Exception):
        app.add_exception_handler(error, _problem)
    app.add_middleware(
        guard,
        settings=server.settings.guard,
        authenticate=server.authenticate,
        metrics=server.metrics,
        in_flight=server.in_flight,
    )
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_BYTES, compresslevel=COMPRESSION)
    app.add_middleware(EncodedPaths)
    app.openapi = lambda: document(OPERATIONS)  # type: ignore[method-assign]
    return app


def _by_path(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """The operations of each path; one route has all of them, and so knows what a path allows."""
    by_path: dict[str, list[Operation]] = {}
    for operation in sorted(operations, key=lambda each: each.id not in MATCHED_FIRST):
        by_path.setdefault(operation.path_format, []).append(operation)
        if operation.path in ALSO_WITHOUT_PREFIX:
            by_path.setdefault(operation.path, []).append(operation)
    return by_path


def _by_method(endpoints: Mapping[str, Endpoint]) -> Endpoint:
    """The function that answers a request by its method; HEAD as GET."""

    async def answered(request: Request) -> Response:
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return answered


class KnownRoute(Route):
    """A route that enters itself into the scope: logs and metrics name its template."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, child if match is Match.NONE else {**child, "route": self}


class EncodedPaths:
    """Middleware by which an id in a path may hold a slash: routes see the path as it was sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("raw_path"):
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await self.app(scope, receive, send)


def _problem(request: Request, error: Exception) -> Response:
    request.app.state.server.readiness.doubt(error)
    return ProblemResponse(error)  # type: ignore[return-value]  # Starlette only calls it


class Server:
    """The memory, keys and guard that the operations share while the application runs."""

    def __init__(
        self,
        settings: ServerSettings,
        open_memory: Callable[[Store], AsyncMemory] | None = None,
    ) -> None:
        self.settings = settings
        self._open_memory = open_memory or self._over
        self.metrics = Metrics()
        self.in_flight = InFlight()
        self.is_ready = False
        self.tokens = None if settings.oauth is None else TokenVerifier(settings.oauth)
        self.mcp = McpDoor(ToolSettings.from_environment(), self.memory_of)
        self.extractor = Extractor.from_environment()
        self.memory: AsyncMemory
        self.keyring: Keyring
        self.readiness: Readiness
        self._authenticator: Authenticator

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Open the memory and the keys; in the end answer what is in flight, and write all."""
        store = open_store(self.settings.db)
        async with self._open_memory(store) as self.memory:
            with Keyring(store) as self.keyring:
                self._authenticator = Authenticator(self.keyring, self.tokens)
                self.readiness = Readiness(partial(self._use, store))
                warming = asyncio.create_task(self._warm())
                heartbeat = asyncio.create_task(beat(self.metrics.loop_was_late))
                try:
                    yield
                finally:
                    self.is_ready = False
                    warming.cancel()
                    self.readiness.close()
                    await self.in_flight.drain(DRAIN_SECONDS)
                    await self.mcp.close()
                    heartbeat.cancel()
                    if self.extractor is not None:
                        self.extractor.close()
                    self.metrics.close()

    def _over(self, store: Store) -> AsyncMemory:
        """The memory over a store, with the settings of the server."""
        settings = self.settings
        return AsyncMemory(
            store,
            namespace=settings.namespace,
            embedder=None if settings.embedder == "none" else settings.embedder,
            profile=settings.profile,
            time_zone=settings.time_zone,
        )

    async def _use(self, store: Store) -> None:
        """Read and write the store, for nothing."""
        await self.memory.get("ready")
        await asyncio.to_thread(store.batch, [CheckWritable()])

    async def _warm(self) -> None:
        """Load the embedder and the index: then the first request is as fast as the others.

        What fails is logged and tried again; until it works the server is not ready.
        """
        while not self.is_ready:
            try:
                await self.memory.search("warm", limit=1, touch=False)
                self.is_ready = True
            except Exception as problem:
                _log.error("not ready: %s: %s", type(problem).__name__, problem)
                await asyncio.sleep(WARM_AGAIN_SECONDS)

    async def authenticate(
        self, headers: Mapping[str, str], client: str | None, target: str
    ) -> Principal | Denied:
        """Find whose a request is, by its header fields; where nothing is written, all but read."""
        outcome = await self._authenticator.authenticate(headers, client, target)
        if self.settings.read_only and isinstance(outcome, Principal):
            return replace(outcome, scopes=outcome.scopes & {READ})
        return outcome

    async def resource_metadata(self, request: Request) -> Response:
        """Tell whose access tokens are taken, as RFC 9728 has it."""
        assert self.tokens is not None
        return answer(self.tokens.metadata())

    def memory_of(self, request: Request) -> AsyncMemory:
        """The memory of the namespace that a request means.

        Raises:
            NotFound: it is not one of the key.
        """
        principal = request.state.principal
        namespace = _namespace(request, principal, self.settings.namespace)
        return memory_of(self.memory, request, principal, namespace)

    def endpoint(self, operation: Operation) -> Endpoint:
        """The function that answers the requests of an operation."""

        async def answered(request: Request) -> Response:
            request.state.route = operation.path_format
            wishes = Wanted.of(request.query_params)
            call = await self._call(operation, request)
            sent = frozenset(call.arguments)
            try:
                response = wishes.cut(await operation.endpoint(call))
            except InvalidInput as error:
                if error.field == "idempotency_key" and error.field not in sent:
                    raise Refused(key_reused()) from error
                if (renamed := as_sent(error, sent)) is error:
                    raise
                raise renamed from error
            if request.state.idempotency_key and getattr(request.state, "is_repeated", False):
                response.headers["Idempotency-Replayed"] = "true"
            return response

        return answered

    async def _call(self, operation: Operation, request: Request) -> Call:
        """The call of an operation that a request makes."""
        principal, namespace = LOCAL, self.settings.namespace
        if operation.scope is not None:
            principal = request.state.principal
            namespace = _namespace(request, principal, namespace)
            if operation.scope and not principal.may(operation.scope):
                missing = READ_ONLY if self.settings.read_only else scope_missing(operation.scope)
                raise Refused(missing)
            count_write(request.state, operation.scope)
        arguments: dict[str, Any] = {}
        query = request.query_params.multi_items()
        parameters = [item for item in query if item[0] not in Wanted.__annotations__]
        if operation.query is not None and (request.url.query or operation.needs_body):
            arguments = operation.query.parse_query(parameters)
        elif operation.scope is not None and operation.prefix == PREFIX and parameters:
            raise no_query([name for name, _ in parameters], operation.body)
        if operation.body is not None:
            body = await request.body()
            if body or operation.needs_body:
                arguments = operation.body.parse(body, asks=operation.scope == READ)
        if self.settings.read_only and operation.body and "touch" in operation.body.members:
            arguments["touch"] = False
        return Call(request, self, principal, namespace, arguments)


def _namespace(request: Request, principal: Principal, default: str) -> str:
    """The namespace of a request: the one that it names, or the first of the key."""
    field = request.headers.get("salience-namespace")
    namespace = None if field is None else unquote(field)  # a header has no letters beyond ASCII
    if namespace is None:
        namespace = default if principal.sees_everything else principal.default_namespace
    if namespace is None:
        raise Refused(
            Problem("InvalidRequest", "the request names no namespace; send Salience-Namespace")
        )
    namespace = namespace_name(namespace, "Salience-Namespace")
    if not principal.sees(namespace):
        raise foreign()
    return namespace


# The heartbeat of an event loop: how late it comes says how long something held up the loop

INTERVAL_SECONDS = 0.01


async def beat(observe: Callable[[float], None]) -> None:
    """Tell every ten milliseconds by how many seconds the loop was late, until it is cancelled."""
    while True:
        due_at = perf_counter() + INTERVAL_SECONDS
        await asyncio.sleep(INTERVAL_SECONDS)
        observe(max(0.0, perf_counter() - due_at))
