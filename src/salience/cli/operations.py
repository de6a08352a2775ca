"""Commands of operations: their options are read off the methods of `Memory`, as REST has them.

A function that shows a result to people becomes a command by `operation`. One that does more than
to call a method and to show what that returns takes its options by `parameters_of`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import date
from functools import partial
from inspect import Parameter, Signature, isfunction, signature
from operator import attrgetter
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typer
from typer.models import ArgumentInfo, OptionInfo

from salience.api import parameters as api
from salience.api.operations import BY_NAME, READ
from salience.api.parameters import NOT_GIVEN
from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.help import CONDITIONS
from salience.cli.settings import Settings, imported, parse_json
from salience.display.result import to_json as as_json
from salience.engine.memory import Memory
from salience.errors import InvalidInput
from salience.records.field_filters import with_fields
from salience.write.reading import not_found

Command = Callable[..., None]
REQUIRED = Parameter.empty
_KEYWORD = Parameter.KEYWORD_ONLY
_FLAGS = {
    "filters": "filter",
    "tags": "tag",
    "entities": "entity",
    "profiles": "profile",
    "everywhere": "all",
    "steps": "step",
    "options": "option",
}
_OF_CONDITIONS = {"session_id": "session", "user_id": "user", "agent_id": "agent"}
_METAVARS = {"tags": "TAG", "entities": "NAME"}
_NOT_TYPED = ("self", "namespaces", "sections", "counter", "progress", "references", "time_zone")


def parameters_of(
    method: str,
    *arguments: str,
    without: Iterable[str] = (),
    **defaults: Any,
) -> Callable[[Command], Command]:
    """A decorator that gives a command the parameters of a method, in the place of `**options`.

    It gets those that were given, as the method takes them. Its own parameters hide others. Where
    there is a filter, there are conditions on fields.

    Args:
        method: its name.
        arguments: the parameters that are no options, though they have a default.
        without: parameters to leave out.
        defaults: those of the command where they are others than those of the method; `REQUIRED`
            for an option without one.
    """

    def enter(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        settings, *declared, _ = signature(command).parameters.values()
        hidden = {*_NOT_TYPED, *without, *(each.name for each in declared)}
        options = [each.replace(annotation=hints[each.name]) for each in declared]
        places, readers = list[Parameter](), dict[str, Callable[[Any], Any]]()
        listed = dict(api.parameters(attrgetter(method)(Memory)))
        folds = "filters" in listed and "tags" not in listed
        if folds:
            conditions = api.parameters(Memory.count).items()
            listed |= {name: each for name, each in conditions if each.default is NOT_GIVEN}
        for each in listed.values():
            name, is_place = each.name, each.name in arguments
            is_place |= each.default is Parameter.empty and name not in defaults
            if name in hidden:
                continue
            annotation, reader = _typed(each, is_place)
            if reader is not None:
                readers[name] = reader
            default = defaults.get(name, each.default)
            default = [*default] if isinstance(default, tuple) else default
            default = None if default is NOT_GIVEN or isfunction(default) else default
            parameter = Parameter(name, _KEYWORD, default=default, annotation=annotation)
            (places if is_place else options).append(parameter)

        def run(settings: Settings, **values: Any) -> None:
            for name, value in [*values.items()]:
                if value in (None, []) and name not in hints:
                    del values[name]
                elif name in readers:
                    values[name] = readers[name](value)
            command(settings, **(with_fields(values) if folds else values))

        parameters = [each.replace(kind=_KEYWORD) for each in (*places, *options)]
        run.__doc__ = command.__doc__
        run.__signature__ = Signature([settings, *parameters])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return enter


def operation(
    method: str,
    *arguments: str,
    embeds: bool | Callable[[Mapping[str, Any]], bool] = False,
    step: str = "",
    to_json: Callable[..., Any] | None = None,
    failed: Callable[[Any], Any] = lambda _: False,
    **options: Any,
) -> Callable[[Command], Command]:
    """A decorator that makes a function the command of a method, whose result it shows to people.

    The function gets the settings, the result and the arguments.

    Args:
        method: its name.
        arguments: the parameters that are no options, though they have a default.
        embeds: it needs an embedder, perhaps by its arguments.
        step: the word for what is in progress, if the method tells how far it is.
        to_json: makes of the result and the arguments what --json prints; as REST by default.
        failed: tests whether a result makes the exit code 1.
        options: as `parameters_of` has them.
    """
    row = BY_NAME[method]
    aftermath = "what was done stays; run it again for the rest"

    def enter(show: Command) -> Command:
        @parameters_of(method, *arguments, **options)
        def command(settings: Settings, **values: Any) -> None:
            embedding = embeds(values) if callable(embeds) else embeds
            bar: Any = output.progress(aftermath, step) if step else nullcontext()
            with settings.open(embeds=embedding) as memory, bar as progress:
                if method != "labels.add":
                    values = with_whole_ids(memory, values)
                reporting = {"progress": progress} if step else {}
                result = row.of(memory)(**values, **reporting)
                if row.scope == READ and not result:
                    output.elsewhere(memory, values.get("as_of"))
                if row.absent is None and result is None:
                    raise not_found(values["id"], memory.namespace)
            output.degraded(getattr(result, "degraded", ()))
            output.taken(getattr(result, "taken", {}))
            if settings.json and to_json is not None:
                output.emit(to_json(result, **values))
            elif settings.json:
                output.emit(as_json({row.member: result} if row.member else result))
            else:
                show(settings, result, **values)
            if failed(result):
                raise typer.Exit(1)

        command.__doc__ = show.__doc__
        return command

    return enter


_OF_MEMORIES = ("id", "ids", "old", "new", "source", "target", "one", "other")


def with_whole_ids(memory: Memory, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the ids that shortened ones, as contexts and MCP write them, stand for.

    Raises:
        InvalidInput: a shortened id may stand for several.
    """
    from salience.search.context.sections import shortened, whole_id  # which needs NumPy

    names = [name for name in _OF_MEMORIES if values.get(name)]
    ids = [id for name in names for id in _listed(values[name])]
    if not ids:
        return values
    there = memory.get_many(ids)
    whole_ids: dict[str, str] = {}
    for id, record in zip(ids, there, strict=True):
        if record is None and (short := shortened(id)) is not None:
            page = memory.get_all(short[0], limit=1_000)
            whole_ids[id] = whole_id(id, short[1], [each.id for each in page])
    return values | {
        name: whole_ids.get(value, value)
        if isinstance(value := values[name], str)
        else [whole_ids.get(id, id) for id in value]
        for name in names
    }


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _typed(parameter: api.Parameter, is_place: bool) -> tuple[Any, Callable[[Any], Any] | None]:
    """The annotation of a parameter for typer, and the function that reads its text, if any."""
    name, choices, meaning = parameter.name, parameter.choices, parameter.meaning
    short = _OF_CONDITIONS.get(name)
    flag = short or _FLAGS.get(name) or name.replace("_", "-")
    kind, metavar, shape = _kind(parameter.plain)
    metavar = _METAVARS.get(name, metavar) or ("NAME" if choices and kind is str else None)
    info: Any = ArgumentInfo(default=...) if is_place else OptionInfo(default=..., metavar=metavar)
    info.help, info.choices = meaning, f"One of {', '.join(choices)}" if choices else ""
    info.autocompletion = one_of(choices) if choices else None
    info.rich_help_panel = CONDITIONS if parameter.default is NOT_GIVEN else None
    if not is_place:
        has_two = kind is bool and parameter.default is not False
        other = (f"--{name.replace('_', '-')}",) if short else ()
        info.param_decls = (f"--{flag}/--no-{flag}" if has_two else f"--{flag}", *other)
        if kind == list[str] and meaning:
            info.help = f"{meaning} Repeat the option for more."
    if parameter.default is None or parameter.default is NOT_GIVEN:
        kind = kind | None
    if shape is Callable:
        return Annotated[kind | None, info], partial(imported, flag)
    if shape is dict and metavar == "NAME=VALUE":
        return Annotated[kind, info], _pairs
    return Annotated[kind, info], shape and partial(parse_json, flag, kind=shape)


def _pairs(pairs: list[str]) -> dict[str, Any]:
    """Further options, each a text or JSON.

    Raises:
        InvalidInput: one has no value.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise InvalidInput("option", f"{pair!r} has no value", "write it as min_score=0.5")
        try:
            values[name] = json.loads(value)
        except (ValueError, RecursionError):
            values[name] = value
    return values


def _kind(hint: Any) -> tuple[Any, str | None, Any]:
    """The type of an option for values of an annotation, its metavar, and what its JSON holds."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = {get_origin(part) or part: part for part in parts}
    for many in (Sequence, Iterable):
        if many in kinds:
            [item] = get_args(kinds[many])
            return (str, "JSON", list) if get_origin(item) is Mapping else (list[str], None, None)
    if any(map(is_typeddict, kinds)):
        return list[str], "NAME=VALUE", dict
    if date in kinds:
        return str, "TIME", None
    if Callable in kinds:
        return str, "MODULE:FUNCTION", Callable
    if Mapping in kinds and str not in kinds:
        return str, "JSON", object if float in kinds else dict
    plain = (Literal, str, bool, float, int)
    return next((kinds[each] for each in plain if each in kinds), str), None, None
