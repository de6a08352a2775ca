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

from salience.api.parameters import Between, Bounds, descriptions, plain
from salience.display.result import Result
from salience.ranking.constants import ConstantOptions
from salience.records.validation import LARGEST_NUMBER
from salience.search.context import TextOptions
from salience.search.request import HitOptions, RankingOptions, WordOptions

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
        kind, *stated = get_args(annotation)
        for each in reversed(stated):
            if isinstance(each, Between | Bounds):
                limits = {**each.keywords, **limits}
        return schema_of(kind, limits, refer)
    if isinstance(annotation, TypeVar) or annotation is Any:
        return dict(limits)
    if parts := union_parts(annotation):
        return _union([part for part in parts if refer or is_json(plain(part))], limits, refer)
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
    hints = get_type_hints(kind, include_extras=True)
    properties = {
        name: schema_of(hint) | {"description": meanings[name]}
        for name, hint in hints.items()
        if is_json(plain(hint))
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
