"""Log records of searches and upkeep: numbers, times and names of runs, never a memory's words."""

from __future__ import annotations

import logging

from salience.search.results import SearchResult

_searches = logging.getLogger("salience.search")
_upkeep = logging.getLogger("salience.upkeep")


def log_search(result: SearchResult, slow_ms: float | None) -> None:
    """Warn of a search that took longer than `slow_ms`; with DEBUG, tell what it went without."""
    ms = result.timings_ms
    if slow_ms is not None and ms["total"] > slow_ms:
        _searches.warning(
            "slow search: %.0f ms (embed %.0f, rank %.0f, read %.0f) for %d hits of %s",
            *(ms[step] for step in ("total", "embed", "rank", "read")),
            len(result),
            result.profile,
        )
    if result.degraded and _searches.isEnabledFor(logging.DEBUG):
        _searches.debug("search went without: %s", "; ".join(result.degraded))


def log_upkeep(namespace: str, work: str, count: int, run: str | None = None) -> None:
    """Tell what a step of upkeep did to how many memories; a step that did nothing is DEBUG."""
    level = logging.INFO if count else logging.DEBUG
    _upkeep.log(level, "%s: %d memories of the namespace %r%s", work, count, namespace, _run(run))


def _run(run: str | None) -> str:
    return "" if run is None else f" (run {run})"
