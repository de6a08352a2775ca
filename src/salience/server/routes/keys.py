"""Keys: list, make, rotate and revoke them.

A key has no power over others than those whose namespaces and scopes lie within its own; the others
do not exist for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
from starlette.responses import Response

from salience.access import SCOPES, Keyring, NewKey
from salience.access.plans import MAX_NAME_CHARACTERS, MAX_OVERLAP, no_key
from salience.access.principal import parse_patterns, parse_scopes
from salience.api.operations import KEYS
from salience.api.parameters import Bounds
from salience.records.access_key import AccessKey
from salience.records.field_filters import TEXT
from salience.records.validation import MAX_IDS, MAX_NAMESPACE_CHARACTERS, number
from salience.retrieval.plan import in_thread
from salience.server.encoding import answer
from salience.server.models.arguments import Argument, Arguments
from salience.server.operation import Answer, Call, foreign, operation, scope_missing
from salience.server.problems import Refused

TAG = "Keys"
_log = logging.getLogger("salience.server")
PATTERN = Bounds(
    maxLength=MAX_NAMESPACE_CHARACTERS,
    pattern=r"^(\*|[^*\u0000]*[^*\s\u0000][^*\u0000]*(/\*)?)$",
)
"""The name of a namespace, `name/*` for all beneath it, or `*`."""
_EXPIRES = Argument(
    Annotated[str | float | None, Bounds.of("Moment")],
    "When it ends; null for never, or as it was.",
    None,
)
_MADE = "The key with its text, which cannot be read again."


@operation(
    "GET",
    "/keys",
    Keyring.list,
    scope=KEYS,
    tag=TAG,
    answers={200: Answer(description="The keys.", body={"keys": list[AccessKey]})},
)
async def list_keys(call: Call) -> Response:
    """List keys."""
    keys = await in_thread(call.server.keyring.list)
    return answer({"keys": [key.to_dict() for key in keys if _is_within(call, key)]})


@operation(
    "POST",
    "/keys",
    Keyring.create,
    scope=KEYS,
    tag=TAG,
    body=Arguments(
        "CreateKeyRequest",
        {
            "namespaces": Argument(
                Annotated[list[Annotated[str, PATTERN]], Bounds(minItems=1, maxItems=MAX_IDS)],
                "Names, `name/*` for all beneath a name, or `*`; within those of the own key.",
            ),
            "scopes": Argument(
                Annotated[list[Annotated[str, Bounds(enum=SCOPES)]], Bounds(minItems=1)],
                "What it may do; within the scopes of the own key.",
            ),
            "expires_at": _EXPIRES,
            "name": Argument(
                Annotated[str | None, Bounds(maxLength=MAX_NAME_CHARACTERS, pattern=TEXT)],
                "What it is for.",
                None,
            ),
            "time_zone": Argument(
                Annotated[str | None, Bounds(minLength=1)],
                "The zone of its requests, as Europe/Berlin.",
                None,
            ),
        },
    ),
    answers={201: Answer(description=_MADE, body=NewKey)},
    errors=(404,),
    example={"namespaces": ["ana"], "scopes": ["memories:read"], "name": "web app"},
)
async def create_key(call: Call) -> Response:
    """Make a key."""
    namespaces = parse_patterns(call.arguments["namespaces"])
    scopes = parse_scopes(call.arguments["scopes"])
    if not call.principal.includes(namespaces, ()):
        raise foreign()
    for scope in scopes:
        if not call.principal.may(scope):
            raise Refused(scope_missing(scope))
    return await _with_secret(call, "made", call.server.keyring.create, **call.arguments)


@operation(
    "POST",
    "/keys/{key_id}/rotate",
    Keyring.rotate,
    scope=KEYS,
    tag=TAG,
    body=Arguments(
        "RotateKeyRequest",
        {
            "overlap_seconds": Argument(
                Annotated[float, Bounds(minimum=0, maximum=MAX_OVERLAP.total_seconds())],
                "How long the secret before stays valid.",
                0.0,
            ),
            "expires_at": _EXPIRES,
        },
    ),
    needs_body=False,
    answers={200: Answer(description=_MADE, body=NewKey)},
    errors=(404,),
    example={"overlap_seconds": 3600},
)
async def rotate_key(call: Call) -> Response:
    """Give a key another secret."""
    seconds = number(
        "overlap_seconds", call.take("overlap_seconds", 0.0), MAX_OVERLAP.total_seconds()
    )
    key = await _existing(call)
    overlap = timedelta(seconds=seconds or 0.0)
    rotate = call.server.keyring.rotate
    return await _with_secret(call, "rotated", rotate, key.id, overlap=overlap, **call.arguments)


@operation(
    "POST",
    "/keys/{key_id}/revoke",
    Keyring.revoke,
    scope=KEYS,
    tag=TAG,
    answers={200: Answer(description="The key, which has ended.", body=AccessKey)},
    errors=(404,),
)
async def revoke_key(call: Call) -> Response:
    """End a key for good."""
    revoked = await in_thread(call.server.keyring.revoke, (await _existing(call)).id)
    _log_event(call, "revoked", revoked)
    return answer(revoked)


async def _existing(call: Call) -> AccessKey:
    """The key that the path names.

    Raises:
        NotFound: there is none, or it may do more than the key of the request.
    """
    id = unquote(call.request.path_params["key_id"])
    key = await in_thread(call.server.keyring.get, id)
    if not _is_within(call, key):
        raise no_key(id)
    return key


def _is_within(call: Call, key: AccessKey) -> bool:
    return call.principal.includes(key.namespaces, key.scopes)


async def _with_secret(
    call: Call, event: str, change: Callable[..., NewKey], *args: Any, **options: Any
) -> Response:
    """The answer with a new secret, which is kept nowhere."""
    new = await in_thread(change, *args, **options)
    _log_event(call, event, new.key)
    return answer(new, 201 if event == "made" else 200)


def _log_event(call: Call, event: str, key: AccessKey) -> None:
    """Log who has changed which key, beside the line of the request."""
    line = {
        "event": f"key {event}",
        "request_id": call.request.state.request_id,
        "key": call.principal.key_id,
        "changed": key.id,
        "scopes": key.scopes,
        "expires_at": key.expires_at,
    }
    _log.info("%s", msgspec.json.encode(line).decode())
