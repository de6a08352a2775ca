"""The calls of a client: the request of each operation, and the result out of its answer."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

from salience.api.operations import BY_NAME, PREFIX, Operation
from salience.display.result import json_reader
from salience.engine.memory import Memory
from salience.engine.options import check_names, plain_signature
from salience.errors import InvalidInput, shown
from salience.records.field_filters import with_fields
from salience.records.validation import callable_or_none, integer, native, text
from salience.remote.wire import profile_to_wire, query_to_wire, to_wire
from salience.write.chat import one_or_many

_QUERY_TEXTS = ("id", "prefix", "cursor", "after")
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
        method: Callable[..., Any] = getattr(Memory, self.operation.name)
        return method

    @cached_property
    def read(self) -> Callable[[Any], Any]:
        """The function that makes the result out of the JSON of an answer."""
        kind = get_type_hints(self.method)["return"]
        if kind is bool:  # an answer without a body says yes
            return lambda answer: True
        read = json_reader(kind)
        member = self.operation.member
        return (lambda answer: read(answer[member])) if member else read

    @cached_property
    def whole(self) -> frozenset[str]:
        """The arguments that are whole numbers, which JSON does not tell from others."""
        parameters = inspect.signature(self.method).parameters.values()
        kinds = {each.name: each.annotation for each in parameters} | get_type_hints(self.method)
        return frozenset(name for name, kind in kinds.items() if kind in (int, int | None))

    def arguments(self, owner: str, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """The arguments of a call that are not the defaults, by name.

        Raises:
            TypeError: one is unknown, missing, or there twice.
        """
        own, parameters = plain_signature(self.method), inspect.signature(self.method).parameters
        *_, last = own.parameters.values()
        if last.kind is last.VAR_KEYWORD:
            for declared in get_args(get_type_hints(self.method)[last.name]):  # of Unpack[...]
                others = {name: None for name in options if name not in own.parameters}
                taken = [name for name in own.parameters if name not in ("self", last.name)]
                check_names(f"{owner}.{self.operation.name}", others, declared, *taken)
        try:
            bound = own.bind(None, *args, **options).arguments
        except TypeError as problem:
            raise TypeError(f"{self.method.__qualname__}() {problem}") from None
        del bound["self"]
        if last.kind is last.VAR_KEYWORD:
            bound |= bound.pop(last.name, {})
            if "filters" in parameters:
                bound = with_fields(bound)
        if isinstance(given := bound.get("content"), Mapping):
            content, bound = one_or_many(given, {n: v for n, v in bound.items() if n != "content"})
            bound = {"content": content, **bound}
        return {
            name: value
            for name, value in bound.items()
            if name not in parameters or value is not parameters[name].default
        }

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
        parameters = inspect.signature(self.method).parameters
        own = {name: parameters[name].default for name in self.operation.defaults}
        values = {
            name: _sent(name, value)
            for name, value in {**own, **arguments}.items()
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
    if name == "query":
        return query_to_wire(value)
    if name == "profile":
        return profile_to_wire(name, value)
    if name == "profiles":
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
            raise InvalidInput("profiles", "must be a list of profiles")
        return [profile_to_wire(f"profiles[{at}]", each) for at, each in enumerate(value)]
    if name in _TEXTS and isinstance(native(value), str):
        return [to_wire(name, value)]
    return to_wire(name, value)


CALLS: Mapping[str, Call] = {name: Call(operation) for name, operation in BY_NAME.items()}
"""The calls of a server, by the names of the methods of `Memory`."""
OF_THE_STORE = frozenset({"reembed", "reembedding", "backup", "restore_backup", "doctor"})
BUILT_ON_OTHERS = OF_THE_STORE | {"iterate", "within", "close", "open", "namespace"}
"""The other public names of `Memory`: made of operations, or of the client alone."""
