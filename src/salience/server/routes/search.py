"""Recall: a search, and a context."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from starlette.responses import Response

from salience.errors import InvalidInput
from salience.search.results import SearchResult
from salience.server import document
from salience.server.encoding import answer, large_answer
from salience.server.operation import Answer, Call, answers, check_reach

LARGE_HITS = 50  # in an answer that a thread encodes
MAX_EXPLAINED = 100  # hits of one search: each explanation is a tree of some hundred numbers


@answers(
    "search",
    plus=document.SEARCH_ARGUMENTS,
    answers={
        200: Answer(description="The hits, best first.", body=(SearchResult, document.ANSWER))
    },
)
async def search(call: Call) -> Response:
    """Search, and tell how long each step took."""
    is_document = document.translate_search(call.arguments)
    check_reach(call)
    _check_explained(call.arguments)
    began = perf_counter()
    result = await call.memory.search(**call.arguments)
    timings_ms = {"search": round((perf_counter() - began) * 1e3, 3), **result.timings_ms}
    call.log_found(len(result.hits), result.degraded)
    body = document.search_answer(result) if is_document else result
    is_large = call.arguments.get("explain") or len(result.hits) > LARGE_HITS
    response = await large_answer(body) if is_large else answer(body)
    steps = (f"{step};dur={ms}" for step, ms in timings_ms.items())
    response.headers["Server-Timing"] = ", ".join(steps)
    return response


def _check_explained(arguments: Mapping[str, Any]) -> None:
    """Refuse more explanations than a server makes while others wait."""
    limit = arguments.get("limit")
    if arguments.get("explain") is True and isinstance(limit, int) and limit > MAX_EXPLAINED:
        remedy = f"give at most {MAX_EXPLAINED}, or leave out explain and ask POST /v1/explain"
        raise InvalidInput("limit", f"is {limit} with explain", remedy)


@answers("get_context", plus=document.FILTER_ARGUMENTS)
async def get_context(call: Call) -> Response:
    """Write a context of the namespaces that the key has."""
    document.translate_filters(call.arguments)
    check_reach(call)
    context = await call.memory.get_context(**call.arguments)
    call.log_found(len(context.ids), context.degraded)
    return answer(context)
