"""The help of the command line: commands and options under headings, in whole sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from typer import echo
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

Commands = Mapping[str, Mapping[str, tuple[str, str]]]
"""Commands by name, under the heading of each group: the function, and what it does."""

CONDITIONS = "Conditions"
"""The heading of the options that are conditions on fields."""
MAX_HELP_COLUMNS = 100  # longer lines are hard to read
_TEXT_WITH_DASH = re.compile(r"-[^=\s]*\s")  # no option, as it has a blank: "- milk", "-5 degrees"
_MARK = "\0"  # no argument of a process has it
_WORDS = {int: "NUMBER", float: "NUMBER", str: "TEXT"}


class _Commands(Mapping[str, Any]):
    """The commands of an application by their first word; each is made when it is asked for."""

    def __init__(self, names: Iterable[str], load: Callable[[str], Any]) -> None:
        self._names = dict.fromkeys(name.partition(" ")[0] for name in names)
        self._load = cache(load)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def command_group(
    commands: Commands,
    load: Callable[[str], Any],
    first: Sequence[str] = (),
    examples: Sequence[str] = (),
) -> type[TyperGroup]:
    """The class of an application whose help lists `commands` under their headings.

    `load` makes the command of a name. Without arguments, the help of those named in `first` is
    shown, which fits a screen.
    """

    class CommandGroup(TyperGroup):
        def __init__(self, **attributes: Any) -> None:
            super().__init__(**attributes)
            names = [name for group in commands.values() for name in group]
            self.commands = _Commands(names, load)  # type: ignore[assignment]

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if first and not args and not ctx.resilient_parsing:
                echo(self._brief(ctx))
                ctx.exit()
            return super().parse_args(ctx, args)

        def _brief(self, ctx: Any) -> str:
            """The help that fits a screen."""
            effects = {
                name: effect for group in commands.values() for name, (_, effect) in group.items()
            }
            formatter = ctx.make_formatter()
            formatter.write_usage("salience", "COMMAND [OPTIONS]")
            self.format_help_text(ctx, formatter)
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_dl([(name, effects[name]) for name in first])
            formatter.write_paragraph()
            formatter.write_text(
                "salience --help lists all commands, salience COMMAND --help the options of one."
            )
            return str(formatter.getvalue()).rstrip()

        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            _write_examples(formatter, examples)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            columns = max(len(name) for group in commands.values() for name in group)
            for heading, group in commands.items():
                rows = [(name.ljust(columns), effect) for name, (_, effect) in group.items()]
                with formatter.section(heading):
                    formatter.write_dl(rows)

    return CommandGroup


def command(shared: Iterable[str], examples: Sequence[str] = ()) -> type[TyperCommand]:
    """The class of a command whose help puts the options named in `shared`, and examples, last."""
    last = frozenset((*shared, "help"))

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            marked = [_MARK + each if _TEXT_WITH_DASH.match(each) else each for each in args]
            rest = super().parse_args(ctx, marked)
            ctx.params = {name: _unmarked(value) for name, value in ctx.params.items()}
            return rest

        def collect_usage_pieces(self, ctx: Any) -> list[str]:
            arguments = [p for p in self.get_params(ctx) if _is_argument(p)]
            return ["[OPTIONS]", *(_usage(a) for a in arguments if a.get_help_record(ctx))]

        def format_options(self, ctx: Any, formatter: Any) -> None:
            rows: dict[str, list[tuple[str, str]]] = {
                "Arguments": [],
                "Options": [],
                CONDITIONS: [],
                "Options of every command": [],
            }
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx)
                if record is None:
                    continue
                if _is_argument(parameter):
                    text = record[1].removesuffix("  [required]")
                    rows["Arguments"].append((_name(parameter), text))
                elif parameter.name in last:
                    rows["Options of every command"].append(record)
                else:
                    rows[getattr(parameter, "rich_help_panel", None) or "Options"].append(record)
            for heading, records in rows.items():
                if records:
                    with formatter.section(heading):
                        formatter.write_dl(records, col_max=34)

        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            _write_examples(formatter, examples)

    return Command


def _unmarked(value: Any) -> Any:
    """A value as it was typed, whose texts with a dash in front were marked as no options."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_unmarked, value))
    if isinstance(value, (str, Path)) and str(value).startswith(_MARK):
        return type(value)(str(value).removeprefix(_MARK))
    return value


def _write_examples(formatter: Any, examples: Sequence[str]) -> None:
    """Write the examples of a command, each on a line, as it is typed."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def _is_argument(parameter: Any) -> bool:
    return isinstance(parameter, TyperArgument)


def _name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _usage(argument: Any) -> str:
    """An argument as the line of usage has it: [TEXT] may be left out, IDS... repeated."""
    name = _name(argument)
    if not argument.required and not name.startswith("["):
        name = f"[{name}]"
    return name if argument.nargs == 1 else f"{name}..."


def described(
    hints: Mapping[str, Any], helps: Mapping[str, str], shared: Mapping[str, str]
) -> dict[str, Any]:
    """The annotations of a command's parameters with their help, by what is typed for them.

    A parameter has the option or argument of its name; further arguments go to the others, in their
    order. In the help of what is typed, {} stands for the values that it takes, or the help of the
    annotation.
    """
    help = {**shared, **helps}
    options = {flag: typed for typed in help for flag in _flags(typed)}
    places = [typed for typed in helps if not _flags(typed) and typed.lower() not in hints]
    annotations = {}
    for name, hint in hints.items():
        kind, *infos = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        info: Any = copy(infos[0]) if infos else None
        declared = (info and info.param_decls) or (f"--{name.strip('_').replace('_', '-')}",)
        typed = options.get(_flags(declared[0])[0])
        is_plain = info is None and (typed is None or name.upper() in helps)
        if is_plain or isinstance(info, ArgumentInfo):
            info = info or ArgumentInfo(default=...)
            typed = info.metavar or name.upper()
            if typed not in help and places and not info.help:
                typed = info.metavar = places.pop(0)
        elif typed is not None:
            info = info or OptionInfo(default=...)
            *flags, last = [word.rstrip(",") for word in typed.split()]
            info.metavar = info.metavar if last.startswith("-") else last
            info.param_decls = (*flags, last) if last.startswith("-") else flags
        means = info.help or ""
        values = getattr(info, "choices", "") or means.rstrip(".")
        info.help = help.get(typed or "", "").replace("{}", values) or means
        if isinstance(info, OptionInfo) and info.metavar is None:
            kinds = (kind, *get_args(kind))
            info.metavar = next((word for each, word in _WORDS.items() if each in kinds), None)
        annotations[name] = Annotated[kind, info]
    return annotations


def _flags(typed: str) -> list[str]:
    """The flags of an option as it is typed, without their opposites."""
    words = (word.rstrip(",").partition("/")[0] for word in typed.split())
    return [word for word in words if word.startswith("-")]
