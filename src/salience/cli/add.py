"""Commands that write: add, update, reembed and delete."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from salience.cli import output
from salience.cli.search import Where
from salience.cli.settings import Settings, parsed
from salience.engine import Memory
from salience.errors import InvalidInput
from salience.records.fields import FIELDS


def add(
    settings: Settings,
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from stdin.")],
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    session_id: Annotated[str | None, typer.Option(help="The talk it is from.")] = None,
    agent_id: Annotated[str | None, typer.Option(help="The agent it belongs to.")] = None,
    user_id: Annotated[str | None, typer.Option(help="The user it belongs to.")] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Repeat it for more.")
    ] = None,
    entities: Annotated[
        list[str] | None, typer.Option("--entity", metavar="NAME", help="Repeat it for more.")
    ] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Anything else.")] = None,
    importance: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    kind: Annotated[str | None, typer.Option(help="Such as fact, note, turn.")] = None,
    title: Annotated[str | None, typer.Option(help="Its heading.")] = None,
    created_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it was said or happened.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Its id; one is made otherwise.")] = None,
    links: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='As in \'[{"target": "id", "type": "supports"}]\'.'),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(metavar="JSON", help="Vectors by name, in place of made ones.")
    ] = None,
    gist: Annotated[str | None, typer.Option(help="What it comes down to.")] = None,
    tier: Annotated[str | None, typer.Option(help="short, medium or long.")] = None,
    memory_nature: Annotated[str | None, typer.Option(help="episodic or semantic.")] = None,
    content_type: Annotated[
        str | None, typer.Option(help="text, conversation, document, event or fact.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="episodic, knowledge, activity or entity.")
    ] = None,
    relevance_score: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    memory_score: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    confidence: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    strength: Annotated[float | None, typer.Option(help="From 0 to 1.")] = None,
    decay_rate: Annotated[
        float | None, typer.Option(help="How fast it fades per hour, in place of its tier's.")
    ] = None,
    expires_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it stops being found.")
    ] = None,
    valid_from: Annotated[
        str | None, typer.Option(metavar="TIME", help="Since when it is true.")
    ] = None,
    valid_to: Annotated[
        str | None, typer.Option(metavar="TIME", help="Until when it is true.")
    ] = None,
    pinned: Annotated[bool | None, typer.Option(help="Never archived.")] = None,
    supersedes: Annotated[
        str | None, typer.Option(metavar="ID", help="The memory whose place it takes.")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Given again, it adds nothing and prints the same id.")
    ] = None,
    dedup: Annotated[
        bool | None, typer.Option(help="Look for one that says the same, or do not.")
    ] = None,
) -> None:
    """Remember a text."""
    fields = {name: value for name, value in locals().items() if name not in ("settings", "text")}
    for name, shape in (("metadata", dict), ("links", list), ("vectors", dict)):
        fields[name] = parsed(name, fields[name], shape)
    content = _from_stdin() if text == "-" else text
    with settings.open(make=True) as memory:
        result = memory.add(content, **{n: v for n, v in fields.items() if v is not None})
    output.degraded(result.degraded)
    for each in result.items:
        if each.outcome != "ADDED":
            output.note(" ".join(filter(None, (each.outcome, each.match, each.reason))))
    output.pending(result.pending)
    if settings.json:
        items = [one.to_dict() for one in result]
        output.emit({"id": result.id, "items": items, "degraded": list(result.degraded)})
    else:
        print(result.id)


def update(
    settings: Settings,
    id: Annotated[str, typer.Argument(help="The memory's id.")],
    text: Annotated[
        str | None, typer.Argument(help="What it says from now on; - reads it from stdin.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="A field's new value; nothing after the = leaves it without one. Repeat it for "
            "more.",
        ),
    ] = None,
) -> None:
    """Change what a memory says, or its fields."""
    given = dict(_assigned(change) for change in changes or ())
    if text is not None:
        given["content"] = _from_stdin() if text == "-" else text
    if not given:
        raise InvalidInput("update", "has to know what to change", "give a text, or --set")
    with settings.open() as memory:
        changed = memory.update(id, **given)
    if settings.json:
        output.emit(changed.to_dict())
    else:
        print(changed.id)


def _assigned(change: str) -> tuple[str, Any]:
    """A field and its value: text as it stands, of one text a list, anything else as JSON."""
    name, sign, value = change.partition("=")
    if not sign:
        raise InvalidInput("set", f"{change!r} is no change", "write it as importance=0.8")
    kind = FIELDS[name].type if name in FIELDS else "text"
    if not value:
        return name, None
    if kind in ("text", "time") or (kind == "list" and not value.startswith("[")):
        return name, value
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        raise InvalidInput(name, f"is {value!r}", "write its value as JSON") from None


def _from_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InvalidInput("text", "what stdin gives is not UTF-8", "convert it first") from None


def reembed(
    settings: Settings,
    missing: Annotated[
        bool, typer.Option("--missing", help="Only memories that have no vector.")
    ] = False,
) -> None:
    """Make all vectors anew with --embedder; searches go on with the old ones meanwhile."""
    settings.require()
    with output.progress() as told:
        made = Memory.reembed(
            settings.url,
            embedder=settings.embedder,
            missing=missing,
            progress=lambda done, total: told("embedding", done, total),
        )
    if settings.json:
        output.emit({"embedded": made})
    else:
        output.note(f"{made:,} memories embedded")


def delete(
    settings: Settings,
    ids: Annotated[list[str] | None, typer.Argument(help="The ids of memories.")] = None,
    where: Where = None,
    everything: Annotated[bool, typer.Option("--all", help="Erase all of the namespace.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask back.")] = False,
) -> None:
    """Erase memories: by id, those that pass a filter, or all of the namespace."""
    filters = parsed("filter", where)
    if sum((bool(ids), filters is not None, everything)) != 1:
        raise InvalidInput("delete", "has to know what to erase", "give ids, --filter or --all")
    if filters == {}:
        raise InvalidInput("filter", "is empty, which is all there is", "say --all for that")
    missing = []
    with settings.open(embeds=False) as memory:
        if ids:
            missing = [id for id in dict.fromkeys(ids) if not memory.delete(id)]
            erased = len(set(ids)) - len(missing)
        else:
            if not yes:
                _confirm(settings, memory.get_all(filters, limit=1).total, memory.namespace)
            erased = memory.delete_all(filters, namespace=None if filters else memory.namespace)
    for id in missing:
        output.note(f"there is no memory {id!r}")
    if settings.json:
        output.emit({"deleted": erased, "missing": missing})
    else:
        print(f"{erased:,} deleted")
    if missing or (filters and not erased):
        raise typer.Exit(1)


def _confirm(settings: Settings, count: int, namespace: str) -> None:
    if settings.json:
        raise InvalidInput("yes", "is needed with --json, which cannot ask back", "add --yes")
    question = f"Erase {count:,} memories of the namespace {namespace!r} for good?"
    print(question, "[y/N]", end=" ", file=sys.stderr, flush=True)
    if sys.stdin.buffer.readline().strip().lower() not in (b"y", b"yes"):
        output.note("nothing was erased")
        raise typer.Exit(1)
