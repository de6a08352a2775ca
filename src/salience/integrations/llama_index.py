"""LlamaIndex: a block for its `Memory`, a chat store under it, and a retriever."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from salience.display.for_models import TAG, clean, fenced
from salience.integrations._extra import extra
from salience.integrations._memory import (
    ITEM_KIND,
    MemoryLike,
    Opened,
    as_query,
    in_order,
    without_items,
)
from salience.language.tokens import count_tokens
from salience.lazily import regex
from salience.records.record import MemoryRecord
from salience.retrieval.plan import in_thread
from salience.search.request import Filters
from salience.search.results import SearchResult

with extra("llama-index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

_SPOKEN = ("user", "assistant")
_KEY = "llama_index"  # of the metadata of a stored message: all of it, as LlamaIndex writes it
_STATUS = f"{_KEY}_status"  # whether it is in the short-term memory
_ENTRY = regex(r"^\[\d+\] ", re.MULTILINE)  # the line before each memory; their own are indented


class SalienceMemoryBlock(BaseMemoryBlock[str]):
    """A block for `Memory.from_defaults(memory_blocks=[...])`: what one user said in all sessions.

    What leaves the short-term memory is kept as turns of its session, and what matters for the last
    message of the user is recalled, from whichever session. The block keeps nothing of a call.
    """

    name: str = Field(default="SalienceMemory", description="The name of the block.")
    limit: int = Field(default=10, description="Maximum number of memories to recall, 1 to 1000.")
    max_tokens: int = Field(default=2000, description="Maximum number of tokens in the block.")
    min_similarity: float | None = Field(
        default=None, description="Leave out memories whose cosine with the question is below it."
    )
    _memory: Opened = PrivateAttr()

    def __init__(self, memory: MemoryLike, *, user_id: str | None = None, **fields: Any) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose memories these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen. By default they are in that of the memory.
            fields: `limit`, `max_tokens`, `min_similarity`, and those of every block: `name`,
                `description`, `priority`, `accept_short_term_memory`.
        """
        super().__init__(**fields)
        self._memory = Opened(memory).of_user(user_id)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **block_kwargs: Any,
    ) -> str:
        """Recall what matters for the user's last message, fenced; "" without one.

        What a `SalienceChatStore` holds in the short-term memory of the session is not repeated.
        """
        questions = (m.content for m in reversed(messages or ()) if m.role == "user" and m.content)
        question = as_query(next(questions, ""))
        if not question:
            return ""
        at_hand = {"session_id": session_id, f"metadata.{_STATUS}": MessageStatus.ACTIVE.value}
        result = await self._memory.awaited.search(
            question,
            limit=self.limit,
            options={"min_similarity": self.min_similarity},
            filters=without_items({"not": at_hand}),
        )
        return fenced(result, max_tokens=self.max_tokens, zone=self._memory.sync.time_zone)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep what the user and the agent said, each message as a turn of its session."""
        spoken = [m for m in messages if m.role in _SPOKEN and (m.content or "").strip()]
        for session_id, turns in groupby(spoken, _session_of):
            chat = [{"role": m.role.value, "content": m.content} for m in turns]
            await self._memory.awaited.add(chat, session_id=session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the last memories until a number of tokens is saved; None if none is left."""
        if not content:
            return None
        end = content.rindex(f"</{TAG}>")
        for entry in [*_ENTRY.finditer(content)][:0:-1]:
            shorter = content[: entry.start()] + content[end:]
            if count_tokens(content) - count_tokens(shorter) >= tokens_to_truncate:
                return shorter
        return None

    async def aclose(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._memory.aclose()


class SalienceChatStore(AsyncDBChatStore):
    """A chat store for `Memory.from_defaults(chat_store=...)`: the sessions of one user.

    What is said can be recalled at once by a `SalienceMemoryBlock` of the same user, which then
    needs `accept_short_term_memory=False`: it is kept here already.
    """

    _memory: Opened = PrivateAttr()

    def __init__(self, memory: MemoryLike, *, user_id: str | None = None) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose sessions these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen, even of the same key. By default they are in that of the
                memory.
        """
        super().__init__()
        self._memory = Opened(memory).of_user(user_id)

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Get the messages of a session with a status (None: any), the oldest first."""
        start = offset or 0
        end = None if limit is None else start + limit
        return [_message(record) for record in await self._records(key, status, end)][start:]

    async def count_messages(
        self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE
    ) -> int:
        """Count the messages of a session with a status (None: any)."""
        return await self._memory.awaited.count(_stored(key, status))

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Add a message to a session."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Add messages to a session."""
        items = [_item(message, key, status) for message in messages]
        await self._memory.awaited.add_many(items, strict=True, dedup=False)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Erase the messages of a session, and add others in their place."""
        await self.delete_messages(key)
        await self.add_messages(key, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Erase the message at a place in its session, from 0; returns it, None without one."""
        if idx < 0:
            return None
        records = (await self._records(key, None, idx + 1))[idx:]
        await self._memory.awaited.delete_many([record.id for record in records])
        return _message(records[0]) if records else None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Erase the messages of a session with a status; by default all."""
        await self._memory.awaited.delete_all(_stored(key, status))

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Erase the oldest messages of the short-term memory; returns them."""
        records = await self._records(key, MessageStatus.ACTIVE, n)
        await self._memory.awaited.delete_many([record.id for record in records])
        return [_message(record) for record in records]

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Take the oldest messages out of the short-term memory; returns them."""
        records = await self._records(key, MessageStatus.ACTIVE, n)
        for record in records:
            archived = {_STATUS: MessageStatus.ARCHIVED.value}
            await self._memory.awaited.update(record.id, metadata=archived)
        return [_message(record) for record in records]

    async def get_keys(self) -> list[str]:
        """List the sessions, the oldest first."""
        stored = await in_thread(in_order, self._memory.sync, _stored())
        return list(dict.fromkeys(str(record.session_id) for record in stored))

    async def aclose(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._memory.aclose()

    async def _records(
        self, key: str, status: MessageStatus | None, limit: int | None
    ) -> list[MemoryRecord]:
        """The first messages of a session, the oldest first."""
        return (await in_thread(in_order, self._memory.sync, _stored(key, status)))[:limit]


class SalienceRetriever(BaseRetriever):
    """A retriever over one user's memories; the score of a node is that of the profile."""

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        limit: int = 10,
        filters: Filters = None,
        min_similarity: float | None = None,
        **options: Any,
    ) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose memories these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen. By default they are in that of the memory.
            limit: the most nodes, 1 to 1000.
            filters: a condition that each memory must meet, as `Memory.search` takes it.
            min_similarity: leave out memories whose cosine with the query is below it.
            options: those of `BaseRetriever`: `callback_manager`, `object_map`, `objects`,
                `verbose`.
        """
        super().__init__(**options)
        self._memory = Opened(memory).of_user(user_id)
        self._search: Mapping[str, Any] = {
            "limit": limit,
            "filters": without_items(filters),
            "min_similarity": min_similarity,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._memory.sync.search(query_bundle.query_str, **self._search))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._memory.awaited.search(query_bundle.query_str, **self._search))

    def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        self._memory.close()

    async def aclose(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._memory.aclose()


def _session_of(message: ChatMessage) -> str | None:
    """The session that `Memory` noted in a message."""
    session_id = message.additional_kwargs.get("session_id")
    return session_id if isinstance(session_id, str) else None


def _stored(key: str | None = None, status: MessageStatus | None = None) -> dict[str, Any]:
    """A filter for the messages of the chat store."""
    where: dict[str, Any] = {f"metadata.{_STATUS}": {"exists": True}}
    if status is not None:
        where[f"metadata.{_STATUS}"] = status.value
    return where if key is None else {**where, "session_id": key}


def _item(message: ChatMessage, key: str, status: MessageStatus) -> dict[str, Any]:
    """The memory that keeps a message: found by its words, if it has any."""
    words = (message.content or "").strip()
    kinds = ", ".join(dict.fromkeys(block.block_type for block in message.blocks))
    return {
        "content": message.content if words else f"({kinds or 'no content'})",
        "speaker": message.role.value,
        "session_id": key,
        "kind": "turn" if words and message.role in _SPOKEN else ITEM_KIND,
        "metadata": {_KEY: message.model_dump(mode="json"), _STATUS: status.value},
    }


def _message(record: MemoryRecord) -> ChatMessage:
    return ChatMessage.model_validate(record.metadata[_KEY])


def _nodes(result: SearchResult) -> list[NodeWithScore]:
    """Nodes with the text of memories as a model may read it, and where each comes from."""
    nodes = []
    for hit in result:
        fields = {
            "speaker": hit.speaker,
            "session_id": hit.session_id,
            "created_at": hit.created_at.isoformat(timespec="minutes"),
        }
        visible = {key: value for key, value in fields.items() if value is not None}
        hidden = {"kind": hit.kind, "tags": list(hit.tags), "similarity": hit.similarity}
        node = TextNode(
            id_=hit.id,
            text=clean(hit.content),
            metadata={**hit.metadata, **hidden, **visible},
            excluded_llm_metadata_keys=[*hit.metadata, *hidden],
            excluded_embed_metadata_keys=[*hit.metadata, *hidden, *visible],
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return nodes
