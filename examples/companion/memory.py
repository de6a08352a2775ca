"""The companion's memory: four tools for the model, and what the program does around them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from companion.model import schema
from salience import AsyncMemory
from salience.display.for_models import clean, fenced
from salience.errors import SalienceError


class MemoryTools:
    """Tools over the memory of one user, during one session."""

    schemas: Sequence[dict[str, Any]] = (
        schema("remember", "Remember a lasting fact.", fact="One sentence that stands for itself."),
        schema("recall", "Search the memory.", question="What to look for, in words."),
        schema(
            "correct",
            "Let a new fact take the place of a memory that is wrong or outdated.",
            id="The id of the memory that is wrong now.",
            fact="What is true now, in one sentence that stands for itself.",
        ),
        schema("forget", "Delete a memory for good.", id="The id of the memory."),
    )

    def __init__(self, memory: AsyncMemory, user: str, session: str) -> None:
        self._memory, self._user, self._session = memory, user, session

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        tools: dict[str, Callable[..., Awaitable[str]]] = {
            "remember": self._remember,
            "recall": self._recall,
            "correct": self._correct,
            "forget": self._forget,
        }
        if name not in tools:
            return f"there is no tool {name}; use {', '.join(tools)}"
        try:
            return await tools[name](**arguments)
        except (SalienceError, TypeError) as problem:
            return f"that did not work: {problem}"

    async def _remember(self, fact: str) -> str:
        return await self._add(fact)

    async def _correct(self, id: str, fact: str) -> str:
        if await self._memory.get(id) is None:
            return f"there is no memory {id}; take an id from what was recalled"
        return await self._add(fact, supersedes=id)

    async def _add(self, fact: str, **fields: Any) -> str:
        """Keep a fact that the user told in this session."""
        source = {"source": f"session {self._session}"}
        added = await self._memory.add(
            fact, kind="fact", speaker=self._user, metadata=source, **fields
        )
        [item] = added.items
        if item.outcome == "CONFLICTS":
            return f"kept as {added.id}, but it conflicts with {item.match}: correct one of them"
        return f"{item.outcome.lower()}: {added.id} {item.reason}".strip()

    async def _recall(self, question: str) -> str:
        return fenced(await self._memory.search(question), max_tokens=1000) or "nothing was found"

    async def _forget(self, id: str) -> str:
        return "deleted" if await self._memory.delete(id) else f"there is no memory {id}"

    async def recalled(self, said: str) -> str:
        """The memories of other sessions that may matter for the words of the user; "" for none."""
        elsewhere = {"session_id": {"ne": self._session}}
        found = await self._memory.search(said, limit=6, filters=elsewhere)
        return fenced(found, max_tokens=1000)

    async def keep(self, said: str, answered: str) -> None:
        """Keep a turn of the conversation."""
        turns = [
            {"role": "user", "name": self._user, "content": said},
            {"role": "assistant", "content": answered or "..."},
        ]
        await self._memory.add(turns, session_id=self._session)

    async def source(self, id: str) -> str | None:
        """The source of a memory: who said it, when, in which session; None without one."""
        if (record := await self._memory.get(id)) is None:
            return None
        of_turn = f"session {record.session_id}"
        where = of_turn if record.session_id else record.metadata.get("source", "unknown source")
        return (
            f'{record.speaker} on {record.created_at:%Y-%m-%d}, {where}: "{clean(record.content)}"'
        )
