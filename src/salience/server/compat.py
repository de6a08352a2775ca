"""mem0's paths: those that its published clients ask, and those of its own server.

A client is given the host `http://.../compat/mem0` and a key of salience. The namespace of the key
bounds all that it finds; `user_id`, `agent_id`, `app_id` and `run_id` are fields within it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal

import msgspec
from starlette.responses import Response

from salience.api.operations import DELETE, READ, WRITE, Scope
from salience.errors import InvalidInput, shown
from salience.integrations.mem0.calls import UNSET, Calls, changes_of, told_of
from salience.integrations.mem0.filters import ENTITIES, conditions, entity_filter
from salience.integrations.mem0.shapes import (
    MemoryNotFoundError,
    ids_of,
    memory_of,
    platform_memory_of,
)
from salience.records.record import MemoryRecord
from salience.retrieval.plan import T, in_thread
from salience.retrieval.turnstile import until_cancelled
from salience.search.listing import MAX_PAGE
from salience.server.encoding import JSON, large_answer
from salience.server.operation import ANY_SCOPE, Call, Operation
from salience.server.problems import Problem, ProblemResponse, Refused

PREFIX: Final = "/compat/mem0"
OPERATIONS: list[Operation] = []
"""All operations; they are not in the document, as the clients of mem0 know them."""

Body = dict[str, Any]
_Answer = Callable[[Call], Awaitable[Any]]
_MAX_BATCH = 1_000
_MAX_EXPORT_BYTES = 1 << 20  # of what the id of an export says
_DEFAULT_PAGE, _LARGEST_PAGE = 100, 1_000
_KINDS = {"POSITIVE": "useful", "NEGATIVE": "not_useful", "VERY_NEGATIVE": "incorrect"}
_NO_JUDGEMENT = {"feedback_for": None, "feedback_against": None, "review": None}
_ENTITY_TYPES = {name.removesuffix("_id"): name for name in ENTITIES}
_HARMLESS = frozenset({"output_format", "version", "source", "org_id", "project_id", "async_mode"})
"""Fields that clients send, and that change nothing here."""


def route(method: str, *paths: str, scope: Scope | Literal[""]) -> Callable[[_Answer], _Answer]:
    """Enter a function as the operation of a method on some paths; its result is the body."""

    def enter(function: _Answer) -> _Answer:
        async def endpoint(call: Call) -> Response:
            try:
                return await large_answer(await function(call))
            except Exception as error:  # its clients look for the reason in plain JSON alone
                return ProblemResponse(error, JSON)  # type: ignore[return-value]

        for path in paths:
            operation = Operation(
                id=f"mem0_{function.__name__}",
                method=method,
                path=path,
                prefix=PREFIX,
                endpoint=endpoint,
                summary=(function.__doc__ or "").rstrip("."),
                description="",
                tag="mem0",
                scope=scope,
            )
            OPERATIONS.append(operation)
        return function

    return enter


@route("GET", "/v1/ping/", scope=ANY_SCOPE)
async def ping(call: Call) -> Body:
    """Tell that the key is valid."""
    owners = {"org_id": "salience", "project_id": call.namespace}  # without them no client opens
    return {"status": "ok", **owners, "user_email": None}


@route("POST", "/v3/memories/add/", "/v1/memories/", "/memories", scope=WRITE)
async def add(call: Call) -> Body:
    """Add messages, or the facts in them."""
    body = await _body(call)
    filters = _own_filters(body) or {}
    ids = {name: body.pop(name, None) or filters.get(name) for name in ENTITIES}
    messages = body.pop("messages", None)
    names = ("metadata", "expiration_date", "memory_type", "prompt")
    options = {name: body.pop(name, None) for name in names}
    options["at"] = body.pop("timestamp", None)
    wishes = [body.pop(name, None) for name in ("custom_instructions", "agent_custom_instructions")]
    of_agent = ids["agent_id"] is not None and ids["user_id"] is None
    options["prompt"] = options["prompt"] or (wishes[1] if of_agent else None) or wishes[0]
    infer = body.pop("infer", None) is not False
    added = await _run(call, lambda calls: calls.add(messages, ids, infer=infer, **options))
    call.request.state.counts["added"] = len(added["results"])
    return _noted(added, body)


@route("POST", "/v3/memories/search/", "/v2/memories/search/", "/v1/memories/search/", scope=READ)
async def search(call: Call) -> Body:
    """Find memories."""
    return await _search_results(call, platform_memory_of)


@route("POST", "/search", scope=READ)
async def search_of_server(call: Call) -> Body:
    """Find memories, as mem0's own server answers."""
    return await _search_results(call, memory_of)


@route("POST", "/v3/memories/", "/v2/memories/", scope=READ)
async def list_memories(call: Call) -> Body:
    """List memories, page by page."""
    body = await _body(call)
    query = call.request.query_params
    page = _whole("page", query.get("page") or body.pop("page", 1))
    size = _whole(
        "page_size", query.get("page_size") or body.pop("page_size", _DEFAULT_PAGE), _LARGEST_PAGE
    )
    return _noted(await _page(call, body, page, size), body)


@route("GET", "/v1/memories/", scope=READ)
async def list_by_query(call: Call) -> Body:
    """List the memories of the ids in the query, page by page."""
    query = dict(call.request.query_params)
    page = _whole("page", query.pop("page", 1))
    size = _whole("page_size", query.pop("page_size", _DEFAULT_PAGE), _LARGEST_PAGE)
    return _noted(await _page(call, query, page, size), query)


@route("GET", "/memories", scope=READ)
async def list_of_server(call: Call) -> Body:
    """List the memories of the ids in the query, as mem0's own server answers."""
    query = dict(call.request.query_params)
    top_k = _whole(
        "top_k", query.pop("top_k", None) or query.pop("limit", None) or 20, _LARGEST_PAGE
    )
    filters = _filters(query)
    listed, _ = await _run(call, lambda calls: calls.get_all(filters, top_k=top_k), memory_of)
    return _noted({"results": listed}, query)


@route("GET", "/v1/memories/{id}/", scope=READ)
async def get(call: Call) -> Body:
    """Get a memory."""
    return await _existing(call, platform_memory_of)


@route("GET", "/memories/{id}", scope=READ)
async def get_of_server(call: Call) -> Body:
    """Get a memory, as mem0's own server answers."""
    return await _existing(call, memory_of)


@route("PUT", "/v1/memories/{id}/", "/memories/{id}", scope=WRITE)
async def update(call: Call) -> Body:
    """Change the text, metadata or expiration of a memory."""
    body = await _body(call)
    text = body.pop("text", None) or body.pop("data", None) or body.pop("memory", None)
    until = body.pop("expiration_date", UNSET)
    metadata, time = body.pop("metadata", None), body.pop("timestamp", None)
    await _run(call, lambda calls: calls.update(call.id, text, metadata, until, time))
    return _noted(await _existing(call, platform_memory_of), body)


@route("DELETE", "/v1/memories/{id}/", "/memories/{id}", scope=DELETE)
async def delete(call: Call) -> Body:
    """Erase a memory."""
    linked = call.request.query_params.get("delete_linked", "").lower() == "true"
    return await _run(call, lambda calls: calls.delete(call.id, delete_linked=linked))


@route("DELETE", "/v1/memories/", "/memories", scope=DELETE)
async def delete_all(call: Call) -> Body:
    """Erase the memories of the ids in the query."""
    query = dict(call.request.query_params)
    ids = {name: query.pop(name, None) for name in ENTITIES}
    for name in query.keys() - _HARMLESS:  # that is passed over would erase more than was meant
        raise InvalidInput(name, "is not taken here", f"give {', '.join(ENTITIES)}")
    count = await _run(call, lambda calls: calls.delete_all(ids))
    return told_of({"message": "Memories deleted successfully!", "deleted": int(count)}, count)


@route("GET", "/v1/memories/{id}/history/", "/memories/{id}/history", scope=READ)
async def history(call: Call) -> list[Body]:
    """List the changes of a memory."""
    return await _run(call, lambda calls: calls.history(call.id))


@route("PUT", "/v1/batch/", scope=WRITE)
async def batch_update(call: Call) -> Body:
    """Change several memories; none of them if one is not there, or a change is wrong."""
    items = _batch(await _body(call))
    ids = [id for id, _ in items]
    for id, record in zip(ids, await call.memory.get_many(ids), strict=True):
        if record is None:
            raise MemoryNotFoundError(id)
    for place, (_, item) in enumerate(items):
        try:
            changes_of(item.get("text"), item.get("metadata"))
        except InvalidInput as wrong:
            path = f"memories[{place}].{wrong.field}"
            raise InvalidInput(path, wrong.problem, wrong.remedy) from None
    for id, item in items:
        text, metadata = item.get("text"), item.get("metadata")
        await _run(call, partial(Calls.update, memory_id=id, text=text, metadata=metadata))
    return {"message": f"Successfully updated {len(items)} memories"}


@route("DELETE", "/v1/batch/", scope=DELETE)
async def batch_delete(call: Call) -> Body:
    """Erase several memories."""
    ids = [id for id, _ in _batch(await _body(call))]
    count = await call.memory.delete_many(ids)
    return told_of(
        {"message": f"Successfully deleted {count} memories", "deleted": int(count)}, count
    )


@route("GET", "/v1/entities/", scope=READ)
async def entities(call: Call) -> Body:
    """List the users, agents, apps and runs that have memories."""
    query = call.request.query_params
    page = _whole("page", query.get("page", 1))
    size = _whole("page_size", query.get("page_size", MAX_PAGE))
    listed = await _run(call, _entities)
    return _paged(listed[(page - 1) * size : page * size], len(listed), page, size, "/v1/entities/")


@route("DELETE", "/v2/entities/{type}/{id}/", "/v1/entities/{type}/{id}/", scope=DELETE)
async def delete_entity(call: Call) -> Body:
    """Erase the memories of a user, agent, app or run."""
    kind = call.request.path_params["type"]
    if kind not in _ENTITY_TYPES:
        raise InvalidInput("type", f"is {shown(kind)}", f"use one of {', '.join(_ENTITY_TYPES)}")
    ids = {_ENTITY_TYPES[kind]: call.id}
    count = await _run(call, lambda calls: calls.delete_all(ids))
    return told_of({"message": "Entity deleted successfully!", "deleted": int(count)}, count)


@route("POST", "/reset", scope=DELETE)
async def reset(call: Call) -> Body:
    """Erase the namespace."""
    await _run(call, Calls.reset)
    return {"message": "All memories reset"}


@route("POST", "/v1/feedback/", scope=WRITE)
async def feedback(call: Call) -> Body:
    """Judge a memory; without a judgement those that it has are taken back."""
    body = await _body(call)
    id, kind, reason = (body.get(n) for n in ("memory_id", "feedback", "feedback_reason"))
    if not isinstance(id, str) or await call.memory.get(id) is None:
        raise MemoryNotFoundError(str(id))
    if kind is None:
        await call.memory.update(id, **_NO_JUDGEMENT)
    elif isinstance(kind, str) and kind in _KINDS:
        await call.memory.feedback(id, _KINDS[kind], reason)
    else:
        raise InvalidInput("feedback", f"is {shown(kind)}", f"use one of {', '.join(_KINDS)}")
    return {
        "message": "Feedback submitted successfully!",
        "id": id,
        "feedback": kind,
        "feedback_reason": reason,
    }


@route("POST", "/v1/exports/", scope=READ)
async def create_export(call: Call) -> Body:
    """Name an export: its id says which memories, in which shape."""
    body = await _body(call)
    order = {
        "filters": _filters(body, is_needed=False),
        "schema": _schema(body.get("schema")),
        "instructions": body.get("export_instructions"),
    }
    packed = zlib.compress(json.dumps(order).encode())
    return {
        "message": "Memory export request received. Get it by its id.",
        "id": base64.urlsafe_b64encode(packed).decode(),
    }


@route("POST", "/v1/exports/get/", scope=READ)
async def get_export(call: Call) -> Any:
    """Give the memories of an export, by its id or by filters."""
    body = await _body(call)
    id = body.pop("memory_export_id", None)
    order = _unpacked(id) if id is not None else {"filters": _filters(body, is_needed=False)}
    filters, schema = order["filters"], order.get("schema")
    page = await call.memory.get_all({} if filters is None else conditions(filters), limit=MAX_PAGE)
    extractor = call.server.extractor
    if schema is not None and extractor is not None:
        texts = [record.content for record in page]
        return await in_thread(extractor.shaped, texts, schema, order["instructions"])
    notes = []
    if schema is not None:
        notes += ["schema: no model to fill it is configured, so the memories are as they are"]
    if len(page) < page.total:
        notes += [f"these are the newest {len(page):,} of {page.total:,}; narrow the filters"]
    listed = {"memories": await in_thread(lambda: [platform_memory_of(each) for each in page])}
    return _noted(listed | ({"notes": notes} if notes else {}), body)


async def _run(
    call: Call,
    work: Callable[[Calls], T],
    render: Callable[[MemoryRecord], Body] = platform_memory_of,
) -> T:
    """The result of some work over the memory of a call, done in a thread."""
    memory = call.memory._beside
    calls = Calls(memory, call.server.extractor, render=render, once=call.once)
    return await until_cancelled(partial(work, calls))


async def _body(call: Call) -> Body:
    """The JSON object of a request; an empty one without a body."""
    raw = await call.request.body()
    try:
        body = msgspec.json.decode(raw) if raw else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Refused(Problem("InvalidRequest", "the body is not JSON in UTF-8")) from None
    if not isinstance(body, dict):
        raise InvalidInput("body", "is not a JSON object", "send one")
    return body


async def _search_results(call: Call, render: Callable[[MemoryRecord], Body]) -> Body:
    """The answer to a search."""
    body = await _body(call)
    query, fields = body.pop("query", None), body.pop("fields", None)
    names = ("threshold", "rerank", "explain", "reference_date", "show_expired", "latest_only")
    options = {name: body.pop(name) for name in names if name in body}
    options = {name: value for name, value in options.items() if value is not None}
    limits = [body.pop(name, None) for name in ("top_k", "limit")]
    top_k = next((limit for limit in limits if limit is not None), 20)
    filters = _filters(body)
    result = await _run(
        call, lambda calls: calls.search(query, filters, top_k=top_k, **options), render
    )
    call.log_found(len(result["results"]), ())
    if isinstance(fields, list):
        keys = {"id", "memory", "score", *map(str, fields)}
        result["results"] = [{n: v for n, v in r.items() if n in keys} for r in result["results"]]
    return _noted(result, body)


async def _existing(call: Call, render: Callable[[MemoryRecord], Body]) -> Body:
    """A memory that has to be there."""
    memory = await _run(call, lambda calls: calls.get(call.id), render)
    if memory is None:
        raise MemoryNotFoundError(call.id)
    return memory


async def _page(call: Call, arguments: Body, page: int, size: int) -> Body:
    """One page of a listing; takes what it uses out of the arguments."""
    names = ("show_expired", "latest_only")
    options = {n: _boolean(n, arguments.pop(n)) for n in names if arguments.get(n) is not None}
    filters = _filters(arguments)
    skip = (page - 1) * size
    listed, total = await _run(
        call, lambda calls: calls.get_all(filters, top_k=size, skip=skip, **options)
    )
    return _paged(listed, total, page, size, "/v3/memories/")


def _paged(results: Sequence[Body], total: int, page: int, size: int, path: str) -> Body:
    def link(number: int) -> str:
        return f"{PREFIX}{path}?page={number}&page_size={size}"

    return {
        "count": total,
        "next": link(page + 1) if page * size < total else None,
        "previous": link(page - 1) if page > 1 else None,
        "results": list(results),
    }


def _filters(arguments: Body, is_needed: bool = True) -> Body | None:
    """The filter of a request: `filters`, and what older clients send beside it.

    None without any, if none `is_needed`.
    """
    filters = _own_filters(arguments)
    parts: list[Body] = [filters] if filters else []
    beside = entity_filter({name: arguments.pop(name, None) for name in ENTITIES})
    start, end = arguments.pop("start_date", None), arguments.pop("end_date", None)
    if start is not None or end is not None:
        between = {"gte": start, "lte": end}
        beside["created_at"] = {n: time for n, time in between.items() if time is not None}
    if (categories := arguments.pop("categories", None)) is not None:
        beside["categories"] = {"in": categories}
    if (metadata := arguments.pop("metadata", None)) is not None:
        beside["metadata"] = metadata
    parts += [beside] if beside else []
    if not parts and not is_needed:
        return None
    return parts[0] if len(parts) == 1 else {"AND": parts}


def _own_filters(arguments: Body) -> Body | None:
    """The argument `filters`, taken out."""
    filters = arguments.pop("filters", None)
    if filters is not None and not isinstance(filters, dict):
        raise InvalidInput("filters", f"is {shown(filters)}", "give an object")
    return filters


def _noted(answer: Body, fields: Mapping[str, Any]) -> Body:
    """An answer with a note on each field of the request that was passed over."""
    names = sorted(name for name in fields.keys() - _HARMLESS if fields[name] is not None)
    notes = [f"{name}: means nothing to this server, and was passed over" for name in names]
    return {**answer, "notes": [*answer.get("notes", ()), *notes]} if notes else answer


def _batch(body: Body) -> list[tuple[str, Body]]:
    """The memories of a batch, by their ids."""
    items = body.get("memories")
    if not isinstance(items, list) or not 0 < len(items) <= _MAX_BATCH:
        raise InvalidInput("memories", "is not a list", f"give from 1 to {_MAX_BATCH:,} memories")
    for place, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("memory_id"), str):
            problem = "has no memory_id"
            raise InvalidInput(f"memories[{place}]", problem, 'give {"memory_id": "..."}')
    return [(item["memory_id"], item) for item in items]


def _whole(name: str, value: Any, largest: int = MAX_PAGE) -> int:
    """A number from 1, which a query has as text."""
    text = value if isinstance(value, str) else str(value)
    is_whole = text.isdecimal() and text.isascii() and len(text) <= len(str(largest))
    if not is_whole or not 1 <= int(text) <= largest:
        raise InvalidInput(name, f"is {shown(value)}", f"give a number from 1 to {largest:,}")
    return int(text)


def _boolean(name: str, value: Any) -> bool:
    """A truth value, which a query has as text."""
    text = str(value).lower()
    if text not in ("true", "false"):
        raise InvalidInput(name, f"is {shown(value)}", "give true or false")
    return text == "true"


def _schema(value: Any) -> Body | None:
    """The schema of an export, which may be JSON as text."""
    try:
        schema = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        schema = value
    if schema is not None and not isinstance(schema, dict):
        raise InvalidInput("schema", "is not a JSON schema", "give an object")
    return schema


def _unpacked(id: Any) -> Body:
    """The order that the id of an export holds: filters, schema and instructions."""
    try:
        packed = base64.urlsafe_b64decode(id)
        order = json.loads(zlib.decompressobj().decompress(packed, _MAX_EXPORT_BYTES))
        filters, instructions = order["filters"], order["instructions"]
        schema = _schema(order["schema"])
    except (LookupError, RecursionError, TypeError, ValueError, zlib.error):
        raise InvalidInput("memory_export_id", "is not an id of an export", "create one") from None
    wishes = instructions if isinstance(instructions, str) else None
    return {"filters": filters, "schema": schema, "instructions": wishes}


_Found = dict[tuple[str, str], tuple[int, datetime, datetime]]


def _entities(calls: Calls) -> list[Body]:
    """The users, agents, apps and runs that have memories, by type and name."""
    figures: _Found = {}
    for record in calls.memory.iterate():
        for name, id in ids_of(record).items():
            if isinstance(id, str):
                entity = (name.removesuffix("_id"), id)
                total, first, last = figures.get(entity, (0, record.created_at, record.updated_at))
                since, until = min(first, record.created_at), max(last, record.updated_at)
                figures[entity] = (total + 1, since, until)
    return [_entity(entity, figures[entity]) for entity in sorted(figures)]


def _entity(entity: tuple[str, str], counted: tuple[int, datetime, datetime]) -> Body:
    (kind, name), (total, first, last) = entity, counted
    return {
        "id": name,
        "name": name,
        "type": kind,
        "total_memories": total,
        "created_at": first.isoformat(),
        "updated_at": last.isoformat(),
    }
