"""What every part of a face stands on: a core, and how a plan is run."""

from __future__ import annotations

from salience.engine.core import Core
from salience.retrieval.plan import Plan, T, adrive, drive


class PlanRunner:
    """Runs plans at once."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _run(self, plan: Plan[T]) -> T:
        return drive(plan, self._core.world.batch)


class AsyncFace:
    """Runs plans for asyncio."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def _run(self, plan: Plan[T]) -> T:
        return await adrive(plan, self._core.world.abatch)
