"""The runner of plans, on which every theme of methods stands."""

from __future__ import annotations

from salience.engine.core import Core
from salience.retrieval.plan import Plan, T, drive

MANY = 101
"""Memories that a plan handles in a thread; an event loop may wait for the steps of fewer."""


class PlanRunner:
    """Runs plans over a core, and writes its trace if that is on."""

    _core: Core

    def _run(self, plan: Plan[T], memories: int = 1, *, searches: bool = False) -> T:
        """Run a plan that handles so many memories, and perhaps searches.

        Awaited, its steps are done on the loop if they are short and the store is awaitable, else
        in a thread.
        """
        recovery, namespace = self._core.dispatcher.recovery, self._core.searches.namespace
        if recovery is not None and namespace not in recovery.namespaces:
            recovery.watch(namespace)
        # async: if memories >= MANY or not self._core.dispatcher.is_awaitable:
        # async:     return await self._core.run_in_thread(plan, searches=searches)
        return drive(plan, self._core.batch)

    def _run_upkeep(self, plan: Plan[T]) -> T:
        """Run a plan that may read a whole namespace."""
        return self._run(plan, MANY)  # sync only
        # async: return await self._core.run_in_thread(plan)
