"""Memories: what adds, changes and erases them has more to do than to pass arguments on."""

from __future__ import annotations

from typing import Any, Literal

from starlette.responses import Response

from salience.errors import InvalidInput
from salience.records.record import MemoryRecord
from salience.retrieval.erasure import ErasureReceipt
from salience.server import document
from salience.server.encoding import answer, nothing
from salience.server.models.arguments import Argument, Arguments
from salience.server.models.changes import CHANGES
from salience.server.models.constraints import CONSTRAINTS, FACETS_OR_NULL
from salience.server.operation import Answer, Call, answers
from salience.write.idempotency import SAME_KEY
from salience.write.outcomes import AddResult
from salience.write.reading import not_found

MAX_BATCH = 2_048  # items, and ids, of one request
_ADDED = (AddResult, document.ADD_ANSWER)
_EXTRACT = Argument(
    bool | None, "True to keep the facts that the server's model finds in it, as well.", None
)
_FACETS = Argument(
    dict[str, str] | None,
    "Texts by facet, or null for none; by rules by default.",
    None,
    FACETS_OR_NULL,
)
_ITEMS = Argument(
    list[Any],
    f"Texts, or objects with the fields of a memory; at most {MAX_BATCH:,}.",
    constraint={"maxItems": MAX_BATCH, "items": {"$ref": "#/components/schemas/BatchItem"}},
)


@answers(
    "add",
    plus={"extract": _EXTRACT},
    answers={
        201: Answer(description="It is a memory now.", body=_ADDED),
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
    """Add so many as a request may have, each once."""
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
    """The answer to a write; `Idempotency-Replayed` if its key was that of an earlier one.

    With a `record`, it has the scores of that memory.
    """
    call.request.state.counts["added"] = len(result.ids)
    body = document.scored(result, record)
    response = answer(body, status or (201 if result.ids else 200))
    if call.request.state.idempotency_key and any(each.reason == SAME_KEY for each in result.items):
        response.headers["Idempotency-Replayed"] = "true"
    return response


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
)
async def delete_all(call: Call) -> Response:
    """Erase by ids, by a filter, or all."""
    ids, filters, whole = (call.take(name) for name in ("ids", "filters", "all"))
    if ids is not None:
        return answer({"deleted": await call.memory.delete_many(ids), "receipt": None})
    namespace = call.namespace if whole else None
    receipt = await call.memory.delete_all(filters, namespace=namespace)
    return answer({"deleted": receipt.memories, "receipt": receipt.to_dict()})


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
    return document.stored(await call.memory.update(call.id, **call.arguments), is_document)


@answers("delete", headers=("If-Match", "Idempotency-Key"))
async def delete(call: Call) -> Response:
    """Erase one, if it has the version that is asked for."""
    if not await call.memory.delete(call.id, if_version=call.if_match()):
        raise not_found(call.id, call.namespace)
    return nothing()
