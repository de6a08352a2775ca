"""Agents of Letta: the memory blocks and messages of an agent file (.af)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from salience.importers._entries import derived_id, imported, listing, mapping
from salience.importers._source import ImportProblem, Item, clean, moment, parsed, text

_ROLES = ("user", "assistant")
_SAYS = "send_message"  # the tool by which older agents speak


def read(path: Path) -> Iterator[Item]:
    """Yield the memory blocks of each agent, then what it and its users said.

    The ids of an agent file are numbered anew in every export, so those of the items are made of
    the agent's name, and the block's label or the message's time and text. Messages of the system,
    of tools and of timers are left out. An agent file has no archival memory.

    Raises:
        ImportProblem: the file is not JSON, or no agent file.
    """
    document = parsed(path, text(path))
    document = document if isinstance(document, dict) else {}
    if isinstance(document.get("agents"), list):
        blocks = {str(block.get("id")): block for block in _objects(path, document, "blocks")}
        for agent in _objects(path, document, "agents"):
            ids = map(str, agent["block_ids"] if isinstance(agent.get("block_ids"), list) else ())
            own = [blocks[id] for id in ids if id in blocks]
            yield from _agent(path, agent, [*own, *_objects(path, agent, "memory_blocks")])
    elif isinstance(document.get("core_memory"), list):  # the first version: one agent
        yield from _agent(path, document, _objects(path, document, "core_memory"))
    else:
        raise ImportProblem(path, "is no agent file: it has no agents", "export the agent again")


def _objects(path: Path, document: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    objects = document.get(name) or []
    if not isinstance(objects, list) or not all(isinstance(each, dict) for each in objects):
        raise ImportProblem(path, f"{name} is no list of objects", "export the agent again")
    return objects


def _agent(path: Path, agent: dict[str, Any], blocks: list[dict[str, Any]]) -> Iterator[Item]:
    name = clean(str(agent.get("name") or path.stem))
    for block in blocks:
        label, value = str(block.get("label")), block.get("value")
        if not isinstance(value, str):
            raise ImportProblem(path, f"block {label}: has no text 'value'", "export it again")
        if clean(value):
            yield imported(
                "letta",
                f"{name}, block {label}",
                {
                    "id": f"{name}/{label}",
                    "content": clean(value),
                    "kind": "block",
                    "title": label,
                    "agent_id": name,
                    "tags": listing(block.get("tags")),
                    "created_at": moment(block.get("created_at")),
                    "updated_at": moment(block.get("updated_at")),
                    "metadata": {
                        **mapping(block.get("metadata")),
                        "description": block.get("description") or "",
                    },
                },
            )
    for number, message in enumerate(_objects(path, agent, "messages"), start=1):
        content = _said(message)
        created = moment(message.get("created_at"))
        if content:
            yield imported(
                "letta",
                f"{name}, message {number}",
                {
                    "id": derived_id("letta", name, created, message["role"], content),
                    "content": content,
                    "kind": "turn",
                    "speaker": message.get("name") or message["role"],
                    "session_id": name,
                    "agent_id": name,
                    "created_at": created,
                    "metadata": {"model": message.get("model") or ""},
                },
            )


def _said(message: Mapping[str, Any]) -> str:
    """The text of a message between user and agent; empty for any other."""
    if message.get("role") not in _ROLES:
        return ""
    calls = message.get("tool_calls")
    spoken = [_spoken(call) for call in calls] if isinstance(calls, list) else []
    if any(spoken):
        return clean("\n\n".join(filter(None, spoken)))  # the content is then a thought
    parts = message.get("content")
    parts = parts if isinstance(parts, list) else [{"type": "text", "text": parts}]
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") == "text" and _is_text(part.get("text"))
    ]
    if message["role"] == "assistant":
        return "" if calls else clean("\n\n".join(texts))
    return clean("\n\n".join(map(_unpacked, texts)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _unpacked(said: str) -> str:
    """The words of a user's message, which older agents keep in JSON; none of an event's."""
    try:
        packed = json.loads(said)
    except (ValueError, RecursionError):
        return said
    if not isinstance(packed, dict) or "type" not in packed:
        return said
    message = packed.get("message")
    return message if packed["type"] == "user_message" and isinstance(message, str) else ""


def _spoken(call: Any) -> str:
    function = mapping(mapping(call).get("function"))
    if function.get("name") != _SAYS:
        return ""
    try:
        message = mapping(json.loads(function.get("arguments") or "")).get("message")
    except (ValueError, TypeError, RecursionError):
        return ""
    return message if isinstance(message, str) else ""
