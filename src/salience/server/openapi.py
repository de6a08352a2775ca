"""The OpenAPI 3.1 document: written from the operations, and served as bytes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

import salience
from salience.access import SCOPES
from salience.api.operations import READ
from salience.records.field_filters import ID
from salience.records.record import MemoryRecord
from salience.search.request import NAMESPACE
from salience.server.encoding import EVENTS, IS_ONE, JSON, OF_ONE, Wanted
from salience.server.models.arguments import Schemas
from salience.server.models.components import problem, requests
from salience.server.models.schema import Schema
from salience.server.operation import Answer, Operation
from salience.server.problems import KINDS, MEDIA_TYPE

EXAMPLE_ID = "note-1"
EXAMPLE_ADDRESS = "http://127.0.0.1:8420"
_ALWAYS = (400, 403, 421, 429, 500, 503)
_WITH_KEY = (401, 404, 422)
_WRITING = frozenset(SCOPES) - {READ}
_WITH_INPUT = (422,)
_WITH_BODY = (408, 413, 415)
_DESCRIPTION = """The memory of an AI agent over HTTP: every method of `Memory`, as JSON.

Errors are `application/problem+json`. Unknown fields are refused. A memory in an answer has its
version in the header `ETag`; `If-Match` makes a change depend on it."""
_PARAMETERS: dict[str, Schema] = {
    "Salience-Namespace": {
        "name": "Salience-Namespace",
        "in": "header",
        "description": "The namespace of the request; by default the first one of the key, "
        "or `default`.",
        "schema": {"type": "string", **NAMESPACE.keywords},
    },
    "Salience-Time-Zone": {
        "name": "Salience-Time-Zone",
        "in": "header",
        "description": "The time zone of the request, as Europe/Berlin; by default that of the "
        "key, else of the memory.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    },
    "If-Match": {
        "name": "If-Match",
        "in": "header",
        "description": "The ETag that the memory has to have, or `*`.",
        "schema": {"type": "string", "pattern": r'^(\*|(W/)?"[1-9]\d{0,17}"|[1-9]\d{0,17})$'},
    },
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A key of this request; a second one with it changes nothing, and "
        "is told what the first did.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^[!-~]+$"},
    },
    "fields": {
        "name": "fields",
        "in": "query",
        "description": "The fields of memories and hits that the answer has, besides their id; "
        "all by default.",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "items": {"type": "string", "enum": OF_ONE}},
        "example": ["content", "score"],
    },
    "nulls": {
        "name": "nulls",
        "in": "query",
        "description": "False leaves out of the answer what is null.",
        "schema": {"type": "boolean", "default": True},
    },
}
_HEADERS: dict[str, Schema] = {
    "X-Request-Id": {"description": "The id of the request.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "The seconds after which to ask again.",
        "schema": {"type": "string"},
    },
    "WWW-Authenticate": {
        "description": "How to present a key, and the scope that it lacks.",
        "schema": {"type": "string"},
    },
}
_HEADERS_OF_PROBLEMS = {
    401: ("WWW-Authenticate",),
    403: ("WWW-Authenticate",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_SECURITY: dict[str, Schema] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer KEY`."},
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Authorization: Token KEY`.",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The key."},
}


def document(operations: Sequence[Operation], *, whole: bool = False) -> dict[str, Any]:
    """The document of some operations.

    With `whole`, that of answers to requests without `fields` and `nulls`, which leave nothing out.
    """
    schemas = Schemas({**requests(), "Problem": problem()})
    schemas.refer(MemoryRecord)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        entry = paths.setdefault(operation.path_format, {})
        entry[operation.method.lower()] = _operation(operation, schemas)
    if not whole:
        referred = {*requests(), "Problem", *(each.body.name for each in operations if each.body)}
        for name in schemas.components.keys() - referred:
            _loosen(schemas.components[name])
        for each in (entry for path in paths.values() for entry in path.values()):
            _loosen([answer.get("content") for answer in each["responses"].values()])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "salience",
            "version": salience.__version__,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{name: []} for name in _SECURITY] + [{}],
        "tags": [{"name": tag} for tag in dict.fromkeys(each.tag for each in operations)],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": _problems(operations),
            "parameters": _PARAMETERS,
            "headers": _HEADERS,
            "securitySchemes": _SECURITY,
        },
    }


def _loosen(schema: Any) -> None:
    """Require of objects only what `fields` and `nulls` never leave out."""
    if isinstance(schema, list):
        for part in schema:
            _loosen(part)
    elif isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict) and isinstance(schema.get("required"), list):
            required = ["id"] if properties.keys() >= IS_ONE else schema["required"]
            schema["required"] = [name for name in required if not _may_be_null(properties[name])]
        for part in schema.values():
            _loosen(part)


def _may_be_null(schema: Schema) -> bool:
    return not schema or any(
        "null" in s.get("type", ()) for s in (schema, *schema.get("anyOf", ()))
    )


def _operation(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "description": _description(operation),
        "tags": [operation.tag],
        "parameters": _parameters(operation),
        "responses": {
            **{str(status): _answer(each, schemas) for status, each in operation.answers.items()},
            **{
                str(status): {"$ref": f"#/components/responses/Problem{status}"}
                for status in statuses(operation)
                if status not in operation.answers
            },
        },
        "x-codeSamples": [{"lang": "Shell", "source": curl(operation)}],
    }
    if operation.body is not None:
        schemas.components[operation.body.name] = operation.body.schema()
        content: dict[str, Any] = {
            "schema": {"$ref": f"#/components/schemas/{operation.body.name}"},
            "example": operation.example,
        }
        entry["requestBody"] = {"required": operation.needs_body, "content": {JSON: content}}
    elif operation.body_type != JSON:
        entry["requestBody"] = {
            "required": True,
            "content": {operation.body_type: {"schema": {"type": "string"}}},
        }
    if operation.scope is None:
        entry["security"] = []
    return entry


def _description(operation: Operation) -> str:
    needed = f"\n\nNeeds the scope `{operation.scope}`." if operation.scope else ""
    return operation.description + needed


def _parameters(operation: Operation) -> list[Schema]:
    parameters: list[Schema] = []
    for name in _path_names(operation.path):
        schema = {"type": "string"} if name == "name" else {"type": "string", **ID.keywords}
        parameters.append(
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": schema,
                "example": _PLACES[name],
            }
        )
    query = operation.query
    for name, argument in query.members.items() if query is not None else ():
        schema = argument.schema()
        description = schema.pop("description", "")
        form = json.dumps(schema)
        is_text = "$ref" not in form or "Moment" in form or "Present" in form
        content = {"schema": schema} if is_text else {"content": {JSON: {"schema": schema}}}
        required = {"required": True} if argument.is_required else {}
        parameters.append(
            {"name": name, "in": "query", "description": description, **required, **content}
        )
    shared = (
        ["Salience-Namespace", "Salience-Time-Zone", *operation.headers] if operation.scope else []
    )
    if _is_json(operation):
        shared += Wanted.__annotations__
    return parameters + [{"$ref": f"#/components/parameters/{name}"} for name in shared]


def _is_json(operation: Operation) -> bool:
    """Test whether an answer of an operation is JSON."""
    return any(each.body and each.content_type == JSON for each in operation.answers.values())


_COUNT: Schema = {"type": "integer", "minimum": 0}
_PLACES = {"id": EXAMPLE_ID, "key_id": "f7Kq2ZbN", "name": "balanced"}


def _path_names(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def _answer(answer: Answer, schemas: Schemas) -> dict[str, Any]:
    entry: dict[str, Any] = {"description": answer.description, "headers": _headers()}
    if answer.body is not None:
        entry["content"] = {answer.content_type: {"schema": schemas.of(answer.body)}}
        if answer.tells:
            entry["content"][EVENTS] = {"schema": _event_stream(schemas.of(answer.body))}
    if answer.has_etag:
        etag = {"type": "string", "pattern": r'^"\d+"$'}
        entry["headers"]["ETag"] = {"description": "Its version.", "schema": etag}
    return entry


def _event_stream(answer: Schema) -> Schema:
    """The data of each event of an answer that tells its progress."""
    progress = {"step": {"type": "string"}, "done": _COUNT, "of": _COUNT}
    return {
        "description": "The data of an event: progress while it runs, and in the end the answer or "
        "the problem.",
        "type": "object",
        "properties": {
            "progress": {"type": "object", "properties": progress, "required": [*progress]},
            "answer": answer,
            "problem": {"$ref": "#/components/schemas/Problem"},
        },
    }


def _headers(*names: str) -> dict[str, Schema]:
    """The header fields of an answer: the id of the request, and those of some names."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *names)}


def statuses(operation: Operation) -> list[int]:
    """The statuses of the problems that an operation may answer."""
    numbers = {*_ALWAYS, *operation.errors}
    if operation.scope is not None:
        numbers.update(_WITH_KEY)
    if operation.scope in _WRITING:
        numbers.add(507)
    if operation.body is not None or operation.query is not None or operation.headers:
        numbers.update(_WITH_INPUT)
    if operation.body is not None or operation.body_type != JSON:
        numbers.update((*_WITH_BODY, *_WITH_INPUT))
    if "Idempotency-Key" in operation.headers:
        numbers.add(409)
    if _path_names(operation.path) or _is_json(operation):  # whose fields may be chosen
        numbers.update(_WITH_INPUT)
    return sorted(numbers)


def _problems(operations: Sequence[Operation]) -> dict[str, Any]:
    """A response for each status of a problem, with the codes that it may have."""
    entries = {}
    for status in sorted({status for each in operations for status in statuses(each)}):
        codes = [code for code, kind in KINDS.items() if kind.status == status]
        entries[f"Problem{status}"] = {
            "description": "; ".join(f"{code}: {KINDS[code].title}" for code in codes) + ".",
            "headers": _headers(*_HEADERS_OF_PROBLEMS.get(status, ())),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return entries


def curl(operation: Operation, address: str = EXAMPLE_ADDRESS) -> str:
    """The command that calls an operation by its example."""
    path = operation.path_format.format(**_PLACES)
    parts = ["curl", f"{address}{path}"]
    if operation.method not in ("GET", "POST") or (
        operation.method == "POST" and operation.example is None
    ):
        parts += ["-X", operation.method]
    if operation.scope is not None:
        parts += ["-H", "Authorization: Bearer $SALIENCE_API_KEY"]
    if operation.example is not None:
        parts += ["--json", json.dumps(operation.example)]
    elif operation.body_type != JSON:
        parts += ["-H", f"Content-Type: {operation.body_type}", "--data-binary", "@backup.jsonl"]
    return " ".join(_quoted(part) for part in parts)


def _quoted(part: str) -> str:
    return f'"{part}"' if "$" in part else shlex.quote(part)
