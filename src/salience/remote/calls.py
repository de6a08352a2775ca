"""The calls of a client: the request of each operation, and the result out of its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date, tzinfo
from functools import cached_property
from pathlib import PurePath
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

import numpy as np

from salience.api import parameters as api
from salience.api.operations import BY_NAME, PREFIX, READ, Operation
from salience.display.result import json_reader, to_json
from salience.engine.memory import Memory
from salience.engine.options import check_names
from salience.errors import InvalidInput, SalienceError, shown
from salience.lazily import dataclass, field, fields
from salience.ranking import profiles
from salience.ranking.profile import Profile
from salience.records.field_filters import with_fields
from salience.records.filters import And, Compare, Not, Or
from salience.records.json_values import JSON_INTEGERS
from salience.records.validation import (
    callable_or_none,
    finite,
    integer,
    native,
    storable,
    text,
    timestamp,
)
from salience.retrieval.erasure import Erased
from salience.search.context import Section
from salience.search.request import ASKED
from salience.write.chat import one_or_many
from salience.write.dedup import DedupPolicy

_QUERY_TEXTS = ("id", "prefix", "cursor", "after", "order", "around")
_TEXTS = ("ids", "tags", "entities", "mend")  # of which one text is a list of one


@dataclass(frozen=True)
class Request:
    """A request to a server; `repeatable` if sending it twice has the effect of once."""

    verb: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False

    @property
    def if_version(self) -> int:
        """The version that a memory has to have; 0 for any."""
        header = self.headers.get("If-Match", '"0"').strip('"')
        body = self.body if isinstance(self.body, Mapping) else {}
        return int(body.get("if_version") or header)


@dataclass(frozen=True)
class Call:
    """An operation as a client asks for it: arguments to a request, an answer to a result."""

    operation: Operation

    @cached_property
    def method(self) -> Callable[..., Any]:
        """The method of an embedded memory."""
        method: Callable[..., Any] = self.operation.of(Memory)
        return method

    @cached_property
    def read(self) -> Callable[[Any], Any]:
        """The function that makes the result out of the JSON of an answer."""
        kind = get_type_hints(self.method)["return"]
        if kind is bool:  # an answer without a body says yes
            return lambda answer: True
        if kind is Erased:
            return Erased.of_answer
        read = json_reader(kind)
        member = self.operation.member
        return (lambda answer: read(answer[member])) if member else read

    @cached_property
    def absent(self) -> Any:
        """The result where the memory is not there; NOT_GIVEN if that is an error."""
        kind = get_type_hints(self.method)["return"]
        return Erased() if kind is Erased else self.operation.absent

    @cached_property
    def whole(self) -> frozenset[str]:
        """The arguments that are whole numbers, which JSON does not tell from others."""
        parameters = api.parameters(self.method).values()
        return frozenset(each.name for each in parameters if each.plain in (int, int | None))

    def arguments(self, args: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call that are not the defaults, by name.

        Raises:
            TypeError: one is unknown, missing, or there twice.
        """
        return bound(self.operation.name, self.method, args, options)

    def request(self, arguments: Mapping[str, Any]) -> Request:
        """The request with some arguments.

        Raises:
            InvalidInput: names the argument that cannot be sent.
        """
        callable_or_none("progress", arguments.get("progress"))  # the client's own
        for name in self.whole & arguments.keys():
            if isinstance(native(arguments[name]), float):
                problem = f"is {shown(arguments[name])}"
                raise InvalidInput(name, problem, "give a whole number")
        verb, path, headers = self.operation.verb, self.operation.path, dict[str, str]()
        parameters = api.parameters(self.method)
        defaults = {name: parameters[name].default for name in self.operation.defaults}
        texts = ASKED if self.operation.scope == READ else frozenset[str]()
        values = {
            name: query_to_wire(name, value) if name in texts else _sent(name, value)
            for name, value in {**defaults, **arguments}.items()
            if name != "progress"
        }
        if "{id}" in path:
            path = path.replace("{id}", segment(text("id", values.pop("id"))))
        if verb in ("PATCH", "DELETE") and "if_version" in values:
            headers["If-Match"] = f'"{integer("if_version", values.pop("if_version"), 0)}"'
        query, body = dict[str, str](), None
        if verb == "GET":
            query = {
                name: _query_text(name, value) if name in _QUERY_TEXTS else json.dumps(value)
                for name, value in values.items()
            }
        elif verb != "DELETE":
            body = values
        is_repeatable = self.operation.is_repeatable
        return Request(verb, PREFIX + path, query, body, headers, is_repeatable)


def bound(
    name: str, method: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a method that are not the defaults, by name.

    Raises:
        TypeError: one is unknown, missing, or there twice.
    """
    signature, parameters = api.plain_signature(method), api.parameters(method)
    *_, last = signature.parameters.values()
    if last.kind is last.VAR_KEYWORD:
        for declared in get_args(get_type_hints(method)[last.name]):  # of Unpack[...]
            unknown = {name: None for name in options if name not in signature.parameters}
            taken = [name for name in signature.parameters if name not in ("self", last.name)]
            check_names(f"Memory.{name}", unknown, declared, *taken)
    try:
        arguments = signature.bind(None, *args, **options).arguments
    except TypeError as problem:
        raise TypeError(f"{method.__qualname__}() {problem}") from None
    del arguments["self"]
    if last.kind is last.VAR_KEYWORD:
        arguments |= arguments.pop(last.name, {})
        if "filters" in parameters:
            arguments = with_fields(arguments)
    if isinstance(content := arguments.get("content"), Mapping):
        fields = {n: v for n, v in arguments.items() if n != "content"}
        content, arguments = one_or_many(content, fields)
        arguments = {"content": content, **arguments}
    return {
        name: value
        for name, value in arguments.items()
        if name not in parameters or value is not parameters[name].default
    }


def _query_text(name: str, value: Any) -> str:
    """A text in a query, where a number would be taken for one."""
    if not isinstance(value, str):
        raise InvalidInput(name, f"must be text, not {type(value).__name__}")
    return value


def segment(id: str) -> str:
    """An id as one segment of a path; dots alone would be steps to other paths."""
    return quote(id, safe="") if id.strip(".") else id.replace(".", "%2E")


def _sent(name: str, value: Any) -> Any:
    """An argument as a request has it."""
    if name == "profile":
        return profile_to_wire(name, value)
    if name == "options" and isinstance(value, Mapping):
        texts = {n: query_to_wire(n, value[n]) for n in ASKED & value.keys()}
        return to_wire(name, {**value, **texts})
    if name == "profiles":
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
            raise InvalidInput("profiles", "must be a list of profiles")
        return [profile_to_wire(f"profiles[{at}]", each) for at, each in enumerate(value)]
    if name in _TEXTS and isinstance(native(value), str):
        return [to_wire(name, value)]
    return to_wire(name, value)


CALLS: Mapping[str, Call] = {name: Call(operation) for name, operation in BY_NAME.items()}
"""The calls of a server, by the names of the methods of `Memory`."""
OF_THE_STORE = frozenset(
    {"backup", "restore_backup", "upkeep.doctor", "upkeep.reembed", "upkeep.reembedding"}
)
BUILT_ON_OTHERS = OF_THE_STORE | {
    "iterate",
    "tools",
    "for_namespace",
    "close",
    "open",
    "namespace",
    "time_zone",
}
"""The other public names of `Memory`: made of operations, or of the client alone."""


# Arguments as JSON: times, arrays, filters, profiles and policies as a server reads them

MAX_DEPTH = 60  # levels of lists and mappings in an argument; a server takes 64 in a body


def to_wire(path: str, value: Any) -> Any:
    """The value of an argument in types that JSON has; `path` names it in errors.

    Raises:
        InvalidInput: names what cannot be sent.
    """
    try:
        return _plain(path, value, 0)
    except SalienceError:
        raise
    except Exception as problem:  # of any kind, in a type from outside
        raise InvalidInput(path, f"cannot be read: {type(problem).__name__}") from problem


def query_to_wire(path: str, query: Any) -> Any:
    """A question, with "?" for each half of a character."""
    query = native(query)
    if type(query) is str:
        return query.encode("utf-8", "replace").decode("utf-8")
    return to_wire(path, query)


def profile_to_wire(path: str, profile: Any) -> Any:
    """A profile: by its name, or as its JSON if it is an object or in a file on this machine."""
    if isinstance(profile, PurePath) or (isinstance(profile, str) and _is_file_name(profile)):
        profile = profiles.get(profile)  # type: ignore[arg-type]
    if isinstance(profile, Profile) and profiles.BUILT_IN.get(profile.name) is profile:
        return profile.name
    return to_wire(path, profile)


def _is_file_name(name: str) -> bool:
    return name.endswith(".json") or "/" in name or "\\" in name


def _plain(path: str, value: Any, depth: int) -> Any:
    value = native(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(path, value)
    if isinstance(value, int | float):
        return _number(path, value)
    if isinstance(value, tzinfo):
        return str(value)
    if isinstance(value, date):  # or a datetime
        moment = timestamp(path, value)
        is_local = getattr(value, "tzinfo", None) is None and "metadata" not in path.split(".")
        return value.isoformat() if is_local else to_json(moment)
    if depth > MAX_DEPTH:
        raise InvalidInput(path, f"is nested more than {MAX_DEPTH} levels deep")
    if "metadata" not in path.split("."):  # which holds nothing that JSON does not have
        value = _written_out(value)
    elif not isinstance(value, Mapping | Sequence | Set):
        raise _unsendable(path, value)
    if isinstance(value, Mapping):
        return {
            _key(path, key): _plain(f"{path}.{key}", item, depth + 1) for key, item in value.items()
        }
    if isinstance(value, bytes | bytearray | memoryview) or not isinstance(value, Iterable):
        raise _unsendable(path, value)
    items = sorted(value) if isinstance(value, set | frozenset) else value
    return [_plain(path, item, depth + 1) for item in items]


def _written_out(value: Any) -> Any:
    """A profile, a filter, a policy, a section or an array in its JSON; anything else as it is."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Profile):
        return value.to_dict()
    if isinstance(value, Compare | And | Or | Not):
        return _condition(value)
    if isinstance(value, DedupPolicy | Section):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value


def _number(path: str, value: float) -> float:
    """A number that JSON has, and that every reader of JSON can be trusted with."""
    if isinstance(value, int) and value not in JSON_INTEGERS:
        raise InvalidInput(path, f"is {shown(value)}", "give a smaller number")
    if isinstance(value, float) and not finite(value):
        raise InvalidInput(path, f"is {shown(value)}", "give a finite number")
    return value


def _key(path: str, key: Any) -> str:
    key = native(key)
    if type(key) is not str:
        raise InvalidInput(path, f"has the key {shown(key)}", "keys are text")
    return storable(path, key)


def _condition(condition: Compare | And | Or | Not) -> dict[str, Any]:
    """A filter in its mapping form, with its parts as they are."""
    if isinstance(condition, Compare):
        return {condition.field: {condition.operator: condition.value}}
    if isinstance(condition, Not):
        return {"not": condition.part}
    return {"and" if isinstance(condition, And) else "or": list(condition.parts)}


def _unsendable(path: str, value: Any) -> InvalidInput:
    if callable(value):
        problem = "is a function, which cannot be sent to a server"
        return InvalidInput(path, problem, "leave it out, or open the store itself")
    kind = type(value).__name__
    return InvalidInput(path, f"is of the type {kind}, which cannot be sent to a server")
