"""The life of a memory: what it is linked to, what takes its place, how alive it is."""

from __future__ import annotations

from datetime import datetime

from recollect.engine.core import Filters
from recollect.engine.face import AsyncFace, Face
from recollect.memory import Link
from recollect.zones import Zones


class Living(Face):
    """Link memories, let one take the place of another, see how alive each is."""

    def link(self, source: str, target: str, type: str = "mentions", weight: float = 1.0) -> None:
        """Link two memories: mentions, supports, contradicts, depends_on, same_as, supersedes.

        Raises:
            NotFound: one of them does not exist.
            InvalidInput: an unknown type, or a weight outside [0, 1].
        """
        self._run(self._core.link(source, target, type, weight))

    def supersede(self, old: str, new: str) -> None:
        """Let a memory take the place of an older one, which only few profiles still recall.

        Raises:
            NotFound: one of them does not exist.
        """
        self._run(self._core.supersede(old, new))

    def contradict(self, one: str, other: str) -> None:
        """Say that two memories contradict each other; recalled together, the weaker gives way.

        Raises:
            NotFound: one of them does not exist.
        """
        self._run(self._core.link(one, other, "contradicts", 1.0))

    def links(self, id: str | None = None) -> list[Link]:
        """The links from and to a memory, or all of the namespace."""
        return list(self._run(self._core.links(id)))

    def zones(self, filters: Filters = None, *, now: datetime | str | float | None = None) -> Zones:
        """How alive each memory is (active, stale, fading, archived), the liveliest first.

        A zone is a label worked out for a time, the present by default; nothing is moved.
        """
        return self._run(self._core.zones(filters, now))


class AsyncLiving(AsyncFace):
    """`Living`, awaited."""

    async def link(
        self, source: str, target: str, type: str = "mentions", weight: float = 1.0
    ) -> None:
        """See `Memory.link`."""
        await self._run(self._core.link(source, target, type, weight))

    async def supersede(self, old: str, new: str) -> None:
        """See `Memory.supersede`."""
        await self._run(self._core.supersede(old, new))

    async def contradict(self, one: str, other: str) -> None:
        """See `Memory.contradict`."""
        await self._run(self._core.link(one, other, "contradicts", 1.0))

    async def links(self, id: str | None = None) -> list[Link]:
        """See `Memory.links`."""
        return list(await self._run(self._core.links(id)))

    async def zones(
        self, filters: Filters = None, *, now: datetime | str | float | None = None
    ) -> Zones:
        """See `Memory.zones`."""
        return await self._run(self._core.zones(filters, now))
