"""Tools that keep memories in order: links, the archive, whole conversations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from salience.display.for_models import one_line
from salience.mcp.tool import UPKEEP, WRITE, Answer, Caller, Texts, tool

MAX_TURNS = 200

LinkType = Literal["mentions", "supports", "contradicts", "depends_on", "same_as"]
Ids = Annotated[Texts, Field(min_length=1, max_length=100, description="The ids of the memories.")]


class Turn(TypedDict):
    """A message of a conversation."""

    role: Annotated[str, Field(description='"user", "assistant", or the name of who said it.')]
    content: str


class Linked(TypedDict):
    """The link that there is now."""

    source: str
    type: str
    target: str


class Kept(TypedDict):
    """The turns that were added."""

    session_id: NotRequired[str]
    ids: list[str]


class Archived(TypedDict):
    """The memories that are in the archive."""

    archived: int
    run: NotRequired[Annotated[str, Field(description="The name of the change, to undo it.")]]


class Restored(TypedDict):
    """The memories that came back, with their status."""

    restored: dict[str, str]


@tool("Link memories", scope=WRITE, result=Linked, idempotent=True)
async def link_memories(
    caller: Caller,
    source: Annotated[str, Field(description="The id of the memory that the link begins at.")],
    target: Annotated[str, Field(description="The id of the memory that it leads to.")],
    type: Annotated[
        LinkType,
        Field(description="How they belong together."),
    ] = "mentions",
    weight: Annotated[float, Field(ge=0, le=1, description="How closely.")] = 1.0,
) -> Answer:
    """Link a memory with another: linked memories keep each other alive, and are found together."""
    await caller.memory.link(source, target, type, weight)
    content = {"source": one_line(source), "type": type, "target": one_line(target)}
    return Answer(content, f"{content['source']} {type} {content['target']} now.")


@tool("Add a conversation", scope=WRITE, result=Kept)
async def add_conversation(
    caller: Caller,
    messages: Annotated[
        list[Turn], Field(min_length=1, max_length=MAX_TURNS, description="In their order.")
    ],
    session_id: Annotated[
        str | None, Field(description="The conversation that they begin or continue.")
    ] = None,
) -> Answer:
    """Keep the turns of a conversation word for word, to be found as what was said in it."""
    turns: list[Any] = [dict(message) for message in messages]
    options: Any = {} if session_id is None else {"session_id": session_id}
    result = await caller.memory.add(turns, **options)
    content: dict[str, Any] = {"ids": [one_line(id) for id in result.ids]}
    if session_id is not None:
        content["session_id"] = one_line(session_id)
    return Answer(content, f"{len(result.ids)} of {len(messages)} messages are kept.")


@tool("Archive memories", scope=UPKEEP, result=Archived, idempotent=True)
async def archive_memories(caller: Caller, ids: Ids) -> Answer:
    """Move memories to the archive, where searches find them only with include_archived."""
    run = await caller.memory.archive(ids)
    content: dict[str, Any] = {"archived": len(set(ids))}
    if run is not None:
        content["run"] = run
    return Answer(content, f"{content['archived']} are in the archive; restore_memories undoes it.")


@tool("Restore memories", scope=UPKEEP, result=Restored)
async def restore_memories(caller: Caller, ids: Ids) -> Answer:
    """Bring memories back from the archive."""
    restored = await caller.memory.restore(ids)
    content = {"restored": {one_line(id): status for id, status in restored.items()}}
    return Answer(content, f"{len(restored)} are back.")
