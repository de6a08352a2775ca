"""The companion whose memory is a program of its own: `python -m companion.over_mcp --user ana`.

Its tools are those of `salience mcp`, which it starts and asks by the Model Context Protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool

from companion.settings import Settings
from companion.talk import talk
from mcp import Client, StdioServerParameters


class McpTools:
    """The tools of a memory that is reached by the protocol, for one user and session."""

    def __init__(self, client: Client, tools: Iterable[Tool], user: str, session: str) -> None:
        self._client, self._said_by = client, {"speaker": user, "source": f"session {session}"}
        self.schemas: Sequence[dict[str, Any]] = [_schema(tool) for tool in tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "add_memory":
            arguments = {**arguments, **self._said_by}
        return _text(await self._client.call_tool(name, arguments))

    async def recalled(self, said: str) -> str:
        """The memories that may matter for the words of the user; "" for none."""
        query = {"query": said, "limit": 6, "cut": "none"}  # also what is only near may matter
        found = await self._client.call_tool("search_memories", query)
        return _text(found) if (found.structured_content or {}).get("memories") else ""

    async def keep(self, said: str, answered: str) -> None:
        """Keep the words of the user."""
        await self.call("add_memory", {"content": said})

    async def source(self, id: str) -> str | None:
        """The source of a memory: who said it, when, in which session; None without one."""
        found = await self._client.call_tool("get_memory", {"id": id})
        if found.is_error or found.structured_content is None:
            return None
        [memory] = found.structured_content["memories"]
        who, where = memory.get("speaker"), memory.get("source")
        return f'{who} on {memory["created_at"][:10]}, {where}: "{memory["content"]}"'


def _schema(tool: Tool) -> dict[str, Any]:
    """A tool as an OpenAI-compatible endpoint wants it described."""
    described = {"name": tool.name, "description": tool.description}
    return {"type": "function", "function": {**described, "parameters": tool.input_schema}}


def _text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


async def main(settings: Settings) -> None:
    """Talk with one user; the server sees the namespace of that user alone."""
    options = ["mcp", "--db", settings.db, "--namespace", settings.user]
    server = StdioServerParameters(command="salience", args=options)
    async with Client(server) as client, settings.model() as model:
        offered = (await client.list_tools()).tools
        await talk(model, McpTools(client, offered, settings.user, settings.session), settings.user)


if __name__ == "__main__":
    asyncio.run(main(Settings.parsed((__doc__ or "").splitlines()[0])))
