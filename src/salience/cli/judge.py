"""Commands of a memory's life: history, touch, feedback, supersede and the like, verify."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from salience.cli import output
from salience.cli.settings import Settings
from salience.records.record import MemoryRecord, to_json

_SHOWN = 20  # differences printed for people; --json gives all

Id = Annotated[str, typer.Argument(help="The memory's id.")]
Ids = Annotated[list[str], typer.Argument(help="The ids of memories.")]


class Use(StrEnum):
    """The uses that can be declared."""

    reference = "reference"
    read = "read"
    retrieval = "retrieval"


def history(settings: Settings, id: Id) -> None:
    """Show what happened to a memory, and what it said before each edit."""
    with settings.open(embeds=False) as memory:
        found = memory.history(id)
    if settings.json:
        output.emit(found.to_dict())
        return
    from salience.cli import render

    made = render.table("when", "what", "by", "")
    texts = {version.since: version.record.content for version in found.versions}
    for event in found:
        said = texts.get(event.at, "") if event.type in ("write", "edit") else ""
        made.add_row(to_json(event.at), event.type, event.actor or "", said or _told(event.payload))
    output.console().print(made)


def _told(payload: Any) -> str:
    """The payload of an event in few words."""
    changes = payload.get("set", {})
    told = [f"{name} = {value}" for name, value in changes.items()]
    told += [str(payload[name]) for name in ("feedback", "context", "outcome") if name in payload]
    if "target" in payload:
        told.append(f"{payload['link']} {payload['target']}")
    return "; ".join(told)


def touch(
    settings: Settings,
    ids: Ids,
    use: Annotated[Use, typer.Option(help="What they were used for.")] = Use.reference,
    session_id: Annotated[str | None, typer.Option(help="The talk they were used in.")] = None,
) -> None:
    """Count a use of memories."""
    with settings.open(embeds=False) as memory:
        memory.touch(ids, use.value, session_id=session_id)
    if settings.json:
        output.emit({"touched": ids})
    else:
        print(f"{len(ids):,} touched")


def feedback(
    settings: Settings,
    id: Id,
    kind: Annotated[str, typer.Argument(help="useful, not_useful, outdated or incorrect.")],
    context: Annotated[str | None, typer.Option(help="Why.")] = None,
) -> None:
    """Judge a memory."""
    with settings.open(embeds=False) as memory:
        found = memory.feedback(id, kind, context)
    _shown(settings, found, "relevance_score", "feedback_for", "feedback_against", "review")


def promote(settings: Settings, id: Id) -> None:
    """Raise a memory's score by 0.15."""
    with settings.open(embeds=False) as memory:
        found = memory.promote(id)
    _shown(settings, found, "memory_score")


def demote(settings: Settings, id: Id) -> None:
    """Lower a memory's score by 0.15."""
    with settings.open(embeds=False) as memory:
        found = memory.demote(id)
    _shown(settings, found, "memory_score")


def pin(settings: Settings, id: Id) -> None:
    """Keep a memory from ever being archived by itself."""
    with settings.open(embeds=False) as memory:
        found = memory.pin(id)
    _shown(settings, found, "pinned")


def unpin(settings: Settings, id: Id) -> None:
    """Undo pin."""
    with settings.open(embeds=False) as memory:
        found = memory.unpin(id)
    _shown(settings, found, "pinned")


def supersede(
    settings: Settings,
    old: Annotated[str, typer.Argument(help="The memory that gives way.")],
    new: Annotated[str, typer.Argument(help="The memory that takes its place.")],
) -> None:
    """Let a memory take the place of another, which held until then."""
    with settings.open(embeds=False) as memory:
        memory.supersede(old, new)
        found = memory.get(old)
    assert found is not None
    _shown(settings, found, "status", "valid_to")


def contradict(
    settings: Settings,
    one: Annotated[str, typer.Argument(help="A memory.")],
    other: Annotated[str, typer.Argument(help="One that says otherwise.")],
) -> None:
    """Say that two memories contradict each other."""
    with settings.open(embeds=False) as memory:
        memory.contradict(one, other)
    if settings.json:
        output.emit({"contradicts": [one, other]})
    else:
        print(f"{one} contradicts {other}")


def verify(
    settings: Settings,
    repair: Annotated[bool, typer.Option("--repair", help="Make it what the log says.")] = False,
) -> None:
    """Hold what every memory is against what its log says."""
    with settings.open(embeds=False) as memory:
        found = memory.verify(repair=repair)
    if settings.json:
        output.emit(found.to_dict())
    else:
        for difference in found.differences[:_SHOWN]:
            print(difference)
        if len(found) > _SHOWN:
            output.note(f"... and {len(found) - _SHOWN:,} more; --json gives them all")
        state = "all as the log says" if found else f"{len(found):,} differences"
        if found.repaired:
            state += ", repaired"
        print(f"{found.memories:,} memories, {found.events:,} events: {state}")
    if not found and not found.repaired:
        raise typer.Exit(1)


def _shown(settings: Settings, found: MemoryRecord, *names: str) -> None:
    """What has become of a memory, as far as it may have changed."""
    values = {name: to_json(getattr(found, name)) for name in names}
    if settings.json:
        output.emit({"id": found.id, **values})
        return
    from salience.cli import render

    output.console().print(render.figures({n: v for n, v in values.items() if v is not None}))
