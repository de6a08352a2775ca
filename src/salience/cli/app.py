"""The application: the options of every command, and all commands in the order of --help."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

import typer

import salience
from salience.cli import (
    add,
    completion,
    demo,
    evaluate,
    get,
    hook,
    importing,
    judge,
    maintain,
    migrate,
    output,
    report,
    search,
)
from salience.cli.network import keys, mcp, mcp_clients, serve
from salience.cli.printing.help import (
    MAX_HELP_COLUMNS,
    Commands,
    command,
    command_group,
    name_value,
)
from salience.cli.settings import Settings
from salience.stores.address import DB_VARIABLE

_Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH|URL",
        help="The store: a file, or a URL. [env: SALIENCE_DB; default: memory.db]",
    ),
]
_Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="NAME",
        help="The namespace. [env: SALIENCE_NAMESPACE; default: default]",
    ),
]
_Embedder = Annotated[
    str | None,
    typer.Option("--embedder", metavar="NAME", help="The embedder; none to search by words only."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_SHARED = {
    "db": (_Db, None),
    "namespace": (_Namespace, None),
    "embedder": (_Embedder, None),
    "json": (_Json, False),
}

COMMANDS: Commands = {
    "Remember": {
        "add": add.add,
        "update": add.update,
        "import": importing.import_,
        "delete": add.delete,
    },
    "Recall": {
        "search": search.search,
        "explain": search.explain,
        "compare": search.compare,
        "context": search.context,
    },
    "Look": {
        "get": get.get,
        "list": get.list_,
        "about": get.about,
        "count": get.count,
        "history": judge.history,
        "stats": get.stats,
        "zones": get.zones,
        "report": report.report,
        "profiles": search.profiles,
    },
    "Judge": {
        "touch": judge.touch,
        "feedback": judge.feedback,
        **judge.JUDGING,
        "supersede": judge.supersede,
        "contradict": judge.contradict,
    },
    "Keep in order": {
        "maintain": maintain.maintain,
        "consolidate": maintain.consolidate,
        "prune": maintain.prune,
        "archive": maintain.archive,
        "restore": maintain.restore,
        "undo": maintain.undo,
        "undo-writer": maintain.undo_writer,
        "audit": maintain.audit,
        "verify": judge.verify,
        "doctor": migrate.doctor,
    },
    "Move and rebuild": {
        "export": migrate.export,
        "copy": migrate.copy,
        "backup": migrate.backup,
        "restore-backup": migrate.restore_backup,
        "migrate": migrate.migrate,
        "reembed": migrate.reembed,
        "index": migrate.index,
    },
    "Serve": {
        "serve": serve.serve,
        "mcp": mcp.mcp,
        "mcp install": mcp_clients.install,
        "mcp doctor": mcp_clients.doctor,
        "keys create": keys.create,
        "keys list": keys.list_,
        "keys rotate": keys.rotate,
        "keys revoke": keys.revoke,
        "openapi": serve.openapi,
    },
    "Coding agents": {
        "hook session-start": hook.session_start,
        "hook prompt": hook.prompt,
        "hook pre-compact": hook.pre_compact,
        "hook stop": hook.stop,
        "hook mcp": hook.mcp,
        "hook status": hook.status,
        "hook share": hook.share,
        "hook stop-daemon": hook.stop_daemon,
    },
    "Try and measure": {
        "demo": demo.demo,
        "eval": evaluate.eval_,
        "calibrate": evaluate.calibrate,
        "tune": evaluate.tune,
        "ab": evaluate.ab,
        "bench": evaluate.bench,
        "completion": completion.completion,
    },
}
"""All commands, in the order of --help; one of two words is in the family of the first."""


def _application(commands: Commands, help: str) -> typer.Typer:
    return typer.Typer(
        cls=command_group(commands),
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


app = _application(
    COMMANDS, "The memory an AI agent keeps, and the engine that recalls from it what matters now."
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"salience {salience.__version__}")
        raise typer.Exit


@app.callback()
def _shared(
    ctx: typer.Context,
    db: _Db = None,
    namespace: _Namespace = None,
    embedder: _Embedder = None,
    json: _Json = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    environment = Settings(os.environ.get(DB_VARIABLE), os.environ.get("SALIENCE_NAMESPACE"))
    ctx.obj = Settings.from_options(db, namespace, embedder, json).over(environment)


def _options_beside(function: Callable[..., None]) -> dict[str, Any]:
    """The shared options of a command: those of which it has none of its own."""
    own = inspect.signature(function).parameters
    return {name: option for name, option in _SHARED.items() if name not in own}


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """The function for typer, with the shared options instead of its `settings`."""
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    shared = _options_beside(function)
    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    ]
    for name, parameter in own.items():
        if name != "settings":
            name_value(hints[name])
            parameters.append(
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            )
    for name, (kind, default) in shared.items():
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
            )
        )

    def run(ctx: typer.Context, **options: Any) -> None:
        settings = Settings.from_options(**{name: options.pop(name) for name in shared})
        if ctx.invoked_subcommand is not None:  # which has options of its own
            ctx.obj = settings.over(ctx.obj)
            return
        try:
            function(settings.over(ctx.obj), **options)
        except KeyboardInterrupt:
            output.note("interrupted")
            raise typer.Exit(output.INTERRUPTED) from None

    run.__doc__ = function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _add_commands(app: typer.Typer, commands: Commands) -> None:
    """Enter all commands; one that is a family, too, is what the family does without a command."""
    families: dict[str, typer.Typer] = {"": app}
    for heading, group in commands.items():
        for path, function in group.items():
            members = _members(path, group)
            family, _, name = path.rpartition(" ")
            if members:
                families[path] = _application({heading: members}, function.__doc__ or "")
                families[path].info.no_args_is_help = False
                families[path].callback(invoke_without_command=True)(_command(function))
                app.add_typer(families[path], name=path)
                continue
            if family not in families:
                families[family] = _application(
                    {heading: _members(family, group)}, f"Commands of {family}."
                )
                app.add_typer(families[family], name=family)
            own_command = command(_options_beside(function))
            families[family].command(name, cls=own_command)(_command(function))


def _members(family: str, group: Mapping[str, Callable[..., None]]) -> dict[str, Any]:
    """The commands of a family by the rest of their names."""
    start = f"{family} "
    return {path[len(start) :]: each for path, each in group.items() if path.startswith(start)}


_add_commands(app, COMMANDS)
