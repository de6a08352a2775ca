"""The door for the Model Context Protocol: /mcp, behind the same guard as all other paths."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from salience.engine.async_memory import AsyncMemory
from salience.errors import NotFound
from salience.mcp.app import ToolSettings
from salience.retrieval.plan import in_thread
from salience.server.guard.body import after
from salience.server.operation import count_write, scope_missing
from salience.server.problems import Refused, log_failure, problem_of

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from salience.mcp.server import Context
    from salience.mcp.tool import Caller, Tool

PATH = "/mcp"
_OAUTH = "oauth:"


class McpDoor:
    """An ASGI app that passes requests on to the server of the protocol.

    What that needs is loaded by the first request. Each request stands for itself, so that any
    worker can answer it. `memory_of` gives the memory of the namespace that a request means.
    """

    def __init__(self, settings: ToolSettings, memory_of: Callable[[Request], AsyncMemory]) -> None:
        self._settings = settings
        self._memory_of = memory_of
        self._managing: asyncio.Task[None] | None = None
        self._manager: asyncio.Future[StreamableHTTPSessionManager]
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            NotFound: MCP is not installed, or the key does not have the namespace.
            InvalidInput: the query names tools that there are not.
            Refused: the token lacks the scope of the tool.
        """
        scope["state"]["route"] = PATH
        # The protocol compares fields with the body, and blanks around one are not a part of it.
        scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
        manager = await self._opened()
        request = Request(scope, receive)
        caller = self._caller(request)
        body = _answerable(await request.body())
        if tool := _called_tool(body):
            scope["state"]["route"] = f"{PATH}#{tool.name}"
            _check_scope(caller, tool)
            count_write(request.state, tool.scope)
        scope["state"]["caller"] = caller
        message: Message = {"type": "http.request", "body": body, "more_body": False}
        await manager.handle_request(scope, after(message, receive), send)

    async def close(self) -> None:
        """Give up what is still asked."""
        if self._managing is not None:
            self._closing.set()
            await self._managing

    def _caller(self, request: Request) -> Caller:
        """The caller of a request, with the tools that its URL names, as /mcp?tools=full."""
        from salience.mcp.tool import Caller
        from salience.mcp.tools import chosen

        settings = self._settings
        if tools := request.query_params.get("tools"):
            settings = ToolSettings(tools, settings.max_tokens, settings.instructions)
        chosen(settings.tools)

        def error_text(error: Exception) -> str:
            request.app.state.server.readiness.doubt(error)
            problem = problem_of(error)
            if problem.status >= 500:
                log_failure(request.state.request_id, error)
            return problem.detail

        memory, principal = self._memory_of(request), request.state.principal
        return Caller(memory, principal, settings, error_text=error_text)

    async def _opened(self) -> StreamableHTTPSessionManager:
        """The manager of requests, which runs in a task of its own until the door is closed."""
        if importlib.util.find_spec("mcp") is None:
            raise NotFound("MCP is not installed here; pip install 'salience[mcp]'")
        if self._managing is None:
            self._manager = asyncio.get_running_loop().create_future()
            self._managing = asyncio.create_task(self._manage())
        return await asyncio.shield(self._manager)

    async def _manage(self) -> None:
        try:
            manager = await in_thread(_manager, self._settings.instructions)
        except Exception as error:
            self._manager.set_exception(error)
            return
        async with manager.run():
            self._manager.set_result(manager)
            await self._closing.wait()


def _manager(instructions: str) -> StreamableHTTPSessionManager:
    """The manager of requests over a server of the protocol; the guard checks hosts and origins."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    from salience.mcp.server import build, from_client

    def caller_of(context: Context) -> Caller:
        request: Any = context.request
        return from_client(request.state.caller, context)

    server = build(caller_of, instructions)
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=unchecked
    )


def _answerable(body: bytes) -> bytes:
    from salience.mcp.messages import answerable

    return answerable(body.decode("utf-8", "replace")).encode()


def _called_tool(body: bytes) -> Tool | None:
    """The tool that a message calls, None if it calls no known tool."""
    from salience.mcp.tools import TOOLS

    try:
        message: Any = msgspec.json.decode(body)
        return TOOLS[message["params"]["name"]] if message["method"] == "tools/call" else None
    except (msgspec.DecodeError, LookupError, RecursionError, TypeError, UnicodeDecodeError):
        return None  # the protocol's server says what is wrong with it


def _check_scope(caller: Caller, tool: Tool) -> None:
    """Refuse a tool for which a token lacks the scope, so that its client can ask for a wider one.

    A key cannot be widened, so that its model is told instead, as an answer of the tool.
    """
    if caller.principal.key_id.startswith(_OAUTH) and not caller.principal.may(tool.scope):
        raise Refused(scope_missing(tool.scope))
