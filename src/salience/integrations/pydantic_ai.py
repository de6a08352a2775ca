"""A capability of Pydantic AI that recalls before a run and remembers after it.

    agent = Agent("anthropic:claude-sonnet-5-5", capabilities=[Recall("agent.db", user_id="ana")])
    await agent.run("Where do I live?", conversation_id="chat-1")

What is found is shown to the model right before the words of the user, and is not a part of the
messages of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, Unpack

from salience.display.for_models import clean, fenced
from salience.engine.async_memory import AsyncMemory
from salience.engine.options import Settings
from salience.integrations._extra import extra
from salience.integrations._memory import MemoryLike, Opened, as_query, without_items
from salience.records.filters import all_of, parse_filter
from salience.search.request import SearchOptions

with extra("pydantic-ai"):
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextContent,
        TextPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import AgentDepsT, RunContext

_RECALL_LIMIT = 5
_RECALL_TOKENS = 1_000


class Recall(AbstractCapability[AgentDepsT]):
    """Memory for an agent: it finds what matters for a run, and keeps what was said in it.

    An agent may serve many users at once.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | Callable[[RunContext[AgentDepsT]], str] | None = None,
        max_tokens: int = _RECALL_TOKENS,
        search: SearchOptions | None = None,
        remember: bool = True,
        id: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Give agents a memory.

        Args:
            memory: a memory, or the address of one.
            user_id: the user whose memories these are, or a function that gives the user of a run,
                such as `lambda run: run.deps.user`: they are in the namespace `scope(user_id)`. By
                default they are in that of the memory.
            max_tokens: the most tokens that the recalled text takes.
            search: options of `Memory.search`; `limit` is 5 by default. Calls of tools that other
                adapters keep are found only by filters that name a `kind`.
            remember: keep what the user and the model say in a run that ends well.
            id: the id of the capability.
            settings: those of `Memory.open`, if an address is given.
        """
        self.id = id
        self._opened = Opened(memory, **settings)
        self._user_id = user_id
        self._max_tokens = max_tokens
        self._search: SearchOptions = {"limit": _RECALL_LIMIT, **(search or {})}
        self._filters = without_items(self._search.pop("filters", None))
        self._remember = remember
        self._found: tuple[str, str] | None = None  # of a run: the query, and the text found for it

    async def aclose(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._opened.aclose()

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a file that specifies an agent cannot hold a memory."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> Self:
        """Give the capability of one run, which keeps what is found for it."""
        copied = copy(self)
        copied._found = None
        return copied

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Show the model what matters for the last words of the user, right before them.

        Raises:
            InvalidInput: an option of the search is wrong, or the id of the user.
        """
        messages = list(request_context.messages)
        found = _last_prompt(messages)
        if found is None:
            return request_context
        place, request, prompt = found
        query = as_query(_words(prompt.content))
        if self._found is None or self._found[0] != query:  # else an earlier step of this run
            self._found = (query, await self._recalled(ctx, query, messages))
        _, text = self._found
        if not text:
            return request_context
        before = request.parts.index(prompt)
        parts = [*request.parts[:before], UserPromptPart(text), *request.parts[before:]]
        messages[place] = replace(request, parts=parts)
        return replace(request_context, messages=messages)  # those of this request alone

    async def after_run(
        self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Keep the words of the user and of the model as turns of the conversation.

        Raises:
            InvalidInput: a text is too large, or the id of the user is wrong.
        """
        if self._remember:
            session = {"kind": "turn", "session_id": ctx.conversation_id}
            turns = [
                {**session, "speaker": speaker, "content": text}
                for speaker, text in _spoken(result.new_messages())
            ]
            if turns:
                await self._memory(ctx).add_many(turns, strict=True, dedup=False)
        return result

    async def _recalled(
        self, ctx: RunContext[AgentDepsT], query: str, messages: Sequence[ModelMessage]
    ) -> str:
        """The memories for a query as a model reads them, but for what the messages say already."""
        if not query:
            return ""
        unknown = parse_filter({"content": {"nin": list({text for _, text in _spoken(messages)})}})
        options: SearchOptions = {**self._search, "filters": all_of(self._filters, unknown)}
        memory = self._memory(ctx)
        hits = await memory.search(query, **options)
        return fenced(hits, max_tokens=self._max_tokens, zone=memory.time_zone)

    def _memory(self, ctx: RunContext[AgentDepsT]) -> AsyncMemory:
        user = self._user_id(ctx) if callable(self._user_id) else self._user_id
        return self._opened.of_user(user).awaited


def _last_prompt(
    messages: Sequence[ModelMessage],
) -> tuple[int, ModelRequest, UserPromptPart] | None:
    """The last words of the user, with the message that they are in and its place."""
    for place in range(len(messages) - 1, -1, -1):
        request = messages[place]
        for part in reversed(request.parts):
            if isinstance(request, ModelRequest) and isinstance(part, UserPromptPart):
                return place, request, part
    return None


def _spoken(messages: Iterable[ModelMessage]) -> list[tuple[str, str]]:
    """The speaker and the text of all that some messages say, in order."""
    turns = []
    for message in messages:
        if isinstance(message, ModelRequest):
            prompts = (part for part in message.parts if isinstance(part, UserPromptPart))
            turns += [("user", _words(prompt.content)) for prompt in prompts]
        elif isinstance(message, ModelResponse):
            texts = [part.content for part in message.parts if isinstance(part, TextPart)]
            turns.append(("assistant", _visible(texts)))
    return [(speaker, text) for speaker, text in turns if text]


def _words(content: str | Sequence[Any]) -> str:
    """The text of a prompt, which may hold images and files, too."""
    if isinstance(content, str):
        return _visible([content])
    parts = (part.content if isinstance(part, TextContent) else part for part in content)
    return _visible([part for part in parts if isinstance(part, str)])


def _visible(texts: Iterable[str]) -> str:
    return clean("\n".join(texts)).strip()
