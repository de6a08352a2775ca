"""Commands that measure: eval for quality, bench for speed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect import profiles
from recollect.serve.cli import output
from recollect.serve.cli.settings import Settings

if TYPE_CHECKING:
    from recollect.evaluate.metrics import Metrics
    from recollect.evaluate.run import Report


class StoreKind(StrEnum):
    """The stores that can be evaluated."""

    sqlite = "sqlite"
    ram = "ram"


def eval_(
    settings: Settings,
    folders: Annotated[list[Path], typer.Argument(help="Folders of conversation files.")],
    profile: Annotated[
        list[str] | None, typer.Option(help="A way to rank; may be given again.")
    ] = None,
    embedder: Annotated[
        list[str] | None, typer.Option(help="What makes vectors; may be given again.")
    ] = None,
    store: Annotated[StoreKind, typer.Option(help="Where to keep them.")] = StoreKind.sqlite,
    check: Annotated[
        bool, typer.Option("--check", help="Also check explanations and compare the stores.")
    ] = False,
) -> None:
    """Measure how well questions about conversations are answered."""
    from recollect.evaluate import run

    with output.progress() as told:
        report = run.evaluate(
            folders,
            profiles=[profiles.get(name) for name in profile or ["balanced"]],
            embedders=embedder or [settings.embedder or "default"],
            store=settings.url if settings.db and "postgres" in settings.url else store.value,
            check=check,
            progress=told,
        )
    for message in dict.fromkeys(report.notes):
        output.note(message)
    if settings.json:
        output.emit(report.to_dict())
    else:
        _tables(report)
    if report.check is not None and not report.check.passed:
        raise typer.Exit(1)


def _tables(report: Report) -> None:
    from recollect.evaluate.metrics import MEASURES
    from recollect.serve.cli import render

    def cells(queries: int, metrics: Metrics) -> list[str]:
        return [f"{queries:,}", *(f"{metrics[name]:.3f}" for name in MEASURES)]

    numbers = ("n", *MEASURES, "ms")
    made = render.table("", *numbers, numbers=numbers)
    for one in report.outcomes:
        title = f"{one.set} · {one.profile} · {one.embedder}"
        made.add_row(title, *cells(one.queries, one.metrics), f"{one.ms_per_query:.2f}")
        for category, (queries, metrics) in one.categories.items():
            made.add_row(f"  {category}", *cells(queries, metrics), style="dim")
    console = output.console()
    console.print(made)
    if report.check is not None:
        console.print(render.figures(report.check.to_dict()))


def bench(
    settings: Settings,
    memories: Annotated[int, typer.Option(help="How many memories.")] = 10_000,
    namespaces: Annotated[int, typer.Option(help="Over how many namespaces.")] = 1,
    profile: Annotated[str, typer.Option(help="How to rank.")] = "balanced",
    queries: Annotated[int, typer.Option(help="How many questions.")] = 200,
    limit: Annotated[int, typer.Option(help="How many hits each.")] = 10,
    check_recall: Annotated[
        bool, typer.Option("--check-recall", help="Also compare with an exact full scan.")
    ] = False,
    clients: Annotated[
        int, typer.Option(help="How many processes search at the same time, in the end.")
    ] = 1,
    keep: Annotated[
        Path | None, typer.Option(help="A file to keep the memories in, used again if it exists.")
    ] = None,
) -> None:
    """Measure how fast memories are written, opened and searched."""
    from recollect.evaluate.bench import Setup
    from recollect.evaluate.bench import bench as measure

    with output.progress() as told:
        found = measure(
            Setup(memories, namespaces, queries, limit),
            profile=profiles.get(profile),
            embedder=settings.embedder or "default",
            keep=keep,
            url=settings.url if settings.db and "postgres" in settings.url else None,
            clients=clients,
            check_recall=check_recall,
            progress=told,
        )
    if settings.json:
        output.emit(found)
        return
    from recollect.serve.cli import render

    output.console().print(render.figures(found))
