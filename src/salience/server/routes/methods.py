"""The methods of `Memory` as operations: from the table, their signatures and their docstrings."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any, get_type_hints

from starlette.responses import Response, StreamingResponse

from salience.api.operations import GROUPS
from salience.api.operations import Operation as Row
from salience.api.parameters import NOT_GIVEN
from salience.display.result import to_json
from salience.engine.judgment_api import MAX_WAIT_SECONDS
from salience.engine.memory import Memory
from salience.records.record import MemoryRecord
from salience.records.validation import number
from salience.search.compare import Comparison
from salience.server import document
from salience.server.encoding import EVENTS, encoded, large_answer, nothing
from salience.server.guard.request import STOPPING
from salience.server.models.arguments import Argument, Arguments, parameters
from salience.server.models.schema import union_parts
from salience.server.operation import (
    OWN,
    Answer,
    Call,
    Endpoint,
    Operation,
    answers,
    check_reach,
    described,
)
from salience.server.problems import log_failure, problem_of, request_id
from salience.write.reading import not_found

_WAIT_SECONDS = 1.0  # after which a request that waits looks whether the server is to stop
_NOTHING: tuple[Any, ...] = (NoneType, bool)


def operations() -> Iterator[Operation]:
    """The operations of all methods; a path that answers for two has that of the first."""
    routes = set[str]()
    for heading, rows in GROUPS.items():
        for row in rows:
            if row.route not in routes:
                routes.add(row.route)
                yield _operation(row, heading)


def _operation(row: Row, heading: str) -> Operation:
    """The operation of a row, with what its own function says, if it has one."""
    method = row.of(Memory)
    endpoint, details = OWN.get(row.name) or (_endpoint(row, method), {})
    changed = {name: each for name, each in details.items() if name not in ("plus", "answers")}
    members, one_of = _members(row, method, details.get("plus", {}))
    in_query = row.verb == "GET" or "body_type" in changed
    arguments = None
    if members and row.verb != "DELETE":
        name = "".join(map(str.capitalize, (row.schema or row.word).split("_")))
        arguments = Arguments(name + ("Query" if in_query else "Request"), members, one_of)
    needs_body = bool(one_of) or any(member.is_required for member in members.values())
    derived = {
        "query" if in_query else "body": arguments,
        "needs_body": needs_body or "body_type" in changed,
        "answers": _answers(row, method) | details.get("answers", {}),
        "errors": (*row.errors, *((412,) if _accepts(method, "if_version") else ())),
        "headers": ("If-Match",) if _accepts(method, "id", "if_version") else (),
        "example": None if arguments is None or in_query else row.example,
    }
    return Operation(
        id=row.id or row.word,
        method=row.verb,
        path=row.path,
        endpoint=endpoint,
        summary=row.title,
        description=described(method),
        tag=heading,
        scope=row.scope,
        **{**derived, **changed},
    )


def _members(
    row: Row, method: Callable[..., Any], plus: Mapping[str, Argument]
) -> tuple[dict[str, Argument], list[tuple[str, ...]]]:
    """The arguments of an operation, and the groups of names of which one is needed."""
    members, one_of = parameters(method), list[tuple[str, ...]]()
    for name in (*row.without, *(["id"] if "{id}" in row.path else ())):
        del members[name]
    for name, value in row.defaults.items():
        members[name] = replace(members[name], default=value)
    for other, name in row.renamed.items():
        if members[name].is_required:
            one_of.append((name, other))
            members[name] = replace(members[name], default=None)
        members[other] = replace(members[name], description=f"Another name of {name}.")
    return {**members, **plus}, one_of


def _accepts(method: Callable[..., Any], *names: str) -> bool:
    """Test whether a method has parameters of some names."""
    return set(names) <= inspect.signature(method).parameters.keys()


def _answers(row: Row, method: Callable[..., Any]) -> dict[int, Answer]:
    """The answer of an operation, by its status: the result of the method, or one member of it."""
    kind = get_type_hints(method)["return"]
    if kind in _NOTHING:
        return {row.status or 204: Answer(description=row.means or "It is done.")}
    if row.absent is None:
        [kind] = [part for part in union_parts(kind) if part is not NoneType]
    is_record = kind is MemoryRecord
    means = row.means or "The memory as it is now."
    body = {row.member: kind} if row.member else kind
    if is_record and row.renamed:
        body = (kind, document.RECORD_ANSWER)
    tells = _accepts(method, "progress")
    return {
        row.status or 200: Answer(description=means, body=body, has_etag=is_record, tells=tells)
    }


def _endpoint(row: Row, method: Callable[..., Any]) -> Endpoint:
    """The function that answers for a method: it checks, calls, and renders the result."""
    has_version = _accepts(method, "id", "if_version")
    tells = _accepts(method, "progress")
    gives_nothing = get_type_hints(method)["return"] in _NOTHING

    async def answered(call: Call) -> Response:
        names = [document.rename(call.arguments, *pair) for pair in row.renamed.items()]
        check_reach(call)
        if has_version:
            call.arguments.setdefault("if_version", call.if_match())
        if "{id}" in row.path:
            call.arguments["id"] = call.id
        arguments = {**row.defaults, **call.arguments}
        if tells and EVENTS in call.request.headers.get("accept", ""):
            return await _progress_events(row, call, arguments)
        if row.is_repeatable:
            result = await row.of(call.memory)(**arguments)
        else:
            result = await call.done_once(row.name, arguments)
        if row.absent is not NOT_GIVEN and result == row.absent:
            what = "question" if row.path.startswith("/questions/") else "memory"
            raise not_found(call.id, call.namespace, what)
        if isinstance(result, Comparison):
            call.log_found(len(result.memories), result.degraded)
        return nothing() if gives_nothing else await _rendered(row, result, any(names))

    return answered


async def _progress_events(row: Row, call: Call, arguments: Mapping[str, Any]) -> Response:
    """The progress of a call as events, and in the end its answer, or the problem.

    What goes wrong before there is progress is answered as a problem alone.
    """
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None]()

    def progress(*counts: Any) -> None:  # a step, where there are several, and the counts
        *steps, done, of = counts
        line = {"progress": {"step": "".join(steps) or row.word, "done": done, "of": of}}
        loop.call_soon_threadsafe(lines.put_nowait, line)

    running = asyncio.create_task(call.done_once(row.name, arguments, progress=progress))
    running.add_done_callback(lambda _: lines.put_nowait(None))
    try:
        first = await lines.get()
        if first is None:
            await running
    except BaseException:
        running.cancel()
        raise

    async def events() -> AsyncIterator[bytes]:
        line = first
        try:
            while line is not None:
                yield b"data: " + encoded(line) + b"\n\n"
                line = await lines.get()
            last = await asyncio.to_thread(encoded, await _ended(row, call, running))
            yield b"data: " + last + b"\n\n"
        finally:
            running.cancel()

    return StreamingResponse(events(), media_type=EVENTS)


async def _ended(row: Row, call: Call, running: asyncio.Task[Any]) -> dict[str, Any]:
    """The answer of a task that has ended, or its problem."""
    try:
        result = to_json(await running)
        return {"answer": {row.member: result} if row.member else result}
    except Exception as error:
        call.server.readiness.doubt(error)
        problem, id = problem_of(error), request_id(call.request.scope)
        if problem.status >= 500:
            log_failure(id, error)
        return {"problem": problem.to_dict(id)}


@answers("events")
async def events(call: Call) -> Response:
    """List events; a wait for one ends when the server is to stop."""
    left = number("wait", call.take("wait"), MAX_WAIT_SECONDS) or 0.0
    while True:
        now = min(left, _WAIT_SECONDS)
        page = await call.memory.events(**call.arguments, wait=now)
        left -= now
        if page.events or left <= 0.0 or getattr(call.request.state, STOPPING, False):
            return await large_answer(page)


async def _rendered(row: Row, result: Any, is_document: bool) -> Response:
    """The answer with the result of a method: a memory with its version, or JSON."""
    if isinstance(result, MemoryRecord):
        return document.stored(result, is_document)
    if row.member:
        return await large_answer({row.member: to_json(result)})
    return await large_answer(result)
