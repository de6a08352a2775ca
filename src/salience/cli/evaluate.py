"""Commands that measure: eval for quality, bench for speed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from salience.cli import output
from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.ranking import profiles

if TYPE_CHECKING:
    from salience.evaluation.metrics import Metrics
    from salience.evaluation.runner import Report


class StoreKind(StrEnum):
    """The stores that can be evaluated."""

    sqlite = "sqlite"
    ram = "ram"


def eval_(
    settings: Settings,
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders of conversation files.")
    ] = None,
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
    updates: Annotated[
        bool, typer.Option("--updates", help="Ask about invented facts that change, instead.")
    ] = False,
) -> None:
    """Measure how well questions about conversations are answered, or about facts that change."""
    if updates == bool(folders):
        raise InvalidInput("eval", "has to know what to ask about", "give folders, or --updates")
    if updates:
        _updates(settings, profile, embedder)
        return
    from salience.evaluation import runner

    with output.progress() as told:
        report = runner.evaluate(
            folders or [],
            profiles=[profiles.get(name) for name in profile or ["balanced"]],
            embedders=embedder or [settings.embedder or "default"],
            store=_server(settings) or store.value,
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
        broken = report.check
        output.note(
            f"the check failed: {broken.unexplained:,} scores are not what their explanations say, "
            f"and the stores differ on {broken.stores_differ:,} of {broken.queries:,} queries"
        )
        raise typer.Exit(1)


def _server(settings: Settings) -> str | None:
    """The address of a server to measure on; a file of somebody's memories is left alone."""
    if settings.db is None or settings.url.startswith("postgres"):
        return settings.db and settings.url
    output.note(f"measured in a store of its own; {settings.db} is not touched")
    return None


def _updates(settings: Settings, profile: list[str] | None, embedder: list[str] | None) -> None:
    from salience.evaluation import changing_facts

    names = [name for name in profiles.BUILT_IN if "." not in name]
    chosen = [profiles.get(name) for name in profile or names]
    maker = (embedder or [settings.embedder or "default"])[0]
    with output.progress() as told:
        found = changing_facts.evaluate(chosen, maker, progress=told)
    if settings.json:
        output.emit([one.to_dict() for one in found])
        return
    from salience.cli import render

    ways = [(declared, kind) for declared in (False, True) for kind in changing_facts.KINDS]
    columns = [f"{'superseded' if declared else 'told'}, {kind}" for declared, kind in ways]
    made = render.table("Recall@1", *columns, numbers=columns)
    recall = {(one.profile, one.declared, one.kind): one.recall for one in found}
    for each in chosen:
        made.add_row(each.name, *(f"{recall[each.name, *way]:.3f}" for way in ways))
    output.console(table=True).print(made)
    output.note(f"{found[0].questions} questions of each kind")


def _tables(report: Report) -> None:
    from salience.cli import render
    from salience.evaluation.metrics import MEASURES

    def cells(queries: int, metrics: Metrics) -> list[str]:
        return [f"{queries:,}", *(f"{metrics[name]:.3f}" for name in MEASURES)]

    numbers = ("n", *MEASURES, "ms")
    made = render.table("", *numbers, numbers=numbers)
    for one in report.outcomes:
        title = f"{one.set} · {one.profile} · {one.embedder}"
        made.add_row(title, *cells(one.queries, one.metrics), f"{one.ms_per_query:.1f}")
        for category, (queries, metrics) in one.categories.items():
            made.add_row(f"  {category}", *cells(queries, metrics), style="dim")
    console = output.console(table=True)
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
        int, typer.Option(max=1_000, help="How many processes search at the same time, in the end.")
    ] = 1,
    keep: Annotated[
        Path | None, typer.Option(help="A file to keep the memories in, used again if it exists.")
    ] = None,
) -> None:
    """Measure how fast memories are written, opened and searched."""
    from salience.evaluation.benchmark import Setup
    from salience.evaluation.benchmark import bench as measure

    with output.progress() as told:
        found = measure(
            Setup(memories, namespaces, queries, limit),
            profile=profiles.get(profile),
            embedder=settings.embedder or "default",
            keep=keep,
            url=_server(settings),
            clients=clients,
            check_recall=check_recall,
            progress=told,
        )
    if settings.json:
        output.emit(found)
        return
    from salience.cli import render

    output.console().print(render.figures(found))
