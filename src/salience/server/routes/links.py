"""Links between memories, and chats, whose chunks are linked."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from salience.engine.memory import Memory
from salience.records.record import Link
from salience.server.encoding import answer, nothing
from salience.server.models.arguments import Argument, Arguments, parameters
from salience.server.models.constraints import FACETS_OR_NULL, LINK, MESSAGES
from salience.server.operation import READ, WRITE, Answer, Call, operation
from salience.server.routes.memories import added
from salience.write.outcomes import AddResult

TAG = "Links and chats"
_LINK = {
    name: Argument(own.type, own.description, own.default, LINK[name])
    for name, own in parameters(Memory.link).items()
}
_LINKS = Answer(description="The links.", body={"links": list[Link]})


@operation(
    "POST",
    "/links",
    Memory.link,
    scope=WRITE,
    tag=TAG,
    body=Arguments("LinkRequest", _LINK),
    answers={204: Answer(description="They are linked.")},
    errors=(404,),
    example={"source": "note-1", "target": "note-2", "type": "supports"},
)
async def link(call: Call) -> Response:
    """Link two memories."""
    await call.memory.link(**call.arguments)
    return nothing()


@operation(
    "GET",
    "/links",
    Memory.links,
    scope=READ,
    tag=TAG,
    query=Arguments.of("LinksQuery", Memory.links),
    answers={200: _LINKS},
)
async def links(call: Call) -> Response:
    """List links."""
    found = await call.memory.links(**call.arguments)
    return answer({"links": [link.to_dict() for link in found]})


@operation(
    "GET",
    "/links/pending",
    Memory.pending_links,
    scope=READ,
    tag=TAG,
    answers={200: _LINKS},
)
async def pending_links(call: Call) -> Response:
    """List links that lead to no memory yet."""
    pending = await call.memory.pending_links()
    return answer({"links": [link.to_dict() for link in pending]})


@operation(
    "POST",
    "/chats",
    Memory.add_chat,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of(
        "AddChatRequest",
        Memory.add_chat,
        plus={
            "messages": Argument(list[dict[str, Any]], "The messages.", constraint=MESSAGES),
            "mode": Argument(
                str,
                'How to keep them: "chunks", or "hybrid" to keep the session as well.',
                "chunks",
                {"enum": ("chunks", "hybrid")},
            ),
            "facets": Argument(
                dict[str, str] | None,
                "Texts by facet, or null for none; by rules by default.",
                None,
                FACETS_OR_NULL,
            ),
        },
    ),
    answers={
        201: Answer(description="Chunks were added.", body=AddResult),
        200: Answer(description="Nothing new was stored.", body=AddResult),
    },
    headers=("Idempotency-Key",),
    example={
        "messages": [
            {"role": "user", "content": "Where did I put the keys?"},
            {"role": "assistant", "content": "On the shelf by the door."},
        ]
    },
)
async def add_chat(call: Call) -> Response:
    """Add a chat."""
    return added(call, await call.memory.add_chat(**call.once_only()))
