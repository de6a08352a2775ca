"""The application: the options of every command, and all commands in the order of --help."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import salience
from salience.cli import INTERRUPTED
from salience.cli.help import (
    MAX_HELP_COLUMNS,
    Commands,
    command,
    command_group,
    described,
)

_SHARED = {
    name: Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for names, kind, default in (
        (("db", "namespace", "embedder", "time_zone"), str | None, None),
        (("json",), bool, False),
    )
    for name in names
}
"""The options of every command."""


EXAMPLES: dict[str, tuple[str, ...]] = {}
"""The examples of each command, as its help shows them."""
PARAMETERS: dict[str, dict[str, str]] = {}
"""The help of each command's arguments and options, by what is typed for them."""
_FIRST = (
    "demo",
    "add",
    "search",
    "explain",
    "context",
    "list",
    "import",
    "mcp install",
    "serve",
)


def _commands() -> Commands:
    commands: dict[str, dict[str, tuple[str, str]]] = {}
    heading = name = ""
    for line in Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines():
        if line.startswith("      $ "):
            EXAMPLES[name] = *EXAMPLES.get(name, ()), line.removeprefix("      $ ")
        elif line.startswith("      "):
            typed, _, help = line.strip().partition("  ")
            PARAMETERS.setdefault(name, {})[typed] = help.strip()
        elif line.startswith("  "):
            name, function, effect = re.split("  +", line.strip(), maxsplit=2)
            commands[heading][name] = function, effect
        elif line and not line.startswith("#"):
            heading = line
            commands[heading] = {}
    return commands


COMMANDS = _commands()
"""All commands in the order of --help; a module is imported when its command is used."""


def _application(
    commands: Commands,
    help: str,
    load: Callable[[str], Any],
    first: Iterable[str] = (),
    examples: Sequence[str] = (),
) -> typer.Typer:
    """An application whose commands are made by `load`, given a name, when they are asked for.

    Without arguments it shows the commands named in `first` alone, if there are any.
    """
    return typer.Typer(
        cls=command_group(commands, load, tuple(first), examples),
        help=help,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # help as plain text: drawing it would cost every start some time
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": MAX_HELP_COLUMNS,
        },
    )


def _version(value: bool) -> None:
    if value:
        from salience.arithmetic import KERNELS  # imports NumPy

        typer.echo(f"salience {salience.__version__}, searches are computed by {KERNELS}")
        raise typer.Exit


def _shared(ctx: typer.Context, version: bool, **options: Any) -> None:
    from salience.cli.settings import Settings
    from salience.stores.address import DB_VARIABLE

    environment = Settings(os.environ.get(DB_VARIABLE), os.environ.get("SALIENCE_NAMESPACE"))
    ctx.obj = Settings.from_options(**options).over(environment)


def _options_beside(function: Callable[..., None]) -> dict[str, Parameter]:
    """The shared options of a command: those of which it has none of its own."""
    parameters = inspect.signature(function).parameters
    return {name: option for name, option in _SHARED.items() if name not in parameters}


def _shown(run: Callable[..., None], parameters: Mapping[str, Parameter], path: str = "") -> None:
    """Show typer the parameters of a function with their help, behind the context."""
    hints = {name: each.annotation for name, each in parameters.items()}
    hints = described(hints, PARAMETERS.get(path, {}), PARAMETERS[""])
    context = Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    listed = (each.replace(annotation=hints[name]) for name, each in parameters.items())
    run.__annotations__ = {"ctx": typer.Context, **hints}
    run.__signature__ = inspect.Signature([context, *listed])  # type: ignore[attr-defined]


def _command(function: Callable[..., None], path: str) -> Callable[..., None]:
    """The function for typer, with the shared options instead of its `settings`."""
    hints = get_type_hints(function, include_extras=True)
    parameters = {
        name: each.replace(kind=each.KEYWORD_ONLY, annotation=hints[name])
        for name, each in inspect.signature(function).parameters.items()
        if name != "settings"
    }
    shared = _options_beside(function)

    def run(ctx: typer.Context, **options: Any) -> None:
        from salience.cli import output
        from salience.cli.settings import Settings

        settings = Settings.from_options(**{name: options.pop(name) for name in shared})
        if ctx.invoked_subcommand is not None:  # which has options of its own
            ctx.obj = settings.over(ctx.obj)
            return
        try:
            function(settings.over(ctx.obj), **options)
        except KeyboardInterrupt:
            output.note("interrupted")
            raise typer.Exit(INTERRUPTED) from None

    run.__doc__ = function.__doc__ or next(
        group[path][1] for group in COMMANDS.values() if path in group
    )
    _shown(run, {**parameters, **shared}, path)
    return run


def _loaded(path: str) -> Any:
    """The command of a path, or the family of all that begin with it; imports what it needs."""
    heading, group = next(
        (heading, group)
        for heading, group in COMMANDS.items()
        if path in group or _members(path, group)
    )
    members = _members(path, group)
    function = _function(group[path][0]) if path in group else None
    if not members:
        assert function is not None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        own_command = command(_options_beside(function), EXAMPLES.get(path, ()))
        alone.command(path.rpartition(" ")[2], cls=own_command)(_command(function, path))
        return typer.main.get_command(alone)
    help = (function and function.__doc__) or f"Commands of {path}."
    family = _application(
        {heading: members},
        help,
        lambda name: _loaded(f"{path} {name}"),
        examples=EXAMPLES.get(path, ()),
    )
    family.info.no_args_is_help = function is None
    family.callback(invoke_without_command=function is not None)(
        _command(function, path) if function else lambda: None
    )
    return typer.main.get_command(family)


def _function(path: str) -> Callable[..., None]:
    module, _, name = path.rpartition(".")
    function: Callable[..., None] = getattr(importlib.import_module(f"salience.cli.{module}"), name)
    return function


def _members(family: str, group: Mapping[str, Any]) -> dict[str, Any]:
    """The commands of a family by the rest of their names."""
    start = f"{family} "
    return {path[len(start) :]: each for path, each in group.items() if path.startswith(start)}


app = _application(
    COMMANDS,
    "The memory an AI agent keeps, and the engine that recalls from it what matters now.",
    _loaded,
    _FIRST,
)
_VERSION = Annotated[bool, typer.Option(callback=_version, is_eager=True)]
_OF_VERSION = Parameter("version", Parameter.KEYWORD_ONLY, default=False, annotation=_VERSION)
_shown(_shared, {**_SHARED, "version": _OF_VERSION})
app.callback()(_shared)
