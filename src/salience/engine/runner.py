"""The runner of plans, on which every theme of methods stands."""

from __future__ import annotations

from salience.display.result import short_repr
from salience.engine.core import Core
from salience.retrieval.plan import Plan, T, drive

MAX_ON_LOOP = 100
"""Memories that a plan handles while an event loop waits for its steps; more, in a thread."""


class PlanRunner:
    """Runs plans over a core, and writes its trace if that is on."""

    _core: Core

    def __repr__(self) -> str:
        name, core = type(self).__name__, vars(self).get("_core")
        if core is None:
            return f"{name}(not open yet)"
        profile = core.searches.profile.name
        values = {"url": core.url, "namespace": core.namespace, "profile": profile}
        return short_repr(name, values)

    def _run(self, plan: Plan[T], memories: int = 1) -> T:
        """Run a plan that handles so many memories.

        Awaited, its steps are done on the loop if they are short and the store is awaitable, else
        in a thread.
        """
        recovery, namespace = self._core.dispatcher.recovery, self._core.searches.namespace
        if recovery is not None and namespace not in recovery.namespaces:
            recovery.watch(namespace)
        # async: if memories > MAX_ON_LOOP or not self._core.dispatcher.is_awaitable:
        # async:     return await self._core.run_in_thread(plan)
        return drive(plan, self._core.batch)

    def _run_long(self, plan: Plan[T]) -> T:
        """Run a plan whose steps may take long, however few memories it answers with."""
        return self._run(plan, MAX_ON_LOOP + 1)
