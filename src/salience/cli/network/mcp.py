"""The command `mcp`: the memory for programs that speak the Model Context Protocol."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from typing import TYPE_CHECKING

from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.stores.address import remote_scheme

if TYPE_CHECKING:
    from salience.mcp.app import ToolSettings


def mcp(
    settings: Settings,
    tools: str | None = None,
    max_tokens: int | None = None,
    read_only: bool = False,
    profile: str | None = None,
) -> None:
    """Serve the memory over stdin and stdout (Model Context Protocol).

    With --db http://... it passes everything on to that server, and loads nothing itself.
    """
    if importlib.util.find_spec("mcp") is None:
        raise InvalidInput("mcp", "needs the package mcp", "pip install 'salience[mcp]'")
    from salience.mcp.app import ToolSettings
    from salience.mcp.tools import chosen

    offered = ToolSettings.from_environment(tools=tools, max_tokens=max_tokens)
    chosen(offered.tools)  # a wrong name is refused before anything starts
    asyncio.run(_serve(settings, offered, read_only, profile))


async def _serve(
    settings: Settings, offered: ToolSettings, read_only: bool, profile: str | None
) -> None:
    from salience.access import LOCAL, Principal
    from salience.engine.async_memory import AsyncMemory
    from salience.mcp.server import serve

    options = settings.options()
    if profile := profile or os.environ.get("SALIENCE_PROFILE"):
        options["profile"] = profile
    if not remote_scheme(settings.url):
        options["actor"] = "mcp"
    async with AsyncMemory(settings.url, **options) as memory:
        scopes = getattr(memory, "scopes", LOCAL.scopes)
        if read_only:
            scopes = frozenset(scopes) & {"memories:read"}
        principal = Principal("stdio", (memory.namespace,), frozenset(scopes))
        await serve(memory, principal, offered)
