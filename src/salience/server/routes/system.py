"""The server itself, its namespaces in figures, and its profiles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from starlette.responses import HTMLResponse, Response

import salience
from salience.api.operations import READ
from salience.errors import NotFound
from salience.ranking import profiles as profiles_by_name
from salience.ranking.formulas.parts import ScorePart
from salience.ranking.profile import Profile
from salience.server.document import page
from salience.server.encoding import JSON, answer, encoded
from salience.server.guard.telemetry import CONTENT_TYPE as METRICS_TYPE
from salience.server.models.arguments import Argument, Arguments
from salience.server.openapi import document
from salience.server.operation import (
    ANY_SCOPE,
    OPERATIONS,
    Answer,
    Call,
    answers,
    check_reach,
    operation,
)

TAG = "Server"
_OWN_FIGURES = ("memories", "namespaces", "links", "embedder", "store")
_SUMMARY = {"name": str, "doc": str, "formula": str}


@answers("stats")
async def stats(call: Call) -> Response:
    """Count what the key may know of."""
    check_reach(call)
    figures = await call.memory.stats(**call.arguments)
    if not call.principal.sees_everything:  # sizes of the store tell what others write
        figures = {name: value for name, value in figures.items() if name in _OWN_FIGURES}
    return answer(figures)


@operation(
    "GET",
    "/profiles",
    scope=READ,
    tag=TAG,
    answers={200: Answer(description="The profiles.", body={"profiles": [_SUMMARY]})},
)
async def profiles(call: Call) -> Response:
    """List the profiles by which searches rank."""
    listed = map(profiles_by_name.get, profiles_by_name.names())
    return answer({"profiles": [_summary(profile) for profile in listed]})


@operation(
    "GET",
    "/profiles/{name}",
    scope=READ,
    tag=TAG,
    answers={
        200: Answer(
            description="The profile; `profile` may be sent with a search, changed or not.",
            body=_SUMMARY | {"profile": dict[str, Any], "parts": [ScorePart]},
        )
    },
    errors=(404,),
    query=Arguments(
        "ProfileQuery",
        {
            "weights": Argument(
                Mapping[str, float] | None, "Other weights for named parts of its score.", None
            )
        },
    ),
)
async def profile(call: Call) -> Response:
    """Show a profile with its formula."""
    name = unquote(call.request.path_params["name"])
    if name not in profiles_by_name.names():
        raise NotFound(f"there is no profile {name!r}")
    chosen = profiles_by_name.get(name).weighted(call.arguments.get("weights"))
    parts = [part.to_dict() for part, _ in chosen.parts]
    return answer(_summary(chosen) | {"profile": chosen.to_dict(), "parts": parts})


def _summary(profile: Profile) -> dict[str, str]:
    return {"name": profile.name, "doc": profile.doc, "formula": str(profile.signal)}


@operation(
    "GET",
    "/key",
    scope=ANY_SCOPE,
    tag=TAG,
    answers={
        200: Answer(
            description="The key, and the server that takes it.",
            body={
                "key": str,
                "namespace": str,
                "namespaces": list[str],
                "scopes": list[str],
                "version": str,
            },
        )
    },
    errors=(404,),
)
async def key(call: Call) -> Response:
    """Tell what the key of the request may do, and the namespace that it means."""
    principal = call.principal
    return answer(
        {
            "key": principal.key_id,
            "namespace": call.namespace,
            "namespaces": list(principal.namespaces),
            "scopes": sorted(principal.scopes),
            "version": salience.__version__,
        }
    )


@operation(
    "GET",
    "/version",
    scope=None,
    tag=TAG,
    answers={200: Answer(description="The version.", body={"name": str, "version": str})},
)
async def version(call: Call) -> Response:
    """Tell the version of the server."""
    return answer({"name": "salience", "version": salience.__version__})


@operation(
    "GET",
    "/health",
    scope=None,
    tag=TAG,
    answers={200: Answer(description="The process answers.", body={"status": str})},
)
async def health(call: Call) -> Response:
    """Tell that the process answers."""
    return answer({"status": "ok"})


@operation(
    "GET",
    "/ready",
    scope=None,
    tag=TAG,
    answers={
        200: Answer(description="It is.", body={"status": str}),
        503: Answer(
            description="Not yet, or the store cannot be written; `reason` says why.",
            body={"status": str, "reason": str | None},
        ),
    },
)
async def ready(call: Call) -> Response:
    """Tell whether the embedder is warm and the store can be read and written."""
    if not call.server.is_ready:
        return answer({"status": "starting"}, 503)
    if reason := await call.server.readiness.problem():
        return answer({"status": "failing", "reason": reason}, 503)
    return answer({"status": "ready"})


@operation(
    "GET",
    "/metrics",
    scope=None,
    tag=TAG,
    answers={200: Answer(description="The metrics.", body=str, content_type=METRICS_TYPE)},
)
async def metrics(call: Call) -> Response:
    """Give the metrics, for Prometheus."""
    return Response(call.server.metrics.text(), media_type=METRICS_TYPE)


@operation(
    "GET",
    "/openapi.json",
    scope=None,
    tag=TAG,
    answers={200: Answer(description="The document.", body=dict[str, Any])},
)
async def openapi(call: Call) -> Response:
    """Give this document."""
    return Response(document_bytes(), media_type=JSON)


@cache
def document_bytes() -> bytes:
    """The OpenAPI document of all operations."""
    return encoded(document(OPERATIONS))


@operation(
    "GET",
    "/docs",
    scope=None,
    tag=TAG,
    answers={200: Answer(description="The page.", body=str, content_type="text/html")},
)
async def docs(call: Call) -> Response:
    """Show this document as a page."""
    return HTMLResponse(page_text())


@cache
def page_text() -> str:
    """The page of the OpenAPI document."""
    return page(document(OPERATIONS))
