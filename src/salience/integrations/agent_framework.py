"""Microsoft Agent Framework: what an agent recalls, and the history of its sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from salience.display.for_models import fenced
from salience.integrations._extra import extra
from salience.integrations._memory import (
    ITEM_KIND,
    MemoryLike,
    Opened,
    as_query,
    in_order,
    without_items,
)
from salience.retrieval.plan import in_thread

with extra("agent-framework"):
    from agent_framework import (
        AgentSession,
        ContextProvider,
        HistoryProvider,
        InMemoryHistoryProvider,
        Message,
        SessionContext,
    )

if TYPE_CHECKING:
    from agent_framework import SupportsAgentRun

SOURCE_ID = "salience"
DEFAULT_SESSION = "default"
_KEY = "agent_framework"  # of the metadata of a message: all of it, as the framework writes it
_SPOKEN = ("user", "assistant")


class SalienceContextProvider(ContextProvider):
    """Recall what matters for the input of a run, and keep its turns; of one user.

    With `context_providers=[SalienceContextProvider("agent.db", user_id="ana")]` an `Agent`
    remembers over sessions.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        source_id: str = SOURCE_ID,
        limit: int = 10,
        max_tokens: int = 2000,
        min_similarity: float | None = None,
        keep_turns: bool = True,
    ) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose memories these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen. By default they are in that of the memory.
            source_id: the name by which the framework knows this provider.
            limit: the most memories to recall, 1 to 1000.
            max_tokens: the most tokens of the message that hands them to the model.
            min_similarity: leave out memories whose cosine with the input is below it.
            keep_turns: keep what was said as memories; False beside a `SalienceHistoryProvider`,
                which keeps it already.
        """
        super().__init__(source_id)
        self._memory = Opened(memory).of_user(user_id)
        self._limit, self._max_tokens, self._min_similarity = limit, max_tokens, min_similarity
        self._keep_turns = keep_turns

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Add a message with the memories that matter for the input.

        The turns of the session itself are left to its history.
        """
        question = as_query("\n".join(m.text for m in _new_inputs(context) if m.role == "user"))
        if not question:
            return
        result = await self._memory.awaited.search(
            question,
            limit=self._limit,
            options={"min_similarity": self._min_similarity},
            filters=without_items({"session_id": {"ne": context.session_id}}),
        )
        if text := fenced(result, max_tokens=self._max_tokens, zone=self._memory.sync.time_zone):
            sessions = [hit.session_id for hit in result if hit.session_id is not None]
            context.extend_messages(self, [Message("user", [text])], origin_session_ids=sessions)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Keep the words of the user and of the agent as turns of the session."""
        answers = context.response.messages if context.response else []
        turns = [
            {"role": message.role, "content": message.text, "name": message.author_name}
            for message in (*_new_inputs(context), *answers)
            if message.role in _SPOKEN and message.text.strip()
        ]
        if self._keep_turns and turns:
            await self._memory.awaited.add(turns, session_id=context.session_id)

    async def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._memory.aclose()


class SalienceHistoryProvider(HistoryProvider):
    """The messages of sessions, kept whole and in order; of one user.

    What was said can be found by a `SalienceContextProvider` of the same user, from any session.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        source_id: str = "salience_history",
        **options: Any,
    ) -> None:
        """Take or open a memory for one user.

        Args:
            memory: an open memory, or the address of one: a file, a URL, `http://host:port`.
            user_id: whose sessions these are: they are in the namespace `scope(user_id)`, and
                nobody else's are seen, even of the same id. By default they are in that of the
                memory.
            source_id: the name by which the framework knows this provider.
            options: those of `HistoryProvider`: `load_messages`, `store_inputs`, `store_outputs`,
                `store_context_messages`, `store_context_from`.
        """
        super().__init__(source_id, **options)
        self._memory = Opened(memory).of_user(user_id)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Get all messages of a session, the oldest first; those without an id are of "default"."""
        written = await in_thread(in_order, self._memory.sync, _of_session(session_id))
        return [Message.from_dict(dict(record.metadata[_KEY])) for record in written]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep the messages that are new behind those of the session.

        If a whole transcript is sent again, only its end is new.

        Raises:
            InvalidInput: a message is too large; nothing was kept.
        """
        stored = await self.get_messages(session_id)
        session = {"messages": stored}
        # The framework's own rule says which are new.
        await InMemoryHistoryProvider().save_messages(session_id, messages, state=session)
        new = session["messages"][len(stored) :]
        if new:
            items = [_item(message, session_id or DEFAULT_SESSION) for message in new]
            await self._memory.awaited.add_many(items, strict=True, dedup=False)

    async def clear(self, session_id: str | None) -> int:
        """Erase the messages of a session; returns how many there were."""
        return (await self._memory.awaited.delete_all(_of_session(session_id))).memories

    async def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._memory.aclose()


def _of_session(session_id: str | None) -> Mapping[str, Any]:
    """A filter for the messages that the history keeps of a session."""
    return {"session_id": session_id or DEFAULT_SESSION, f"metadata.{_KEY}": {"exists": True}}


def _new_inputs(context: SessionContext) -> Sequence[Message]:
    """The inputs behind the last answer, as some callers send the whole transcript."""
    inputs = context.input_messages
    roles = [message.role for message in inputs]
    return inputs[len(roles) - roles[::-1].index("assistant") :] if "assistant" in roles else inputs


def _item(message: Message, session_id: str) -> dict[str, Any]:
    """The memory that keeps a message: found by its words, if it has any."""
    written = json.loads(message.to_json())
    is_spoken = message.role in _SPOKEN and bool(message.text.strip())
    kinds = ", ".join(dict.fromkeys(content.type for content in message.contents))
    return {
        "content": message.text if message.text.strip() else f"({kinds or 'no content'})",
        "speaker": message.author_name or message.role,
        "session_id": session_id,
        "kind": "turn" if is_spoken else ITEM_KIND,
        "metadata": {_KEY: written},
    }
