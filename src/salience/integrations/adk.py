"""The memory service of Google's Agent Development Kit, over a memory.

    service = SalienceMemoryService("agent.db")
    runner = Runner(..., memory_service=service)

Events of sessions are turns, kept for each user of each app. The tools `load_memory` and
`preload_memory` search them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from salience.display.for_models import clean, spoken
from salience.engine.async_memory import AsyncMemory
from salience.engine.options import Settings
from salience.integrations._extra import extra
from salience.integrations._memory import MemoryLike, Opened, as_query, scope, without_items
from salience.records.record import MemoryRecord
from salience.search.request import SearchOptions

with extra("adk"):
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types

ERASED = "erased"
"""The kind of what stands for an erased event, so that its session does not bring it back."""
_ROLE_KEY = "role"
_CUSTOM_KEY = "custom_metadata"
_SESSION_KEY = "erased_from"  # of the metadata of what stands for an erased event


class SalienceMemoryService(BaseMemoryService):
    """A memory service that persists, for any number of apps and users.

    The memories of a user are in the namespace `scope(app_name, user_id)`. Several processes may
    share them.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        search: SearchOptions | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Keep memories in a store.

        Args:
            memory: a memory, or the address of one.
            search: options of `Memory.search` for each search, such as {"limit": 5,
                "cut": "auto"}. Calls of tools that other adapters keep are found only by
                filters that name a `kind`.
            settings: those of `Memory.open`, if an address is given.
        """
        self._opened = Opened(memory, **settings)
        self._search: SearchOptions = {**(search or {})}
        self._search["filters"] = without_items(self._search.get("filters"))

    async def aclose(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        await self._opened.aclose()

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember the events of a session that have text, and are not remembered yet.

        Raises:
            InvalidInput: an event is too large; nothing was written.
        """
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember those of some events that have text, and are not remembered yet.

        Raises:
            InvalidInput: an event is too large, or the metadata is not JSON; nothing was written.
        """
        turns = []
        for event in events:
            text = _text(event.content)
            if event.content is not None and text:
                turn = _fields(text, event.content, event.id, event.author, custom_metadata)
                turns.append(
                    {
                        **turn,
                        "kind": "turn",
                        "session_id": session_id or None,
                        "created_at": event.timestamp,
                    }
                )
        memory = self._of(app_name, user_id)
        if turns:
            await memory.add_many(turns, strict=True, dedup=False, on_conflict="skip")

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember notes; one with the id of a memory takes its place.

        A note without an id that says the same as another is not added again.

        Raises:
            InvalidInput: a note has no text or a wrong time, or the metadata is not JSON; nothing
                was written.
        """
        notes = []
        for entry in memories:
            custom = {**(custom_metadata or {}), **entry.custom_metadata}
            note = _fields(_text(entry.content), entry.content, entry.id, entry.author, custom)
            notes.append({**note, "kind": "note", "created_at": entry.timestamp})
        memory = self._of(app_name, user_id)
        if notes:
            await memory.add_many(notes, strict=True, on_conflict="replace")

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Find the memories of a user that matter, best first; none for an empty query."""
        memory = self._of(app_name, user_id)
        words = as_query(query)
        if not words:
            return SearchMemoryResponse()
        hits = await memory.search(words, **self._search)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Erase a memory by its id; adding its session again does not bring it back."""
        memory = self._of(app_name, user_id)
        record = await memory.get(memory_id) if memory_id else None
        if record is None or record.kind == ERASED:
            return
        await memory.delete(record.id)
        if record.kind == "turn":
            await memory.add(
                ERASED,
                id=record.id,
                kind=ERASED,
                metadata={_SESSION_KEY: record.session_id},
                expires_at=record.created_at,  # no search finds it
                on_conflict="skip",
            )

    async def delete_session_memory(self, *, app_name: str, user_id: str, session_id: str) -> int:
        """Erase all that is remembered of a session; returns the number of memories.

        Call it where the session itself is deleted.
        """
        memory = self._of(app_name, user_id)
        await memory.delete_all({"kind": ERASED, f"metadata.{_SESSION_KEY}": session_id})
        return (await memory.delete_all({"session_id": session_id})).memories

    def _of(self, app_name: str, user_id: str) -> AsyncMemory:
        return self._opened.for_namespace(scope(app_name, user_id)).awaited


def _fields(
    text: str,
    content: types.Content,
    id: str | None,
    author: str | None,
    custom_metadata: Mapping[str, object] | None,
) -> dict[str, Any]:
    """The fields that events and notes have both; what is empty is left to the engine."""
    metadata: dict[str, Any] = {_ROLE_KEY: content.role} if content.role else {}
    if custom_metadata:
        metadata[_CUSTOM_KEY] = custom_metadata
    return {"content": text, "id": id or None, "speaker": author or None, "metadata": metadata}


def _text(content: types.Content | None) -> str:
    """The text that the parts of a content say; those that the model thought say none."""
    parts = (content.parts or ()) if content else ()
    texts = spoken([{"text": part.text, "thought": part.thought} for part in parts])
    return clean(" ".join(filter(None, texts))).strip()


def _entry(record: MemoryRecord) -> MemoryEntry:
    """A memory as the tools of the kit take it, without characters that nobody sees."""
    role = record.metadata.get(_ROLE_KEY)
    text = types.Part(text=clean(record.content))
    return MemoryEntry(
        content=types.Content(role=role if isinstance(role, str) else None, parts=[text]),
        custom_metadata=record.metadata.get(_CUSTOM_KEY) or {},
        id=record.id,
        author=record.speaker,
        timestamp=record.created_at.isoformat(),
    )
