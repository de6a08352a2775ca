"""Recall: search, a context, explanations and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

from starlette.responses import Response

from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.search.compare import Comparison
from salience.search.context import Context
from salience.search.explain import ExplainReport
from salience.search.results import SearchResult
from salience.server import document
from salience.server.encoding import answer, large_answer
from salience.server.models.arguments import Arguments
from salience.server.operation import (
    READ,
    Answer,
    Call,
    check_everywhere,
    check_namespaces,
    operation,
)
from salience.server.profiles import check_profile

TAG = "Recall"
LARGE_HITS = 50  # in an answer that a thread encodes
MAX_EXPLAINED = 100  # hits of one search: each explanation is a tree of some hundred numbers


@operation(
    "POST",
    "/search",
    Memory.search,
    scope=READ,
    tag=TAG,
    body=Arguments.of("SearchRequest", Memory.search, plus=document.SEARCH_ARGUMENTS),
    answers={
        200: Answer(description="The hits, best first.", body=(SearchResult, document.ANSWER))
    },
    errors=(404,),
    example={"query": "Where does Ana live?", "limit": 3},
)
async def search(call: Call) -> Response:
    """Search."""
    is_document = document.translate_search(call.arguments)
    check_namespaces(call, call.arguments.get("namespaces"))
    check_profile(call.arguments.get("profile"))
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


@operation(
    "POST",
    "/context",
    Memory.get_context,
    scope=READ,
    tag=TAG,
    body=Arguments.of("ContextRequest", Memory.get_context, plus=document.FILTER_ARGUMENTS),
    answers={200: Answer(description="The text, and the memories it comes from.", body=Context)},
    errors=(404,),
    example={"query": "Where does Ana live?", "max_tokens": 500, "format": "markdown"},
)
async def get_context(call: Call) -> Response:
    """Write a context."""
    document.translate_filters(call.arguments)
    sections = call.arguments.get("sections") or ()
    named = [section.get("namespace") for section in sections if isinstance(section, dict)]
    check_namespaces(call, named)
    check_profile(call.arguments.get("profile"))
    context = await call.memory.get_context(**call.arguments)
    call.log_found(len(context.ids), context.degraded)
    return answer(context)


@operation(
    "POST",
    "/explain",
    Memory.explain,
    scope=READ,
    tag=TAG,
    body=Arguments.of("ExplainRequest", Memory.explain),
    answers={200: Answer(description="The reasons.", body=ExplainReport)},
    errors=(404,),
    example={"query": "Where does Ana live?", "id": "note-1"},
)
async def explain(call: Call) -> Response:
    """Explain."""
    check_everywhere(call)
    check_namespaces(call, call.arguments.get("namespaces"))
    check_profile(call.arguments.get("profile"))
    return await large_answer(await call.memory.explain(**call.arguments))


@operation(
    "POST",
    "/compare",
    Memory.compare,
    scope=READ,
    tag=TAG,
    body=Arguments.of("CompareRequest", Memory.compare),
    answers={200: Answer(description="The memories, with a rank for each.", body=Comparison)},
    errors=(404,),
    example={"query": "Where does Ana live?", "profiles": ["balanced", "six_factor"]},
)
async def compare(call: Call) -> Response:
    """Compare profiles."""
    check_namespaces(call, call.arguments.get("namespaces"))
    for profile in call.arguments["profiles"]:
        check_profile(profile)
    comparison = await call.memory.compare(**call.arguments)
    call.log_found(len(comparison.memories), comparison.degraded)
    return answer(comparison)
