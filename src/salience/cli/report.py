"""The command report: how the memories of a store fade."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from salience.cli import output
from salience.cli.settings import Settings

if TYPE_CHECKING:
    from salience.lifecycle.zone_history import ZoneHistory

_TABLE_ROWS = 13
_CENTURY_DAYS = 36_525


def report(
    settings: Settings,
    out: Path | None = None,
    since: str | None = None,
    ahead: Annotated[int, typer.Option(min=0, max=_CENTURY_DAYS)] = 90,
    points: Annotated[int, typer.Option(min=1)] = 74,
) -> None:
    """Show how memories fade: how many are in each zone over time, as a table or a chart."""
    with output.progress() as progress:
        until = datetime.now(timezone.utc) + timedelta(days=ahead)
        with settings.open(embeds=False) as memory:
            history = memory.zone_shares(
                since=since,
                until=until,
                points=points,
                progress=lambda done, total: progress("counting", done, total),
            )
    if out is not None:
        from salience.lifecycle.zone_chart import draw_chart

        draw_chart(history, out, f"How the memories of {settings.namespace or 'default'!r} fade")
    if output.told(settings, {**history.to_dict(), "out": str(out) if out else None}):
        return
    _table(history)
    if out is not None:
        print(out)


def _table(history: ZoneHistory) -> None:
    from salience.cli import render
    from salience.lifecycle.zone_history import ZONE_ORDER

    columns = ("time", "memories", *ZONE_ORDER, "bridges", "uses")
    rows = render.table(*columns, numbers=columns[1:])
    step = max(1, -(-len(history.times) // _TABLE_ROWS))
    positions = list(range(len(history.times) - 1, -1, -step))[::-1]
    for position, previous in zip(positions, [-1, *positions], strict=False):
        rows.add_row(
            render.when(history.times[position])
            + (" *" if history.times[position] > history.now else ""),
            f"{history.totals[position]:,}",
            *(f"{history.share(name)[position]:.1%}" for name in ZONE_ORDER),
            f"{history.protected[position]:.1%}",
            f"{sum(history.uses[previous + 1 : position + 1]):,}",
        )
    output.console().print(rows)
    if history.times[-1] > history.now:
        output.note("* in the future, if no memory is used again")
