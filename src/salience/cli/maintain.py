"""Commands of upkeep: prune, archive, restore, consolidate, undo, maintain and audit."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salience.cli import output
from salience.cli.search import Where
from salience.cli.settings import Settings, parsed
from salience.errors import InvalidInput
from salience.language.tokens import shorten
from salience.lifecycle import maintenance, pruning
from salience.lifecycle.consolidation import Consolidation, Summariser, central_text

if TYPE_CHECKING:
    from salience.lifecycle.pruning import Pruning

_SHOWN = 20  # candidates or clusters printed for people; --json gives all

Apply = Annotated[bool, typer.Option("--apply", help="Do it; otherwise only say what it would do.")]
Summarise = Annotated[
    str | None,
    typer.Option(metavar="MODULE:FUNCTION", help="Makes one text of memories that say the same."),
]
Ids = Annotated[list[str], typer.Argument(help="The ids of memories.")]


def prune(
    settings: Settings,
    apply: Apply = False,
    cap: Annotated[
        int, typer.Option(help="The most memories moved at once.")
    ] = pruning.DEFAULT_CAP,
    where: Where = None,
) -> None:
    """Move what has faded to the archive; a preview unless --apply."""
    with settings.open(embeds=False) as memory:
        report = memory.prune(apply=apply, cap=cap, filters=parsed("filter", where))
    if settings.json:
        output.emit(report.to_dict())
        return
    _candidates(report)
    zones = ", ".join(f"{name} {count:,}" for name, count in report.zones.items())
    output.note(f"{report.looked_at:,} memories looked at: {zones or 'none'}")
    output.note(
        f"{report.faded:,} have faded; of these {len(report.pinned):,} are pinned and "
        f"{len(report.bridges):,} hold others together; {report.left:,} are left by the cap of "
        f"{report.cap}"
    )
    output.note(f"{report.protected:.1%} of all hold the link graph together")
    _told(report.run, len(report.candidates), "archived", apply)


def _candidates(report: Pruning) -> None:
    from rich.text import Text

    from salience.cli import render

    if not report.candidates:
        return
    made = render.table("vitality", "memory", "why", numbers=("vitality",))
    for one in report.candidates[:_SHOWN]:
        text = Text.assemble(one.text, "\n", (one.id, "dim"))
        made.add_row(f"{one.vitality:.3f}", text, Text("\n".join(one.reasons[1:])))
    output.console().print(made)


def _told(run: str | None, count: int, done: str, apply: bool) -> None:
    """Say whether something was done, and how to have it done or undone."""
    if run is not None:
        print(f"{count:,} {done}; to undo it: salience undo {run}")
    elif not apply and count:
        print(f"{count:,} would be {done}; to do it: the same with --apply")
    else:
        print(f"nothing to be {done}")


def archive(settings: Settings, ids: Ids) -> None:
    """Move memories to the archive, where only a search that asks for it finds them."""
    with settings.open(embeds=False) as memory:
        run = memory.archive(ids)
    if settings.json:
        output.emit({"archived": ids, "run": run})
    elif run is None:
        print("all of them are archived already")
    else:
        print(f"{len(set(ids)):,} archived; to undo it: salience undo {run}")


def restore(settings: Settings, ids: Ids) -> None:
    """Bring memories back from the archive."""
    with settings.open(embeds=False) as memory:
        back = memory.restore(ids)
    if settings.json:
        output.emit({"restored": dict(back)})
        return
    for id, status in back.items():
        print(f"{id}: {status}")


def consolidate(
    settings: Settings,
    apply: Apply = False,
    everything: Annotated[
        bool, typer.Option("--everything", help="Not only what is new since the last --apply.")
    ] = False,
    summarise: Summarise = None,
    where: Where = None,
) -> None:
    """Make one memory of those that say the same; a preview unless --apply."""
    summariser = _summariser(summarise)
    with settings.open() as memory, output.progress() as told:
        report = memory.consolidate(
            apply=apply,
            everything=everything,
            summarise=summariser,
            filters=parsed("filter", where),
            progress=lambda done, total: told("comparing", done, total),
        )
    output.degraded(report.degraded)
    if settings.json:
        output.emit(report.to_dict())
        return
    _clusters(report)
    output.note(
        f"{report.looked_at:,} memories of {report.owners:,} owners, {report.fresh:,} of them new"
    )
    _told(report.run, report.merged, "merged", apply)


def _clusters(report: Consolidation) -> None:
    from rich.text import Text

    from salience.cli import render

    if not report.clusters:
        return
    made = render.table("members", "what would stand for them", "", numbers=("members",))
    for one in report.clusters[:_SHOWN]:
        ids = ", ".join(one.members[:5]) + (" …" if len(one.members) > 5 else "")
        text = Text.assemble(shorten(one.text, 200), "\n", (ids, "dim"))
        made.add_row(f"{len(one.members)}", text, Text(one.apart and f"left: they {one.apart}"))
    output.console().print(made)
    if len(report.clusters) > _SHOWN:
        output.note(f"... and {len(report.clusters) - _SHOWN:,} more; --json gives them all")


def _summariser(name: str | None) -> Summariser:
    """The function of a name like `package.module:function`, in the folder or installed.

    Raises:
        InvalidInput: there is none of that name.
    """
    if name is None:
        return central_text
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as problem:
        remedy = "write it as package.module:function"
        raise InvalidInput("summarise", f"{name!r} is not there: {problem}", remedy) from None
    finally:
        sys.path.pop(0)
    return found


def undo(
    settings: Settings, run: Annotated[str, typer.Argument(help="The name that it printed.")]
) -> None:
    """Take back what prune, archive, consolidate or maintain changed."""
    with settings.open(embeds=False) as memory:
        report = memory.undo(run)
    if settings.json:
        output.emit(report.to_dict())
    else:
        for id, why in report.left.items():
            output.note(f"left: {id}: {why}")
        print(f"{len(report.restored):,} restored, {len(report.erased):,} erased")
    if report.left:
        raise typer.Exit(1)


def maintain(
    settings: Settings,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
    steps: Annotated[
        list[str] | None,
        typer.Option(
            "--step",
            metavar="STEP",
            help=f"One of {', '.join(maintenance.STEPS)}; may be given again. "
            f"[default: {', '.join(maintenance.DEFAULT_STEPS)}]",
        ),
    ] = None,
    cap: Annotated[
        int, typer.Option(help="The most memories pruned at once.")
    ] = pruning.DEFAULT_CAP,
    summarise: Summarise = None,
) -> None:
    """Do what is due, safely from cron: expiry, old tasks, links by name; more with --step."""
    chosen: Sequence[str] = steps or maintenance.DEFAULT_STEPS
    summariser = _summariser(summarise)
    with settings.open(embeds="consolidate" in chosen) as memory, output.progress() as told:
        report = memory.maintain(
            dry_run=dry_run, steps=chosen, cap=cap, summarise=summariser, progress=told
        )
    if settings.json:
        output.emit(report.to_dict())
        return
    for step in report.steps:
        line = f"{step.name}: {step.changed:,}"
        if step.held_back:
            line += f" due; not done, see {step.held_back}"
        elif step.run:
            line += f"; to undo it: salience undo {step.run}"
        print(line)
    print(f"{report.changed:,} {'would be changed' if dry_run else 'changed'}")


def audit(settings: Settings) -> None:
    """Say how healthy the memories are, and what mends what is not."""
    with settings.open(embeds=False) as memory, output.progress() as told:
        report = memory.audit(progress=told)
    if settings.json:
        output.emit(report.to_dict())
        return
    from rich.text import Text

    from salience.cli import render

    made = render.table("", "rate", "count", "for example", "mended by", numbers=("rate", "count"))
    for one in report:
        examples = "\n".join(f"{id} {why}" for id, why in one.examples)
        made.add_row(
            Text(one.name, style="bold"),
            f"{one.rate:.1%}",
            f"{one.count:,} of {one.of:,}",
            Text(examples),
            Text(one.remedy),
        )
    output.console().print(made)
