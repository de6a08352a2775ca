"""The report: how the memories of a store, or of a simulated year, fade; figures and a picture."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from salience.cli import output
from salience.cli.settings import Settings
from salience.errors import InvalidInput

if TYPE_CHECKING:
    from salience.engine import Memory
    from salience.lifecycle.zone_history import ZoneHistory

_LINES = 13  # of the table
_CENTURY = 36_525  # days


def report(
    settings: Settings,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: a .png, .svg or .pdf.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Where it begins. [default: the first write]")
    ] = None,
    ahead: Annotated[
        int,
        typer.Option(
            min=0, max=_CENTURY, help="Days to look ahead, as if nothing was used any more."
        ),
    ] = 90,
    points: Annotated[int, typer.Option(min=1, help="How many times are looked at.")] = 74,
    simulate_year: Annotated[
        bool, typer.Option("--simulate-year", help="Of a year that is made up, not of the store.")
    ] = False,
    memories: Annotated[int, typer.Option(help="Of that year: how many memories.")] = 20_000,
    uses: Annotated[int, typer.Option(help="Of that year: how many uses a day.")] = 50,
    days: Annotated[int, typer.Option(max=_CENTURY, help="Of that year: its days.")] = 365,
    seed: Annotated[int, typer.Option(help="Of that year: another one gives another year.")] = 7,
) -> None:
    """Show how memories fade: how many are in which zone over time, as figures or drawn."""
    with output.progress() as told:
        if simulate_year:
            from salience.evaluation.simulated_year import Setup, simulate

            memory, clock = simulate(Setup(memories, uses, days, seed), progress=told)
            title = f"A simulated {'year' if days == 365 else f'span of {days} days'}"
            title += f": {memories:,} memories, {uses:,} uses a day"
            until = clock.now
        else:
            memory = settings.open(embeds=False)
            title = f"How the memories of {memory.namespace!r} fade"
            until = datetime.now(timezone.utc) + timedelta(days=ahead)
        with closing(memory):
            found = memory.zone_shares(
                since=since,
                until=until,
                points=points,
                progress=lambda done, total: told("counting", done, total),
            )
            checked = _verified(memory) if simulate_year else None
    if out is not None:
        from salience.lifecycle.zone_chart import draw_chart

        draw_chart(found, out, title)
    if settings.json:
        output.emit({**found.to_dict(), "verified": checked, "out": str(out) if out else None})
        return
    _table(found)
    if checked is not None:
        output.note(checked)
    if out is not None:
        print(out)


def _verified(memory: Memory) -> str:
    """What came of working out everything that is derived anew, from the log.

    Raises:
        InvalidInput: it is not the same to the bit.
    """
    made = memory.verify()
    if not made:
        raise InvalidInput("log", f"says otherwise of {len(made):,} fields: {next(iter(made))}")
    return (
        f"worked out anew from {made.events:,} events, all that is derived of {made.memories:,} "
        "memories is the same to the bit"
    )


def _table(found: ZoneHistory) -> None:
    from salience.cli import render
    from salience.lifecycle.zone_history import ZONE_ORDER

    columns = ("time", "memories", *ZONE_ORDER, "bridges", "uses")
    made = render.table(*columns, numbers=columns[1:])
    step = max(1, -(-len(found.times) // _LINES))
    shown = list(range(len(found.times) - 1, -1, -step))[::-1]
    for place, before in zip(shown, [-1, *shown], strict=False):
        made.add_row(
            render.when(found.times[place]) + (" *" if found.times[place] > found.now else ""),
            f"{found.totals[place]:,}",
            *(f"{found.share(name)[place]:.1%}" for name in ZONE_ORDER),
            f"{found.protected[place]:.1%}",
            f"{sum(found.uses[before + 1 : place + 1]):,}",
        )
    output.console().print(made)
    if found.times[-1] > found.now:
        output.note("* to come, if nothing is used any more")
