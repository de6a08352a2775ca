"""Tools: functions that a model calls, with their schemas, the scope they need, and their hints."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, get_type_hints

from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic_core import ErrorDetails

from salience.access import Principal, Scope
from salience.api.operations import READ
from salience.api.parameters import Between, Bounds, descriptions
from salience.engine.async_memory import AsyncMemory
from salience.engine.options import MemoryFields, RecordFields
from salience.errors import InvalidInput
from salience.lazily import dataclass, field, replace
from salience.mcp.app import MIN_TOKENS, ToolSettings
from salience.mcp.messages import error_text
from salience.records.field_filters import with_fields
from salience.records.fields import FIELDS
from salience.search.context.sections import shortened, whole_id

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Caller:
    """The caller of a tool: the memory of its namespace, what it may do, and its program's name.

    `error_text` words an error for the model.
    """

    memory: AsyncMemory
    principal: Principal
    settings: ToolSettings
    client: str | None = None
    error_text: Callable[[Exception], str] = error_text

    def budget(self, max_tokens: int) -> int:
        """The tokens that an answer may take: those asked for, as far as the settings allow."""
        return min(max_tokens, self.settings.max_tokens)

    def within(self, time_zone: str | None) -> Caller:
        """The same caller in a time zone, if one is given."""
        if time_zone is None:
            return self
        return replace(
            self, memory=self.memory.for_namespace(self.memory.namespace, time_zone=time_zone)
        )


@dataclass(frozen=True)
class Answer:
    """An answer of a tool: its structured content, the same as text, and metadata for an app."""

    content: Mapping[str, Any]
    text: str
    meta: Mapping[str, Any] | None = None


Handler = Callable[..., Awaitable[Answer]]


@dataclass(frozen=True)
class Tool:
    """A tool: its name and description are those of its function, its parameters, too."""

    title: str
    handler: Handler
    scope: Scope
    result: Any
    hints: ToolAnnotations
    meta: dict[str, Any] | None = field(default=None)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return self.handler.__name__

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The arguments, as pydantic checks them."""
        hints = get_type_hints(self.handler, include_extras=True)
        parameters = list(inspect.signature(self.handler).parameters.values())[1:]
        fields: Any = {
            each.name: (hints[each.name], ... if each.default is each.empty else each.default)
            for each in parameters
        }
        model: type[BaseModel] = create_model(self.name, __config__=_STRICT, **fields)
        return model

    async def call(self, caller: Caller, arguments: Mapping[str, Any] | None) -> Answer:
        """The answer to a call.

        Raises:
            InvalidInput: names the argument that is wrong by the name that the tool has for it.
            SalienceError: as the method of the memory raises it.
        """
        try:
            parsed = await self._with_whole_ids(caller, self.parse(arguments))
            return await self.handler(caller, **parsed)
        except InvalidInput as error:
            if (name := self.renamed.get(error.field)) is None:
                raise
            raise InvalidInput(name, error.problem, error.remedy) from error

    def parse(self, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        """The arguments of a call, with those left out."""
        values = {name: v for name, v in (arguments or {}).items() if not self._is_absent(name, v)}
        try:
            parsed = self.arguments.model_validate(values)
        except ValidationError as problem:
            raise _refusal(problem, self.arguments) from None
        return {name: getattr(parsed, name) for name in self.arguments.model_fields}

    def _is_absent(self, name: str, value: Any) -> bool:
        """Test whether a value means that an optional argument is left out: null, or no text.

        Models write these as words, too, and in lists.
        """
        field = self.arguments.model_fields.get(name)
        values = value if isinstance(value, list) and value else [value]
        return field is not None and not field.is_required() and all(map(_is_nothing, values))

    async def _with_whole_ids(self, caller: Caller, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the ids that shortened ones, as get_context writes them, stand for.

        Raises:
            InvalidInput: a shortened id may stand for several.
        """
        fields = self.arguments.model_fields
        names = [name for name in arguments if arguments[name] and ID in fields[name].metadata]
        values = {name: arguments[name] for name in names}
        ids = [id for value in values.values() for id in ([value] if type(value) is str else value)]
        if not ids or not caller.principal.may(READ):
            return arguments
        try:
            there = await caller.memory.get_many(ids)
        except InvalidInput:  # which the memory says of the argument itself
            return arguments
        missing = dict.fromkeys(id for id, record in zip(ids, there, strict=True) if record is None)
        full = {id: await _whole_id(caller.memory, id) for id in missing}
        return arguments | {
            name: full.get(v, v) if type(v) is str else [full.get(id, id) for id in v]
            for name, v in values.items()
        }

    @cached_property
    def listed(self) -> ListedTool:
        """The tool as it is listed."""
        return ListedTool(
            name=self.name,
            title=self.title,
            description=inspect.getdoc(self.handler),
            input_schema=_plain(_inlined(self.arguments.model_json_schema())),
            output_schema=_inlined(TypeAdapter(self.result).json_schema(mode="serialization")),
            annotations=self.hints,
            _meta=self.meta,
        )


def tool(
    title: str,
    *,
    scope: Scope,
    result: Any,
    destructive: bool = False,
    idempotent: bool = False,
    meta: dict[str, Any] | None = None,
    renamed: Mapping[str, str] = {},
) -> Callable[[Handler], Tool]:
    """A decorator that makes a function a tool.

    Args:
        title: its name for people.
        scope: what the key of a caller needs; only reading changes nothing.
        result: the type of the structured content, a `TypedDict`.
        destructive: it takes away or replaces what is there.
        idempotent: to do it twice has the effect of once.
        meta: the `_meta` that it is listed with.
        renamed: arguments by the names that a memory has for them in errors.
    """
    reads = scope == READ
    hints = ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=destructive,
        idempotent_hint=idempotent or reads,
        open_world_hint=False,
    )
    return lambda handler: Tool(title, handler, scope, result, hints, meta, renamed)


def _listed(value: Any) -> Any:
    """A list: models also write one as a text of JSON, or as texts with commas between them."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    return [each for each in value if not _is_nothing(each)] if isinstance(value, list) else value


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value in ("", "null"))


_LIMITS = {"minimum": "ge", "maximum": "le"}
_LIMITS |= {"minItems": "min_length", "maxItems": "max_length", "maxLength": "max_length"}


def about(description: str, bounds: Between | Bounds | None = None) -> Any:
    """The meaning and the bounds of a parameter or a field, as pydantic takes them."""
    keywords: Mapping[str, Any] = {} if bounds is None else bounds.keywords
    limits: Any = {_LIMITS[name]: limit for name, limit in keywords.items()}
    return Field(description=description, **limits)


Listed = BeforeValidator(_listed)
Texts = Annotated[list[str], Listed]
MaxTokens = Annotated[int, about("Maximum number of tokens in the answer.", Between(MIN_TOKENS))]


def _inlined(schema: Any, kinds: Mapping[str, Any] = {}) -> Any:
    """A schema with its references resolved: many clients follow none."""
    if isinstance(schema, list):
        return [_inlined(each, kinds) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = schema.get("$defs", kinds)
    kind = kinds[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}
    members = {name: each for name, each in schema.items() if name not in ("$defs", "$ref")}
    return {name: _inlined(each, kinds) for name, each in {**kind, **members}.items()}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema as all clients read it: without titles and the null of what is left out.

    It has one level of objects within lists, and no more.
    """
    properties = {}
    for name, member in schema.get("properties", {}).items():
        if member.get("items", {}).get("type") == "object":
            member = {**member, "items": _plain(member["items"])}
        kinds = [each for each in member.get("anyOf", ()) if each != {"type": "null"}]
        if len(kinds) == 1:
            member = {**kinds[0], **{key: v for key, v in member.items() if key != "anyOf"}}
        properties[name] = {
            key: value
            for key, value in member.items()
            if key != "title" and not (key == "default" and value is None)
        }
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _refusal(problem: ValidationError, model: type[BaseModel]) -> InvalidInput:
    """The error for what pydantic has found, in the words of this package."""
    mistakes = (_mistake(error, model) for error in problem.errors(include_url=False))
    (field, what, remedy), *others = mistakes
    notes = [f"{name}: {text}" + (f"; {more}" if more else "") for name, text, more in others]
    return InvalidInput(field, what, "; and ".join(filter(None, (remedy, *notes))))


def _mistake(error: ErrorDetails, model: type[BaseModel]) -> tuple[str, str, str]:
    """The argument that is wrong, the problem and the remedy."""
    name = ".".join(str(part) for part in error["loc"]) or "arguments"
    if error["type"] == "extra_forbidden":
        return name, "is not a parameter", f"use {', '.join(model.model_fields)}"
    if error["type"] == "missing":
        return name, "is missing", "give it a value"
    if error["type"] in ("too_short", "too_long"):  # a list, of which pydantic says more
        least, most = (error["ctx"].get(each) for each in ("min_length", "max_length"))
        bound = f"at most {most}" if least is None else f"at least {least}"
        return name, f"has {error['ctx']['actual_length']} elements", f"give {bound}"
    words = error["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    return name, (words if words == error["msg"] else f"must be {words}"), ""


# Parameters that several tools share, and the filter that they make

_MEANINGS = descriptions(RecordFields) | descriptions(MemoryFields)


def meaning(name: str, bounds: Between | None = None) -> Any:
    """The description of a field of a memory, which says how a time is written."""
    means, sign, rest = _MEANINGS[name].partition(";")
    if name in FIELDS and FIELDS[name].type == "time":
        means = f"{means.removesuffix('.')} (ISO 8601)" + ("" if sign else ".")
    return about(means + sign + rest, bounds)


ID = "id"
"""Among the annotations of a parameter: it takes the id of a memory, or several."""
Id = Annotated[str, about("The id of the memory, as other tools give it."), ID]


async def _whole_id(memory: AsyncMemory, given: str) -> str:
    """The only id that begins with a shortened one, such as [m:1f3a9c02]; itself without a match.

    Raises:
        InvalidInput: several do.
    """
    short = shortened(given)
    if short is None:
        return given
    page = await memory.get_all(short[0], limit=1_000)
    return whole_id(given, short[1], [record.id for record in page])


Query = Annotated[str, about("What is asked, in words: a question, or a few terms.")]
Tags = Annotated[Texts | None, about("Only memories that have all of these tags.")]
Kind = Annotated[
    str | None, about('Only memories of this kind, as "fact", "note", "turn", "profile", "task".')
]
Speaker = Annotated[str | None, about("Only what this person said.")]
Since = Annotated[str | None, about("Only what was said or happened from this time on (ISO 8601).")]
Until = Annotated[str | None, about("Only what was said or happened before this time (ISO 8601).")]
Now = Annotated[str | None, about('The present, from which "yesterday" is told (ISO 8601).')]
Zone = Annotated[str | None, about("The user's time zone, as Europe/Berlin, of days and of times.")]
AsOf = Annotated[str | None, about("Go back: what was known at this time (ISO 8601).")]


def filters(
    tags: Sequence[str] | None,
    kind: str | None,
    speaker: str | None,
    since: str | None,
    until: str | None,
) -> Mapping[str, Any] | None:
    """The filter that the parameters make; None if none is given.

    Raises:
        InvalidInput: a time is none.
    """
    fields: dict[str, Any] = {"tags": tags, "kind": kind, "speaker": speaker}
    fields |= {"since": since, "until": until}
    conditions = {name: value for name, value in fields.items() if value}
    return with_fields(conditions).get("filters")
