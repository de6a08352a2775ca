"""LlamaIndex: a block for its `Memory` that recalls over sessions, and a retriever."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from salience.display.for_models import TAG, clean, fenced
from salience.integrations._extra import extra
from salience.integrations._memory import MemoryLike, Opened, scope
from salience.language.tokens import count_tokens
from salience.search.request import Filters
from salience.search.results import SearchResult

with extra("llama-index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

_SPOKEN = ("user", "assistant")
_ENTRY = re.compile(
    r"^\[\d+\] ", re.MULTILINE
)  # the line before each memory; their own are indented


class SalienceMemoryBlock(BaseMemoryBlock[str]):
    """A block for `Memory.from_defaults(memory_blocks=[...])`: what one user said in all sessions.

    What leaves the short-term memory is kept as turns of its session, and what matters for the last
    message of the user is recalled, from whichever session. The block keeps nothing of a call.
    """

    name: str = Field(default="SalienceMemory", description="The name of the block.")
    limit: int = Field(default=10, description="The most memories to recall, 1 to 1000.")
    max_tokens: int = Field(default=2000, description="The most tokens of the block.")
    min_similarity: float | None = Field(
        default=None, description="Leave out memories whose cosine with the question is below it."
    )
    _memory: Opened = PrivateAttr()

    def __init__(
        self, memory: MemoryLike, *, user: str, app: str | None = None, **fields: Any
    ) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user: whose memories these are; nobody else's are seen.
            app: the application, if several share the store.
            fields: `limit`, `max_tokens`, `min_similarity`, and those of every block: `name`,
                `description`, `priority`, `accept_short_term_memory`.

        Raises:
            InvalidInput: an argument is wrong.
            SalienceError: the address cannot be opened.
        """
        super().__init__(**fields)
        self._memory = _of_user(memory, app, user)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Recall what matters for the user's last message, fenced; "" without one."""
        question = next(
            (m.content for m in reversed(messages or ()) if m.role == "user" and m.content), ""
        )
        if not question.strip():
            return ""
        found = await self._memory.awaited.search(
            question, limit=self.limit, min_similarity=self.min_similarity
        )
        return fenced(found, max_tokens=self.max_tokens)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep what the user and the agent said, each message as a turn of its session."""
        spoken = [m for m in messages if m.role in _SPOKEN and (m.content or "").strip()]
        for session_id, turns in groupby(spoken, _session_of):
            said = [{"role": m.role.value, "content": m.content} for m in turns]
            await self._memory.awaited.add(said, session_id=session_id)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the last memories, until so many tokens are saved; None if none is left."""
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


class SalienceRetriever(BaseRetriever):
    """A retriever over one user's memories; the score of a node is that of the profile."""

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user: str,
        app: str | None = None,
        limit: int = 10,
        filters: Filters = None,
        min_similarity: float | None = None,
        **options: Any,
    ) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user: whose memories these are; nobody else's are seen.
            app: the application, if several share the store.
            limit: the most nodes, 1 to 1000.
            filters: a condition that each memory must meet, as `Memory.search` takes it.
            min_similarity: leave out memories whose cosine with the query is below it.
            options: those of `BaseRetriever`: `callback_manager`, `object_map`, `objects`,
                `verbose`.

        Raises:
            InvalidInput: an argument is wrong.
            SalienceError: the address cannot be opened.
        """
        super().__init__(**options)
        self._memory = _of_user(memory, app, user)
        self._search: Mapping[str, Any] = {
            "limit": limit,
            "filters": filters,
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


def _of_user(memory: MemoryLike, app: str | None, user: str) -> Opened:
    return Opened(memory).within(scope(user) if app is None else scope(app, user))


def _session_of(message: ChatMessage) -> str | None:
    """The session that `Memory` noted in a message."""
    session_id = message.additional_kwargs.get("session_id")
    return session_id if isinstance(session_id, str) else None


def _nodes(found: SearchResult) -> list[NodeWithScore]:
    """Nodes with the text of memories as a model may read it, and where each comes from."""
    nodes = []
    for hit in found:
        shown = {
            "speaker": hit.speaker,
            "session_id": hit.session_id,
            "created_at": hit.created_at.isoformat(timespec="minutes"),
        }
        given = {key: value for key, value in shown.items() if value is not None}
        hidden = {"kind": hit.kind, "tags": list(hit.tags), "similarity": hit.similarity}
        node = TextNode(
            id_=hit.id,
            text=clean(hit.content),
            metadata={**hit.metadata, **hidden, **given},
            excluded_llm_metadata_keys=[*hit.metadata, *hidden],
            excluded_embed_metadata_keys=[*hit.metadata, *hidden, *given],
        )
        nodes.append(NodeWithScore(node=node, score=hit.score))
    return nodes
