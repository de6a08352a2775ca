"""Each argument of each public method of `Memory`, and a call with one hostile argument."""

from __future__ import annotations

import inspect
from operator import attrgetter
from typing import Any

from salience import Memory
from salience.engine.options import MemoryChanges, MemoryFields
from salience.errors import SalienceError
from salience.search.context import ContextOptions
from salience.search.request import CompareOptions, ExplainOptions, SearchOptions

CHAT = [{"role": "user", "content": "apple"}]
REQUIRED: dict[str, dict[str, Any]] = {
    "add": {"content": "apple pie"},
    "add_many": {"items": ["apple"]},
    "add_chat": {"messages": CHAT},
    "inspect.candidates": {"query": "apple"},
    "inspect.compare": {"query": "apple", "profiles": ["balanced", "composite"]},
    "explain": {"query": "apple", "id": "taken"},
    "feedback": {"id": "taken", "kind": "useful"},
    "get_context": {"query": "apple"},
    "link": {"source": "taken", "target": "other"},
    "search": {"query": "apple"},
    "update": {"id": "taken"},
}
OPTIONS: dict[str, type] = {
    "add": MemoryFields,
    "inspect.candidates": ExplainOptions,
    "inspect.compare": CompareOptions,
    "explain": ExplainOptions,
    "get_context": ContextOptions,
    "search": SearchOptions,
    "update": MemoryChanges,
}
UNTRIED = {
    "backup", "close", "export", "load", "open", "restore_backup", "upkeep.flush",
    "upkeep.reembed", "upkeep.reembedding",
}  # fmt: skip
PARTS = {"inspect", "labels", "upkeep"}
FUNCTIONS = {"progress", "counter", "facets", "summarise", "clock", "count_tokens", "trace"}
"""Arguments that are called: an error in a function of the caller is the caller's."""


def public_names(kind: type) -> set[str]:
    """The public names of a class of memories, with those of its parts."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    for part in PARTS:
        names |= {f"{part}.{name}" for name in dir(getattr(kind, part)) if name[0] != "_"}
    return names - PARTS


def doors() -> list[tuple[str, str]]:
    """Each argument of each public method that writes no file of its own."""
    found = []
    for name in sorted(public_names(Memory)):
        method = attrgetter(name)(Memory)
        if not inspect.isfunction(method) or name in UNTRIED:
            continue
        parameters = inspect.signature(method).parameters.values()
        names = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
        names += list(OPTIONS[name].__annotations__) if name in OPTIONS else []
        found += [(name, argument) for argument in dict.fromkeys(names) if argument != "self"]
    return found


def call(memory: Memory, name: str, argument: str, value: Any) -> None:
    """Call a method with one hostile argument."""
    arguments = dict(REQUIRED.get(name, {}))
    for parameter in inspect.signature(attrgetter(name)(Memory)).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            arguments.setdefault(parameter.name, "taken")
    arguments.pop("self", None)
    arguments[argument] = value
    try:
        attrgetter(name)(memory)(**arguments)
    except SalienceError as problem:
        str(problem).encode()  # every message can be printed
    except (TypeError, ValueError, RuntimeError, AttributeError):
        if argument not in FUNCTIONS or not callable(value):
            raise


def endless(name: str, argument: str, value: Any) -> bool:
    """Items are a stream, which may have no end."""
    return (name, argument) == ("add_many", "items") and not hasattr(value, "__len__")
