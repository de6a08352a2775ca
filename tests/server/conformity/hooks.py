"""Hooks of schemathesis: what it has to be told to make requests by the document.

Filters nest once: of endless nesting, the values of each field would grow without end. Values that
only the engine can tell from wrong ones are left out, and tried in tests of their own.
"""

import copy
from typing import Any

import schemathesis

# A key of another request, or of the same; one of a database's time zones; and what cuts an answer,
# which no schema follows.
_UNSENT = [
    {"$ref": f"#/components/parameters/{name}"}
    for name in ("Idempotency-Key", "Salience-Time-Zone", "fields", "nulls")
]
_NESTING = ("and", "or", "not")
_LEFT_OUT = {
    "as_of",  # a time that is past
    "context",  # a variant of the profile
    "idempotency_key",  # that of another request
    "importance_score",  # another name of importance
    "min_similarity",  # for profiles that compare vectors
    "supersedes",  # a memory that there is
    "threshold",  # another name of min_score
    "time_zone",  # one of a database
    "valid_to",  # after valid_from
    "weights",  # names of parts of the profile
}


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Narrow the schemas of requests."""
    schemas = raw_schema["components"]["schemas"]
    schemas["InnerFilters"] = _nested_once(schemas["Filters"])
    for entry in (entry for path in raw_schema["paths"].values() for entry in path.values()):
        entry["parameters"] = [each for each in entry["parameters"] if each not in _UNSENT]
    profile = schemas["Profile"]
    profile["anyOf"] = profile["anyOf"][:1]  # a name; an object is a whole language
    for name, schema in schemas.items():
        arguments = schema.get("properties", {}) if "Request" in name else {}
        for argument in arguments.keys() & _LEFT_OUT:
            del arguments[argument]
        if "sections" in arguments:
            arguments["sections"]["maxItems"] = 1  # several have to differ in their names


def _nested_once(filters: dict[str, Any]) -> dict[str, Any]:
    """Let filters hold only filters that hold none; the latter's schema."""
    flat = copy.deepcopy(filters)
    for word in (f"{sign}{word}" for word in _NESTING for sign in ("", "$")):
        del flat["properties"][word]
        schema = filters["properties"][word]
        inner = schema.get("items", schema)
        inner["anyOf"] = [{"$ref": "#/components/schemas/InnerFilters"}, {"type": "null"}]
    return flat


@schemathesis.serializer("application/x-ndjson")
def lines(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
