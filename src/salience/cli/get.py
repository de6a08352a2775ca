"""Commands that look things up: get, list, zones and stats."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from salience.cli import output
from salience.cli.search import Where
from salience.cli.settings import Settings, parsed
from salience.errors import InvalidInput, NotFound


def get(settings: Settings, id: Annotated[str, typer.Argument(help="The memory's id.")]) -> None:
    """Show one memory."""
    with settings.open(embeds=False) as memory:
        found = memory.get(id)
        if found is None:
            raise NotFound(f"there is no memory {id!r} in the namespace {memory.namespace!r}")
    if settings.json:
        output.emit(found.to_dict())
        return
    from salience.cli import render

    output.console().print(render.record(found))


def list_(
    settings: Settings,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many on a page.")] = 20,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Where the page before ended.")
    ] = None,
    where: Where = None,
) -> None:
    """List memories, newest first, page by page."""
    filters = parsed("filter", where)
    with settings.open(embeds=False) as memory:
        page = memory.get_all(filters, limit=limit, cursor=cursor)
    if settings.json:
        output.emit(
            {
                "total": page.total,
                "cursor": page.cursor,
                "memories": [one.to_dict() for one in page.records],
            }
        )
        return
    from salience.cli import render

    console = output.console()
    if page.records:
        console.print(render.records(page.records, console.width))
    output.note(f"{len(page)} of {page.total:,} memories")
    if page.cursor:
        output.note(f"more with --cursor {page.cursor}")


def zones(
    settings: Settings,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many to show.")] = 20,
    where: Where = None,
) -> None:
    """Show how alive each memory is, the least alive first."""
    if limit < 0:
        raise InvalidInput("limit", f"is {limit}", "give a whole number")
    with settings.open(embeds=False) as memory:
        found = memory.zones(parsed("filter", where))
    shown = found.items[::-1][:limit]
    if settings.json:
        output.emit(
            {
                "counts": dict(found.counts),
                "protected": found.protected,
                "memories": [asdict(one) for one in shown],
            }
        )
        return
    from salience.cli import render

    if shown:
        output.console().print(render.vitals(shown))
    counts = ", ".join(f"{name} {count:,}" for name, count in found.counts.items())
    output.note(f"{len(found):,} memories: {counts or 'none'}")
    if found.protected:
        output.note(f"{found.protected:.1%} hold the link graph together and are kept")


def stats(
    settings: Settings,
    everywhere: Annotated[bool, typer.Option("--all", help="Of all namespaces together.")] = False,
) -> None:
    """Show figures about the memories and their store."""
    with settings.open(embeds=False) as memory:
        found = memory.stats(everywhere=everywhere)
    if settings.json:
        output.emit(found)
        return
    from salience.cli import render

    output.console().print(render.figures(found))
