"""Commands of maintenance: prune, archive, unarchive, consolidate, undo, maintain and audit."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from salience.cli import output
from salience.cli.operations import operation
from salience.cli.settings import Settings
from salience.language.tokens import shorten
from salience.lifecycle.audit import Action, Audit, Finding
from salience.lifecycle.consolidation import Consolidation
from salience.lifecycle.maintenance import Maintenance
from salience.lifecycle.undoing import ActorUndone, Undone

if TYPE_CHECKING:
    from salience.lifecycle.pruning import Pruning

_MAX_ROWS = 20  # candidates or clusters printed for people; --json prints all


@operation("upkeep.prune")
def prune(settings: Settings, report: Pruning, *, apply: bool, **_: Any) -> None:
    """Archive memories that have faded; a preview unless --apply."""
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


@operation("archive", to_json=lambda run, ids: {"archived": ids, "run": run})
def archive(settings: Settings, run: str | None, *, ids: list[str]) -> None:
    """Archive memories, so that only a search with --option include_archived=true finds them."""
    if run is None:
        output.say("all of them are archived already")
    else:
        output.say(f"{len(set(ids)):,} archived; to undo it: salience undo {run}")


@operation("unarchive")
def unarchive(settings: Settings, back: Mapping[str, str], **_: Any) -> None:
    """Bring memories back from the archive."""
    for id, status in back.items():
        output.say(f"{id}: {status}")


@operation("upkeep.consolidate", embeds=True, step="comparing")
def consolidate(settings: Settings, report: Consolidation, *, apply: bool, **_: Any) -> None:
    """Merge memories that say the same; a preview unless --apply."""
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


@operation("undo", failed=lambda report: report.left)
def undo(settings: Settings, report: Undone, **_: Any) -> None:
    """Undo the changes of a prune, archive, consolidate or maintain."""
    for id, why in report.left.items():
        output.note(f"left: {id}: {why}")
    output.say(f"{len(report.restored):,} restored, {len(report.erased):,} erased")


@operation("undo_actor", embeds=True)
def undo_actor(settings: Settings, report: ActorUndone, *, apply: bool, **_: Any) -> None:
    """Undo everything that one actor did since a time; a preview unless --apply."""
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


@operation(
    "upkeep.maintain",
    embeds=lambda _: "consolidate" in _["steps"],
    step="maintaining",
)
def maintain(settings: Settings, report: Maintenance, *, dry_run: bool, **_: Any) -> None:
    """Run the maintenance that is due: expiry, old tasks, pending links; more with --step."""
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


@operation("upkeep.audit", step="looking")
def audit(settings: Settings, report: Audit, *, mend: Sequence[str] = (), **_: Any) -> None:
    """Report problems of the memories, with examples and the commands that fix them."""
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
        output.say(f"mended: {', '.join(mend)}; to undo it: salience undo {report.run}")
