"""The application: the options of every command, and all commands in the order of --help."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

import salience
from salience.cli import add, demo, evaluate, get, import_, judge, maintain, migrate, report, search
from salience.cli.settings import Settings

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

app = typer.Typer(
    help="The memory an AI agent keeps, and the engine that recalls from it what matters now.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help as plain text: drawing it would cost every start some time
    context_settings={"help_option_names": ["-h", "--help"]},
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
    environment = Settings(os.environ.get("SALIENCE_DB"), os.environ.get("SALIENCE_NAMESPACE"))
    ctx.obj = Settings(db, namespace, embedder, json).over(environment)


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """The function for typer, with the shared options instead of its `settings`."""
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    shared = {name: option for name, option in _SHARED.items() if name not in own}
    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    ]
    for name, parameter in own.items():
        if name != "settings":
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
        settings = Settings(**{name: options.pop(name) for name in shared})
        function(settings.over(ctx.obj), **options)

    run.__doc__ = function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


_COMMANDS: dict[str, Callable[..., None]] = {
    "add": add.add,
    "update": add.update,
    "import": import_.import_,
    "search": search.search,
    "explain": search.explain,
    "compare": search.compare,
    "context": search.context,
    "get": get.get,
    "list": get.list_,
    "delete": add.delete,
    "history": judge.history,
    "touch": judge.touch,
    "feedback": judge.feedback,
    "promote": judge.promote,
    "demote": judge.demote,
    "pin": judge.pin,
    "unpin": judge.unpin,
    "supersede": judge.supersede,
    "contradict": judge.contradict,
    "verify": judge.verify,
    "prune": maintain.prune,
    "archive": maintain.archive,
    "restore": maintain.restore,
    "consolidate": maintain.consolidate,
    "undo": maintain.undo,
    "maintain": maintain.maintain,
    "audit": maintain.audit,
    "report": report.report,
    "reembed": add.reembed,
    "zones": get.zones,
    "stats": get.stats,
    "migrate": migrate.migrate,
    "index": migrate.index,
    "copy": migrate.copy,
    "profiles": search.profiles,
    "eval": evaluate.eval_,
    "bench": evaluate.bench,
    "demo": demo.demo,
}
for _name, _function in _COMMANDS.items():
    app.command(_name)(_command(_function))
