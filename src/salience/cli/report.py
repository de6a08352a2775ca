"""The command report: how the memories of a store, or of a simulated year, fade."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from salience.cli import output
from salience.cli.settings import Settings
from salience.errors import InvalidInput

if TYPE_CHECKING:
    from salience.engine.memory import Memory
    from salience.lifecycle.zone_history import ZoneHistory

_TABLE_ROWS = 13
_CENTURY_DAYS = 36_525


def report(
    settings: Settings,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a chart into this .png, .svg or .pdf.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start. [default: the first write]"),
    ] = None,
    ahead: Annotated[
        int,
        typer.Option(
            min=0, max=_CENTURY_DAYS, help="Days to look ahead, as if no memory were used again."
        ),
    ] = 90,
    points: Annotated[int, typer.Option(min=1, help="Number of points in time.")] = 74,
    simulate_year: Annotated[
        bool, typer.Option("--simulate-year", help="Report on a simulated year, not on the store.")
    ] = False,
    memories: Annotated[int, typer.Option(help="Simulated year: number of memories.")] = 20_000,
    uses: Annotated[int, typer.Option(help="Simulated year: uses a day.")] = 50,
    days: Annotated[int, typer.Option(max=_CENTURY_DAYS, help="Simulated year: days.")] = 365,
    seed: Annotated[int, typer.Option(help="Simulated year: seed of its random numbers.")] = 7,
) -> None:
    """Show how memories fade: how many are in each zone over time, as a table or a chart."""
    with output.progress() as progress:
        if simulate_year:
            from salience.evaluation.simulated_year import Setup, simulate

            simulated, clock = simulate(Setup(memories, uses, days, seed), progress=progress)
            source: AbstractContextManager[Memory] = closing(simulated)
            title = f"A simulated {'year' if days == 365 else f'span of {days} days'}"
            title += f": {memories:,} memories, {uses:,} uses a day"
            until = clock.now
        else:
            source = settings.open(embeds=False)
            title = f"How the memories of {settings.namespace or 'default'!r} fade"
            until = datetime.now(timezone.utc) + timedelta(days=ahead)
        with source as memory:
            history = memory.zone_shares(
                since=since,
                until=until,
                points=points,
                progress=lambda done, total: progress("counting", done, total),
            )
            verification = _verified(memory) if simulate_year else None
    if out is not None:
        from salience.lifecycle.zone_chart import draw_chart

        draw_chart(history, out, title)
    if settings.json:
        output.emit(
            {**history.to_dict(), "verified": verification, "out": str(out) if out else None}
        )
        return
    _table(history)
    if verification is not None:
        output.note(verification)
    if out is not None:
        print(out)


def _verified(memory: Memory) -> str:
    """A line about the replay of all events: the derived fields are the same to the bit.

    Raises:
        InvalidInput: a field differs.
    """
    result = memory.verify()
    if not result:
        raise InvalidInput("log", f"differs in {len(result):,} fields: {next(iter(result))}")
    return (
        f"replayed {result.events:,} events: all derived fields of {result.memories:,} memories "
        "are the same to the bit"
    )


def _table(history: ZoneHistory) -> None:
    from salience.cli.printing import render
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
