"""Memories: add, get, list, count, change and erase them."""

from __future__ import annotations

from typing import Any, Literal

from starlette.responses import Response

from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.lifecycle.history import History
from salience.records.record import MemoryRecord
from salience.records.validation import MAX_IDS
from salience.retrieval.erasure import ErasureReceipt
from salience.search.listing import MAX_PAGE, Page
from salience.server import document
from salience.server.encoding import answer, large_answer, nothing
from salience.server.models.arguments import Argument, Arguments, parameters
from salience.server.models.changes import CHANGES
from salience.server.models.constraints import CONSTRAINTS, MESSAGES, RECORD
from salience.server.operation import DELETE, READ, WRITE, Answer, Call, operation
from salience.write.idempotency import SAME_KEY
from salience.write.outcomes import AddResult
from salience.write.reading import not_found

TAG = "Memories"
MAX_BATCH = 2_048  # items, and ids, of one request
_CONTENT = {"content": parameters(Memory.add)["content"].within({**RECORD["content"], **MESSAGES})}
_EXTRACT = Argument(
    bool | None, "True to keep the facts that the server's model finds in it, as well.", None
)
_ADDED = {**_CONTENT, "extract": _EXTRACT}
_IDS = Argument(
    list[str],
    "The ids of the memories.",
    constraint={"maxItems": MAX_IDS, "items": RECORD["content"]},
)
_ITEMS = Argument(
    list[Any],
    f"Texts, or objects with the fields of a memory; at most {MAX_BATCH:,}.",
    constraint={"maxItems": MAX_BATCH, "items": {"$ref": "#/components/schemas/BatchItem"}},
)
PAGE = {"minimum": 1, "maximum": MAX_PAGE}
_LISTING = parameters(Memory.get_all)
_LISTING["limit"] = _LISTING["limit"].within(PAGE)
_STORED = Answer(description="The memory as it is now.", body=MemoryRecord, has_etag=True)


@operation(
    "POST",
    "/memories",
    Memory.add,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("AddRequest", Memory.add, plus=document.RECORD_ARGUMENTS | _ADDED),
    answers={
        201: Answer(description="It is a memory now.", body=AddResult),
        200: Answer(description="Nothing new was stored; the outcome says why.", body=AddResult),
    },
    errors=(404, 409),
    headers=("Idempotency-Key",),
    example={"content": "Ana moved to Lisbon in March.", "tags": ["ana"]},
)
async def add(call: Call) -> Response:
    """Add a memory, or the turns of a chat."""
    document.rename(call.arguments, "importance_score", "importance")
    if call.arguments.get("extract"):
        call.arguments["extract"] = call.server.extractor or True
    return added(call, await call.memory.add(**call.once_only()))


@operation(
    "POST",
    "/memories/batch",
    Memory.add_many,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of(
        "AddManyRequest",
        Memory.add_many,
        plus={"items": _ITEMS},
    ),
    answers={200: Answer(description="The outcome of each item.", body=AddResult)},
    errors=(409,),
    example={"items": ["Ben has a cello.", {"content": "Ana likes tea.", "speaker": "Ana"}]},
)
async def add_many(call: Call) -> Response:
    """Add many memories."""
    _check_batch("items", items := call.arguments["items"])
    for item in items:
        if isinstance(item, dict) and "idempotency_key" in item:
            item["idempotency_key"] = call.own_key(item["idempotency_key"])
    return added(call, await call.memory.add_many(**call.once_only()), status=200)


def added(call: Call, result: AddResult, status: int | None = None) -> Response:
    """The answer to a write; `Idempotency-Replayed` if its key was that of an earlier one."""
    call.request.state.counts["added"] = len(result.ids)
    response = answer(result, status or (201 if result.ids else 200))
    if call.request.state.idempotency_key and any(each.reason == SAME_KEY for each in result.items):
        response.headers["Idempotency-Replayed"] = "true"
    return response


def _check_batch(name: str, items: list[Any]) -> None:
    """Refuse more items than one request takes."""
    if len(items) > MAX_BATCH:
        raise InvalidInput(
            name, f"has more than {MAX_BATCH:,} elements", "send them in several requests"
        )


@operation(
    "POST",
    "/memories/get",
    Memory.get_many,
    scope=READ,
    tag=TAG,
    body=Arguments.of("GetManyRequest", Memory.get_many, plus={"ids": _IDS}),
    answers={
        200: Answer(
            description="The memories in the order of the ids; null where there is none.",
            body={"memories": list[MemoryRecord | None]},
        )
    },
    example={"ids": ["note-1", "note-2"]},
)
async def get_many(call: Call) -> Response:
    """Get memories by their ids."""
    records = await call.memory.get_many(**call.arguments)
    return answer({"memories": [record and record.to_dict() for record in records]})


@operation(
    "GET",
    "/memories",
    Memory.get_all,
    scope=READ,
    tag=TAG,
    query=Arguments("ListQuery", _LISTING),
    answers={200: Answer(description="A page of memories.", body=Page)},
)
async def list_memories(call: Call) -> Response:
    """List memories."""
    return await large_answer(await call.memory.get_all(**call.arguments))


@operation(
    "POST",
    "/memories/list",
    Memory.get_all,
    scope=READ,
    tag=TAG,
    body=Arguments("ListRequest", _LISTING),
    answers={200: Answer(description="A page of memories.", body=Page)},
    needs_body=False,
    example={"filters": {"tags": {"contains": "ana"}}, "limit": 20, "order": "oldest"},
)
async def list_filtered(call: Call) -> Response:
    """List memories that pass a filter."""
    return await large_answer(await call.memory.get_all(**call.arguments))


@operation(
    "POST",
    "/memories/count",
    Memory.count,
    scope=READ,
    tag=TAG,
    body=Arguments.of("CountRequest", Memory.count),
    answers={200: Answer(description="The number of memories.", body={"count": int})},
    needs_body=False,
    example={"filters": {"kind": "note"}},
)
async def count(call: Call) -> Response:
    """Count memories."""
    return answer({"count": await call.memory.count(**call.arguments)})


@operation(
    "POST",
    "/memories/delete",
    Memory.delete_all,
    scope=DELETE,
    tag=TAG,
    body=Arguments(
        "DeleteRequest",
        {
            "ids": Argument(
                list[str], "The ids of the memories to erase.", None, CONSTRAINTS["ids"]
            ),
            "filters": Argument(
                Any,
                "A condition; all memories that meet it are erased.",
                None,
                CONSTRAINTS["filters"],
            ),
            "all": Argument(Literal[True], "True to erase the whole namespace.", None),
        },
        one_of=(("ids", "filters", "all"),),
    ),
    answers={
        200: Answer(
            description="How many there were; with filters or all, the receipt of the erasure.",
            body={"deleted": int, "receipt": ErasureReceipt | None},
        )
    },
    example={"ids": ["note-1", "note-2"]},
)
async def delete_many(call: Call) -> Response:
    """Erase memories."""
    ids, filters, whole = (call.take(name) for name in ("ids", "filters", "all"))
    if ids is not None:
        return answer({"deleted": await call.memory.delete_many(ids), "receipt": None})
    namespace = call.namespace if whole else None
    receipt = await call.memory.delete_all(filters, namespace=namespace)
    return answer({"deleted": receipt.memories, "receipt": receipt.to_dict()})


@operation(
    "POST",
    "/memories/forget",
    Memory.forget_user,
    scope=DELETE,
    tag=TAG,
    body=Arguments("ForgetRequest", {"user_id": parameters(Memory.forget_user)["user_id"]}),
    answers={200: Answer(description="The receipt of the erasure.", body=ErasureReceipt)},
    example={"user_id": "ana"},
)
async def forget_user(call: Call) -> Response:
    """Forget a user."""
    return answer(await call.memory.forget_user(call.take("user_id")))


@operation(
    "GET",
    "/memories/{id}",
    Memory.get,
    scope=READ,
    tag=TAG,
    answers={200: Answer(description="The memory.", body=MemoryRecord, has_etag=True)},
    errors=(404,),
)
async def get(call: Call) -> Response:
    """Get a memory."""
    record = await call.memory.get(call.id)
    if record is None:
        raise not_found(call.id, call.namespace)
    return stored(record)


def stored(record: MemoryRecord) -> Response:
    """The answer with a memory, and its version."""
    return answer(record, etag=record.version)


@operation(
    "PATCH",
    "/memories/{id}",
    Memory.update,
    scope=WRITE,
    tag=TAG,
    body=Arguments("UpdateRequest", {**CHANGES, **document.RECORD_ARGUMENTS}),
    answers={200: _STORED},
    errors=(404, 412),
    headers=("If-Match", "Idempotency-Key"),
    example={"importance": 0.8, "metadata": {"topic": "moving"}},
)
async def update(call: Call) -> Response:
    """Change a memory."""
    document.rename(call.arguments, "importance_score", "importance")
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.update(call.id, **call.arguments))


@operation(
    "DELETE",
    "/memories/{id}",
    Memory.delete,
    scope=DELETE,
    tag=TAG,
    answers={204: Answer(description="It is erased.")},
    errors=(404, 412),
    headers=("If-Match", "Idempotency-Key"),
)
async def delete(call: Call) -> Response:
    """Erase a memory."""
    if not await call.memory.delete(call.id, if_version=call.if_match()):
        raise not_found(call.id, call.namespace)
    return nothing()


@operation(
    "GET",
    "/memories/{id}/history",
    Memory.history,
    scope=READ,
    tag=TAG,
    answers={200: Answer(description="Its events and versions, oldest first.", body=History)},
    errors=(404,),
)
async def history(call: Call) -> Response:
    """List what happened to a memory."""
    return await large_answer(await call.memory.history(call.id))
