"""The runner of plans, on which every theme of methods stands."""

from __future__ import annotations

from salience.engine import time_travel
from salience.engine.core import Core
from salience.retrieval.plan import Plan, T, drive
from salience.search.request import Moment, past_time


class PlanRunner:
    """Runs plans over a core, and writes its trace if that is on."""

    _core: Core

    def _run(self, plan: Plan[T], *, searches: bool = False) -> T:
        """Run a plan, which perhaps searches; awaited, in a thread."""
        recovery, namespace = self._core.dispatcher.recovery, self._core.searches.namespace
        if recovery is not None and namespace not in recovery.namespaces:
            recovery.watch(namespace)
        return drive(plan, self._core.batch)  # sync only
        # async: return await self._core.run_in_thread(plan, searches=searches)

    def _run_at(self, plan: Plan[T], as_of: Moment) -> T:
        """Run a plan that reads the namespace, as it was at a time if one is given.

        Raises:
            InvalidInput: it is no time, or in the future.
        """
        at = past_time(as_of, self._core.searches)
        if at is not None:
            plan = time_travel.as_of(plan, (self._core.namespace,), at)
        return self._run(plan)
