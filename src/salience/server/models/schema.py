"""JSON schemas of annotations: of arguments as they come in, and of results as they go out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BeforeValidator

from salience.api.docstrings import descriptions
from salience.display.result import Result
from salience.engine.judgment_api import MAX_WAIT_SECONDS
from salience.engine.options import MemoryChanges, MemoryFields
from salience.engine.search_api import MAX_EXPLAINED
from salience.lifecycle.audit import MENDABLE
from salience.lifecycle.maintenance import STEPS
from salience.lifecycle.neighbourhood import MAX_DEPTH, MAX_NODES
from salience.lifecycle.verify import MAX_EVENTS
from salience.lifecycle.zone_history import MAX_POINTS
from salience.ranking.constants import ConstantOptions
from salience.ranking.profiles import BUILT_IN
from salience.records.events import EVENT_OF_USE, JUDGEMENTS
from salience.records.fields import FIELDS
from salience.records.json_values import MAX_KEY_CHARACTERS
from salience.records.limits import DEFAULT_LIMITS
from salience.records.record import LINK_TYPES
from salience.records.validation import (
    LARGEST_NUMBER,
    MAX_IDS,
    MAX_NAMESPACE_CHARACTERS,
    MAX_TAG_CHARACTERS,
)
from salience.search.context import TextOptions
from salience.search.listing import MAX_PAGE
from salience.search.request import MAX_HITS, HitOptions, RankingOptions, WordOptions
from salience.write.facets import FACETS
from salience.write.items import MAX_LINKS, MAX_NAME_CHARACTERS
from salience.write.judgments import MAX_REASON_CHARACTERS

Schema = dict[str, Any]
Refer = Callable[[type[Result]], Schema]

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
}
_LIMITS = {
    "string": ("minLength", "maxLength", "pattern", "enum"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum", "exclusiveMinimum"),
}


def union_parts(annotation: Any) -> tuple[Any, ...]:
    """The parts of a union; none for any other annotation."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation) if is_union else ()


def is_collection(annotation: Any, kind: type) -> bool:
    """Test whether an annotation is a subscripted subclass of a kind of collection."""
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, kind)


def is_json(annotation: Any) -> bool:
    """Test whether JSON that comes in has values of an annotation."""
    if annotation is Any or (annotation in _SCALARS and annotation is not datetime):
        return True
    if parts := union_parts(annotation):
        return any(is_json(part) for part in parts if part is not NoneType)
    if get_origin(annotation) is Literal or is_typeddict(annotation):
        return True
    return is_collection(annotation, Iterable) and is_json(get_args(annotation)[-1])


def _whole(value: Any) -> Any:
    """A whole number as an integer, as JSON makes no difference between 3 and 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_INTEGER = Annotated[int, BeforeValidator(_whole)]


def incoming_type(annotation: Any) -> Any:
    """The type by which pydantic checks the values that JSON has for an annotation."""
    if annotation is int:
        return _INTEGER
    if parts := union_parts(annotation):
        return Union[tuple(incoming_type(part) for part in parts if is_json(part))]  # noqa: UP007
    if is_collection(annotation, Mapping):
        return dict[str, incoming_type(get_args(annotation)[1])]  # type: ignore[misc]
    if is_collection(annotation, Iterable):
        return list[incoming_type(get_args(annotation)[0])]  # type: ignore[misc]
    if get_origin(annotation) is Literal:  # the engine says which values there are
        return type(get_args(annotation)[0])
    return dict[str, Any] if is_typeddict(annotation) else annotation  # it says which options


def schema_of(
    annotation: Any, limits: Mapping[str, Any] = {}, refer: Refer | None = None
) -> Schema:
    """The schema of an annotation with limits; `refer` gives those of results.

    Limits that say "$ref" or "anyOf" take the place of all but null.
    """
    if get_origin(annotation) is Annotated:
        return schema_of(get_args(annotation)[0], limits, refer)
    if isinstance(annotation, TypeVar) or annotation is Any:
        return dict(limits)
    if parts := union_parts(annotation):
        return _union([part for part in parts if refer or is_json(part)], limits, refer)
    if "$ref" in limits or "anyOf" in limits:
        return dict(limits)
    if annotation is float and "minimum" not in limits and refer is None:
        limits = {"minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER, **limits}
    if annotation in _SCALARS:
        schema = dict(_SCALARS[annotation])
        names = _LIMITS.get(schema["type"], ())
        return schema | {name: _listed(limits[name]) for name in names if name in limits}
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {"type": _SCALARS[type(parts[0])]["type"], "enum": list(parts)}
    if is_typeddict(annotation):
        return _options(annotation)
    if is_collection(annotation, Mapping):
        return _mapping(parts, limits, refer)
    if is_collection(annotation, tuple) and parts[-1] is not Ellipsis:
        return {
            "type": "array",
            "prefixItems": [schema_of(part, {}, refer) for part in parts],
            "minItems": len(parts),
            "maxItems": len(parts),
        }
    if is_collection(annotation, Iterable):
        bounds = {name: limits[name] for name in ("minItems", "maxItems") if name in limits}
        items = schema_of(parts[0], limits.get("items", {}), refer)
        return {"type": "array", "items": items} | bounds
    if refer is not None and isinstance(annotation, type) and issubclass(annotation, Result):
        return refer(annotation)
    raise TypeError(f"{annotation!r} has no schema")


def _mapping(parts: tuple[Any, ...], limits: Mapping[str, Any], refer: Refer | None) -> Schema:
    schema: Schema = {
        "type": "object",
        "additionalProperties": schema_of(parts[1], limits.get("values", {}), refer) or True,
    }
    schema |= {name: limits[name] for name in ("propertyNames", "minProperties") if name in limits}
    names = limits.get("names") or (get_args(parts[0]) if get_origin(parts[0]) is Literal else ())
    return schema | ({"propertyNames": {"enum": list(names)}} if names else {})


_DESCRIBED: Mapping[Any, tuple[Any, ...]] = {
    HitOptions: (HitOptions,),
    RankingOptions: (HitOptions, ConstantOptions, WordOptions, RankingOptions),
    TextOptions: (TextOptions,),
}
"""The classes that say what further options mean."""


def _options(kind: Any) -> Schema:
    """The schema of further options, by their names."""
    meanings = {n: text for part in _DESCRIBED[kind] for n, text in descriptions(part).items()}
    hints = {name: hint for name, hint in get_type_hints(kind).items() if is_json(hint)}
    properties = {
        name: schema_of(hint, CONSTRAINTS.get(name, {})) | {"description": meanings[name]}
        for name, hint in hints.items()
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _union(parts: list[Any], limits: Mapping[str, Any], refer: Refer | None) -> Schema:
    """The schema of a union; null is one more type of a scalar."""
    is_nullable = NoneType in parts
    schemas: list[Schema] = []
    for part in parts:
        schema = schema_of(part, limits, refer) if part is not NoneType else {}
        if schema and schema not in schemas:
            schemas.append(schema)
    if not is_nullable:
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if len(schemas) == 1 and isinstance(schemas[0].get("type"), str):
        schema = schemas[0] | {"type": [schemas[0]["type"], "null"]}
        return schema | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})
    return {"anyOf": [*schemas, {"type": "null"}]} if schemas else {}


def _listed(limit: Any) -> Any:
    return list(limit) if isinstance(limit, tuple) else limit


# Constraints: the limits of arguments as JSON schema says them, from the engine's constants

Constraint = Mapping[str, Any]

TEXT = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
"""Text that is not blank, and has no NUL."""
NO_NUL = r"^[^\u0000]*$"
NAMESPACE: Constraint = {"maxLength": MAX_NAMESPACE_CHARACTERS, "pattern": TEXT}
PATTERN: Constraint = {
    "maxLength": MAX_NAMESPACE_CHARACTERS,
    "pattern": r"^(\*|[^*\u0000]*[^*\s\u0000][^*\u0000]*(/\*)?)$",
}
"""The name of a namespace, `name/*` for all beneath it, or `*`."""
ID: Constraint = {"maxLength": 512, "pattern": TEXT}
TAG: Constraint = {"maxLength": MAX_TAG_CHARACTERS, "pattern": TEXT}
IDS: Constraint = {"maxItems": MAX_IDS, "items": TAG, **TAG}
MOMENT: Constraint = {"$ref": "#/components/schemas/Moment"}
PRESENT: Constraint = {"$ref": "#/components/schemas/Present"}
FILTERS: Constraint = {"$ref": "#/components/schemas/Filters"}
PROFILE: Constraint = {"$ref": "#/components/schemas/Profile"}
METADATA: Constraint = {
    "values": {"$ref": "#/components/schemas/JsonValue"},
    "propertyNames": {"minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "pattern": NO_NUL},
}
VERSION: Constraint = {"minimum": 1}


ORDER = ("gt", "gte", "lt", "lte")
"""Operators of what has an order."""


def _of_field(name: str) -> Constraint:
    """The limits of a field of a memory."""
    field = FIELDS[name]
    if field.type == "time":
        return MOMENT
    if field.type == "number":
        bounds = {"names": ("eq", "ne", *ORDER), "minProperties": 1}  # of a condition in its place
        return {"minimum": 0, "maximum": field.maximum or LARGEST_NUMBER, **bounds}
    if field.type == "list":
        return {"maxItems": DEFAULT_LIMITS.tags, "items": TAG}
    if field.choices:
        return {"enum": field.choices}
    if field.type == "text":
        return {"maxLength": field.limit or DEFAULT_LIMITS.text, "pattern": TEXT}
    return METADATA if field.type == "json" else {}


RECORD: Mapping[str, Constraint] = {name: _of_field(name) for name in FIELDS}
"""The limits of the fields of a memory, by their names."""

LINK: Mapping[str, Constraint] = {
    "source": {"maxLength": MAX_NAME_CHARACTERS, "pattern": TEXT},
    "target": {"maxLength": MAX_NAME_CHARACTERS, "pattern": TEXT},
    "type": {"enum": LINK_TYPES},
    "weight": {"minimum": 0, "maximum": 1},
    "created_at": MOMENT,
}

MESSAGES: Constraint = {"minItems": 1, "items": {"$ref": "#/components/schemas/ChatMessage"}}
FACETS_OR_NULL: Constraint = {"names": FACETS, "values": RECORD["content"]}

CONSTRAINTS: Mapping[str, Constraint] = {
    **RECORD,
    "query": {"maxLength": DEFAULT_LIMITS.query, "pattern": r"\S"},
    "limit": {"minimum": 1, "maximum": MAX_HITS},
    "filters": FILTERS,
    "now": PRESENT,
    "as_of": PRESENT,
    "actor": {"maxLength": 512, "pattern": TEXT},
    "since": MOMENT,
    "until": MOMENT,
    "namespaces": {"minItems": 1, "items": NAMESPACE},
    "token_budget": {"minimum": 0},
    "min_probability": {"minimum": 0, "maximum": 1},
    "max_tokens": {"minimum": 1},
    "profile": PROFILE,
    "profiles": {"minItems": 2, "items": PROFILE},
    "context": {"enum": tuple(n.partition(".")[2] for n in BUILT_IN if "." in n)},
    "sections": {"minItems": 1, "items": {"$ref": "#/components/schemas/Section"}},
    "ids": IDS,
    "steps": {"items": {"enum": STEPS}},
    "mend": {"items": {"enum": MENDABLE}},
    "points": {"minimum": 1, "maximum": MAX_POINTS},
    "cap": {"minimum": 0},
    "if_version": VERSION,
    "supersedes": ID,
    "idempotency_key": ID,
    "dedup": {
        "anyOf": [
            {"type": "boolean"},
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"$ref": "#/components/schemas/DedupPolicy"},
        ]
    },
    "links": {"maxItems": MAX_LINKS, "items": {"$ref": "#/components/schemas/LinkInput"}},
    "vectors": {"values": {"minItems": 1}},
    "replace_metadata": METADATA,
    "old": ID,
    "new": ID,
    "one": ID,
    "other": ID,
    "around": ID,
    "against": ID,
    "utility": {"minimum": 0, "maximum": 1},
    "run": {"maxLength": 512, "pattern": r"^[^\u0000]+-\d{1,18}$"},
    "prefix": {"pattern": NO_NUL},
}
"""The limits of arguments, by their names."""

_PAGE: Constraint = {"minimum": 1, "maximum": MAX_PAGE}
OF_METHODS: Mapping[str, Constraint] = {
    **{f"link.{name}": limits for name, limits in LINK.items()},
    **{f"{name}.limit": _PAGE for name in ("get_all", "about", "tags", "entities")},
    "add.content": {**RECORD["content"], **MESSAGES},
    "add_chat.messages": MESSAGES,
    "add_chat.mode": {"enum": ("chunks", "hybrid")},
    "events.limit": {"minimum": 1, "maximum": MAX_EVENTS},
    "events.wait": {"minimum": 0, "maximum": MAX_WAIT_SECONDS},
    "zones.limit": {"minimum": 0},
    "searches.limit": _PAGE,
    "graph.limit": {"minimum": 1, "maximum": MAX_NODES},
    "graph.depth": {"minimum": 1, "maximum": MAX_DEPTH},
    "searches.below": {"minimum": 0, "maximum": 1},
    "feedback.context": {"maxLength": MAX_REASON_CHARACTERS, "pattern": TEXT},
    "feedback.kind": {"enum": JUDGEMENTS},
    "get_many.ids": {"maxItems": MAX_IDS, "items": RECORD["content"]},
    "explain_many.ids": {**IDS, "minItems": 1, "maxItems": MAX_EXPLAINED},
    "touch.use": {"enum": tuple(EVENT_OF_USE)},
}
"""The limits of arguments of a single method, which differ from those of the same name."""

DESCRIPTIONS: Mapping[str, str] = {
    **descriptions(MemoryFields),
    **descriptions(MemoryChanges),
    "prefix": "The beginning of the names to list, in any case.",
    "apply": "True to do it; a preview otherwise.",
    "cap": "Maximum number of memories to move.",
    "context": "A reason to store with the judgement.",
    "created_at": "The time from which they belong together; now by default.",
    "cursor": "The cursor of the page before, to get the next one.",
    "dry_run": "True to see what would be done, and change nothing.",
    "everything": "True to look at all memories, not only at those that are new.",
    "filters": "A condition that each memory must meet.",
    "id": "The id of the memory.",
    "ids": "The ids of the memories.",
    "items": "Texts, or objects with the fields of a memory.",
    "kind": f"The judgement: {', '.join(JUDGEMENTS[:-1])} or {JUDGEMENTS[-1]}.",
    "limit": "Maximum number of memories on a page.",
    "mend": "The findings to mend: duplicates, junk, orphaned.",
    "new": "The id of the memory that holds now.",
    "now": "The time to compute for; the present by default.",
    "old": "The id of the memory that is superseded.",
    "points": "The number of times.",
    "repair": "True to set a field that differs to what the log gives.",
    "run": "The name of a run.",
    "session_id": "The session in which it happens.",
    "since": "The first time; that of the first event by default.",
    "source": "The id of the memory that the link comes from.",
    "steps": "The steps to do.",
    "strict": "True to refuse all items if one is wrong.",
    "target": "The id, title or alias of the memory that the link leads to.",
    "type": "The meaning of the link.",
    "until": "The last time; now by default.",
    "use": "The use: reference, read, retrieval or write.",
    "utility": "How much they helped; memories linked with them become more alive.",
    "weight": "The strength of the link.",
}
"""Descriptions of arguments whose methods tell of them in prose."""
