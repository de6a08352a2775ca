"""Keyword arguments: declared once, shown by help(), and a wrong name is refused."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest

import salience
from salience import AsyncMemory, Memory
from salience.api.operations import BY_NAME, Operation
from salience.api.parameters import Between, parameters
from salience.engine.options import SETTINGS, MemoryChanges, MemoryFields, Settings
from salience.errors import InvalidInput
from salience.search.context import CONTEXT_DEFAULTS, ContextOptions
from salience.search.request import SEARCH_DEFAULTS, CompareOptions, ExplainOptions, SearchOptions
from salience.write.items import CHECKS, ITEM_KEYS

DECLARED = {
    "open": Settings,
    "add": MemoryFields,
    "update": MemoryChanges,
    "search": SearchOptions,
    "explain": ExplainOptions,
    "inspect.candidates": ExplainOptions,
    "inspect.compare": CompareOptions,
    "get_context": ContextOptions,
}


WRONG: Any = {"embeder": None}


def described(text: str | None) -> list[str]:
    """The names that a docstring describes, one a line."""
    return re.findall(r"^ +(\w+): ", text or "", re.MULTILINE)


@pytest.mark.parametrize("face", [Memory, AsyncMemory])
@pytest.mark.parametrize("name", DECLARED)
def test_help_shows_and_describes_every_option(face: type, name: str) -> None:
    method, options = attrgetter(name)(face), list(DECLARED[name].__annotations__)
    keywords = [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert [parameter.name for parameter in keywords][-len(options) :] == options
    assert all(parameter.default is not parameter.empty for parameter in keywords)
    assert set(options) <= set(described(inspect.getdoc(method)))
    assert "{options}" not in (inspect.getdoc(method) or "")


@pytest.mark.parametrize(
    ("declared", "defaults"),
    [(SearchOptions, SEARCH_DEFAULTS), (ContextOptions, CONTEXT_DEFAULTS), (Settings, SETTINGS)],
)
def test_every_option_has_a_default(declared: type, defaults: dict[str, Any]) -> None:
    assert set(defaults) == set(declared.__annotations__)


def test_the_fields_of_update_can_be_changed() -> None:
    more = {"replace_metadata", "if_version"}
    assert set(MemoryChanges.__annotations__) <= set(CHECKS) - {"id"} | more


def test_the_fields_of_add_are_those_of_an_item() -> None:
    rules = {"dedup", "extract", "forget", "on_conflict", "time_zone"}
    fields = set(MemoryFields.__annotations__) - rules | {"content", "vector_texts"}
    judged = {
        "boost", "boosted_at", "decayed_at", "feedback_against", "feedback_for", "outdated",
        "review",
    }  # fmt: skip
    assert fields | judged == ITEM_KEYS  # what judgements set, an import may bring


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory.search("x", limt=5), "search() .* 'limt'; did you mean 'limit'?"),
        (lambda memory: memory.search("x", now_="today"), "'now_'; did you mean 'now'?"),
        (lambda memory: memory.search("x", zzz=1), "search() .* 'zzz'$"),
        (lambda memory: memory.explain("x", "id", touch=False), "explain() .* 'touch'$"),
        (lambda memory: memory.inspect.compare("x", [], limits=1), "did you mean 'limit'?"),
        (lambda memory: memory.get_context("x", formats="xml"), "did you mean 'format'?"),
        (lambda memory: memory.add("x", sesion_id="s"), "add() .* did you mean 'session_id'?"),
        (lambda _: Memory.open("ram://", **WRONG), "open() .* did you mean 'embedder'?"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest_right_one(
    call: Callable[[Any], Any], message: str
) -> None:
    pattern = re.sub(r"[()?]", r"\\\g<0>", message)
    with Memory.open("ram://", embedder=None) as memory, pytest.raises(TypeError, match=pattern):
        call(memory)


def test_dir_and_help_show_the_public_names() -> None:
    assert set(dir(salience)) == {*salience.__all__, "__doc__", "__version__"}
    for name in salience.__all__:
        assert re.search(rf"\b{name}s?\b", salience.__doc__ or ""), name
        assert getattr(salience, name).__doc__


OPERATIONS = [row for row in BY_NAME.values() if row.name not in ("export", "load")]
BOUNDED = [
    (row, parameter.name, bounds, value)
    for row in OPERATIONS
    for parameter in parameters(row.of(Memory)).values()
    for bounds in getattr(parameter.type, "__metadata__", ())
    if isinstance(bounds, Between)
    for value in (bounds.least - 1, None if bounds.most is None else bounds.most + 1)
    if value is not None
]


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
def test_each_parameter_says_what_it_means_and_has_a_default_of_its_own(row: Operation) -> None:
    for parameter in parameters(row.of(Memory)).values():
        assert parameter.meaning, parameter.name
        assert parameter.default is not ..., parameter.name


@pytest.mark.parametrize(
    ("row", "name", "bounds", "value"), BOUNDED, ids=lambda each: getattr(each, "name", None)
)
def test_what_is_out_of_bounds_is_refused_by_name(
    row: Operation, name: str, bounds: Between, value: float
) -> None:
    example = {own: row.example[own] for own in row.example if own in parameters(row.of(Memory))}
    path = {"id": "note-1"} if "{id}" in row.path else {}
    others: dict[str, Any] = {
        "inspect.graph": {"around": "note-1"},
        "explain_many": {"query": "x", "ids": ["a"]},
    }
    given = {**example, **path, **others.get(row.name, {}), name: value}
    with Memory.open("ram://", embedder=None) as memory:
        memory.add("Ana moved to Lisbon.", id="note-1")
        memory.add("Ana lives in Porto.", id="note-2")
        with pytest.raises(InvalidInput) as refused:
            row.of(memory)(**given)
    assert refused.value.field == name
