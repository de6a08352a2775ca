"""The server over stdin and stdout, for one program that starts it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from salience.access import Principal
from salience.engine.async_memory import AsyncMemory
from salience.errors import SalienceError
from salience.mcp.app import ToolSettings
from salience.mcp.messages import answerable
from salience.mcp.server import build, from_client
from salience.mcp.tool import Caller

_WARM_AFTER_SECONDS = 1.0  # when the first requests have been answered


async def serve(memory: AsyncMemory, principal: Principal, settings: ToolSettings) -> None:
    """Serve one memory until the program closes stdin."""
    caller = Caller(memory, principal, settings)
    server = build(lambda context: from_client(caller, context), settings.instructions)
    lines: Any = _lines()
    async with stdio_server(lines) as (received, sent), _warming(memory):
        await server.run(received, sent, server.create_initialization_options())


async def _lines() -> AsyncIterator[str]:
    """The lines of stdin, which hold a message each, as it can be answered."""
    lines = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
    async for line in anyio.wrap_file(lines):
        yield answerable(line)


@asynccontextmanager
async def _warming(memory: AsyncMemory) -> AsyncIterator[None]:
    """Load the embedder and the index meanwhile: the first search is as fast as the others."""

    async def warm() -> None:
        await asyncio.sleep(_WARM_AFTER_SECONDS)
        with contextlib.suppress(SalienceError):  # the first search says so
            await memory.search("warm", limit=1, touch=False)

    task: asyncio.Task[Any] = asyncio.create_task(warm())
    try:
        yield
    finally:
        task.cancel()
