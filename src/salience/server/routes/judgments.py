"""Judgements: uses, feedback, and the memories that take the place of others."""

from __future__ import annotations

from starlette.responses import Response

from salience.engine.memory import Memory
from salience.records.events import FEEDBACK_WEIGHTS, USE_EVENTS
from salience.records.record import MemoryRecord
from salience.server import document
from salience.server.encoding import nothing
from salience.server.models.arguments import Argument, Arguments
from salience.server.models.constraints import ID
from salience.server.operation import UPKEEP, WRITE, Answer, Call, operation
from salience.server.routes.memories import stored
from salience.write.judgments import MAX_REASON_CHARACTERS

TAG = "Judgements"
_JUDGED = Answer(description="The memory as it is now.", body=MemoryRecord, has_etag=True)
_DONE = Answer(description="It is done.")
_KINDS = {"enum": tuple(FEEDBACK_WEIGHTS)}
_FEEDBACK = {
    "id": Argument(str, "The id of the memory.", None, ID),
    "kind": Argument(str, "The judgement.", None, _KINDS),
    "context": Argument(
        str | None,
        "A reason to store with the judgement.",
        None,
        {"maxLength": MAX_REASON_CHARACTERS, "pattern": ID["pattern"]},
    ),
    "memory_id": Argument(str, "Another name of id.", None, ID),
    "type": Argument(str, "Another name of kind.", None, _KINDS),
}


@operation(
    "POST",
    "/feedback",
    Memory.feedback,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of(
        "FeedbackRequest",
        Memory.feedback,
        plus=_FEEDBACK,
        one_of=(("id", "memory_id"), ("kind", "type")),
    ),
    answers={200: _JUDGED},
    errors=(404, 412),
    headers=("If-Match",),
    example={"id": "note-1", "kind": "useful", "context": "It answered the question."},
)
async def feedback(call: Call) -> Response:
    """Judge a memory."""
    document.rename(call.arguments, "memory_id", "id")
    document.rename(call.arguments, "type", "kind")
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.feedback(**call.arguments))


@operation(
    "POST",
    "/touch",
    Memory.touch,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of(
        "TouchRequest",
        Memory.touch,
        plus={"use": Argument(str, "How they were used.", "reference", {"enum": USE_EVENTS})},
    ),
    answers={204: Answer(description="It is counted within a second.")},
    errors=(404,),
    example={"ids": ["note-1"], "use": "reference"},
)
async def touch(call: Call) -> Response:
    """Count a use of memories."""
    await call.memory.touch(**call.arguments)
    return nothing()


@operation(
    "POST",
    "/supersede",
    Memory.supersede,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("SupersedeRequest", Memory.supersede),
    answers={204: _DONE},
    errors=(404, 412),
    example={"old": "note-1", "new": "note-2"},
)
async def supersede(call: Call) -> Response:
    """Let a memory take the place of another."""
    await call.memory.supersede(**call.arguments)
    return nothing()


@operation(
    "POST",
    "/contradict",
    Memory.contradict,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("ContradictRequest", Memory.contradict),
    answers={204: _DONE},
    errors=(404,),
    example={"one": "note-1", "other": "note-2"},
)
async def contradict(call: Call) -> Response:
    """State that two memories contradict each other."""
    await call.memory.contradict(**call.arguments)
    return nothing()


@operation(
    "POST",
    "/memories/{id}/promote",
    Memory.promote,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("PromoteRequest", Memory.promote, without=("id",)),
    needs_body=False,
    answers={200: _JUDGED},
    errors=(404, 412),
    headers=("If-Match",),
    example={},
)
async def promote(call: Call) -> Response:
    """Raise the score of a memory."""
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.promote(call.id, **call.arguments))


@operation(
    "POST",
    "/memories/{id}/demote",
    Memory.demote,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("DemoteRequest", Memory.demote, without=("id",)),
    needs_body=False,
    answers={200: _JUDGED},
    errors=(404, 412),
    headers=("If-Match",),
    example={},
)
async def demote(call: Call) -> Response:
    """Lower the score of a memory."""
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.demote(call.id, **call.arguments))


@operation(
    "POST",
    "/memories/{id}/reinforce",
    Memory.reinforce,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("ReinforceRequest", Memory.reinforce, without=("id",)),
    needs_body=False,
    answers={200: _JUDGED},
    errors=(404, 412),
    headers=("If-Match",),
    example={},
)
async def reinforce(call: Call) -> Response:
    """Raise the strength of a memory."""
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.reinforce(call.id, **call.arguments))


@operation(
    "POST",
    "/memories/{id}/pin",
    Memory.pin,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("PinRequest", Memory.pin, without=("id",)),
    needs_body=False,
    answers={200: _JUDGED},
    errors=(404, 412),
    headers=("If-Match",),
    example={},
)
async def pin(call: Call) -> Response:
    """Pin a memory."""
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.pin(call.id, **call.arguments))


@operation(
    "POST",
    "/memories/{id}/unpin",
    Memory.unpin,
    scope=WRITE,
    tag=TAG,
    body=Arguments.of("UnpinRequest", Memory.unpin, without=("id",)),
    needs_body=False,
    answers={200: _JUDGED},
    errors=(404, 412),
    headers=("If-Match",),
    example={},
)
async def unpin(call: Call) -> Response:
    """Unpin a memory."""
    call.arguments.setdefault("if_version", call.if_match())
    return stored(await call.memory.unpin(call.id, **call.arguments))


@operation(
    "POST",
    "/decay",
    Memory.decay_all,
    scope=UPKEEP,
    tag=TAG,
    answers={204: _DONE},
)
async def decay(call: Call) -> Response:
    """Let all memories fade."""
    await call.memory.decay_all()
    return nothing()
