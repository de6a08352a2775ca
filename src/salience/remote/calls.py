"""The operations of a server: for each method of `Memory` its verb and path, as one table."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

from salience.display.result import json_reader
from salience.engine.memory import Memory
from salience.engine.options import check_names, plain_signature
from salience.errors import InvalidInput, shown
from salience.records.validation import callable_or_none, integer, native, text
from salience.remote.wire import profile_to_wire, query_to_wire, to_wire

PREFIX = "/v1"
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
class Operation:
    """A method of `Memory` behind a verb and a path.

    The arguments of a GET are its query, those of another verb its body, but for what the path
    names and `if_version`, which is the header If-Match of a PATCH or DELETE. `member` is the one
    member of the answer that is the result; `absent` what a 404 means, if that is no error;
    `defaults` the arguments of the method whose defaults a server does not share.
    """

    name: str
    verb: str
    path: str
    member: str = ""
    repeats: bool = False
    absent: Any = ...
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def method(self) -> Callable[..., Any]:
        """The method of an embedded memory."""
        method: Callable[..., Any] = getattr(Memory, self.name)
        return method

    @cached_property
    def read(self) -> Callable[[Any], Any]:
        """The function that makes the result out of the JSON of an answer."""
        kind = get_type_hints(self.method)["return"]
        if kind is bool:  # an answer without a body says yes
            return lambda answer: True
        read = json_reader(kind)
        return (lambda answer: read(answer[self.member])) if self.member else read

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
                check_names(f"{owner}.{self.name}", others, declared)
        try:
            bound = own.bind(None, *args, **options).arguments
        except TypeError as problem:
            raise TypeError(f"{self.method.__qualname__}() {problem}") from None
        del bound["self"]
        if last.kind is last.VAR_KEYWORD:
            bound |= bound.pop(last.name, {})
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
        values = {
            name: _sent(name, value)
            for name, value in {**self.defaults, **arguments}.items()
            if name != "progress"
        }
        path, headers = self.path, dict[str, str]()
        if "{id}" in path:
            path = path.replace("{id}", segment(text("id", values.pop("id"))))
        if self.verb in ("PATCH", "DELETE") and "if_version" in values:
            headers["If-Match"] = f'"{integer("if_version", values.pop("if_version"), 0)}"'
        query, body = dict[str, str](), None
        if self.verb == "GET":
            query = {
                name: _query_text(name, value) if name in _QUERY_TEXTS else json.dumps(value)
                for name, value in values.items()
            }
        elif self.verb != "DELETE":
            body = values
        repeats = self.repeats or self.verb == "GET"
        return Request(self.verb, PREFIX + path, query, body, headers, repeats)


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


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation("add", "POST", "/memories"),
        Operation("add_many", "POST", "/memories/batch"),
        Operation("add_chat", "POST", "/chats"),
        Operation("get", "GET", "/memories/{id}", absent=None),
        Operation("get_many", "POST", "/memories/get", "memories", repeats=True),
        Operation("get_all", "POST", "/memories/list", repeats=True),
        Operation("about", "POST", "/about", repeats=True),
        Operation("tags", "GET", "/tags"),
        Operation("entities", "GET", "/entities"),
        Operation("events", "GET", "/events"),
        Operation("count", "POST", "/memories/count", "count", repeats=True),
        Operation("update", "PATCH", "/memories/{id}"),
        Operation("delete", "DELETE", "/memories/{id}", absent=False),
        Operation("delete_many", "POST", "/memories/delete", "deleted"),
        Operation("delete_all", "POST", "/memories/delete", "receipt"),
        Operation("forget_user", "POST", "/memories/forget"),
        Operation("history", "GET", "/memories/{id}/history"),
        Operation("promote", "POST", "/memories/{id}/promote"),
        Operation("demote", "POST", "/memories/{id}/demote"),
        Operation("reinforce", "POST", "/memories/{id}/reinforce"),
        Operation("pin", "POST", "/memories/{id}/pin"),
        Operation("unpin", "POST", "/memories/{id}/unpin"),
        Operation("search", "POST", "/search", repeats=True),
        Operation("get_context", "POST", "/context", repeats=True),
        Operation("explain", "POST", "/explain", repeats=True),
        Operation("compare", "POST", "/compare", repeats=True),
        Operation("feedback", "POST", "/feedback"),
        Operation("touch", "POST", "/touch"),
        Operation("decay_all", "POST", "/decay"),
        Operation("link", "POST", "/links"),
        Operation("links", "GET", "/links", "links"),
        Operation("pending_links", "GET", "/links/pending", "links"),
        Operation("supersede", "POST", "/supersede"),
        Operation("contradict", "POST", "/contradict"),
        Operation("zones", "POST", "/zones", repeats=True),
        Operation("zone_shares", "POST", "/zones/shares", repeats=True),
        Operation("archive", "POST", "/archive", "run"),
        Operation("restore", "POST", "/restore", "restored"),
        Operation("prune", "POST", "/prune"),
        Operation("consolidate", "POST", "/consolidate"),
        Operation("maintain", "POST", "/maintain", defaults={"dry_run": False}),
        Operation("undo", "POST", "/undo"),
        Operation("audit", "POST", "/audit"),
        Operation("verify", "POST", "/verify"),
        Operation("stats", "GET", "/stats"),
        Operation("export", "GET", "/export", repeats=True),
        Operation("import_", "POST", "/import"),
        Operation("flush", "POST", "/flush", repeats=True),
    )
}
"""The operations of a server, by the names of the methods of `Memory`."""
OF_THE_STORE = frozenset({"reembed", "reembedding", "backup", "restore_backup", "doctor"})
BUILT_ON_OTHERS = OF_THE_STORE | {"iterate", "within", "close", "open", "namespace"}
"""The other public names of `Memory`: made of operations, or of the client alone."""
