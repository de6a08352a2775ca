"""Commands of maintenance: prune, archive, restore, consolidate, undo, maintain and audit."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.search import Where
from salience.cli.settings import Settings, parse_json
from salience.errors import InvalidInput
from salience.language.tokens import shorten
from salience.lifecycle import maintenance, pruning
from salience.lifecycle.audit import MENDABLE, Action, Finding
from salience.lifecycle.consolidation import Consolidation, Summariser, central_text

if TYPE_CHECKING:
    from salience.lifecycle.pruning import Pruning

_MAX_ROWS = 20  # candidates or clusters printed for people; --json prints all

Apply = Annotated[
    bool, typer.Option("--apply", help="Make the changes; without it, only show them.")
]
Summarise = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:FUNCTION",
        help="A function that makes one text of memories that say the same.",
    ),
]
Ids = Annotated[list[str], typer.Argument(help="The ids of memories.")]


def prune(
    settings: Settings, apply: Apply = False, cap: int = pruning.DEFAULT_CAP, where: Where = None
) -> None:
    """Archive memories that have faded; a preview unless --apply."""
    with settings.open(embeds=False) as memory:
        report = memory.prune(apply=apply, cap=cap, filters=parse_json("filter", where))
    if output.told(settings, report):
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
    _show_outcome(report.run, len(report.candidates), "archived", apply)


def _candidates(report: Pruning) -> None:
    from rich.text import Text

    from salience.cli import render

    if not report.candidates:
        return
    entries = render.entries(vitality=5)
    for memory in report.candidates[:_MAX_ROWS]:
        about = " · ".join((memory.id, *memory.reasons[1:]))
        text = Text.assemble(memory.content, "\n", (about, "dim"))
        entries.add_row(f"{memory.vitality:.3f}", text)
    output.console().print(entries)


def _show_outcome(run: str | None, count: int, action: str, apply: bool) -> None:
    """Print the number of changes, and the command that makes them or undoes them."""
    if run is not None:
        output.say(f"{count:,} {action}; to undo it: salience undo {run}")
    elif not apply and count:
        output.say(f"{count:,} would be {action}; to do it, add --apply")
    else:
        output.say(f"nothing to be {action}")


def archive(settings: Settings, ids: Ids) -> None:
    """Archive memories; only a search with --archived finds them then."""
    with settings.open(embeds=False) as memory:
        run = memory.archive(ids)
    if settings.json:
        output.emit({"archived": ids, "run": run})
    elif run is None:
        output.say("all of them are archived already")
    else:
        output.say(f"{len(set(ids)):,} archived; to undo it: salience undo {run}")


def restore(settings: Settings, ids: Ids) -> None:
    """Bring memories back from the archive."""
    with settings.open(embeds=False) as memory:
        back = memory.restore(ids)
    if output.told(settings, {"restored": dict(back)}):
        return
    for id, status in back.items():
        output.say(f"{id}: {status}")


def consolidate(
    settings: Settings,
    apply: Apply = False,
    everything: bool = False,
    summarise: Summarise = None,
    where: Where = None,
) -> None:
    """Merge memories that say the same; a preview unless --apply."""
    summariser = _summariser(summarise)
    aftermath = "what was merged stays; run it again for the rest" if apply else "nothing changed"
    with settings.open() as memory, output.progress(aftermath) as progress:
        report = memory.consolidate(
            apply=apply,
            everything=everything,
            summarise=summariser,
            filters=parse_json("filter", where),
            progress=lambda done, total: progress("comparing", done, total),
        )
    output.degraded(report.degraded)
    if output.told(settings, report):
        return
    _clusters(report)
    output.note(
        f"{report.looked_at:,} memories of {report.owners:,} owners, {report.fresh:,} of them new"
    )
    _show_outcome(report.run, report.merged, "merged", apply)


def _clusters(report: Consolidation) -> None:
    from rich.text import Text

    from salience.cli import render

    if not report.clusters:
        return
    entries = render.entries(members=3)
    for cluster in report.clusters[:_MAX_ROWS]:
        ids = ", ".join(cluster.members[:5]) + (" …" if len(cluster.members) > 5 else "")
        text = Text.assemble(shorten(cluster.content, 200), "\n", (ids, "dim"))
        if cluster.apart:
            text.append(f"\nleft: they {cluster.apart}", style="yellow")
        entries.add_row(f"{len(cluster.members)}", text)
    output.console().print(entries)
    if len(report.clusters) > _MAX_ROWS:
        output.note(f"... and {len(report.clusters) - _MAX_ROWS:,} more; --json prints them all")


def _summariser(name: str | None) -> Summariser:
    """The function named like `package.module:function`, in this folder or installed.

    Raises:
        InvalidInput: it does not exist.
    """
    if name is None:
        return central_text
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        summariser: Any = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as problem:
        remedy = "write it as package.module:function"
        raise InvalidInput("summarise", f"{name!r} cannot be imported: {problem}", remedy) from None
    finally:
        sys.path.pop(0)
    return summariser


def undo(settings: Settings, run: str) -> None:
    """Undo the changes of a prune, archive, consolidate or maintain."""
    with settings.open(embeds=False) as memory:
        report = memory.undo(run)
    if settings.json:
        output.emit(report.to_dict())
    else:
        for id, why in report.left.items():
            output.note(f"left: {id}: {why}")
        output.say(f"{len(report.restored):,} restored, {len(report.erased):,} erased")
    if report.left:
        raise typer.Exit(1)


def undo_writer(
    settings: Settings, actor: str, since: str | None = None, apply: Apply = False
) -> None:
    """Take back all that one actor wrote and changed since a time; a preview unless --apply."""
    with settings.open() as memory:
        report = memory.undo_writer(actor, since=since, apply=apply)
    if output.told(settings, report):
        return
    for id, why in report.left.items():
        output.note(f"left: {id}: {why}")
    if report.erased:
        output.note(f"{report.erased:,} memories were erased, and are gone")
    for id in report.archived[:_MAX_ROWS]:
        output.say(f"{id}: archived" if apply else f"{id}: to be archived")
    for id, names in list(report.restored.items())[:_MAX_ROWS]:
        output.say(f"{id}: {', '.join(names)}")
    count = len(report.archived) + len(report.restored)
    if report.links:
        output.say(f"{report.links:,} links {'taken' if apply else 'to be taken'} back")
    _show_outcome(report.run, count, "taken back", apply)


def maintain(
    settings: Settings,
    dry_run: bool = False,
    steps: Annotated[
        list[str] | None,
        typer.Option(
            "--step",
            metavar="STEP",
            autocompletion=one_of(maintenance.STEPS),
            help=f"One of {', '.join(maintenance.STEPS)}; repeat the option for more. "
            f"[default: {', '.join(maintenance.DEFAULT_STEPS)}]",
        ),
    ] = None,
    cap: int = pruning.DEFAULT_CAP,
    summarise: Summarise = None,
) -> None:
    """Do the maintenance that is due: expiry, old tasks, links by name; more with --step."""
    chosen: Sequence[str] = steps or maintenance.DEFAULT_STEPS
    summariser = _summariser(summarise)
    with (
        settings.open(embeds="consolidate" in chosen) as memory,
        output.progress("what was done stays; run it again for the rest") as progress,
    ):
        report = memory.maintain(
            dry_run=dry_run, steps=chosen, cap=cap, summarise=summariser, progress=progress
        )
    if output.told(settings, report):
        return
    for step in report.steps:
        line = f"{step.name}: {step.changed:,}"
        if step.held_back:
            line += f" due; not done, see {step.held_back}"
        elif step.run:
            line += f"; to undo it: salience undo {step.run}"
        output.say(line)
    output.say(f"{report.changed:,} {'would be changed' if dry_run else 'changed'}")


def mending(finding: Finding) -> str:
    """The commands that settle a finding, joined by `&&`; "" where there is nothing to do."""
    if finding.name == "unembedded" and finding.count:  # by the embedder of this machine
        return "salience reembed --missing"
    return " && ".join(_command(action) for action in finding.actions)


def _command(action: Action) -> str:
    """The command that sends the request of an action; an id may begin like an option."""
    body, name = action.body, action.path.rpartition("/")[2]
    if name == "audit":
        return shlex.join(["salience", name, "--mend", *body["mend"]])
    if name == "prune":
        return f"salience prune --apply --cap {body['cap']}"
    ids = body.get("ids") or [body["old"], body["new"]]
    separator = ["--"] if any(id.startswith("-") for id in ids) else []
    return shlex.join(["salience", name, *separator, *ids])


def audit(
    settings: Settings,
    mend: Annotated[
        list[str] | None,
        typer.Option(
            "--mend",
            metavar="NAME",
            help=f"One of {', '.join(MENDABLE)}; repeat the option for more. Archives duplicates "
            "and junk; of orphans removes links to nowhere, and activates what lost its successor.",
            autocompletion=one_of(MENDABLE),
        ),
    ] = None,
) -> None:
    """Report problems of the memories, with examples and the commands that mend them."""
    with settings.open(embeds=False) as memory, output.progress() as progress:
        report = memory.audit(mend=mend or (), progress=progress)
    if output.told(settings, report):
        return
    from rich.text import Text

    from salience.cli import render

    rows = render.table("", "rate", "count", "for example", numbers=("rate", "count"))
    for finding in report:
        examples = Text("\n".join(f"{id} {why}" for id, why in finding.examples))
        if command := mending(finding):
            examples.append(f"\nmended by: {settings.named(command)}", style="cyan")
        rows.add_row(
            Text(finding.name, style="bold"),
            f"{finding.rate:.1%}",
            f"{finding.count:,} of {finding.of:,}",
            examples,
        )
    output.console().print(rows)
    if report.run is not None:
        output.say(f"mended: {', '.join(mend or ())}; to undo it: salience undo {report.run}")
