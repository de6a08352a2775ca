"""The help of the command line: commands and options under headings, in whole sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.models import OptionInfo

Commands = Mapping[str, Mapping[str, Callable[..., None]]]
"""The functions of commands by name, under the heading of each group."""

MAX_HELP_COLUMNS = 100  # longer lines are hard to read
_WORDS = {int: "NUMBER", float: "NUMBER", str: "TEXT"}


def command_group(commands: Commands) -> type[TyperGroup]:
    """The class of an application whose help lists `commands` under their headings."""

    class CommandGroup(TyperGroup):
        def format_commands(self, ctx: Any, formatter: Any) -> None:
            columns = max(len(name) for group in commands.values() for name in group)
            for heading, group in commands.items():
                rows = [(name.ljust(columns), _sentence(group[name].__doc__)) for name in group]
                with formatter.section(heading):
                    formatter.write_dl(rows)

    return CommandGroup


def command(shared: Iterable[str]) -> type[TyperCommand]:
    """The class of a command whose help puts the options named in `shared` last."""
    last = frozenset((*shared, "help"))

    class Command(TyperCommand):
        def collect_usage_pieces(self, ctx: Any) -> list[str]:
            arguments = [p for p in self.get_params(ctx) if _is_argument(p)]
            return ["[OPTIONS]", *(_usage(one) for one in arguments if one.get_help_record(ctx))]

        def format_options(self, ctx: Any, formatter: Any) -> None:
            rows: dict[str, list[tuple[str, str]]] = {
                "Arguments": [],
                "Options": [],
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
                    rows["Options"].append(record)
            for heading, records in rows.items():
                if records:
                    with formatter.section(heading):
                        formatter.write_dl(records, col_max=34)

    return Command


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


def _sentence(docstring: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    start, _, _ = " ".join((docstring or "").split()).partition(". ")
    return f"{start.rstrip('.')}."


def name_value(annotation: Any) -> None:
    """Give an option of numbers or texts the word for its value, unless it has one of its own."""
    kind, *infos = get_args(annotation)
    kinds = (kind, *get_args(kind))
    for info in infos:
        if isinstance(info, OptionInfo) and info.metavar is None:
            info.metavar = next((word for type, word in _WORDS.items() if type in kinds), None)
