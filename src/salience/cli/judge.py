"""Commands that judge memories: touch, feedback, pin, supersede ...; history and verify."""

from __future__ import annotations

from typing import Any

from salience.cli import output
from salience.cli.operations import Command, operation, parameters_of, with_whole_ids
from salience.cli.settings import Settings
from salience.display.result import to_json
from salience.errors import NotFound, shown
from salience.lifecycle.verify import History, Verification
from salience.records.events import SCORE_STEPS
from salience.records.record import MemoryRecord
from salience.retrieval.questions import LabelledQuestion, Questions, QuestionScores

_SHOWN_MEASURES = ("R@10", "MRR", "nDCG@10")  # --json gives all
_MAX_DIFFERENCES = 20  # printed for people; --json gives all


@operation("history")
def history(settings: Settings, history: History, **_: Any) -> None:
    """Show the events of a memory, with its text before each edit."""
    from rich.text import Text

    from salience.cli import render

    rows = render.table("when", "what", "version", "", numbers=("version",))
    texts = {version.since: version.record.content for version in history.versions}
    for event, version in zip(history, history.numbers, strict=True):
        text = texts.get(event.at, "") if event.type in ("write", "edit") else ""
        line = Text(text or event.link or _payload_summary(event.payload))
        if event.actor:
            line.append(f"  by {event.actor}", style="dim")
        rows.add_row(
            render.when(event.at, settings.zone, "%Y-%m-%d %H:%M:%S"),
            event.type,
            f"{version}",
            line,
        )
    output.console().print(rows)
    if history.cursor:
        output.note(f"more with --cursor {history.cursor}")


def _payload_summary(payload: Any) -> str:
    """The payload of an event in a few words."""
    changes = payload.get("set", {})
    parts = [f"{name} = {value}" for name, value in changes.items()]
    if changed := payload.get("was", {}).keys() - changes:
        parts.append(f"changed {', '.join(sorted(changed))}")
    parts += [str(payload[name]) for name in ("feedback", "context", "outcome") if name in payload]
    return "; ".join(parts)


@operation("link", to_json=lambda _, **link: link)
def link(settings: Settings, done: None, *, source: str, type: str, target: str, **_: Any) -> None:
    """Link two memories."""
    output.say(f"{source} {type} {target}")


def decay(settings: Settings) -> None:
    """Let every memory fade by the days since the last run."""
    with settings.open(embeds=False) as memory:
        memory.upkeep.decay()
        memories = memory.count()
    output.tell(settings, {"memories": memories}, f"{memories:,} memories")


@operation("touch", to_json=lambda _, ids, **__: {"touched": ids})
def touch(settings: Settings, done: None, *, ids: list[str], **_: Any) -> None:
    """Record that memories were used."""
    output.say(f"{len(ids):,} touched")


def _shows(*fields: str) -> Command:
    """A function that shows fields of a memory that was judged."""

    def show(settings: Settings, record: MemoryRecord, **_: Any) -> None:
        from salience.cli import render

        values = {name: to_json(getattr(record, name)) for name in fields}
        output.console().print(render.figures({n: v for n, v in values.items() if v is not None}))

    return show


_JUDGED = ("relevance_score", "feedback_for", "feedback_against", "review", "outdated")
_MOVED = {**dict.fromkeys(SCORE_STEPS, ("memory_score",)), "reinforce": ("strength",)}


@operation("feedback")
def feedback(settings: Settings, record: MemoryRecord, *, kind: str, **_: Any) -> None:
    """Record whether a memory was useful, or raise or lower its score."""
    _shows(*_MOVED.get(kind, _JUDGED))(settings, record)


pin = operation("pin")(_shows("pinned"))
unpin = operation("unpin")(_shows("pinned"))


@parameters_of("supersede")
def supersede(settings: Settings, **values: Any) -> None:
    """Replace an outdated memory with a newer one; the old one held until then."""
    with settings.open(embeds=False) as memory:
        values = with_whole_ids(memory, values)
        memory.supersede(**values)
        record = memory.get(values["old"])
    assert record is not None
    if not output.emitted(settings, record):
        _shows("status", "valid_to")(settings, record)


@operation("labels.questions")
def questions(settings: Settings, labelled: Questions, **_: Any) -> None:
    """List the labelled questions: what answers each, and what does not."""
    if not labelled:
        output.nothing("no question is labelled; salience questions add keeps one")
    from rich.text import Text

    from salience.cli import render

    rows = render.table("id", "question", "right", "not right")
    for each in labelled:
        cells = (each.id, each.query, ", ".join(each.relevant), ", ".join(each.not_relevant))
        rows.add_row(*map(Text, cells))
    output.console(table=True).print(rows)


@operation("labels.add")
def add_question(settings: Settings, question: LabelledQuestion, **_: Any) -> None:
    """Label a question with the memories that answer it; without ids, nothing does."""
    output.say(question.id)


def delete_question(settings: Settings, id: str) -> None:
    """Delete a labelled question."""
    with settings.open(embeds=False) as memory:
        if not memory.labels.delete(id):
            raise NotFound(f"there is no question {shown(id)}; salience questions lists them")
    output.emit({"deleted": id}) if settings.json else output.say(f"{id} dropped")


@operation("labels.score", embeds=True)
def score_questions(settings: Settings, scores: QuestionScores, **_: Any) -> None:
    """Measure profiles on the labelled questions, with 95 % intervals."""
    if not any(each.questions for each in scores):
        output.nothing("no question has a labelled answer; salience questions add keeps one")
    from salience.cli import render

    rows = render.table("profile", "n", *_SHOWN_MEASURES, numbers=("n", *_SHOWN_MEASURES))
    for each in scores:
        means = [each.measures[name] for name in _SHOWN_MEASURES]
        figures = [f"{mean.mean:.3f} ({mean.low:.3f}-{mean.high:.3f})" for mean in means]
        rows.add_row(each.profile, f"{each.questions:,}", *figures)
    output.console(table=True).print(rows)
    output.note("few questions prove little: in brackets, where the mean of many would be")


@operation("upkeep.verify", failed=lambda found: not found and not found.repaired)
def verify(settings: Settings, verification: Verification, **_: Any) -> None:
    """Check every memory against its event log."""
    for finding in verification.damage:
        output.say(str(finding))
    for difference in verification.differences[:_MAX_DIFFERENCES]:
        output.say(str(difference))
    if len(verification) > _MAX_DIFFERENCES:
        more = len(verification) - _MAX_DIFFERENCES
        output.note(f"... and {more:,} more; --json prints them all")
    state = f"{len(verification):,} differences" if len(verification) else "all as in the log"
    if verification.repaired:
        state += ", repaired"
    if verification.damage:
        state += f"; {len(verification.damage):,} findings of damage"
    output.say(f"{verification.memories:,} memories, {verification.events:,} events: {state}")
