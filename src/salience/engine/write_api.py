"""Writing: add, change and erase memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from salience.engine.core import Filters
from salience.engine.runner import AsyncFace, PlanRunner
from salience.records.record import MemoryRecord
from salience.records.validation import text
from salience.write import update
from salience.write.dedup import DedupPolicy
from salience.write.facets import Facets, by_rules
from salience.write.outcomes import AddResult


class Writing(PlanRunner):
    """Add, change and erase memories."""

    def add(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        speaker: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        kind: str | None = None,
        title: str | None = None,
        entities: Sequence[str] | None = None,
        created_at: date | str | float | None = None,
        id: str | None = None,
        vectors: Mapping[str, Sequence[float]] | None = None,
        links: Sequence[Mapping[str, Any]] = (),
        gist: str | None = None,
        tier: str | None = None,
        memory_nature: str | None = None,
        content_type: str | None = None,
        layer: str | None = None,
        relevance_score: float | None = None,
        memory_score: float | None = None,
        confidence: float | None = None,
        strength: float | None = None,
        decay_rate: float | None = None,
        expires_at: date | str | float | None = None,
        valid_from: date | str | float | None = None,
        valid_to: date | str | float | None = None,
        pinned: bool | None = None,
        supersedes: str | None = None,
        idempotency_key: str | None = None,
        dedup: DedupPolicy | bool | float | None = None,
    ) -> AddResult:
        """Remember a text, or a list of chat messages as the turns of one session.

        A message is `{"role", "content"}`, and perhaps `name`, `created_at`, `id`.
        `importance` is in [0, 1]; `created_at` is when it was said or happened (now by default);
        `vectors` by name replace the embedder's; `links` are `{"target", "type", "weight"}`.

        How it is ranked may further depend on its `tier` (short, medium, long), `memory_nature`
        (episodic, semantic), `content_type` (text, conversation, document, event, fact) and
        `layer` (episodic, knowledge, activity, entity); on `relevance_score`, `memory_score`,
        `confidence` and `strength` in [0, 1]; on a `decay_rate` per hour of its own. `gist` is
        what it comes down to, in words that some profiles search, too. From `expires_at` on it is
        not found any more; what it says holds from `valid_from` until `valid_to`; `pinned` exempts
        it from being archived.

        A fact or note (not a turn of a session) that says what an active memory of the same
        `agent_id`, `user_id` and `speaker` says already is not added again; the outcome in the
        result tells (see `salience.write.outcomes.Added`). That holds unless it brings an `id` of
        its own, or a field whose value the other does not have (tags and metadata are merged, and a
        fact is the same whenever it was told); with `dedup` True or a cosine it does even so, with
        False never. What differs in a
        number, date, name or negation is added, and told to perhaps supersede the other;
        `supersedes` names a memory whose place it takes. The same `idempotency_key` again adds
        nothing, and gives the first outcome.

        Raises:
            InvalidInput: names the argument that is wrong; nothing was written.
        """
        return self._run(self._core.add(content, _fields(locals())))

    def add_chat(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        mode: str = "chunks",
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        facets: Facets = by_rules,
    ) -> AddResult:
        """Remember a chat as questions with their answers, for the profile "multi_route".

        Messages of a session that is there already continue it: what an assistant says first goes
        on in the last chunk, and what the user says next makes that chunk found by it, too.

        Args:
            messages: `{"role", "content"}`, and perhaps `name`, `created_at`, `id`.
            mode: "chunks", or "hybrid" to keep the session as one memory besides.
            session_id: the session that they are of or continue; a new one if left out.
            agent_id: whose memory it is.
            user_id: who the user is.
            tags: of every chunk.
            facets: texts by facet (personal_info, preferences, events), a function that gives them
                from what user and assistant said, or None; by rules if left out.

        Raises:
            InvalidInput: names the argument that is wrong; nothing was written.
        """
        return self._run(self._core.add_chat(messages, mode, facets, _said(locals())))

    def add_many(
        self,
        items: Iterable[Mapping[str, Any] | str],
        *,
        strict: bool = False,
        dedup: DedupPolicy | bool | float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> AddResult:
        """Remember many: texts, or mappings with the arguments of `add` as keys.

        `content` has to be text there, and `dedup` holds for all. Written in transactions of some
        thousand. A wrong item is REJECTED with its reason and the others are added; with `strict`
        it raises instead. `progress` is told how many are done.
        """
        return self._run(self._core.add_many(items, strict, dedup, progress))

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        """Change fields of a memory by name; new words are embedded again.

        Raises:
            NotFound: there is no such memory.
            InvalidInput: names the field that is wrong.
        """
        return self._run(update.update(id, changes, self._core.scope()))

    def delete(self, id: str) -> bool:
        """Erase one memory with its vectors and links; whether there was one."""
        return self._run(update.delete(text("id", id), self._core.scope()))

    def delete_all(self, filters: Filters = None, *, namespace: str | None = None) -> int:
        """Erase what passes a filter, or (named expressly) a whole namespace; how many.

        Raises:
            InvalidInput: neither was given.
        """
        return self._run(self._core.delete_all(filters, namespace))


class AsyncWriting(AsyncFace):
    """`Writing`, awaited."""

    async def add(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        speaker: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        kind: str | None = None,
        title: str | None = None,
        entities: Sequence[str] | None = None,
        created_at: date | str | float | None = None,
        id: str | None = None,
        vectors: Mapping[str, Sequence[float]] | None = None,
        links: Sequence[Mapping[str, Any]] = (),
        gist: str | None = None,
        tier: str | None = None,
        memory_nature: str | None = None,
        content_type: str | None = None,
        layer: str | None = None,
        relevance_score: float | None = None,
        memory_score: float | None = None,
        confidence: float | None = None,
        strength: float | None = None,
        decay_rate: float | None = None,
        expires_at: date | str | float | None = None,
        valid_from: date | str | float | None = None,
        valid_to: date | str | float | None = None,
        pinned: bool | None = None,
        supersedes: str | None = None,
        idempotency_key: str | None = None,
        dedup: DedupPolicy | bool | float | None = None,
    ) -> AddResult:
        """See `Memory.add`."""
        return await self._run(self._core.add(content, _fields(locals())))

    async def add_chat(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        mode: str = "chunks",
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        tags: Sequence[str] = (),
        facets: Facets = by_rules,
    ) -> AddResult:
        """See `Memory.add_chat`."""
        return await self._run(self._core.add_chat(messages, mode, facets, _said(locals())))

    async def add_many(
        self,
        items: Iterable[Mapping[str, Any] | str],
        *,
        strict: bool = False,
        dedup: DedupPolicy | bool | float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> AddResult:
        """See `Memory.add_many`."""
        return await self._run(self._core.add_many(items, strict, dedup, progress))

    async def update(self, id: str, **changes: Any) -> MemoryRecord:
        """See `Memory.update`."""
        return await self._run(update.update(id, changes, self._core.scope()))

    async def delete(self, id: str) -> bool:
        """See `Memory.delete`."""
        return await self._run(update.delete(text("id", id), self._core.scope()))

    async def delete_all(self, filters: Filters = None, *, namespace: str | None = None) -> int:
        """See `Memory.delete_all`."""
        return await self._run(self._core.delete_all(filters, namespace))


def _fields(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `add` that describe the memory."""
    return {n: v for n, v in arguments.items() if n not in ("self", "content")}


def _said(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `add_chat` that every chunk has."""
    return {n: arguments[n] for n in ("session_id", "agent_id", "user_id", "tags")}
