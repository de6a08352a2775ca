"""Sessions of the OpenAI Agents SDK kept as memories, and recall before each run.

    session = SalienceSession("chat-1", memory, user_id="ana")
    recall = RunConfig(session_input_callback=recalled(memory, user_id="ana"))
    await Runner.run(agent, "Where do I live?", session=session, run_config=recall)

Each item of a session is a memory: its text is what is searched, the item itself is in its
metadata, as JSON.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from operator import itemgetter
from typing import Any, TypeVar, Unpack

from salience.display.for_models import clean, fenced, spoken
from salience.engine.async_memory import AsyncMemory
from salience.engine.memory import Memory
from salience.engine.options import Settings
from salience.integrations._extra import extra
from salience.integrations._memory import (
    ITEM_KIND,
    MemoryLike,
    Opened,
    as_query,
    without_items,
)
from salience.records.filters import all_of, parse_filter
from salience.records.record import MemoryRecord

with extra("openai-agents"):
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

T = TypeVar("T")
ITEM_KEY = "openai_item"
"""The key of the metadata that holds an item as JSON."""
_PAGE = 1_000
_SLACK = 100  # items that are read besides the last ones: clocks differ, and may be set back
_RECALL_LIMIT = 5
_RECALL_TOKENS = 1_000

InputCallback = Callable[
    [list[TResponseInputItem], list[TResponseInputItem]], Awaitable[list[TResponseInputItem]]
]
"""Combines the history of a session with the items of a new run."""


class SalienceSession:
    """A conversation kept in a memory, for `Runner.run(..., session=...)`.

    Its items are turns of the session `session_id`, in the order of writing.
    Several processes may share a session.
    """

    def __init__(
        self,
        session_id: str,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Open a session, which may have items already.

        Args:
            session_id: the conversation.
            memory: a memory, or the address of one.
            user_id: the user whose conversation it is: it is in the namespace `scope(user_id)`. By
                default it is in that of the memory.
            session_settings: the SDK's settings, such as {"limit": 50}.
            settings: those of `Memory.open`, if an address is given.

        Raises:
            TypeError: there is no such session setting.
            SalienceError: the address cannot be opened.
        """
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(
            session_settings or {}
        )
        self._opened = Opened(memory, **settings).of_user(user_id)
        self._filters = {"session_id": session_id, f"metadata.{ITEM_KEY}": {"exists": True}}
        self._is_closed = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Get the items in their order, or the last `limit` of them.

        The limit is that of the session's settings by default; a negative one is none.
        """
        limit = resolve_session_limit(limit, self.session_settings)
        if limit is not None and limit < 0:
            limit = None
        return [_item(record) for record in await self._last(limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Write items behind those that are there.

        Raises:
            TypeError: an item cannot be written as JSON; nothing was written.
            InvalidInput: an item is too large; nothing was written.
        """
        memory = self._memory
        if items:
            fields = [_fields(item, self.session_id) for item in items]
            await _settled(memory.add_many(fields, strict=True, dedup=False))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None for an empty session."""
        while last := await self._last(1):
            if await _settled(self._memory.delete(last[0].id)):  # else somebody else has popped it
                return _item(last[0])
        return None

    async def clear_session(self) -> None:
        """Erase all items; what else is known of the user stays."""
        await _settled(self._memory.delete_all(self._filters))

    def close(self) -> None:
        """Refuse further calls, and close what was opened here; a memory that was given stays open.

        The items stay.
        """
        self._is_closed = True
        self._opened.close()

    async def _last(self, count: int | None) -> list[MemoryRecord]:
        """The last items in the order of writing; all for None."""
        memory, cursor = self._memory, None
        written: list[tuple[int, MemoryRecord]] = []
        while count is None or len(written) < count + _SLACK:
            size = _PAGE if count is None else min(_PAGE, count + _SLACK - len(written))
            page = await memory.get_all(self._filters, limit=size, cursor=cursor)
            written += zip(page.places, page.memories, strict=True)
            cursor = page.cursor
            if cursor is None:
                break
        records = [record for _, record in sorted(written, key=itemgetter(0))]
        return records if count is None else records[max(len(records) - count, 0) :]

    @property
    def _memory(self) -> AsyncMemory:
        if self._is_closed:
            raise RuntimeError(f"{type(self).__name__} is closed")
        return self._opened.awaited


def recalled(
    memory: Memory | AsyncMemory,
    *,
    user_id: str | None = None,
    max_tokens: int = _RECALL_TOKENS,
    **options: Any,
) -> InputCallback:
    """A callback for `RunConfig.session_input_callback` that recalls what matters for a run.

    It searches for the user's new words, and puts what it finds between the history and them, as
    quoted data. What is in the history already is not recalled. What was recalled is shown to the
    model, but does not become a part of the session.

    Args:
        memory: a memory. It stays open.
        user_id: the user whose memories are searched: those in the namespace `scope(user_id)`. By
            default they are those of the memory.
        max_tokens: the most tokens that the recalled text takes.
        options: those of `Memory.search`; `limit` is 5 by default. Hits of the kind "item", such as
            calls of tools, are found only by filters that name a `kind`.
    """
    awaited = Opened(memory).of_user(user_id).awaited
    filters = without_items(options.pop("filters", None))

    async def with_recalled(
        history: list[TResponseInputItem], new: list[TResponseInputItem]
    ) -> list[TResponseInputItem]:
        query = as_query(_question(new))
        if query:
            texts = list({_text(item) for item in (*history, *new)})
            unknown = parse_filter({"content": {"nin": texts}})
            search: dict[str, Any] = {"limit": _RECALL_LIMIT, **options}
            search["filters"] = all_of(filters, unknown)
            hits = await awaited.search(query, **search)
            text = fenced(hits, max_tokens=max_tokens, zone=awaited.time_zone)
            if text:
                # The SDK stores what is in neither list when this returns, so it joins the history.
                history.append({"role": "user", "content": text})
        return history + new

    return with_recalled


async def _settled(write: Awaitable[T]) -> T:
    """The result of a write; who is cancelled meanwhile is so once it is written, or has failed."""
    task = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _fields(item: TResponseInputItem, session_id: str) -> dict[str, Any]:
    """The fields of an item as a memory."""
    role = item.get("role")
    spoken = role in ("user", "assistant")
    return {
        "content": _text(item),
        "kind": "turn" if spoken else ITEM_KIND,
        "speaker": role,
        "session_id": session_id,
        "metadata": {ITEM_KEY: json.dumps(item)},
    }


def _item(record: MemoryRecord) -> TResponseInputItem:
    item: TResponseInputItem = json.loads(record.metadata[ITEM_KEY])
    return item


def _question(items: Sequence[TResponseInputItem]) -> str:
    """The words of the last message of the user."""
    for item in reversed(items):
        if item.get("role") == "user":
            return _words(item)
    return ""


def _text(item: TResponseInputItem) -> str:
    """The text of an item, or else its type: a memory has some text."""
    return _words(item) or str(item.get("type") or item.get("role") or "item")


def _words(item: Any) -> str:
    """The words that an item says, calls or answers, without what the model thought."""
    called = [f"{item['name']}({item.get('arguments', '')})"] if "name" in item else []
    texts = (part for key in ("content", "output") for part in spoken(item.get(key)))
    return clean("\n".join(part for part in (*called, *texts) if part)).strip()
