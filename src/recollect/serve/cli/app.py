"""The application: the options that every command takes, and all commands in the order of help."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

import recollect
from recollect.serve.cli import (
    demo,
    importing,
    life,
    measuring,
    moving,
    reading,
    recall,
    report,
    upkeep,
    writing,
)
from recollect.serve.cli.settings import Settings

_Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH|URL",
        help="The store: a file, or a URL. [env: RECOLLECT_DB; default: memory.db]",
    ),
]
_Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        metavar="NAME",
        help="Whose memories. [env: RECOLLECT_NAMESPACE; default: default]",
    ),
]
_Embedder = Annotated[
    str | None,
    typer.Option("--embedder", metavar="NAME", help="What makes vectors; none for words only."),
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
        typer.echo(f"recollect {recollect.__version__}")
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
    surroundings = Settings(os.environ.get("RECOLLECT_DB"), os.environ.get("RECOLLECT_NAMESPACE"))
    ctx.obj = Settings(db, namespace, embedder, json).over(surroundings)


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer takes it: with the shared options in the place of its `settings`."""
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

    def run(ctx: typer.Context, **given: Any) -> None:
        told = Settings(**{name: given.pop(name) for name in shared})
        function(told.over(ctx.obj), **given)

    run.__doc__ = function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


_COMMANDS: dict[str, Callable[..., None]] = {
    "add": writing.add,
    "update": writing.update,
    "import": importing.import_,
    "search": recall.search,
    "explain": recall.explain,
    "compare": recall.compare,
    "context": recall.context,
    "get": reading.get,
    "list": reading.list_,
    "delete": writing.delete,
    "history": life.history,
    "touch": life.touch,
    "feedback": life.feedback,
    "promote": life.promote,
    "demote": life.demote,
    "pin": life.pin,
    "unpin": life.unpin,
    "supersede": life.supersede,
    "contradict": life.contradict,
    "verify": life.verify,
    "prune": upkeep.prune,
    "archive": upkeep.archive,
    "restore": upkeep.restore,
    "consolidate": upkeep.consolidate,
    "undo": upkeep.undo,
    "maintain": upkeep.maintain,
    "audit": upkeep.audit,
    "report": report.report,
    "reembed": writing.reembed,
    "zones": reading.zones,
    "stats": reading.stats,
    "migrate": moving.migrate,
    "index": moving.index,
    "copy": moving.copy,
    "profiles": recall.profiles,
    "eval": measuring.eval_,
    "bench": measuring.bench,
    "demo": demo.demo,
}
for _name, _function in _COMMANDS.items():
    app.command(_name)(_command(_function))
