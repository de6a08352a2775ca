"""A chart of how memories fade: the curves of vitality, and the shares of zones over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput
from salience.language.tokens import shorten
from salience.lifecycle.zone_history import ZONE_ORDER, ZoneHistory
from salience.ranking.signals.vitality import METABOLIC_RATES, ZONES, vitality
from salience.ranking.stages import score
from salience.records.events import DAY_SECONDS
from salience.retrieval.candidates import Candidates
from salience.retrieval.query import Query

_FIRST_DAY, _LAST_DAY = 0.02, 365.0  # of the curves
_TICKS = {
    1 / 24: "1 hour", 0.25: "6 hours", 1.0: "1 day", 7.0: "7", 30.0: "30", 90.0: "90",
    365.0: "365 days",
}  # fmt: skip
# One hue from dark to light, so that the order of the zones shows in grey, too.
_ZONE_COLOURS = {
    "active": "#08519c",
    "stale": "#4292c6",
    "fading": "#9ecae1",
    "dormant": "#e4e9ef",
}
# Four lines that the colour-blind tell apart (Okabe and Ito), and others by their dashes.
_LAYER_LINES = {
    "entity": ("#000000", "-"),
    "knowledge": ("#d55e00", (0, (6, 2))),
    "episodic": ("#009e73", (0, (3, 1.5))),
    "activity": ("#cc79a7", (0, (1.2, 1.2))),
}
_LAYER_LABELS = {
    "entity": "entity (who and what)",
    "knowledge": "knowledge",
    "episodic": "episodic (what happened)",
    "activity": "activity (what was done)",
}
_PROTECTED = "never pruned: they hold the link graph together"
_PROTECTED_LINE = {"color": "#d55e00", "linestyle": (0, (4, 2)), "linewidth": 2.2}
_NOW = "now; after it, if nothing is used any more"
_NAMES_AT = 1.03  # of the names of zones, in widths of the axes
_NAMES_APART = 0.01  # between two names, in heights of the axes
_DOTS_PER_INCH = 140
_TITLE_CHARACTERS = 90
_SUFFIXES = (".png", ".svg", ".pdf")


def vitality_curves(days: NDArray[np.float64]) -> Mapping[str, NDArray[np.float64]]:
    """The vitality of a memory that was never used, by layer, at ages in days."""
    now = 1e9
    curves = {}
    for layer in METABOLIC_RATES:
        size = len(days)
        columns: dict[str, NDArray[Any]] = {
            "created_at": now - days * DAY_SECONDS,
            "accesses": (now - days * DAY_SECONDS)[:, np.newaxis],
            "layer": np.full(size, layer, dtype=object),
            "access_count": np.zeros(size),
            "write_count": np.zeros(size),
        }
        for name in vitality().inputs() - columns.keys():
            columns[name] = np.full(size, np.nan)
        stage = score(vitality(), into="vitality")
        table = stage.apply(Query("", (), now), Candidates(np.arange(size), columns))
        curves[layer] = table.floats("vitality")
    return curves


def draw_chart(shares: ZoneHistory, path: str | Path, title: str = "How memories fade") -> Path:
    """Draw the shares of zones over time beside the curves of vitality; the path of the file.

    The ending of the path is the format: .png, .svg or .pdf. Needs matplotlib.

    Raises:
        InvalidInput: another ending, no folder to write to, or matplotlib is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise InvalidInput("out", f"ends in {path.suffix!r}", f"use one of {', '.join(_SUFFIXES)}")
    if not path.resolve().parent.is_dir():
        raise InvalidInput("out", f"there is no folder {path.resolve().parent}", "make it first")
    figure = chart(shares, title)
    is_svg = path.suffix.lower() == ".svg"
    with import_module("matplotlib").rc_context({"svg.hashsalt": "salience"}):
        figure.savefig(path, dpi=_DOTS_PER_INCH, metadata={"Date": None} if is_svg else None)
    return path


def chart(shares: ZoneHistory, title: str = "How memories fade") -> Any:
    """The shares of zones over time beside the curves of vitality, as a figure of matplotlib.

    Raises:
        InvalidInput: matplotlib is not installed.
    """
    try:
        figure_of = import_module("matplotlib.figure").Figure
        matplotlib = import_module("matplotlib")
    except ImportError:
        raise InvalidInput(
            "out", "drawing needs matplotlib", "pip install 'salience[report]'"
        ) from None
    with matplotlib.rc_context({"font.size": 10.5}):
        figure = figure_of(figsize=(13, 6), layout="constrained", dpi=_DOTS_PER_INCH)
        figure.suptitle(shorten(title, _TITLE_CHARACTERS), fontsize=15, fontweight="bold")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.35))
        _draw_curves(left)
        _draw_shares(right, shares)
    return figure


def _draw_curves(axes: Any) -> None:
    days = np.geomspace(_FIRST_DAY, _LAST_DAY, 400)
    bounds = [1.0, *(least for least, _ in ZONES), 0.0]
    for name, top, bottom in zip(ZONE_ORDER, bounds, bounds[1:], strict=False):
        axes.axhspan(bottom, top, color=_ZONE_COLOURS[name], alpha=0.30, linewidth=0)
        _beside(axes, name, (top + bottom) / 2)
    for layer, values in vitality_curves(days).items():
        label, (colour, dashes) = _LAYER_LABELS[layer], _LAYER_LINES[layer]
        axes.plot(days, values, color=colour, linestyle=dashes, linewidth=2.2, label=label)
    axes.set_title("The formula: a memory that is never used again", fontsize=11.5)
    axes.set_xlabel("time since it was written (log scale)")
    axes.set_ylabel("vitality (0 to 1)")
    axes.set_xscale("log")
    axes.set_xlim(_FIRST_DAY, _LAST_DAY)
    axes.set_xticks(list(_TICKS), list(_TICKS.values()), minor=False)
    axes.minorticks_off()
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.1, 0.3, 0.6, 1.0])
    axes.legend(title="layer of the memory", loc="upper right", framealpha=0.9)


def _beside(axes: Any, words: str, height: float) -> None:
    """Write something to the right of the axes, at a height from 0 to 1."""
    axes.annotate(
        words,
        (1.0, height),
        xycoords="axes fraction",
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=9.5,
    )


def _draw_shares(axes: Any, shares: ZoneHistory) -> None:
    dates = import_module("matplotlib.dates")
    # Time 0 of a store has no memories: the areas begin where there is one.
    there = [place for place, total in enumerate(shares.totals) if total]
    times = [shares.times[place] for place in there]
    stacked = [np.array(shares.share(name))[there] * 100 for name in ZONE_ORDER]
    axes.set_title("The memories: how many are in which zone, over time", fontsize=11.5)
    axes.set_ylabel("share of memories (%)")
    axes.set_ylim(0, 100)
    if not times:
        axes.text(0.5, 0.5, "no memories yet", ha="center", transform=axes.transAxes)
        return
    axes.stackplot(times, stacked, colors=[_ZONE_COLOURS[name] for name in ZONE_ORDER], linewidth=0)
    for edge in np.cumsum(stacked, axis=0)[:-1]:
        axes.plot(times, edge, color="white", linewidth=0.8)
    protected = np.array(shares.protected)[there] * 100
    axes.plot(times, protected, label=_PROTECTED, **_PROTECTED_LINE)
    if times[0] < shares.now < times[-1]:
        axes.axvline(shares.now, color="black", linewidth=1.2, label=_NOW)
    locator = dates.AutoDateLocator(minticks=4, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, show_offset=False))
    axes.set_xlim(times[0], times[-1] if len(times) > 1 else None)
    axes.set_xlabel(_summary(shares))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)
    _name_zones(axes, [float(part[-1]) / 100 for part in stacked])


def _name_zones(axes: Any, parts: Sequence[float]) -> None:
    """Write the name and last share of each zone beside its area, one above the other.

    A name is moved up or down as far as the one next to it needs the room; a line leads to it.
    """
    heights = (np.cumsum(parts) - np.array(parts) / 2).tolist()
    labels = [
        axes.text(
            _NAMES_AT, height, f"{name} {part:.0%}", fontsize=9.5,
            va="center", transform=axes.transAxes,
        )
        for name, height, part in zip(ZONE_ORDER, heights, parts, strict=True)
    ]  # fmt: skip
    figure = axes.get_figure()
    figure.draw_without_rendering()  # lays the axes out; the names move up and down alone
    scale = axes.get_window_extent().height
    rooms = [label.get_window_extent().height / scale + _NAMES_APART for label in labels]
    for label, height, place in zip(labels, heights, spread(heights, rooms), strict=True):
        label.set_y(place)
        lead = {"color": "0.55", "linewidth": 0.8, "clip_on": False, "transform": axes.transAxes}
        axes.plot([1.0, _NAMES_AT - 0.005], [height, place], **lead)


def spread(places: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Ascending places from 0 to 1, moved apart until each has its room to itself.

    Args:
        places: the wanted middles, ascending.
        rooms: the height that each needs; together at most 1.
    """
    moved: list[float] = []
    floor = 0.0
    for place, room in zip(places, rooms, strict=True):
        moved.append(max(place, floor + room / 2))
        floor = moved[-1] + room / 2
    ceiling = 1.0
    for at in reversed(range(len(moved))):
        moved[at] = min(moved[at], ceiling - rooms[at] / 2)
        ceiling = moved[at] - rooms[at] / 2
    return moved


def _summary(shares: ZoneHistory) -> str:
    """The start and the number of memories, uses and days, as the label below the time axis."""
    first = shares.times[0]
    days = (min(shares.now, shares.times[-1]) - first).total_seconds() / DAY_SECONDS
    parts = (
        f"UTC, from {first:%Y-%m-%d} · {shares.totals[-1]:,} memories, {sum(shares.uses):,} uses"
    )
    return f"{parts} in {days:,.0f} days" if days >= 1 else parts
