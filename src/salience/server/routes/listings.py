"""Listings of what a namespace holds beside its memories: tags, entities, events."""

from __future__ import annotations

from starlette.responses import Response

from salience.engine.memory import Memory
from salience.lifecycle.history import MAX_EVENTS, EventPage
from salience.search.about import About
from salience.search.listing import NamePage
from salience.server.encoding import large_answer
from salience.server.models.arguments import Arguments, parameters
from salience.server.operation import READ, Answer, Call, operation
from salience.server.routes.memories import PAGE

TAG = "Listings"
_NAMES = parameters(Memory.tags)
_NAMES["limit"] = _NAMES["limit"].within(PAGE)
_ABOUT = parameters(Memory.about)
_ABOUT["limit"] = _ABOUT["limit"].within(PAGE)
_EVENTS = parameters(Memory.events)
_EVENTS["limit"] = _EVENTS["limit"].within({"minimum": 1, "maximum": MAX_EVENTS})


@operation(
    "POST",
    "/about",
    Memory.about,
    scope=READ,
    tag=TAG,
    body=Arguments("AboutRequest", _ABOUT),
    answers={200: Answer(description="What the user told of himself.", body=About)},
    example={"user": "ana"},
)
async def about(call: Call) -> Response:
    """List what a user told of himself."""
    return await large_answer(await call.memory.about(**call.arguments))


@operation(
    "GET",
    "/tags",
    Memory.tags,
    scope=READ,
    tag=TAG,
    query=Arguments("TagsQuery", _NAMES),
    answers={200: Answer(description="A page of tags.", body=NamePage)},
)
async def tags(call: Call) -> Response:
    """List the tags."""
    return await large_answer(await call.memory.tags(**call.arguments))


@operation(
    "GET",
    "/entities",
    Memory.entities,
    scope=READ,
    tag=TAG,
    query=Arguments("EntitiesQuery", _NAMES),
    answers={200: Answer(description="A page of entities.", body=NamePage)},
)
async def entities(call: Call) -> Response:
    """List the entities."""
    return await large_answer(await call.memory.entities(**call.arguments))


@operation(
    "GET",
    "/events",
    Memory.events,
    scope=READ,
    tag=TAG,
    query=Arguments("EventsQuery", _EVENTS),
    answers={200: Answer(description="A page of events, oldest first.", body=EventPage)},
)
async def events(call: Call) -> Response:
    """List what has happened."""
    return await large_answer(await call.memory.events(**call.arguments))
