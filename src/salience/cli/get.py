"""Commands that look things up: get, list, count, tags, entities, zones, stats and report."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from salience.cli import output
from salience.cli.operations import operation, parameters_of
from salience.cli.settings import Settings
from salience.errors import InvalidInput
from salience.records.record import MemoryRecord
from salience.search.listing import About, NamePage, Page

if TYPE_CHECKING:
    from salience.lifecycle.zone_history import ZoneHistory


@operation("get")
def get(settings: Settings, record: MemoryRecord, **_: Any) -> None:
    """Show one memory."""
    from salience.cli import render

    output.console().print(render.record(record))


@operation("get_all", limit=20)
def list_(settings: Settings, page: Page, *, order: str, **options: Any) -> None:
    """List memories by time, page by page."""
    from salience.cli import render

    console = output.console()
    if page.memories:
        console.print(render.records(page.memories, console.width, settings.zone))
    output.note(f"{len(page)} of {page.total:,} memories")
    if page.cursor:
        same_order = "" if order == "newest" else f"--order {order} "
        same_time = f"--as-of '{options['as_of']}' " if "as_of" in options else ""
        output.note(f"more with {same_order}{same_time}--cursor {page.cursor}")


@operation("about", "user")
def about(settings: Settings, result: About, **_: Any) -> None:
    """List what is known about a user, by topic: health, tastes, family, work."""
    from salience.cli import render

    if result.facts:
        output.console().print(render.about(result, settings.zone))
    output.note(f"{len(result):,} facts of {result.total:,} statements")


@operation("count")
def count(settings: Settings, number: int, **_: Any) -> None:
    """Count memories."""
    output.say(str(number))


def _show_names(settings: Settings, page: NamePage, **_: Any) -> None:
    for each in page:
        output.say(f"{each.memories:6,}  {each.name}")
    if not page.names:
        output.nothing()
    elif page.cursor:
        output.note(f"there are more: a higher --limit shows them, or --cursor {page.cursor}")


tags = operation("tags", "prefix")(_show_names)
entities = operation("entities", "prefix")(_show_names)


@parameters_of("inspect.zones", without=("cursor",))
def zones(settings: Settings, limit: int = 20, **options: Any) -> None:
    """Show the vitality and zone of each memory, lowest first."""
    if limit < 0:
        raise InvalidInput("limit", f"is {limit}", "give a whole number")
    with settings.open(embeds=False) as memory:
        zones = memory.inspect.zones(**options)
    vitals = zones.memories[::-1][:limit]
    if output.emitted(settings, {**zones.to_dict(), "memories": [v.to_dict() for v in vitals]}):
        return
    from salience.cli import render

    if vitals:
        output.console().print(render.vitals(vitals))
    counts = ", ".join(f"{name} {count:,}" for name, count in zones.counts.items())
    output.note(f"{len(zones):,} memories: {counts or 'none'}")
    if zones.protected:
        output.note(f"{zones.protected:.1%} hold the link graph together and are protected")


@operation("stats")
def stats(settings: Settings, figures: dict[str, Any], **_: Any) -> None:
    """Show statistics of the memories and their store."""
    from salience.cli import render

    output.console().print(render.figures(figures))


_TABLE_ROWS = 13
_CENTURY_DAYS = 36_525


def report(
    settings: Settings,
    out: Path | None = None,
    since: str | None = None,
    ahead: Annotated[int, typer.Option(min=0, max=_CENTURY_DAYS)] = 90,
    points: Annotated[int, typer.Option(min=1)] = 74,
) -> None:
    """Show how many memories are in each zone over time, as a table or chart."""
    with output.progress(step="counting") as progress:
        until = datetime.now(timezone.utc) + timedelta(days=ahead)
        with settings.open(embeds=False) as memory:
            history = memory.inspect.zone_shares(
                since=since,
                until=until,
                points=points,
                progress=progress,
            )
    if out is not None:
        from salience.lifecycle.zone_chart import draw_chart

        draw_chart(history, out, f"How the memories of {settings.namespace or 'default'!r} fade")
    if output.emitted(settings, {**history.to_dict(), "out": str(out) if out else None}):
        return
    _table(history, settings.zone)
    if out is not None:
        print(out)


def _table(history: ZoneHistory, zone: tzinfo) -> None:
    from salience.cli import render
    from salience.lifecycle.zone_history import ZONE_ORDER

    columns = ("time", "memories", *ZONE_ORDER, "bridges", "uses")
    rows = render.table(*columns, numbers=columns[1:])
    step = max(1, -(-len(history.times) // _TABLE_ROWS))
    positions = list(range(len(history.times) - 1, -1, -step))[::-1]
    for position, previous in zip(positions, [-1, *positions], strict=False):
        rows.add_row(
            render.when(history.times[position], zone)
            + (" *" if history.times[position] > history.now else ""),
            f"{history.totals[position]:,}",
            *(f"{history.share(name)[position]:.1%}" for name in ZONE_ORDER),
            f"{history.protected[position]:.1%}",
            f"{sum(history.uses[previous + 1 : position + 1]):,}",
        )
    output.console().print(rows)
    if history.times[-1] > history.now:
        output.note("* in the future, if no memory is used again")
