"""A chart of how memories fade: the curves of vitality, and the shares of zones over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import InvalidInput
from salience.lifecycle.zone_history import ZONE_ORDER, ZoneHistory
from salience.ranking.signals.vitality import METABOLIC_RATES, ZONES, Zone, vitality
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
    "archived": "#e4e9ef",
}
_TEXT_COLOURS = {"active": "white", "stale": "white", "fading": "black", "archived": "black"}
_ZONE_LABELS = {"archived": "ready for\nthe archive"}
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
_LINE_HEIGHT_PERCENT = 5.0  # of a line of text
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
    try:
        figure_of = import_module("matplotlib.figure").Figure
        matplotlib = import_module("matplotlib")
    except ImportError:
        raise InvalidInput(
            "out", "drawing needs matplotlib", "pip install 'salience[report]'"
        ) from None
    with matplotlib.rc_context({"svg.hashsalt": "salience", "font.size": 10.5}):
        figure = figure_of(figsize=(13, 6), layout="constrained")
        figure.suptitle(title, fontsize=15, fontweight="bold")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.35))
        _draw_curves(left)
        _draw_shares(right, shares)
        undated = {"Date": None} if path.suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=140, metadata=undated)
    return path


def _draw_curves(axes: Any) -> None:
    days = np.geomspace(_FIRST_DAY, _LAST_DAY, 400)
    bounds = [1.0, *(least for least, _ in ZONES), 0.0]
    for name, top, bottom in zip(ZONE_ORDER, bounds, bounds[1:], strict=False):
        axes.axhspan(bottom, top, color=_ZONE_COLOURS[name], alpha=0.30, linewidth=0)
        _beside(axes, _ZONE_LABELS.get(name, name), (top + bottom) / 2)
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
    edges = np.cumsum(stacked, axis=0)
    for edge in edges[:-1]:
        axes.plot(times, edge, color="white", linewidth=0.8)
    protected = np.array(shares.protected)[there] * 100
    for name, low, high in zip(ZONE_ORDER, [np.zeros(len(times)), *edges], edges, strict=False):
        _name_area(axes, name, times, (low, high), protected)
    axes.plot(times, protected, color="#d55e00", linestyle=(0, (4, 2)), linewidth=2.2)
    _note(axes, times, protected)
    _mark_now(axes, shares, times)
    locator = dates.AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    axes.set_xlim(times[0], times[-1] if len(times) > 1 else None)
    axes.set_xlabel(_summary(shares))


def _name_area(
    axes: Any, name: Zone, times: list[datetime], area: tuple[NDArray[Any], NDArray[Any]],
    line: NDArray[Any],
) -> None:  # fmt: skip
    """Write the name of a zone where it is widest, off the line, and its last share beside it."""
    low, high = area
    tall = high - low
    edge = len(times) // 8
    place = edge + int(np.argmax(tall[edge : len(times) - edge]))
    middle = (low[place] + high[place]) / 2
    if abs(middle - line[place]) < _LINE_HEIGHT_PERCENT:
        middle -= tall[place] / 4
    if tall[place] >= _LINE_HEIGHT_PERCENT:
        label = _ZONE_LABELS.get(name, name).replace("\n", " ")
        style = {"ha": "center", "va": "center", "fontweight": "bold"}
        axes.text(times[place], middle, label, color=_TEXT_COLOURS[name], **style)
    _beside(axes, f"{_ZONE_LABELS.get(name, name)}\n{tall[-1]:.0f} %", (low[-1] + high[-1]) / 200)


def _note(axes: Any, times: list[datetime], protected: NDArray[Any]) -> None:
    place = len(times) // 2
    axes.annotate(
        "never pruned: hold the link graph together",
        (times[place], protected[place]),
        xytext=(0, 8),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=9.5,
        color="#7a3500",
        bbox={
            "boxstyle": "round,pad=0.2",
            "facecolor": "white",
            "edgecolor": "none",
            "alpha": 0.85,
        },
    )


def _mark_now(axes: Any, shares: ZoneHistory, times: list[datetime]) -> None:
    if times[0] < shares.now < times[-1]:
        axes.axvline(shares.now, color="black", linewidth=1.2)
        axes.annotate(
            "now → if nothing is used any more",
            (shares.now, 99),
            xytext=(5, -2),
            textcoords="offset points",
            va="top",
            fontsize=9.5,
        )


def _summary(shares: ZoneHistory) -> str:
    """The number of memories, uses and days, as the label below the time axis."""
    days = (min(shares.now, shares.times[-1]) - shares.times[0]).total_seconds() / DAY_SECONDS
    uses = sum(shares.uses)
    counts = f"{shares.totals[-1]:,} memories, {uses:,} uses"
    return f"date (UTC) · {counts} in {days:,.0f} days" if days >= 1 else f"date (UTC) · {counts}"
