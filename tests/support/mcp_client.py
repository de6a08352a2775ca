"""Clients of MCP for tests: the SDK's own, called without awaiting, over each transport."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from mcp import Client, StdioServerParameters
from salience.access import LOCAL, Principal
from salience.engine.async_memory import AsyncMemory
from salience.mcp.app import ToolSettings
from salience.mcp.server import build, from_client
from salience.mcp.tool import Caller
from salience.mcp.tools import TOOLS
from support.children import PROGRAM
from support.command_server import commands

ALL_TOOLS = ",".join(TOOLS)


class Connection:
    """A client that is connected; `await_` runs any of its methods."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.client = client
        self._portal = portal

    def await_(self, method: str, *arguments: Any, **options: Any) -> Any:
        async def run() -> Any:
            return await getattr(self.client, method)(*arguments, **options)

        return self._portal.call(run)

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """What a tool answers."""
        result = self.await_("call_tool", tool, arguments)
        assert isinstance(result, CallToolResult)
        return result

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured content of a tool's answer; its text says the same."""
        result = self.result(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert text_of(result)
        return result.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text of the error that a tool answers."""
        result = self.result(tool, **arguments)
        assert result.is_error, text_of(result)
        assert result.structured_content is None
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@contextmanager
def connected(target: Any, **options: Any) -> Iterator[Connection]:
    """A client of a server, a transport or the parameters of a process."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(target, **options)) as client,
    ):
        yield Connection(portal, client)


@contextmanager
def in_process(
    url: Any = "ram://",
    tools: str = ALL_TOOLS,
    max_tokens: int = 10_000,
    principal: Principal = LOCAL,
    client: dict[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Connection]:
    """A client of the tools over a memory that is opened for it."""
    offered = ToolSettings(tools=tools, max_tokens=max_tokens)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(AsyncMemory(url, **settings)) as memory,
    ):
        caller = Caller(memory, principal, offered)
        server = build(lambda context: from_client(caller, context))
        opened = Client(server, **(client or {}))
        with portal.wrap_async_context_manager(opened) as connected:
            yield Connection(portal, connected)


def process(*options: str, **env: str) -> StdioServerParameters:
    """A process of `salience` with some options, which is a copy of a warm one."""
    warned = {"PYTHONWARNINGS": "default", **env}
    command = str(commands() / "salience")
    return StdioServerParameters(command=command, args=[*options], env=warned)


def cold_process(*options: str) -> StdioServerParameters:
    """A process of `salience` with some options, as programs start it."""
    warned = {"PYTHONWARNINGS": "default"}
    return StdioServerParameters(command=sys.executable, args=["-c", PROGRAM, *options], env=warned)


@contextmanager
def over_http(
    url: str, headers: dict[str, str] | None = None, **options: Any
) -> Iterator[Connection]:
    """A client of a server's address, with header fields such as its key."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(httpx2.AsyncClient(headers=headers, timeout=300)) as http,
        portal.wrap_async_context_manager(
            Client(streamable_http_client(url, http_client=http), **options)
        ) as client,
    ):
        yield Connection(portal, client)
