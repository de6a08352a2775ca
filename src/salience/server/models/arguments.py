"""Arguments: the parameters of a method as a JSON object, read off its signature and docstring.

The names, defaults and descriptions are those of `Memory`, so they cannot drift. Pydantic checks
the JSON types and refuses unknown names; the values are checked by the engine, whose limits the
schema repeats from its own constants.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from inspect import cleandoc
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints

import msgspec
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from salience.api import parameters as api
from salience.api.parameters import NOT_GIVEN, plain
from salience.display.result import Result, field_names
from salience.language.analysis_types import TimeRange
from salience.lazily import dataclass, field
from salience.lifecycle.audit import Finding
from salience.ranking.explanation import Explanation
from salience.ranking.rejection import OnRoute, Part
from salience.records.access_key import AccessKey
from salience.records.validation import storable
from salience.search.compare import Compared, Comparison, Move, Standing
from salience.search.explain import ExplainReport
from salience.search.explain.why_not import Change
from salience.search.request import ASKED
from salience.search.results import ALWAYS_GIVEN, GIVEN_IF_ANY, Hit, SearchResult
from salience.server.models.schema import (
    Schema,
    incoming_type,
    is_collection,
    is_json,
    schema_of,
    union_parts,
)
from salience.server.problems import FieldProblem, Problem, Refused
from salience.write.outcomes import AddResult

_OBJECT = ConfigDict(extra="forbid", strict=True)
_EMPTY = inspect.Parameter.empty
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # perhaps half of a pair; the other may follow
_DAY = re.compile(r"[0-9]{8}")


@dataclass(frozen=True)
class Argument:
    """A member of a JSON object: its type with the bounds, its description and default."""

    type: Any
    description: str = ""
    default: Any = _EMPTY

    @cached_property
    def plain(self) -> Any:
        """The type without bounds."""
        return plain(self.type)

    @property
    def is_required(self) -> bool:
        """True if there is no default."""
        return self.default is _EMPTY

    def annotation(self) -> Any:
        """The type that pydantic checks."""
        kind = incoming_type(self.plain)
        return kind if self.is_required else NotRequired[kind]

    def schema(self) -> Schema:
        """The schema of its values."""
        schema = schema_of(self.type)
        if self.description:
            schema["description"] = self.description
        if self.default not in (_EMPTY, None, NOT_GIVEN):
            schema["default"] = _json(self.default)
        return schema


class Arguments:
    """A JSON object of arguments, which parses bodies and has a schema."""

    def __init__(
        self, name: str, members: Mapping[str, Argument], one_of: Sequence[Sequence[str]] = ()
    ) -> None:
        self.name = name
        self._one_of = one_of
        self.members = dict(members)
        typed_dict: Any = TypedDict  # mypy knows no names that are computed
        kind = typed_dict(name, {n: m.annotation() for n, m in members.items()})
        kind.__pydantic_config__ = _OBJECT
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(kind)

    def parse(self, body: bytes, *, asks: bool = False) -> dict[str, Any]:
        """The arguments in a body: those that it has, with their values as JSON has them.

        Where it `asks`, half an emoji in a question is "?", as in a question to a `Memory`.

        Raises:
            Refused: the body is no such object; names each wrong member.
            InvalidInput: another text has half an emoji.
        """
        try:
            arguments = self._adapter.validate_json(body, strict=True)
        except ValidationError as problem:
            if (document := _with_halves(body, asks)) is None:
                raise _refusal(problem, body, self.members) from None
            try:
                arguments = self._adapter.validate_python(document, strict=True)
            except ValidationError as other:
                written = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
                raise _refusal(other, written, self.members) from None
        for group in self._one_of:
            present = [name for name in group if name in arguments]
            if len(present) != 1:
                first, names = present[0] if present else group[0], ", ".join(group)
                what = f"is there besides {present[1]}" if present else "is missing"
                remedy = f"give one of {names}, and only one"
                raise _refused([FieldProblem(first, what, remedy, f"#/{first}")])
        return arguments

    def parse_query(self, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The arguments in the parameters of a URL; all but texts are written as JSON.

        A list is written so, too, or as one parameter for each item.

        Raises:
            Refused: names the parameter that is wrong.
        """
        values: dict[str, Any] = {}
        for name, text in query:
            is_list = name in self.members and _is_list(self.members[name].plain)
            if name in values and not is_list:
                raise _refused([FieldProblem(name, "is there twice", "give it once")])
            value = _value(text, self.members[name].plain) if name in self.members else text
            if is_list and (name in values or value is not None):
                items = value if isinstance(value, list) else [text]
                value = [*(values.get(name) or ()), *items]
            values[name] = value
        return self.parse(msgspec.json.encode(values))

    def schema(self) -> Schema:
        """The JSON schema of the object."""
        required = [name for name, member in self.members.items() if member.is_required]
        schema: Schema = {
            "type": "object",
            "properties": {name: member.schema() for name, member in self.members.items()},
            "additionalProperties": False,
        }
        groups = [{"oneOf": [{"required": [name]} for name in group]} for group in self._one_of]
        schema |= {"required": required} if required else {}
        return schema | ({"allOf": groups} if groups else {})


def parameters(method: Callable[..., Any]) -> dict[str, Argument]:
    """The parameters of a method that JSON can hold, in their order."""
    return {
        name: Argument(each.type, each.meaning, each.default)
        for name, each in api.parameters(method).items()
        if is_json(each.plain)
    }


def _value(text: str, annotation: Any) -> Any:
    """The value that a parameter of a URL stands for: JSON, or text where that is allowed.

    A day without hyphens, as 20260531, is that day, and no number of seconds.
    """
    is_text = _allows(annotation, str) and not _allows(annotation, float)
    if is_text or (_DAY.fullmatch(text) and _allows(annotation, date)):
        return text
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text
    is_told = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    return value if is_told or not _allows(annotation, str) else text


def _is_list(annotation: Any) -> bool:
    """Test whether an annotation takes a list of texts."""
    parts = union_parts(annotation) or (annotation,)
    return any(is_collection(part, Iterable) and not is_collection(part, Mapping) for part in parts)


def _with_halves(body: bytes, asks: bool) -> dict[str, Any] | None:
    """The document of a body that has halves of emojis; None if it has none.

    Programs cut a text between both halves, and JSON can write one: as an escape. In a question it
    is "?"; of a batch it concerns one item.

    Raises:
        InvalidInput: names another text that has one.
    """
    try:
        document = json.loads(body) if _HALF.search(body) else None
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        pass
    except (ValueError, RecursionError):
        return None
    else:
        return None
    if not isinstance(document, dict):
        return None
    parts: tuple[Any, ...] = (document, document.get("options")) if asks else ()
    for part in parts:
        for name in ASKED & part.keys() if isinstance(part, dict) else ():
            if isinstance(text := part[name], str):
                part[name] = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    for name, value in document.items():
        if name != "items":
            _check_texts(name, value)
    return document


def _check_texts(path: str, value: Any) -> None:
    """Refuse a text in a value that no store can keep, by its path."""
    if isinstance(value, str):
        storable(path, value)
    for name, item in value.items() if isinstance(value, dict) else ():
        storable(path, name)
        _check_texts(f"{path}.{name}", item)
    for at, item in enumerate(value) if isinstance(value, list) else ():
        _check_texts(f"{path}[{at}]", item)


def _allows(annotation: Any, kind: type) -> bool:
    """Test whether an annotation takes values of a scalar type."""
    if parts := union_parts(annotation):
        return any(_allows(part, kind) for part in parts)
    if get_origin(annotation) is Literal:
        return any(isinstance(value, kind) for value in get_args(annotation))
    return annotation is kind


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _refusal(problem: ValidationError, body: bytes, members: Mapping[str, Argument]) -> Refused:
    """The refusal of a body that names what pydantic has found, by the places of the body."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return Refused(Problem("InvalidRequest", "the body is not JSON in UTF-8"))
    mistakes: dict[str, FieldProblem] = {}
    for error in problem.errors(include_url=False, include_input=False, include_context=False):
        path = _path(document, error["loc"], error["type"])
        pointer = "#" + "".join(f"/{_escaped(part)}" for part in path)
        what, remedy = _sentence(error["msg"]), ""
        if error["type"] == "extra_forbidden":
            what, remedy = "is not a field", f"use {', '.join(sorted(members))}"
        elif error["type"] == "missing":
            what, remedy = "is missing", "give it a value"
        name, *place = map(str, path or ("body",))
        if place:  # within an argument, which the engine names as a whole
            what = f"{'.'.join(place)} {what}"
        mistakes.setdefault(pointer, FieldProblem(name, what, remedy, pointer))
    return _refused(list(mistakes.values()))


def _refused(mistakes: Sequence[FieldProblem]) -> Refused:
    first = mistakes[0]
    detail = f"{first.field}: {first.problem}" + (f"; {first.remedy}" if first.remedy else "")
    return Refused(Problem("InvalidInput", detail, tuple(mistakes)))


def no_query(names: Sequence[str], body: Arguments | None) -> Refused:
    """The refusal of parameters of a URL, where an operation has none."""
    in_body = frozenset() if body is None else body.members.keys()
    mistakes = [
        FieldProblem(
            name,
            "is not a parameter of the URL here",
            "send it in the body" if name in in_body else "leave it out",
        )
        for name in dict.fromkeys(names)
    ]
    return _refused(mistakes)


def _path(document: Any, location: Sequence[Any], kind: str) -> list[str | int]:
    """The keys of a location that are in the document: pydantic names branches of unions, too."""
    path: list[str | int] = []
    for part in location:
        is_key = isinstance(document, dict) and part in document
        if is_key or (isinstance(document, list) and isinstance(part, int)):
            document = document[part]
        elif kind != "missing" or part != location[-1]:
            continue
        path.append(part)
    return path


def _escaped(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def _sentence(message: str) -> str:
    """The message of pydantic in the words of this package."""
    words = message.removeprefix("Input should be ").removeprefix("a valid ")
    return f"must be {words}" if words != message else message


# Results: the schemas of answers, read off the dataclasses that methods return

_NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}


@dataclass(frozen=True)
class Renamed:
    """A result in other names; `items` are the elements of those of its members that are lists.

    `plus` are the schemas of what it has besides.
    """

    name: str
    kind: type[Result]
    names: Mapping[str, str]
    items: Mapping[str, Renamed] = field(default_factory=dict)
    plus: Mapping[str, Schema] = field(default_factory=dict)


class Schemas:
    """The components of the document: the schemas that others refer to, by their names."""

    def __init__(self, components: Mapping[str, Schema]) -> None:
        self.components: dict[str, Schema] = dict(components)

    def refer(self, kind: type[Result]) -> Schema:
        """The reference to the schema of a result, which is entered if it is new."""
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # a result may hold others of its kind
            self.components[name] = self._of(kind)
        return {"$ref": f"#/components/schemas/{name}"}

    def of(self, body: Any) -> Schema:
        """The schema of the body of an answer: of a type, or of a mapping from names to types."""
        if isinstance(body, Mapping):
            return _object({name: self.of(kind) for name, kind in body.items()})
        if isinstance(body, list):
            return {"type": "array", "items": self.of(body[0])}
        if isinstance(body, tuple):
            return {"anyOf": [self.of(each) for each in body]}
        if isinstance(body, Renamed):
            return self._renamed(body)
        return schema_of(body, {}, self.refer)

    def _renamed(self, body: Renamed) -> Schema:
        """The reference to the schema of a result in other names."""
        self.refer(body.kind)
        schema = self.components[body.kind.__name__]
        properties = {body.names.get(n, n): each for n, each in schema["properties"].items()}
        for name, item in body.items.items():
            properties[name] = {"type": "array", "items": self.of(item)}
        properties |= body.plus
        names = (body.names.get(name, name) for name in schema["required"])
        required = [*dict.fromkeys((*names, *body.plus))]
        self.components[body.name] = schema | {"properties": properties, "required": required}
        return {"$ref": f"#/components/schemas/{body.name}"}

    def _of(self, kind: type[Result]) -> Schema:
        properties = {name: schema_of(t, {}, self.refer) for name, t in _members(kind).items()}
        optional: frozenset[str] = frozenset()
        if kind in _SHAPES:
            names, more, optional = _SHAPES[kind]
            every = properties | {name: self._resolved(other) for name, other in more.items()}
            properties = {name: every[name] for name in every if name in {*names, *optional}}
        if kind in _MAY_BE_UNDEFINED:
            properties = {
                name: _NUMBER_OR_NULL if schema == {"type": "number"} else schema
                for name, schema in properties.items()
            }
        schema = _object(properties, optional)
        return {"description": _summary(kind)} | schema

    def _resolved(self, other: Any) -> Schema:
        return other if isinstance(other, dict) else schema_of(other, {}, self.refer)


def _members(kind: type[Result]) -> dict[str, Any]:
    """The fields and computed properties of a result, with their annotations."""
    hints = get_type_hints(kind)
    members = {name: hints[name] for name in field_names(kind) if name in hints}
    for name in kind._computed:
        members[name] = get_type_hints(getattr(kind, name).fget)["return"]
    return members


def _summary(kind: type[Result]) -> str:
    return " ".join(cleandoc(kind.__doc__ or "").split("\n\n")[0].split())


def _object(properties: Mapping[str, Schema], optional: frozenset[str] = frozenset()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }


_PAIR = {"part": {"type": "string"}, "shift": _NUMBER_OR_NULL}
_TEXT: Schema = {"type": "string"}
_TIME: Schema = {"type": "string", "format": "date-time"}

_SHAPES: dict[type[Result], tuple[tuple[str, ...], dict[str, Any], frozenset[str]]] = {
    SearchResult: (
        (
            *("query", "profile", "search_type", "min_score", "during", "search_id"),
            *("probability", "probability_model", "approximate", "degraded", "taken"),
            *("timings_ms", "hits"),
        ),
        {},
        frozenset(),
    ),
    Hit: (
        ALWAYS_GIVEN,
        {
            "assumed": tuple[str, ...],
            "may_be_replaced_by": tuple[str, ...],
            "supporting_turn_count": int,
            "best_turn": str,
            "best_turn_routes": dict[str, int],
        },
        frozenset(GIVEN_IF_ANY),
    ),
    Explanation: (
        ("label", "value"),
        {"value": _NUMBER_OR_NULL},
        frozenset(("how", "note", "doc", "group", "children")),
    ),
    Move: (("by", "causes"), {"causes": {"type": "array", "items": _object(_PAIR)}}, frozenset()),
    Compared: (
        ("id", "content", "record", "standings", "moves"),
        {"id": str, "content": str},
        frozenset(),
    ),
    Comparison: (
        ("query", "profiles", "limit", "shared", "memories", "degraded", "taken"),
        {"shared": list[int]},
        frozenset(),
    ),
    ExplainReport: (
        (
            *("query", "id", "content", "namespace", "record", "profile", "limit", "found"),
            *("verdict", "rank", "of", "score", "routes", "why", "why_not", "changes", "left"),
            *("weights", "against", "probability", "passages", "approximate", "degraded", "taken"),
        ),
        {
            "id": str,
            "content": str,
            "namespace": str,
            "found": bool,
            "verdict": str,
        },
        frozenset(),
    ),
    Finding: (
        ("name", "count", "of", "rate", "examples", "actions"),
        {
            "examples": {
                "type": "array",
                "items": _object({"id": {"type": "string"}, "why": {"type": "string"}}),
            }
        },
        frozenset(),
    ),
    AddResult: (
        ("id", "items", "degraded", "pending", "run", "ids"),
        {"id": str | None, "run": str | None},
        frozenset(),
    ),
    AccessKey: (AccessKey.visible(), {}, frozenset()),
    TimeRange: (("start", "end", "words"), {"start": _TIME, "end": _TIME}, frozenset()),
}
"""Results whose `to_dict` has another shape: its members, their types, and those it may lack."""

_MAY_BE_UNDEFINED = frozenset({Change, Part, OnRoute, Standing})
"""Results with a number that may be undefined: JSON has null for it."""
