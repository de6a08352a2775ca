"""Commands that look things up: get, list, count, tags, entities, zones and stats."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from salience.cli import output
from salience.cli.search import CONDITIONS, Where, conditions
from salience.cli.settings import Settings, parse_json, with_options
from salience.errors import InvalidInput
from salience.write.reading import not_found

Prefix = Annotated[str, typer.Argument(help="Only those that begin so.")]
Past = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Show what there was at that time, as it was."),
]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of names.")]


class Order(StrEnum):
    """The memories that a listing has first."""

    newest = "newest"
    oldest = "oldest"


def get(settings: Settings, id: str, as_of: Past = None) -> None:
    """Show one memory."""
    with settings.open(embeds=False) as memory:
        record = memory.get(id, as_of=as_of)
        if record is None:
            raise not_found(id, memory.namespace)
    if output.told(settings, record):
        return
    from salience.cli import render

    output.console().print(render.record(record))


@with_options(CONDITIONS)
def list_(
    settings: Settings,
    limit: int = 20,
    cursor: str | None = None,
    order: Order = Order.newest,
    where: Where = None,
    as_of: Past = None,
    **options: Any,
) -> None:
    """List memories in the order of their time, page by page."""
    filters = conditions(where, options)
    with settings.open(embeds=False) as memory:
        page = memory.get_all(filters, limit=limit, cursor=cursor, order=order.value, as_of=as_of)
    if output.told(settings, page):
        return
    from salience.cli import render

    console = output.console()
    if page.memories:
        console.print(render.records(page.memories, console.width))
    output.note(f"{len(page)} of {page.total:,} memories")
    if page.cursor:
        same_order = "" if order is Order.newest else f"--order {order.value} "
        same_time = f"--as-of '{as_of}' " if as_of else ""
        output.note(f"more with {same_order}{same_time}--cursor {page.cursor}")


def about(
    settings: Settings, user: str | None = None, limit: int = 1000, where: Where = None
) -> None:
    """List what a user told of himself, by topic: health, tastes, family, work."""
    with settings.open(embeds=False) as memory:
        found = memory.about(user, filters=parse_json("filter", where), limit=limit)
    if output.told(settings, found):
        return
    from salience.cli import render

    if found.facts:
        output.console().print(render.about(found))
    output.note(f"{len(found):,} facts of {found.total:,} statements")


@with_options(CONDITIONS)
def count(
    settings: Settings,
    where: Where = None,
    archived: bool | None = None,
    as_of: Past = None,
    **options: Any,
) -> None:
    """Count memories."""
    filters = conditions(where, options)
    with settings.open(embeds=False) as memory:
        number = memory.count(filters, archived=archived, as_of=as_of)
    output.tell(settings, {"count": number}, str(number))


@with_options(CONDITIONS)
def tags(
    settings: Settings, prefix: Prefix = "", limit: Limit = 100, where: Where = None, **options: Any
) -> None:
    """List the tags, and how many memories have each."""
    _names(settings, "tags", prefix, limit, conditions(where, options))


@with_options(CONDITIONS)
def entities(
    settings: Settings, prefix: Prefix = "", limit: Limit = 100, where: Where = None, **options: Any
) -> None:
    """List the people, places and things that memories name, and how many name each."""
    _names(settings, "entities", prefix, limit, conditions(where, options))


def _names(settings: Settings, kind: str, prefix: str, limit: int, filters: Any) -> None:
    with settings.open(embeds=False) as memory:
        page = getattr(memory, kind)(prefix, filters=filters, limit=limit)
    if output.told(settings, page):
        return
    for each in page:
        output.say(f"{each.memories:6,}  {each.name}")
    if not page.names:
        output.nothing()
    elif page.cursor:
        output.note("there are more: a higher --limit shows them")


def zones(settings: Settings, limit: int = 20, where: Where = None) -> None:
    """Show the vitality and zone of each memory, the lowest first."""
    if limit < 0:
        raise InvalidInput("limit", f"is {limit}", "give a whole number")
    with settings.open(embeds=False) as memory:
        zones = memory.zones(parse_json("filter", where))
    shown = zones.memories[::-1][:limit]
    if output.told(settings, {**zones.to_dict(), "memories": [one.to_dict() for one in shown]}):
        return
    from salience.cli import render

    if shown:
        output.console().print(render.vitals(shown))
    counts = ", ".join(f"{name} {count:,}" for name, count in zones.counts.items())
    output.note(f"{len(zones):,} memories: {counts or 'none'}")
    if zones.protected:
        output.note(f"{zones.protected:.1%} hold the link graph together and are protected")


def stats(settings: Settings, all_: bool = False, as_of: Past = None) -> None:
    """Show figures about the memories and their store."""
    with settings.open(embeds=False) as memory:
        figures = memory.stats(everywhere=all_, as_of=as_of)
    if output.told(settings, figures):
        return
    from salience.cli import render

    output.console().print(render.figures(figures))
