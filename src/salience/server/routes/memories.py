"""Memories: what adds, changes and erases them has more to do than to pass arguments on."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from time import perf_counter
from typing import IO, Annotated, Any, Literal, cast

from starlette.responses import Response, StreamingResponse

from salience.api.parameters import Bounds
from salience.display.result import to_json
from salience.engine.memory import Memory
from salience.engine.write_api import CONTENT
from salience.errors import InvalidInput
from salience.lazily import replace
from salience.records.field_filters import IDS, OF_FIELD
from salience.records.record import MemoryRecord
from salience.retrieval.erasure import ErasureReceipt
from salience.search.explain import ExplainReport
from salience.search.results import SearchResult
from salience.server import document
from salience.server.encoding import NDJSON, answer, large_answer, nothing
from salience.server.models.arguments import Argument, Arguments, parameters
from salience.server.models.components import CHANGES
from salience.server.operation import Answer, Call, answers, check_reach
from salience.write.facets import FACETS
from salience.write.idempotency import SAME_KEY
from salience.write.outcomes import AddResult
from salience.write.reading import not_found

# A pipe: what a thread writes, an event loop reads, and neither runs far ahead of the other

_CHUNK_BYTES = 64 << 10
_MOST_CHUNKS = 16  # that wait to be read


class Pipe:
    """A file for a writer in a thread, and an asynchronous iterator of chunks for a reader."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0
        self._chunks: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._ready = asyncio.Event()
        self._is_complete = False
        self._is_closed = False
        self._error: BaseException | None = None

    def write(self, part: bytes) -> int:
        """Write a part; waits while the reader is far behind.

        Raises:
            BrokenPipeError: nobody reads any more.
        """
        self._parts.append(part)
        self._size += len(part)
        if self._size >= _CHUNK_BYTES:
            self._pass_on()
        return len(part)

    def _pass_on(self) -> None:
        chunk = b"".join(self._parts)
        self._parts, self._size = [], 0
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._chunks) < _MOST_CHUNKS)
            if self._is_closed:
                raise BrokenPipeError("nobody reads any more")
            if chunk:
                self._chunks.append(chunk)
        self._loop.call_soon_threadsafe(self._ready.set)

    async def filled_by(self, writing: Awaitable[Any]) -> None:
        """Await the writer; the reader gets its error."""
        try:
            await writing
            await asyncio.to_thread(self._pass_on)
        except BaseException as problem:
            self._error = problem
            if isinstance(problem, asyncio.CancelledError):
                raise
        finally:
            self._is_complete = True
            self._ready.set()

    def __aiter__(self) -> Pipe:
        return self

    async def __anext__(self) -> bytes:
        while True:
            with self._changed:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._changed.notify()
                    return chunk
                self._ready.clear()
            if self._is_complete:
                if self._error is not None and not self._is_closed:
                    raise self._error
                raise StopAsyncIteration
            await self._ready.wait()

    def close(self) -> None:
        """Stop reading; the writer is told at its next part."""
        with self._changed:
            self._is_closed = True
            self._chunks.clear()
            self._changed.notify()


MAX_BATCH = 2_048  # items, and ids, of one request
_ADDED = (AddResult, document.ADD_ANSWER)
_EXTRACT = Argument(
    bool | None, "True to keep the facts that the server's model finds in it, as well.", None
)
_CONTENT = Argument(
    Annotated[str | Sequence[Mapping[str, Any]], CONTENT], "A text, or chat messages."
)
_FACETS = Argument(
    Annotated[dict[str, str] | None, Bounds(names=FACETS, values=OF_FIELD["content"].keywords)],
    "Texts by facet, or null for none; by rules by default.",
    None,
)
_ITEMS = Argument(
    Annotated[list[Annotated[Any, Bounds.of("BatchItem")]], Bounds(maxItems=MAX_BATCH)],
    f"Texts, or objects with the fields of a memory; at most {MAX_BATCH:,}.",
)


@answers(
    "add",
    plus={"content": _CONTENT, "extract": _EXTRACT},
    answers={
        201: Answer(description="It was added.", body=_ADDED),
        200: Answer(description="Nothing new was stored; the outcome says why.", body=_ADDED),
    },
    headers=("Idempotency-Key",),
)
async def add(call: Call) -> Response:
    """Add once, with the server's own model if facts are to be found."""
    is_document = document.rename(call.arguments, "importance_score", "importance")
    if call.arguments.get("extract"):
        call.arguments["extract"] = call.server.extractor or True
    result = await call.memory.add(**call.once_only())
    id = result.to_dict()["id"] if is_document else None
    return added(call, result, record=None if id is None else await call.memory.get(id))


@answers("add_many", plus={"items": _ITEMS})
async def add_many(call: Call) -> Response:
    """Add as many as a request may have, each once."""
    _check_batch("items", items := call.arguments["items"])
    for item in items:
        if isinstance(item, dict) and "idempotency_key" in item:
            item["idempotency_key"] = call.own_key(item["idempotency_key"])
    return added(call, await call.memory.add_many(**call.once_only()), status=200)


@answers(
    "add_chat",
    plus={"facets": _FACETS},
    answers={200: Answer(description="Nothing new was stored.", body=AddResult)},
    headers=("Idempotency-Key",),
)
async def add_chat(call: Call) -> Response:
    """Add a chat once."""
    return added(call, await call.memory.add_chat(**call.once_only()))


def added(
    call: Call,
    result: AddResult,
    status: int | None = None,
    record: MemoryRecord | None = None,
) -> Response:
    """The answer to a write, with the scores of a `record`, if there is one."""
    state = call.request.state
    state.counts["added"] = len(result.ids)
    state.is_repeated = any(each.reason == SAME_KEY for each in result.items)
    return answer(document.scored(result, record), status or (201 if result.ids else 200))


def _check_batch(name: str, items: list[Any]) -> None:
    """Refuse more items than one request takes."""
    if len(items) > MAX_BATCH:
        raise InvalidInput(
            name, f"has more than {MAX_BATCH:,} elements", "send them in several requests"
        )


@answers(
    "delete_all",
    needs_body=True,
    body=Arguments(
        "DeleteRequest",
        {
            "ids": Argument(Annotated[list[str], IDS], "The ids of the memories to erase.", None),
            "filters": Argument(
                Annotated[Any, Bounds.of("Filters")],
                "A condition; all memories that meet it are erased.",
                None,
            ),
            "all": Argument(Literal[True], "True to erase the whole namespace.", None),
        },
        one_of=(("ids", "filters", "all"),),
    ),
    answers={
        200: Answer(
            description="How many there were; with filters or all, the receipt of the erasure.",
            body={"deleted": int, "receipt": ErasureReceipt | None, "restored": list[str]},
        )
    },
)
async def delete_all(call: Call) -> Response:
    """Erase by ids, by a filter, or all."""
    ids, filters, everything = (call.take(name) for name in ("ids", "filters", "all"))
    if ids is not None:
        erased = await call.done_once("delete_many", {"ids": ids})
        restored = list(erased.restored)
        return answer({"deleted": int(erased), "receipt": None, "restored": restored})
    namespace = call.namespace if everything else None
    erasing = {"filters": filters, "namespace": namespace}
    receipt = await call.done_once("delete_all", erasing)
    whole_receipt, restored = receipt.to_dict(), list(receipt.restored)
    return answer({"deleted": receipt.memories, "receipt": whole_receipt, "restored": restored})


@answers(
    "update",
    body=Arguments("UpdateRequest", {**CHANGES, **document.RECORD_ARGUMENTS}),
    needs_body=True,
    headers=("If-Match", "Idempotency-Key"),
)
async def update(call: Call) -> Response:
    """Change the fields that judgements set, too."""
    is_document = document.rename(call.arguments, "importance_score", "importance")
    call.arguments.setdefault("if_version", call.if_match())
    changed = await call.done_once("update", {"id": call.id, **call.arguments})
    return document.stored(changed, is_document)


@answers(
    "delete",
    headers=("If-Match", "Idempotency-Key"),
    answers={
        200: Answer(
            description="It is erased, and what it had superseded or merged holds again.",
            body={"deleted": int, "restored": list[str]},
        ),
        204: Answer(description="It is erased."),
    },
)
async def delete(call: Call) -> Response:
    """Erase one, if it has the version that is asked for."""
    erased = await call.done_once("delete", {"id": call.id, "if_version": call.if_match()})
    if not erased:
        raise not_found(call.id, call.namespace)
    if erased.restored:
        return answer({"deleted": int(erased), "restored": list(erased.restored)})
    return nothing()


# Recall: a search, and a context

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


_OF_ONE = parameters(Memory.explain)


@answers(
    "explain",
    body=Arguments(
        "ExplainRequest",
        {
            **_OF_ONE,
            "id": replace(_OF_ONE["id"], default=None),
            "ids": replace(parameters(Memory.explain_many)["ids"], default=None),
        },
        one_of=(("id", "ids"),),
    ),
    needs_body=True,
    answers={
        200: Answer(
            description="The reasons; those of each memory if there are ids.",
            body=(ExplainReport, {"reports": list[ExplainReport]}),
        )
    },
)
async def explain(call: Call) -> Response:
    """Explain one memory, or several of one ranking."""
    check_reach(call)
    if "id" in call.arguments:
        return await large_answer(await call.memory.explain(**call.arguments))
    reports = await call.memory.explain_many(**call.arguments)
    return await large_answer({"reports": to_json(reports)})


@answers("get_context", plus=document.FILTER_ARGUMENTS)
async def get_context(call: Call) -> Response:
    """Write a context of the namespaces that the key has."""
    document.translate_filters(call.arguments)
    check_reach(call)
    context = await call.memory.get_context(**call.arguments)
    call.log_found(len(context.ids), context.degraded)
    return answer(context)


# Everything out of a namespace and back, as lines of JSON

_MEMORY_BYTES = 8 << 20  # of an upload that is kept in memory; a longer one goes to a file


@answers(
    "export",
    answers={200: Answer(description="Lines of JSON.", body=str, content_type=NDJSON)},
)
async def export(call: Call) -> Response:
    """Send what an export writes, as it is written."""
    check_reach(call)
    pipe = Pipe(asyncio.get_running_loop())
    writing = asyncio.create_task(
        pipe.filled_by(call.memory.export(cast(IO[bytes], pipe), **call.arguments))
    )
    try:
        first = await anext(pipe)  # an error before it is answered as a problem
    except BaseException:
        pipe.close()
        raise

    async def chunks() -> AsyncIterator[bytes]:
        try:
            yield first
            async for chunk in pipe:
                yield chunk
        finally:
            pipe.close()
            await writing

    return StreamingResponse(chunks(), media_type=NDJSON)


@answers("load", body_type=NDJSON)
async def load(call: Call) -> Response:
    """Take all lines, and then write them."""
    check_reach(call)
    with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as file:
        async for chunk in call.request.stream():
            file.write(chunk)
        file.seek(0)
        return answer(await call.memory.load(file, **call.arguments))
