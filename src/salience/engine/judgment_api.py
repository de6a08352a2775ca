"""The life of a memory: its links, its use, what it is judged, what takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from salience.engine.core import Filters
from salience.engine.runner import AsyncFace, PlanRunner
from salience.lifecycle import verify as verifying
from salience.lifecycle.history import History
from salience.lifecycle.history import history as record_history
from salience.lifecycle.verify import Verification
from salience.lifecycle.zones import Zones
from salience.records.record import Link, MemoryRecord
from salience.records.validation import text
from salience.write import judgments


class Living(PlanRunner):
    """Link, use and judge memories, let one take the place of another, look at their history."""

    def link(self, source: str, target: str, type: str = "mentions", weight: float = 1.0) -> None:
        """Link two memories: mentions, supports, contradicts, depends_on, same_as, supersedes.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: an unknown type, or a weight outside [0, 1].
        """
        self._run(self._core.link(source, target, type, weight))

    def supersede(self, old: str, new: str) -> None:
        """Let a memory take the place of an older one, from whose place on it holds.

        The older one becomes `superseded` and is `valid_to` the time from which the newer one is
        `valid_from` (its creation, unless it says otherwise). Nothing of it is lost: "activation"
        recalls it at half its score, "balanced" for questions about that time.
        `update(old, status="active", valid_to=None)` takes it back.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: the older one has taken the place of the newer one.
        """
        self._run(judgments.supersede(old, new, self._core.scope()))

    def contradict(self, one: str, other: str) -> None:
        """Say that two memories contradict each other; recalled together, the weaker gives way.

        Raises:
            NotFound: one of them does not exist.
        """
        self._run(judgments.contradict(one, other, self._core.scope()))

    def links(self, id: str | None = None) -> list[Link]:
        """The links from and to a memory, or all of the namespace."""
        return list(self._run(self._core.links(id)))

    def zones(self, filters: Filters = None, *, now: date | str | float | None = None) -> Zones:
        """How alive each memory is (active, stale, fading, archived), the liveliest first.

        A zone is a label worked out for a time, the present by default; nothing is moved.
        """
        return self._run(self._core.zones(filters, now))

    def history(self, id: str) -> History:
        """What happened to a memory, and what it said before each edit; looking is not a use.

        Raises:
            NotFound: there is no such memory; of what is erased nothing is left.
        """
        return self._run(record_history(text("id", id), self._core.namespace))

    def touch(
        self,
        ids: str | Sequence[str],
        use: str = "reference",
        *,
        session_id: str | None = None,
        now: date | str | float | None = None,
        utility: float | None = None,
    ) -> None:
        """Count a use of memories: "reference" (it went into an answer), "read" or "retrieval".

        Counted within a second, never waited for. What `search` returns is a retrieval by itself.

        With `utility` in [0, 1], how much they helped (such as their score), those linked with them
        become more alive: each within 2 hops gets utility * 0.6^hops as a boost, which adds up as
        1 - (1 - a)(1 - b) and halves every 7 days.

        Raises:
            NotFound: one of them does not exist; nothing was counted.
        """
        self._run(self._core.touch(ids, use, session_id, now, utility))

    def feedback(
        self, id: str, kind: str, context: str | None = None, *, session_id: str | None = None
    ) -> MemoryRecord:
        """Judge a memory: useful (+1), not_useful (-1), outdated (-1) or incorrect (-3).

        The weights add up to `feedback_for` and `feedback_against`, which "six_factor" ranks by;
        `relevance_score` (0.5 at first) moves by 0.1 for each, within [0, 1]. What is outdated or
        incorrect is marked for `review`, and what is outdated fades twice as fast. `context` says
        why, and is kept.

        Raises:
            NotFound: there is no such memory.
            InvalidInput: another kind of judgement.
        """
        return self._run(judgments.feedback(id, kind, context, session_id, self._core.scope()))

    def promote(self, id: str) -> MemoryRecord:
        """Raise `memory_score` (0.5 at first) by 0.15, up to 1; "multi_route" ranks by it.

        Raises:
            NotFound: there is no such memory.
        """
        return self._run(judgments.adjust_score(id, "promote", self._core.scope()))

    def demote(self, id: str) -> MemoryRecord:
        """Lower `memory_score` (0.5 at first) by 0.15, down to 0.

        Raises:
            NotFound: there is no such memory.
        """
        return self._run(judgments.adjust_score(id, "demote", self._core.scope()))

    def reinforce(self, id: str) -> MemoryRecord:
        """Raise `strength` (1 at first) by 0.1, up to 1; "activation" ranks by it.

        Raises:
            NotFound: there is no such memory.
        """
        return self._run(judgments.log(id, "reinforce", {}, self._core.scope()))

    def decay_all(self) -> None:
        """Let every memory fade: `strength` and `relevance_score` times exp(-0.01 * days).

        Days are counted since the last time, at first since creation; what is outdated loses
        relevance twice as fast. A second call at the same instant changes nothing.
        """
        self._run(judgments.decay_all(self._core.scope()))

    def pin(self, id: str) -> MemoryRecord:
        """Keep a memory from ever being archived by itself.

        Raises:
            NotFound: there is no such memory.
        """
        return self._run(judgments.log(id, "pin", {"set": {"pinned": 1.0}}, self._core.scope()))

    def unpin(self, id: str) -> MemoryRecord:
        """Undo `pin`.

        Raises:
            NotFound: there is no such memory.
        """
        return self._run(judgments.log(id, "pin", {"set": {"pinned": 0.0}}, self._core.scope()))

    def verify(self, *, repair: bool = False) -> Verification:
        """Hold what every memory is, bit by bit, against what its log says; true if it is the same.

        Accesses, status, judgements and all else beyond the contents follow from the log. With
        `repair`, what differs is set to what the log says.
        """
        return self._run(verifying.verify(self._core.namespace, repair=repair))


class AsyncLiving(AsyncFace):
    """`Living`, awaited."""

    async def link(
        self, source: str, target: str, type: str = "mentions", weight: float = 1.0
    ) -> None:
        """See `Memory.link`."""
        await self._run(self._core.link(source, target, type, weight))

    async def supersede(self, old: str, new: str) -> None:
        """See `Memory.supersede`."""
        await self._run(judgments.supersede(old, new, self._core.scope()))

    async def contradict(self, one: str, other: str) -> None:
        """See `Memory.contradict`."""
        await self._run(judgments.contradict(one, other, self._core.scope()))

    async def links(self, id: str | None = None) -> list[Link]:
        """See `Memory.links`."""
        return list(await self._run(self._core.links(id)))

    async def zones(
        self, filters: Filters = None, *, now: date | str | float | None = None
    ) -> Zones:
        """See `Memory.zones`."""
        return await self._run(self._core.zones(filters, now))

    async def history(self, id: str) -> History:
        """See `Memory.history`."""
        return await self._run(record_history(text("id", id), self._core.namespace))

    async def touch(
        self,
        ids: str | Sequence[str],
        use: str = "reference",
        *,
        session_id: str | None = None,
        now: date | str | float | None = None,
        utility: float | None = None,
    ) -> None:
        """See `Memory.touch`."""
        await self._run(self._core.touch(ids, use, session_id, now, utility))

    async def feedback(
        self, id: str, kind: str, context: str | None = None, *, session_id: str | None = None
    ) -> MemoryRecord:
        """See `Memory.feedback`."""
        return await self._run(
            judgments.feedback(id, kind, context, session_id, self._core.scope())
        )

    async def promote(self, id: str) -> MemoryRecord:
        """See `Memory.promote`."""
        return await self._run(judgments.adjust_score(id, "promote", self._core.scope()))

    async def demote(self, id: str) -> MemoryRecord:
        """See `Memory.demote`."""
        return await self._run(judgments.adjust_score(id, "demote", self._core.scope()))

    async def reinforce(self, id: str) -> MemoryRecord:
        """See `Memory.reinforce`."""
        return await self._run(judgments.log(id, "reinforce", {}, self._core.scope()))

    async def decay_all(self) -> None:
        """See `Memory.decay_all`."""
        await self._run(judgments.decay_all(self._core.scope()))

    async def pin(self, id: str) -> MemoryRecord:
        """See `Memory.pin`."""
        return await self._run(
            judgments.log(id, "pin", {"set": {"pinned": 1.0}}, self._core.scope())
        )

    async def unpin(self, id: str) -> MemoryRecord:
        """See `Memory.unpin`."""
        return await self._run(
            judgments.log(id, "pin", {"set": {"pinned": 0.0}}, self._core.scope())
        )

    async def verify(self, *, repair: bool = False) -> Verification:
        """See `Memory.verify`."""
        return await self._run(verifying.verify(self._core.namespace, repair=repair))
