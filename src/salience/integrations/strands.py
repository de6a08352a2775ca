"""A store for the memory manager of Strands Agents.

    store = SalienceStore("agent.db", user_id="ana", extraction=True)
    manager = MemoryManager(stores=[store], injection={"format": fenced_entries})
    agent = Agent(memory_manager=manager)

The manager searches it before each turn and as a tool of the model, and writes to it what the
model adds, or the conversation itself.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Unpack

from salience.display.for_models import clean, fenced, one_line, spoken
from salience.engine.options import Settings
from salience.integrations._extra import extra
from salience.integrations._memory import MemoryLike, Opened, as_query, without_items
from salience.records.record import BLANK, MemoryRecord, new_id
from salience.search.request import MAX_HITS, SearchOptions
from salience.search.results import Hit
from salience.write.outcomes import AddResult

with extra("strands"):
    from strands.memory import (
        AddMessagesContext,
        ExtractionConfig,
        InjectionFormatContext,
        MemoryEntry,
        MemoryStore,
    )
    from strands.memory import SearchOptions as EntryOptions
    from strands.types.content import Message

_RECALL_LIMIT = 5
_PROVENANCE = ("id", "kind", "speaker", "session_id", "title")  # of a memory, told with its text


class SalienceStore(MemoryStore):
    """A store of memories for `MemoryManager`, of one user.

    Agents, threads and event loops may share it.
    """

    def __init__(
        self,
        memory: MemoryLike,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        name: str = "memory",
        description: str | None = None,
        max_search_results: int = _RECALL_LIMIT,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        search: SearchOptions | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Give agents the memories of a user.

        Args:
            memory: a memory, or the address of one.
            user_id: the user whose memories these are: they are in the namespace `scope(user_id)`.
                By default they are in that of the memory.
            session_id: the conversation that messages are turns of; a new one by default.
            name: the name by which the manager and the model know the store.
            description: what the model is told about it.
            max_search_results: the most entries a search gives, unless it asks for another number.
            writable: whether the manager may write to it.
            extraction: True keeps the messages of the conversation as turns; a configuration says
                when, and may name an extractor of facts.
            search: further options of `Memory.search`, such as {"cut": "auto"}. Calls of
                tools that other adapters keep are found only by filters that name a `kind`.
            settings: those of `Memory.open`, if an address is given.
        """
        self._opened = Opened(memory, **settings).of_user(user_id)
        self._session_id = session_id or new_id()
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._search: SearchOptions = {**(search or {})}
        self._search["filters"] = without_items(self._search.get("filters"))

    def close(self) -> None:
        """Close what was opened here; a memory that was given stays open."""
        self._opened.close()

    async def search(self, query: str, options: EntryOptions | None = None) -> list[MemoryEntry]:
        """Find the memories that matter for a query, best first; none for an empty one.

        The number that is asked for, perhaps by a model, is brought into 1 to 1,000.
        """
        words = as_query(query)
        if not words:
            return []
        limit = (options or {}).get("max_search_results", self.max_search_results)
        search: SearchOptions = {**self._search, "limit": min(max(limit, 1), MAX_HITS)}
        hits = await self._opened.awaited.search(words, **search)
        return [self._entry(hit) for hit in hits]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> AddResult:
        """Remember a fact; one that says the same as another is not added again.

        Raises:
            InvalidInput: it is empty or too large, or the metadata is not JSON.
        """
        return await self._opened.awaited.add(content, kind="fact", metadata=metadata)

    async def add_messages(
        self, messages: list[Message], context: AddMessagesContext | None = None
    ) -> AddResult:
        """Keep the text of messages as turns of the conversation, all of them or none.

        Raises:
            InvalidInput: one is too large; nothing was written.
        """
        turn = {"kind": "turn", "session_id": self._session_id}
        texts = [(message["role"], _words(message)) for message in messages]
        turns = [{**turn, "speaker": role, "content": words} for role, words in texts if words]
        return await self._opened.awaited.add_many(turns, strict=True, dedup=False)

    def _entry(self, hit: Hit) -> MemoryEntry:
        """A memory as the manager takes it: without characters that nobody sees."""
        values = {name: getattr(hit, name) for name in _PROVENANCE}
        provenance = {
            **{name: one_line(value) for name, value in values.items() if value},
            "created_at": hit.created_at.isoformat(),
            "score": hit.score,
        }
        return MemoryEntry(clean(hit.content), self.name, {**hit.metadata, **provenance})


def fenced_entries(context: InjectionFormatContext, **options: Any) -> str:
    """Write recalled entries as quoted data, with who said them and when.

    It is the `format` of `MemoryManager(injection={"format": fenced_entries})`.

    Raises:
        ValueError: an entry comes from a store of another kind, which tells no time.
    """
    return fenced([_record(entry) for entry in context.entries])


def _record(entry: MemoryEntry) -> MemoryRecord:
    """The memory that an entry was made of, as far as it tells."""
    meta = entry.metadata or {}
    if "created_at" not in meta or "id" not in meta:
        problem = f"the store {entry.store_name!r} is no SalienceStore"
        raise ValueError(f"fenced_entries: {problem}; leave `format` out")
    values = {name: meta[name] for name in _PROVENANCE if name in meta}
    times = dict.fromkeys(("created_at", "updated_at"), datetime.fromisoformat(meta["created_at"]))
    return MemoryRecord.from_values(
        {**vars(BLANK), **values, **times, "content": entry.content, "metadata": meta}
    )


def _words(message: Message) -> str:
    """The text of a message; calls of tools and pictures have none."""
    return clean("\n".join(spoken(message["content"]))).strip()
