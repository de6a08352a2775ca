"""Recorded searches: a file with a line of JSON for each, kept by those who ask for it.

A line holds the words of the query and the ids of the hits, and no text of a memory. With what is
said of the hits later, questions with known answers can be made of it: see
`salience.evaluation`.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salience.display.result import to_json
from salience.errors import InvalidInput
from salience.records.validation import file_path
from salience.search.request import SearchRequest
from salience.search.results import SearchResult

SEARCH_LOG_VARIABLE = "SALIENCE_SEARCH_LOG"
_logger = logging.getLogger("salience.search")


class SearchRecorder:
    """The file of recorded searches; several processes may write it at once.

    Raises:
        InvalidInput: the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(file_path("search_log", path)).absolute()
        try:
            self._append(b"")
        except OSError as problem:
            reason = f"{self._path} cannot be written: {problem.strerror}"
            raise InvalidInput("search_log", reason, "give a file in a folder") from None

    def record(self, request: SearchRequest, result: SearchResult, filters: object) -> None:
        """Append a search that counts accesses; others are of upkeep and evaluation."""
        if not request.touch or request.as_of is not None:
            return
        line: dict[str, Any] = {
            "search_id": result.search_id,
            "at": request.now.timestamp(),
            "namespaces": request.namespaces,
            "query": request.text,
            "profile": result.profile,
            "ids": [hit.id for hit in result.hits],
        }
        if filters is not None:  # one that is no mapping cannot be asked again
            line["filters"] = to_json(filters) if isinstance(filters, Mapping) else None
        try:
            self._append(json.dumps(line).encode() + b"\n")
        except (OSError, TypeError, ValueError) as problem:
            _logger.warning("a search could not be recorded in %s: %s", self._path, problem)

    def _append(self, line: bytes) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)  # a single write, so that lines of others are never between
        finally:
            os.close(file)


def recorder_for(path: str | os.PathLike[str] | None) -> SearchRecorder | None:
    """The recorder for a path, by default that of the environment's SALIENCE_SEARCH_LOG."""
    path = os.environ.get(SEARCH_LOG_VARIABLE) or None if path is None else path
    return None if path is None else SearchRecorder(path)


# Log records of searches and upkeep: numbers, times and names of runs, never a memory's words

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
