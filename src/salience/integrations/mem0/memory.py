"""`Memory` and `AsyncMemory` with the methods of mem0's classes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NoReturn, Self, Unpack

from salience.engine.extraction import Extractor
from salience.engine.options import Settings
from salience.errors import InvalidInput
from salience.integrations._memory import MemoryLike, Opened, awaited
from salience.integrations.mem0.calls import (
    UNSET,
    Calls,
    told_of,
)
from salience.integrations.mem0.filters import ENTITIES
from salience.integrations.mem0.shapes import settings_of
from salience.ranking.profiles import ProfileLike

_FROM_ENVIRONMENT: Any = object()
_log = logging.getLogger(__name__)


class Door:
    """The parts that both classes share."""

    def __init__(
        self,
        memory: MemoryLike | None = None,
        *,
        extractor: Extractor | None = _FROM_ENVIRONMENT,
        custom_instructions: str | None = None,
        rerank_profile: ProfileLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Take a memory of salience, or the address of one; by default that of `salience.Memory()`.

        Args:
            memory: a `salience.Memory` or `AsyncMemory`, which stays open; or a file, or a URL.
            extractor: asks a model for the facts in messages; None to keep messages as they are.
                By default that which SALIENCE_EXTRACTION_MODEL and SALIENCE_EXTRACTION_URL name.
            custom_instructions: wishes for what is extracted.
            rerank_profile: the profile by which `search(..., rerank=True)` ranks.
            settings: those of `salience.Memory.open`, with an address.
        """
        if extractor is _FROM_ENVIRONMENT:
            extractor = Extractor.from_environment()
        self._opened = Opened(memory, **settings)
        self._calls = Calls(self._opened.sync, extractor, custom_instructions, rerank_profile)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open what a configuration of mem0 says; see `salience.integrations.mem0.shapes`.

        Raises:
            InvalidInput: it asks for what is not served here.
        """
        return cls(**settings_of(config_dict))

    def chat(self, query: str) -> NoReturn:
        """Raise NotImplementedError, as mem0 does."""
        raise NotImplementedError("Chat function not implemented yet.")

    def close(self) -> None:
        """Close what was opened here."""
        if self._calls.extractor is not None:
            self._calls.extractor.close()
        self._opened.close()


class Memory(Door):
    """mem0's `Memory` over salience: the same methods, arguments, answers and errors."""

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        app_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Add the facts in messages, or with `infer=False` the messages themselves.

        Args:
            messages: a text, a message `{"role", "content"}`, or several.
            user_id, agent_id, run_id, app_id: whose memories they are; at least one.
            metadata: further values, as JSON has them.
            timestamp: when it was said, in seconds since 1970 or as ISO 8601; now by default.
            expiration_date: the last day on which it is found, as YYYY-MM-DD.
            infer: extract facts. Without a model the messages are kept as they are, and the answer
                says so in `notes`.
            memory_type: "procedural_memory" for a record of what an agent did.
            prompt: wishes for what is extracted; instead of `custom_instructions`.

        Returns:
            {"results": [{"id", "memory", "event"}]}: "ADD"; "UPDATE" for a fact that takes the
            place of another (`previous_memory`); "NONE" for one that was known.

        Raises:
            ValidationError, InvalidInput: an argument is wrong; nothing was written.
            ExtractionError: the model does not answer; nothing was written.
        """
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "app_id": app_id}
        return self._calls.add(
            messages,
            ids,
            metadata=metadata,
            at=timestamp,
            expiration_date=expiration_date,
            infer=infer,
            memory_type=memory_type,
            prompt=prompt,
        )

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Get one memory by id, or None."""
        memory = self._calls.get(memory_id)
        return None if memory is None else {**memory, "score": None}

    def get_all(
        self,
        /,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """List the memories that pass a filter, the newest first.

        Raises:
            ValueError: the filter names no id; an id was given beside the filter.
        """
        refuse_ids(kwargs, "get_all")
        listed, _ = self._calls.get_all(filters, top_k=top_k, show_expired=show_expired)
        return {"results": listed}

    def search(
        self,
        /,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Find the memories that matter for a query, best first.

        Args:
            query: a question or search terms.
            top_k: the most results, at most 1,000.
            filters: a condition that names at least one id; see docs/integrations/mem0.md.
            threshold: the least `score`, which is the cosine with the query, in [0, 1]; none by
                default, as what the profile ranks first may be close by its words alone.
            rerank: rank by the `rerank_profile`.
            explain: give each result its `score_details`.
            reference_date: the time to ask for; the present by default.
            show_expired: find what has expired, too.

        Raises:
            ValueError: an argument is wrong; an id was given beside the filter.
        """
        refuse_ids(kwargs, "search")
        return self._calls.search(
            query,
            filters,
            top_k=top_k,
            threshold=threshold,
            rerank=rerank,
            explain=explain,
            reference_date=reference_date,
            show_expired=show_expired,
        )

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = UNSET,
        data: str | None = None,
    ) -> dict[str, Any]:
        """Change a memory; `metadata` is merged, `expiration_date=None` clears it.

        Raises:
            ValueError: there is no such memory, or nothing to change.
        """
        text = newest_name(text, data)
        return self._calls.update(memory_id, text, metadata, expiration_date)

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Erase a memory.

        Raises:
            ValueError: there is no such memory.
        """
        return self._calls.delete(memory_id)

    def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        app_id: str | None = None,
    ) -> dict[str, Any]:
        """Erase the memories that have all the given ids.

        Raises:
            ValueError: no id was given.
        """
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id, "app_id": app_id}
        return told_of({"message": "Memories deleted successfully!"}, self._calls.delete_all(ids))

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """List the changes of a memory, oldest first; none of one that was erased."""
        return self._calls.history(memory_id)

    def reset(self) -> None:
        """Erase all memories of the namespace."""
        self._calls.reset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncMemory(Door):
    """mem0's `AsyncMemory` over salience: the methods of `Memory`, each called in a thread."""

    add = awaited(Memory.add)
    get = awaited(Memory.get)
    get_all = awaited(Memory.get_all)
    search = awaited(Memory.search)
    update = awaited(Memory.update)
    delete = awaited(Memory.delete)
    delete_all = awaited(Memory.delete_all)
    history = awaited(Memory.history)
    reset = awaited(Memory.reset)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()


def refuse_ids(arguments: Mapping[str, Any], method: str) -> None:
    """Refuse arguments that a method does not take: ids belong into its filter.

    Raises:
        InvalidInput: an id was given.
        TypeError: something else was.
    """
    if ids := sorted(set(ENTITIES) & arguments.keys()):
        raise InvalidInput(
            ids[0],
            f"Top-level entity parameters are not supported in {method}()",
            f"use filters={{'{ids[0]}': '...'}} instead",
        )
    if arguments:
        raise TypeError(f"{method}() got an unexpected keyword argument {min(arguments)!r}")


def newest_name(text: str | None, data: str | None) -> str | None:
    """The new text of a memory, which was called `data` in earlier versions."""
    if data is not None:
        _log.warning("update(): `data` is an old name; use `text` instead")
    return data if text is None else text
