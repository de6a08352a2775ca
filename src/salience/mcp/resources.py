"""Resources: the profile and each memory, to be read or attached by people and programs."""

from __future__ import annotations

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from salience.api.operations import READ
from salience.display.for_models import fenced, one_line
from salience.mcp.app import (
    APP_TYPE,
    EXPLANATION,
    PROFILE,
    TEMPLATE,
    explanation_page,
    id_of,
    uri_of,
)
from salience.mcp.tool import Caller
from salience.records.record import MemoryRecord

PAGE = 50
_TYPE = "text/plain"
_DAY = 86_400_000
_PROFILE_FILTER = {"kind": "profile"}
_MOST_PROFILE = 200


async def listed(caller: Caller, cursor: str | None) -> ListResourcesResult:
    """A page of resources: the profile and the view of explanations, then the newest memories.

    Raises:
        InvalidInput: the cursor is none.
    """
    fixed = () if cursor else (_profile(), _view())
    if not caller.principal.may(READ):
        return ListResourcesResult(resources=[_view()])
    page = await caller.memory.get_all(limit=PAGE, cursor=cursor)
    resources = [*fixed, *map(_memory, page)]
    return ListResourcesResult(resources=resources, next_cursor=page.cursor)


def templates() -> ListResourceTemplatesResult:
    """The template of addresses of memories."""
    template = ResourceTemplate(
        uri_template=TEMPLATE,
        name="memory",
        title="A memory",
        description="A memory by its id, percent-encoded.",
        mime_type=_TYPE,
    )
    return ListResourceTemplatesResult(resource_templates=[template])


async def read(caller: Caller, uri: str) -> ReadResourceResult:
    """The text of a resource, within the budget of an answer.

    Raises:
        MCPError: there is none of that address, or the key may not read.
    """
    if uri == EXPLANATION:
        page = TextResourceContents(uri=uri, mime_type=APP_TYPE, text=explanation_page())
        return ReadResourceResult(contents=[page], ttl_ms=_DAY, cache_scope="public")
    records = await _records(caller, uri)
    if records is None:
        raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": one_line(uri, 2_000)})
    text = (
        fenced(records, max_tokens=caller.settings.max_tokens, zone=caller.memory.time_zone)
        or "Nothing is remembered yet."
    )
    content = TextResourceContents(uri=uri, mime_type=_TYPE, text=text)
    return ReadResourceResult(contents=[content])


async def _records(caller: Caller, uri: str) -> list[MemoryRecord] | None:
    """The memories of an address; None for an address that is not one, or not the caller's."""
    if not caller.principal.may(READ):
        return None
    if uri == PROFILE:
        return list(await caller.memory.get_all(_PROFILE_FILTER, limit=_MOST_PROFILE))
    id = id_of(uri)
    record = None if id is None else await caller.memory.get(id)
    return None if record is None else [record]


def _profile() -> Resource:
    return Resource(
        uri=PROFILE,
        name="profile",
        title="Profile",
        description="What is always to be known of the user: the memories of the kind profile.",
        mime_type=_TYPE,
        annotations=Annotations(audience=["assistant"], priority=1.0),
    )


def _view() -> Resource:
    return Resource(
        uri=EXPLANATION,
        name="explanation",
        title="Why a memory is found",
        description="The view of explain_memory.",
        mime_type=APP_TYPE,
    )


def _memory(record: MemoryRecord) -> Resource:
    return Resource(
        uri=uri_of(record.id),
        name=one_line(record.id),
        title=one_line(record.title or record.content, 80),
        mime_type=_TYPE,
        annotations=Annotations(last_modified=record.updated_at.isoformat()),
    )
