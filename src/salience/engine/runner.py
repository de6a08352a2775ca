"""The runner of plans, on which every theme of methods stands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from salience.display.result import short_repr
from salience.engine.core import Core
from salience.retrieval.operations import Op
from salience.retrieval.plan import Plan, T, drive


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

    def _run(self, plan: Plan[T]) -> T:
        if self._core.trace is not None:
            return drive(plan, self._traced_batch)
        return drive(plan, self._core.dispatcher.batch)

    def _traced_batch(self, ops: Sequence[Op]) -> list[Any]:
        from salience.engine.trace import trace_line  # needed only when it is on

        started = time.perf_counter()
        try:
            return self._core.dispatcher.batch(ops)
        finally:
            elapsed_ms = (time.perf_counter() - started) * 1e3
            if self._core.trace is not None:
                self._core.trace(trace_line(ops, elapsed_ms))
