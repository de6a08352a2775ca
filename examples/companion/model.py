"""Any OpenAI-compatible endpoint: ask it, do what it calls for, and ask again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

import httpx

MAX_ROUNDS = 8  # of calls of tools, before an answer is due


class Tools(Protocol):
    """A function that a model may call."""

    schemas: Sequence[dict[str, Any]]

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Do what a call asks for; the result, or what was wrong, as the model reads it."""


class Model:
    """A chat model behind `POST {base_url}/chat/completions`."""

    def __init__(self, base_url: str, name: str, api_key: str | None = None) -> None:
        self._name = name
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(base_url=base_url, headers=headers, timeout=120)

    async def answer(self, messages: list[dict[str, Any]], tools: Tools) -> str:
        """Get an answer; the messages grow by it, and by what was called on the way."""
        for _ in range(MAX_ROUNDS):
            message = await self._ask(messages, tools.schemas)
            messages.append(message)
            if not (calls := message.get("tool_calls")):
                return message.get("content") or ""
            for call in calls:
                result = await _done(tools, call["function"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        return "(no answer: it only called tools)"

    async def _ask(
        self, messages: list[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        body = {"model": self._name, "messages": messages, "tools": list(tools)}
        try:
            response = await self._client.post("chat/completions", json=body)
        except httpx.HTTPError as problem:
            raise SystemExit(f"no answer from {self._client.base_url}: {problem!r}") from problem
        if response.is_error:
            said = f"{response.status_code} {response.text[:500]}"
            raise SystemExit(f"{self._client.base_url} refuses: {said}")
        message: dict[str, Any] = response.json()["choices"][0]["message"]
        return message

    async def close(self) -> None:
        await self._client.aclose()


async def _done(tools: Tools, function: dict[str, Any]) -> str:
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError as problem:
        return f"the arguments are not JSON: {problem}"
    return await tools.call(function["name"], arguments)


def schema(name: str, description: str, **parameters: str) -> dict[str, Any]:
    """A tool as the endpoint wants it described; each parameter is a text, and needed."""
    properties = {key: {"type": "string", "description": of} for key, of in parameters.items()}
    described = {"type": "object", "properties": properties, "required": list(parameters)}
    function = {"name": name, "description": description, "parameters": described}
    return {"type": "function", "function": function}
