"""AutoGen: `SalienceMemory`, a memory that an agent asks before each answer."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Self, TypeVar

from salience.display.for_models import fenced
from salience.errors import InvalidInput
from salience.integrations._extra import extra
from salience.integrations._memory import (
    MemoryLike,
    Opened,
    as_query,
    without_items,
    written_address,
)
from salience.records.record import MemoryRecord
from salience.search.request import Filters
from salience.search.results import Hit

with extra("autogen"):
    from autogen_core import CancellationToken, Component, Image
    from autogen_core.memory import (
        Memory,
        MemoryContent,
        MemoryMimeType,
        MemoryQueryResult,
        UpdateContextResult,
    )
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage, SystemMessage, UserMessage
    from pydantic import BaseModel

T = TypeVar("T")
_KEY = "autogen"  # of the metadata: the type of a content, and its data if it is no text


class SalienceMemoryConfig(BaseModel):
    """The configuration of a `SalienceMemory`; `address` never holds a password."""

    address: str
    user_id: str | None = None
    limit: int = 10
    max_tokens: int = 2000
    min_similarity: float | None = None


class SalienceMemory(Memory, Component[SalienceMemoryConfig]):
    """A memory of AutoGen over salience: one user's, in a namespace of their own.

    `AssistantAgent(memory=[SalienceMemory("agent.db", user_id="ana")])` recalls before each answer
    what matters for the last message of the user.
    """

    component_type = "memory"
    component_config_schema = SalienceMemoryConfig
    component_provider_override = "salience.integrations.autogen.SalienceMemory"

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        limit: int = 10,
        max_tokens: int = 2000,
        min_similarity: float | None = None,
    ) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose memories these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen. By default they are in that of the memory.
            limit: the most memories to recall, 1 to 1000.
            max_tokens: the most tokens of the message that hands them to the model.
            min_similarity: leave out memories whose cosine with the query is below it.
        """
        self._given = memory
        self._user_id = user_id
        self._limit, self._max_tokens, self._min_similarity = limit, max_tokens, min_similarity
        self._memory = Opened(memory).of_user(user_id)

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add a system message with the memories that matter for the user's last message.

        Without such a message they are the newest ones. The same message is not added twice.
        """
        messages = await model_context.get_messages()
        records = await self._find(_last_question(messages), None)
        if text := fenced(records, max_tokens=self._max_tokens, zone=self._memory.sync.time_zone):
            recalled = SystemMessage(content=text)
            if recalled not in messages:
                await model_context.add_message(recalled)
        return UpdateContextResult(memories=_result(records))

    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        *,
        limit: int | None = None,
        filters: Filters = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Find memories, best first; for an empty query the newest ones, in the order of time.

        Args:
            query: what is asked; of content that is not text, its description.
            cancellation_token: stops waiting when it is cancelled.
            limit: the most memories, instead of that of the constructor.
            filters: a condition that each memory must meet, as `Memory.search` takes it.
            kwargs: none; others are refused.
        """
        if kwargs:
            raise InvalidInput(min(kwargs), "is not an option of query", "use limit and filters")
        text = query if isinstance(query, str) else _text(query)
        return _result(await _cancellable(self._find(text, filters, limit), cancellation_token))

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Remember a content with its metadata; a text that is known already is kept once.

        Raises:
            InvalidInput: it is empty, too large, or its metadata are not JSON.
        """
        values = dict(content.metadata or {})
        kept: dict[str, Any] = {"mime_type": content.model_dump(include={"mime_type"})["mime_type"]}
        if not isinstance(content.content, str):
            kept["data"] = _data(content.content)
        adding = self._memory.awaited.add(
            _text(content),
            metadata={**values, _KEY: kept},
            # Other data are described by a text that may be the same for all.
            dedup=None if isinstance(content.content, str) else False,
        )
        await _cancellable(adding, cancellation_token)

    async def clear(self) -> None:
        """Erase all memories of this user."""
        await self._memory.awaited.delete_all(namespace=self._memory.sync.namespace)

    async def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._memory.aclose()

    async def _find(
        self, query: str, filters: Filters, limit: int | None = None
    ) -> Sequence[MemoryRecord]:
        memory = self._memory.awaited
        limit, where = self._limit if limit is None else limit, without_items(filters)
        if words := as_query(query):
            result = await memory.search(
                words, limit=limit, filters=where, options={"min_similarity": self._min_similarity}
            )
            return result.hits
        return (await memory.get_all(where, limit=limit)).memories[::-1]

    @classmethod
    def _from_config(cls, config: SalienceMemoryConfig) -> Self:
        values = config.model_dump()
        return cls(values.pop("address"), **values)

    def _to_config(self) -> SalienceMemoryConfig:
        return SalienceMemoryConfig(
            address=written_address(self._given),
            user_id=self._user_id,
            limit=self._limit,
            max_tokens=self._max_tokens,
            min_similarity=self._min_similarity,
        )


def _last_question(messages: Sequence[LLMMessage]) -> str:
    """The words of the user's last message; "" without one."""
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            parts = [message.content] if isinstance(message.content, str) else message.content
            return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def _text(content: MemoryContent) -> str:
    """The text that a content is found by: of JSON its notation, of data what they are."""
    match content.content:
        case str() as text:
            return text
        case dict() as values:
            return json.dumps(values, ensure_ascii=False)
    described = (content.metadata or {}).get("description")
    return described if isinstance(described, str) and described.strip() else f"{content.mime_type}"


def _data(content: bytes | Mapping[str, Any] | Image) -> Any:
    """A content that is not text, as JSON has it."""
    match content:
        case bytes():
            return {"bytes": b64encode(content).decode()}
        case Image():
            return {"image": content.to_base64()}
    return {"json": content}


def _content(record: MemoryRecord) -> MemoryContent:
    """A memory as it was added, its metadata with its `id`, `created_at` and (found) `score`."""
    values = dict(record.metadata)
    kept = values.pop(_KEY, None) or {}
    match kept.get("data"):
        case {"bytes": text}:
            content: Any = b64decode(text)
        case {"image": text}:
            content = Image.from_base64(text)
        case {"json": content}:
            pass
        case _:
            content = record.content
    values |= {"id": record.id, "created_at": record.created_at.isoformat()}
    if isinstance(record, Hit):
        values["score"] = record.score
    mime_type = kept.get("mime_type", MemoryMimeType.TEXT.value)
    mime_types = {kind.value: kind for kind in MemoryMimeType}
    return MemoryContent(
        content=content, mime_type=mime_types.get(mime_type, mime_type), metadata=values
    )


def _result(records: Sequence[MemoryRecord]) -> MemoryQueryResult:
    return MemoryQueryResult(results=[_content(record) for record in records])


async def _cancellable(work: Coroutine[Any, Any, T], token: CancellationToken | None) -> T:
    task = asyncio.ensure_future(work)
    if token is not None:
        token.link_future(task)
    return await task
