"""Commands that judge memories: touch, feedback, pin, supersede ...; history and verify."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from salience.api.operations import BY_NAME
from salience.cli import output
from salience.cli.completion import one_of
from salience.cli.search import Where, conditions
from salience.cli.settings import Settings
from salience.display.result import to_json
from salience.errors import NotFound, shown
from salience.records.events import FEEDBACK_WEIGHTS
from salience.records.record import LINK_TYPES, MemoryRecord

_SHOWN_MEASURES = ("R@10", "MRR", "nDCG@10")  # --json gives all
_MAX_DIFFERENCES = 20  # printed for people; --json gives all

Id = Annotated[str, typer.Argument(help="The memory's id.")]
Ids = Annotated[list[str], typer.Argument(help="The ids of memories.")]
IfVersion = Annotated[
    int | None,
    typer.Option("--if-version", metavar="NUMBER", help="Do it only if this is its version."),
]


class Use(StrEnum):
    """The kinds of use that can be declared."""

    reference = "reference"
    read = "read"
    retrieval = "retrieval"
    write = "write"


def history(settings: Settings, id: Id) -> None:
    """Show the events of a memory, and its text before each edit."""
    with settings.open(embeds=False) as memory:
        history = memory.history(id)
    if output.told(settings, history):
        return
    from rich.text import Text

    from salience.cli import render

    rows = render.table("when", "what", "version", "", numbers=("version",))
    texts = {version.since: version.record.content for version in history.versions}
    for event, version in zip(history, history.numbers, strict=True):
        text = texts.get(event.at, "") if event.type in ("write", "edit") else ""
        line = Text(text or event.link or _payload_summary(event.payload))
        if event.actor:
            line.append(f"  by {event.actor}", style="dim")
        rows.add_row(f"{event.at:%Y-%m-%d %H:%M:%S}", event.type, f"{version}", line)
    output.console().print(rows)


def _payload_summary(payload: Any) -> str:
    """The payload of an event in a few words."""
    changes = payload.get("set", {})
    parts = [f"{name} = {value}" for name, value in changes.items()]
    parts += [str(payload[name]) for name in ("feedback", "context", "outcome") if name in payload]
    return "; ".join(parts)


def link(
    settings: Settings,
    source: str,
    target: str,
    type: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"One of {', '.join(LINK_TYPES)}.",
            autocompletion=one_of(LINK_TYPES),
        ),
    ] = "mentions",
    weight: float = 1.0,
) -> None:
    """Link two memories."""
    with settings.open(embeds=False) as memory:
        memory.link(source, target, type, weight)
    output.tell(
        settings,
        {"source": source, "target": target, "type": type, "weight": weight},
        f"{source} {type} {target}",
    )


def decay(settings: Settings) -> None:
    """Let every memory fade by the days since the last time."""
    with settings.open(embeds=False) as memory:
        memory.decay_all()
        memories = memory.count()
    output.emit({"memories": memories}) if settings.json else output.say(f"{memories:,} memories")


def touch(
    settings: Settings, ids: Ids, use: Use = Use.reference, session_id: str | None = None
) -> None:
    """Count a use of memories."""
    with settings.open(embeds=False) as memory:
        memory.touch(ids, use.value, session_id=session_id)
    output.tell(settings, {"touched": ids}, f"{len(ids):,} touched")


def feedback(
    settings: Settings,
    id: Id,
    kind: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(FEEDBACK_WEIGHTS)}.", autocompletion=one_of(FEEDBACK_WEIGHTS)
        ),
    ],
    context: str | None = None,
    if_version: IfVersion = None,
) -> None:
    """Judge whether a memory was useful."""
    with settings.open(embeds=False) as memory:
        record = memory.feedback(id, kind, context, if_version=if_version)
    _show_fields(
        settings,
        record,
        "relevance_score",
        "feedback_for",
        "feedback_against",
        "review",
        "outdated",
    )


def _judging(name: str, changed: str) -> Callable[..., None]:
    """The command of a method that judges one memory, and shows the field that it changes."""

    def command(settings: Settings, id: Id, if_version: IfVersion = None) -> None:
        with settings.open(embeds=False) as memory:
            record = getattr(memory, name)(id, if_version=if_version)
        _show_fields(settings, record, changed)

    command.__doc__ = f"{BY_NAME[name].title}."
    return command


# The commands that do what their row of the table of operations says to one memory.
promote = _judging("promote", "memory_score")
demote = _judging("demote", "memory_score")
reinforce = _judging("reinforce", "strength")
pin = _judging("pin", "pinned")
unpin = _judging("unpin", "pinned")


def supersede(settings: Settings, old: str, new: str, if_version: IfVersion = None) -> None:
    """Replace an outdated memory by a newer one; the old one was true until now."""
    with settings.open(embeds=False) as memory:
        memory.supersede(old, new, if_version=if_version)
        record = memory.get(old)
    assert record is not None
    _show_fields(settings, record, "status", "valid_to")


def contradict(settings: Settings, one: str, other: str) -> None:
    """Record that two memories contradict each other."""
    with settings.open(embeds=False) as memory:
        memory.contradict(one, other)
    output.tell(settings, {"contradicts": [one, other]}, f"{one} contradicts {other}")


def questions(settings: Settings) -> None:
    """List the labelled questions: what answers each, and what does not."""
    with settings.open(embeds=False) as memory:
        kept = memory.questions()
    if output.told(settings, kept):
        return
    if not kept:
        output.nothing("no question is labelled; salience questions add keeps one")
    from rich.text import Text

    from salience.cli import render

    rows = render.table("id", "question", "right", "not right")
    for each in kept:
        cells = (each.id, each.query, ", ".join(each.relevant), ", ".join(each.not_relevant))
        rows.add_row(*map(Text, cells))
    output.console(table=True).print(rows)


def add_question(
    settings: Settings,
    query: str,
    relevant: list[str] | None = None,
    not_relevant: list[str] | None = None,
    id: str | None = None,
    at: str | None = None,
    where: Where = None,
) -> None:
    """Keep a question with what answers it; without an id, nothing that is there does."""
    with settings.open(embeds=False) as memory:
        kept = memory.add_question(
            query, relevant or (), not_relevant or (), id=id, at=at, filters=conditions(where, {})
        )
    output.emit(kept.to_dict()) if settings.json else output.say(kept.id)


def delete_question(settings: Settings, id: str) -> None:
    """Drop a labelled question."""
    with settings.open(embeds=False) as memory:
        if not memory.delete_question(id):
            raise NotFound(f"there is no question {shown(id)}; salience questions lists them")
    output.emit({"deleted": id}) if settings.json else output.say(f"{id} dropped")


def score_questions(settings: Settings, profile: list[str] | None = None) -> None:
    """Measure profiles on the labelled questions, with 95 % intervals."""
    with settings.open() as memory:
        scores = memory.score_questions(profile or ["balanced"])
    if output.told(settings, scores):
        return
    if not any(each.questions for each in scores):
        output.nothing("no question has a labelled answer; salience questions add keeps one")
    from salience.cli import render

    rows = render.table("profile", "n", *_SHOWN_MEASURES, numbers=("n", *_SHOWN_MEASURES))
    for each in scores:
        means = [each.measures[name] for name in _SHOWN_MEASURES]
        figures = [f"{one.mean:.3f} ({one.low:.3f}-{one.high:.3f})" for one in means]
        rows.add_row(each.profile, f"{each.questions:,}", *figures)
    output.console(table=True).print(rows)
    output.note("few questions prove little: in brackets, where the mean of many would be")


def verify(settings: Settings, repair: bool = False) -> None:
    """Check that every memory is what its log of events says."""
    with settings.open(embeds=False) as memory:
        verification = memory.verify(repair=repair)
    if settings.json:
        output.emit(verification.to_dict())
    else:
        for finding in verification.damage:
            output.say(str(finding))
        for difference in verification.differences[:_MAX_DIFFERENCES]:
            output.say(str(difference))
        if len(verification) > _MAX_DIFFERENCES:
            output.note(
                f"... and {len(verification) - _MAX_DIFFERENCES:,} more; --json prints them all"
            )
        state = f"{len(verification):,} differences" if len(verification) else "all as in the log"
        if verification.repaired:
            state += ", repaired"
        if verification.damage:
            state += f"; {len(verification.damage):,} findings of damage"
        output.say(f"{verification.memories:,} memories, {verification.events:,} events: {state}")
    if not verification and not verification.repaired:
        raise typer.Exit(1)


def _show_fields(settings: Settings, record: MemoryRecord, *names: str) -> None:
    """Print the named fields of a memory."""
    if output.told(settings, record):
        return
    from salience.cli import render

    values = {name: to_json(getattr(record, name)) for name in names}
    output.console().print(render.figures({n: v for n, v in values.items() if v is not None}))
