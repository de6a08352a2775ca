"""Components: the schemas that several requests share, and that of a problem."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, get_type_hints

from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.ranking.profiles import names
from salience.records.field_filters import (
    COMPARISONS,
    ID,
    METADATA,
    NO_NUL,
    OF_FIELD,
    TAG,
    TEXT,
)
from salience.records.fields import FIELDS, field_type
from salience.records.filters import MAX_FILTER_VALUES
from salience.records.limits import STATUSES, Type
from salience.search.context.sections import STANDARD, Section
from salience.search.request import HITS, NAMESPACE
from salience.server.models.arguments import Argument, parameters
from salience.server.models.schema import Schema, schema_of
from salience.server.problems import KINDS
from salience.write.dedup import MAX_LOOP_SECONDS, MAX_WITHIN, DedupPolicy
from salience.write.items import CHECKS, FLAGS, LINK_KEYS, REQUIRED

_REF = "#/components/schemas/"
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # seconds of the years 1 and 9999
MOMENT: Schema = {
    "description": "A time in ISO 8601 (UTC where it has no zone), a date, or seconds since 1970.",
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "date"},
        {"type": "number", "minimum": _EARLIEST, "maximum": _LATEST},
    ],
}
_YEARS = r"^(0[1-9]|[1-8]\d|9[0-8])\d\d-"
PRESENT: Schema = {
    "description": "A time as a Moment, in the years 100 to 9899.",
    "anyOf": [
        {"type": "string", "format": "date-time", "pattern": _YEARS},
        {"type": "string", "format": "date", "pattern": _YEARS},
        {"type": "number", "minimum": -59_011_459_200, "maximum": 250_246_627_199},
    ],
}
_VALUES: dict[str, Schema] = {
    "text": {"type": "string", "pattern": NO_NUL},
    "number": {"type": "number"},
    "time": {"$ref": f"{_REF}Moment"},
    "list": {"type": "string", "pattern": NO_NUL},
    "json": {"$ref": f"{_REF}JsonValue"},
}
_KEYS = METADATA.keywords["propertyNames"]
_JSON_SCALARS: tuple[Schema, ...] = (
    {"type": ["boolean", "number"]},
    {"type": "string", "pattern": NO_NUL},
    {"$ref": f"{_REF}JsonObject"},
)
_JSON_PARTS: dict[str, Schema] = {
    "null": {"type": "null"},
    "scalar": _JSON_SCALARS[0],
    "text": _JSON_SCALARS[1],
    # Lists in lists are open: generated types cannot refer to themselves through a list.
    "array": {
        "type": "array",
        "items": {"anyOf": [{"type": "null"}, *_JSON_SCALARS, {"type": "array"}]},
    },
    "object": _JSON_SCALARS[2],
}
_JSON_OBJECT: Schema = {
    "type": "object",
    "additionalProperties": {"$ref": f"{_REF}JsonValue"},
    "propertyNames": _KEYS,
}


def _json_value(without: str = "") -> Schema:
    """The schema of a value of JSON, of all kinds but one."""
    return {"anyOf": [part for kind, part in _JSON_PARTS.items() if kind != without]}


def filters() -> dict[str, Schema]:
    """The grammar of filters: Filters, and a condition for each type of field."""
    properties: dict[str, Schema] = {}
    for name in FIELDS:
        try:
            kind = field_type(name)
        except InvalidInput:
            continue
        choices = FIELDS[name].choices
        condition = f"{kind.capitalize()}Condition" if not choices else _choice_name(name)
        properties[name] = {"$ref": f"{_REF}{condition}"}
    several = {"type": "array", "items": {"anyOf": [{"$ref": f"{_REF}Filters"}, {"type": "null"}]}}
    single = {"anyOf": [{"$ref": f"{_REF}Filters"}, {"type": "null"}]}
    for word, schema in (("and", several), ("or", several), ("not", single)):
        properties[word] = properties[f"${word}"] = schema
    properties["metadata"] = {
        "type": "object",
        "additionalProperties": {"$ref": f"{_REF}JsonCondition"},
        "propertyNames": {"minLength": 1, "pattern": NO_NUL},
    }
    conditions = {f"{kind.capitalize()}Condition": _condition(kind) for kind in _VALUES}
    chosen = {
        _choice_name(n): _condition("text", f.choices) for n, f in FIELDS.items() if f.choices
    }
    return (
        conditions
        | chosen
        | {
            "Filters": {
                "description": "Conditions on the fields of memories, all of which must hold: "
                f"a value, or operators. At most {MAX_FILTER_VALUES:,} values.",
                "type": "object",
                "properties": properties,
                "patternProperties": {r"^metadata\.[^\u0000]+$": {"$ref": f"{_REF}JsonCondition"}},
                "additionalProperties": False,
            }
        }
    )


def _choice_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Condition"


def _condition(kind: str, choices: tuple[str, ...] = ()) -> Schema:
    """The conditions that a field of a type can meet: a value, or an object of operators."""
    value = _VALUES[kind]
    exact: Schema = {"type": "string", "enum": list(choices)} if choices else value
    if kind == "list":
        exact = {"anyOf": [value, {"type": "array", "items": value}]}
    equal = exact if kind == "json" else {"anyOf": [exact, {"type": "null"}]}
    among = {"type": "array", "items": equal}
    operators: dict[str, Schema] = {"eq": equal, "ne": equal, "in": among, "nin": among}
    present = _json_value(without="null") if kind == "json" else value
    if kind != "list":
        operators |= dict.fromkeys(COMPARISONS, present)
    operators["contains"] = present
    operators["exists"] = {"type": "boolean"}
    named_operators = {f"{sign}{name}": operators[name] for name in operators for sign in ("", "$")}
    compared = {
        "type": "object",
        "properties": named_operators,
        "additionalProperties": False,
        "minProperties": 1,
    }
    plain = _json_value(without="object") if kind == "json" else equal
    return {"anyOf": [plain, compared]}


def requests() -> dict[str, Schema]:
    """The schemas of what requests hold."""
    link = parameters(Memory.link)
    links = {name: schema_of(link[name].type) for name in LINK_KEYS}
    links["weight"]["type"] = ["number", "null"]
    item = parameters(Memory.add)
    members = {n: schema_of(a.type) for n, a in item.items() if n not in _NOT_OF_ITEMS}
    members["content"] = schema_of(Annotated[str, OF_FIELD["content"]])
    return {
        "Moment": MOMENT,
        "JsonObject": _JSON_OBJECT,
        "Present": PRESENT,
        "JsonValue": {"description": "A value of JSON, whose texts have no NUL."} | _json_value(),
        "Profile": {
            "description": "The name of a profile, or a profile as GET /v1/profiles/{name} gives "
            "one; never a path.",
            "anyOf": [{"type": "string", "enum": sorted(names())}, _profile()],
        },
        "LinkInput": {
            "type": "object",
            "properties": links,
            "required": ["target", "type"],
            "additionalProperties": False,
        },
        "BatchItem": {
            "description": "A text, or an object with the fields of a memory. Anything else is "
            "REJECTED by itself, and the others are added.",
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": members, "required": ["content"]},
                {},
            ],
        },
        "ChatMessage": {
            "type": "object",
            "properties": {
                "role": {
                    "type": "string",
                    "minLength": 1,
                    "description": "user, assistant, system or tool.",
                },
                "content": {
                    "description": "The text, or parts of it.",
                    "type": ["string", "array", "null"],
                    "items": {"type": ["string", "object"]},
                },
                "name": {"type": ["string", "null"]},
                "created_at": {"anyOf": [{"$ref": f"{_REF}Moment"}, {"type": "null"}]},
                "id": {"type": ["string", "null"], **ID.keywords},
            },
            "required": ["role", "content"],
        },
        "DedupPolicy": _dedup_policy(),
        "Section": _section(),
        **filters(),
    }


_NOT_OF_ITEMS = ("content", "dedup", "extract", "on_conflict")


def _profile() -> Schema:
    """The schema of a profile as JSON; the engine checks its stages, and names the wrong node."""
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "doc": {"type": "string"},
            "statuses": {"type": "array", "items": {"type": "string", "enum": list(STATUSES)}},
            "stages": {"type": "array", "items": _JSON_PARTS["object"]},
        },
        "required": ["name", "stages"],
        "additionalProperties": False,
    }


def _dedup_policy() -> Schema:
    """The schema of a policy of dedup: the fields of `DedupPolicy`, each with its default."""
    limits: dict[str, Any] = {
        "similar": {"minimum": 0, "maximum": 1},
        "loop_seconds": {"minimum": 0, "maximum": MAX_LOOP_SECONDS},
        "within": {"maxItems": MAX_WITHIN, "items": TAG.keywords},
    }
    hints = get_type_hints(DedupPolicy)
    return {
        "description": " ".join((DedupPolicy.__doc__ or "").split()),
        "type": "object",
        "properties": {
            field.name: schema_of(hints[field.name], limits.get(field.name, {}))
            | {"default": field.default}
            for field in fields(DedupPolicy)
        },
        "additionalProperties": False,
    }


def _section() -> Schema:
    """The schema of a section of a context."""
    limits: dict[str, Any] = {
        "name": {"maxLength": 64, "pattern": TEXT},
        "namespace": NAMESPACE.keywords,
        "filters": {"$ref": f"{_REF}Filters"},
        "limit": HITS.keywords,
        "title": {"pattern": NO_NUL},
    }
    hints = get_type_hints(Section)
    properties = {f.name: schema_of(hints[f.name], limits.get(f.name, {})) for f in fields(Section)}
    properties["budget"] = {
        "description": "Tokens, or a share of all as 0.3.",
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"type": "null"},
        ],
    }
    return {
        "description": " ".join((Section.__doc__ or "").split()),
        "anyOf": [
            {"type": "string", "enum": [name for name in STANDARD if name != "team"]},
            {
                "type": "object",
                "properties": properties,
                "required": ["name"],
                "additionalProperties": False,
            },
        ],
    }


def problem() -> Schema:
    """The schema of a problem, as RFC 9457 has it."""
    field = {
        "type": "object",
        "properties": {
            "pointer": {"type": "string", "description": "Its place in the body, by RFC 6901."},
            "field": {"type": "string"},
            "problem": {"type": "string"},
            "remedy": {"type": "string"},
        },
        "required": ["field", "problem", "remedy"],
        "additionalProperties": False,
    }
    return {
        "description": "A refusal or failure, as RFC 9457 has it.",
        "type": "object",
        "properties": {
            "type": {"type": "string", "format": "uri-reference"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "instance": {"type": "string", "description": "The id of the request."},
            "code": {"type": "string", "enum": sorted(KINDS)},
            "errors": {"type": "array", "items": field},
            "record": {"$ref": f"{_REF}MemoryRecord"},
        },
        "required": ["type", "title", "status", "detail", "instance", "code", "errors"],
        "additionalProperties": False,
    }


# Changes: the fields that an update sets, as arguments

_TYPES: dict[Type, Any] = {
    "text": str | None,
    "number": float | None,
    "time": str | float | None,
    "list": list[str] | None,
    "json": dict[str, Any] | None,
}


def _changes() -> dict[str, Argument]:
    """The arguments of `Memory.update`, and the fields that judgements set."""
    declared = parameters(Memory.update)
    del declared["id"]
    for name in [name for name in CHECKS if name != "id"]:
        kind = bool | float | None if name in FLAGS else _TYPES[FIELDS[name].type]
        if name in REQUIRED:
            kind = str if FIELDS[name].type == "text" else str | float
        described = declared[name].description if name in declared else _JUDGED
        declared[name] = Argument(Annotated[kind, OF_FIELD[name]], described, None)
    return declared


_JUDGED = "A field that judgements set otherwise."
CHANGES = _changes()
"""The members of an update, by their names."""
