"""Recorded searches: a file with a line of JSON for each, kept by those who ask for it.

A line holds the words of the query and the ids of the hits, and no text of a memory. With what is
said of the hits later, questions with known answers can be made of it: see
`salience.evaluation`.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from salience.closing import regular_file
from salience.display.result import Result, to_json
from salience.errors import InvalidInput
from salience.lazily import dataclass
from salience.records.validation import file_path
from salience.retrieval.cursor import encode_search_cursor, parse_search_cursor
from salience.retrieval.plan import Plan
from salience.search.request import SearchRequest
from salience.search.results import SearchResult

SEARCH_LOG_VARIABLE = "SALIENCE_SEARCH_LOG"
_REMEDY = "give a file that Memory.open(search_log=FILE) has kept"
_logger = logging.getLogger("salience.search")


@dataclass(frozen=True, repr=False)
class RecordedSearch(Result):
    """A search in one namespace: what was asked when, by which filters, and the ids of its hits.

    `probability` is that of an answer among the hits, and `ms` the milliseconds that the search
    took; each is None where it was not known.
    """

    _shown = ("id", "at", "query", "probability")

    id: str
    at: datetime
    namespace: str
    query: str
    profile: str
    ids: tuple[str, ...]
    filters: Mapping[str, Any] | None
    probability: float | None
    ms: float | None = None

    @classmethod
    def of(cls, line: str) -> RecordedSearch | None:
        """The search of a line; None if it had several namespaces, or a filter that is no mapping.

        Raises:
            ValueError, KeyError, TypeError, IndexError, OverflowError, OSError: it is no search.
        """
        values = json.loads(line)
        namespaces, filters = values["namespaces"], values.get("filters")
        search = cls(
            values["search_id"],
            datetime.fromtimestamp(values["at"], timezone.utc),
            namespaces[0],
            values["query"],
            values.get("profile", ""),
            tuple(values["ids"]),
            filters,
            values.get("probability"),
            values.get("ms"),
        )
        is_whole = len(namespaces) == 1 and ("filters" not in values or filters is not None)
        return search if is_whole else None


@dataclass(frozen=True, repr=False)
class SearchPage(Result):
    """Recorded searches, newest first, and the cursor of the next page (None at the end).

    `is_kept` is False where no searches are recorded.
    """

    searches: tuple[RecordedSearch, ...]
    cursor: str | None = None
    is_kept: bool = True

    def __iter__(self) -> Iterator[RecordedSearch]:
        return iter(self.searches)

    def __len__(self) -> int:
        return len(self.searches)


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a file of recorded searches."""
    try:
        with regular_file(path) as file:
            return file.read().decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput("log", f"{path} cannot be read: {problem}", _REMEDY) from None


def parse_line(path: object, number: int, line: str) -> RecordedSearch | None:
    """The search of a numbered line of a file, as `RecordedSearch.of` has it.

    Raises:
        InvalidInput: it is no search.
    """
    try:
        return RecordedSearch.of(line)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, OSError) as problem:
        reason = f"{path}, line {number}, is no search ({type(problem).__name__}: {problem})"
        raise InvalidInput("log", reason, _REMEDY) from None


def recorded(
    recorder: SearchRecorder | None,
    namespace: str,
    after: str | None,
    limit: int,
    below: float | None,
) -> Plan[SearchPage]:
    """The plan of reading searches before a cursor, newest first; see `Memory.inspect.searches`.

    It asks nothing of the store.

    Raises:
        InvalidInput: the cursor is none of a page of searches, or a line is no search.
    """
    yield from ()
    end = parse_search_cursor(after)
    if recorder is None:
        return SearchPage((), is_kept=False)
    lines = recorder.lines()
    searches: list[RecordedSearch] = []
    for number in range(len(lines) if end is None else min(end, len(lines)), 0, -1):
        search = parse_line(recorder.path, number, lines[number - 1])
        if search is None or search.namespace != namespace:
            continue
        if below is not None and not (
            search.probability is not None and search.probability < below
        ):
            continue
        if len(searches) == limit:
            return SearchPage(tuple(searches), encode_search_cursor(number))
        searches.append(search)
    return SearchPage(tuple(searches))


class SearchRecorder:
    """The file of recorded searches; several processes may write it at once.

    Raises:
        InvalidInput: the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(file_path("search_log", path)).absolute()
        try:
            self._append(b"")
        except OSError as problem:
            reason = f"{self.path} cannot be written: {problem.strerror}"
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
            "probability": to_json(result.probability),
            "ms": round(result.timings_ms["total"], 3),
        }
        if filters is not None:  # one that is not a mapping cannot be asked again
            line["filters"] = to_json(filters) if isinstance(filters, Mapping) else None
        try:
            self._append(json.dumps(line).encode() + b"\n")
        except (OSError, TypeError, ValueError) as problem:
            _logger.warning("a search could not be recorded in %s: %s", self.path, problem)

    def lines(self) -> list[str]:
        """The lines of the file, oldest first."""
        return read_lines(self.path)

    def _append(self, line: bytes) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
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
