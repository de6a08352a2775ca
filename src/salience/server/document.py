"""Other names of fields, which requests and answers may have: importance_score, threshold, results.

A search that uses one of them and names no profile is ranked by "six_factor", on whose scale a
threshold is a share.
"""

from __future__ import annotations

from typing import Any

from salience.errors import InvalidInput
from salience.search.results import Hit, SearchResult
from salience.server.models.arguments import Argument
from salience.server.models.constraints import RECORD
from salience.server.models.results import Renamed

PROFILE = "six_factor"
FILTER_FIELDS = ("tier", "memory_nature", "content_type")
_THRESHOLD = "threshold"
FILTER_ARGUMENTS = {
    name: Argument(
        str | None,
        f"Only memories of this {name}, as `filters` say it.",
        None,
        RECORD[name],
    )
    for name in FILTER_FIELDS
}
SEARCH_ARGUMENTS = {
    **FILTER_ARGUMENTS,
    _THRESHOLD: Argument(
        float | None,
        "Another name of min_score. With it (or tier, memory_nature, content_type) and without a "
        "profile, six_factor ranks, and the answer has `results`.",
        None,
    ),
}
RECORD_ARGUMENTS = {
    "importance_score": Argument(
        float | None, "Another name of importance.", None, RECORD["importance"]
    )
}

_HIT = Renamed("ResultHit", Hit, {"score": "combined_score", "importance": "importance_score"})
ANSWER = Renamed(
    "ResultsAnswer", SearchResult, {"min_score": _THRESHOLD, "hits": "results"}, {"results": _HIT}
)
"""The answer of a search in the other names."""


def rename(arguments: dict[str, Any], other: str, name: str) -> None:
    """Give an argument its own name.

    Raises:
        InvalidInput: both names are there.
    """
    if other not in arguments:
        return
    if name in arguments:
        raise InvalidInput(other, f"is another name of {name}", "give one of the two")
    arguments[name] = arguments.pop(other)


def translate_filters(arguments: dict[str, Any]) -> bool:
    """Make filters of the fields of a memory among the arguments; True if there were some."""
    names = [name for name in FILTER_FIELDS if name in arguments]
    values = {name: arguments.pop(name) for name in names}
    conditions = {name: value for name, value in values.items() if value is not None}
    if conditions:
        own = arguments.get("filters")
        arguments["filters"] = conditions if own is None else {"and": [own, conditions]}
    if names:
        arguments["profile"] = arguments.get("profile") or PROFILE
    return bool(names)


def translate_search(arguments: dict[str, Any]) -> bool:
    """Give the arguments of a search their own names; True if there were others."""
    is_document = translate_filters(arguments)
    if _THRESHOLD in arguments:
        rename(arguments, _THRESHOLD, "min_score")
        arguments["profile"] = arguments.get("profile") or PROFILE
        is_document = True
    return is_document


def search_answer(result: SearchResult) -> dict[str, Any]:
    """A search result in the other names."""
    values = {ANSWER.names.get(name, name): value for name, value in result.values().items()}
    hits: list[dict[str, Any]] = values["results"]
    values["results"] = [{_HIT.names.get(name, name): hit[name] for name in hit} for hit in hits]
    return values
