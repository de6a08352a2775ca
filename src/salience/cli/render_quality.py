"""The quality of recall for people: measures by category, their intervals, and their changes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from salience.cli import render
from salience.evaluation.comparison import COMPARED, Change, Judged, Outcome, intervals
from salience.evaluation.rankings import LeftOut
from salience.evaluation.runner import Report
from salience.retrieval.metrics import MEASURES, Interval


def report(report: Report) -> RenderableType:
    """The figures by category, and the intervals in which they are."""
    parts: list[RenderableType] = [_measures(report), "", _intervals(report.outcomes)]
    if report.check is not None:
        parts += ["", render.figures(report.check.to_dict())]
    return Group(*parts)


def changes(changes: Sequence[Change]) -> RenderableType:
    """The difference of each figure from the run before, with its interval."""
    numbers = ("n", "before", "now", "difference")
    rows = render.table("since the run before", "", *numbers, "interval", numbers=numbers)
    for change in changes:
        is_first = change.category is None and change.measure == COMPARED[0]
        name = "" if change.category is None else f"  {change.category}"
        rows.add_row(
            _title(change) if is_first else name,
            change.measure,
            f"{change.queries:,}",
            f"{change.before:.3f}",
            f"{change.after:.3f}",
            f"{change.after - change.before:+.3f}",
            _span((change.low, change.high), "+.3f"),
            style="red" if change.fell else "green" if change.rose else None,
        )
    fallen, risen = (sum(getattr(each, way) for each in changes) for way in ("fell", "rose"))
    summary = f"{fallen} of {len(changes)} figures fell and {risen} rose; the rest may be chance."
    return Group("", rows, "", summary)


def left_out(results: Sequence[LeftOut]) -> RenderableType:
    """A table for each measure: its change, in thousandths, where a part is left out."""
    tables: list[RenderableType] = []
    parts = list(results[0].changes)
    idle = [part for part in parts if not any(any(r.changes[part][1]) for r in results)]
    for measure in dict.fromkeys(r.measure for r in results):
        of_sets = [r for r in results if r.measure == measure]
        rows = render.table(f"{measure} without", *(r.set for r in of_sets))
        rows.add_row("(all parts)", *(f"{1000 * r.with_all:.0f}" for r in of_sets))
        rows.add_row("(questions)", *(f"{r.questions:,}" for r in of_sets))
        for part in parts:
            if part not in idle:
                rows.add_row(part, *(_left_out_cell(*r.changes[part]) for r in of_sets))
        tables += [rows, ""]
    legend = "In thousandths, with the sign on each third of a set: - where the part helps."
    return Group(*tables, legend, f"Without effect here: {', '.join(idle)}" if idle else "")


def _left_out_cell(change: float, folds: Sequence[float]) -> str:
    """The change in thousandths, and its sign on each fold; nothing where there is none."""
    if not any(folds):
        return ""
    signs = "".join("-" if fold < 0.0 else "+" if fold > 0.0 else "." for fold in folds)
    return f"{1000 * change:+.0f} {signs}"


def _measures(report: Report) -> Table:
    measures = [name for name in MEASURES if name != "Hit@1"]  # a line has 80 columns
    numbers = ("n", *measures, "ms")
    rows = render.table("", *numbers, numbers=numbers)
    for outcome in report.outcomes:
        cells = (f"{outcome.metrics[name]:.3f}" for name in measures)
        ms = outcome.ms_per_query
        time = f"{ms:.1f}" if ms < 100.0 else f"{ms:.0f}"  # no wider where a machine is busy
        rows.add_row(_title(outcome), f"{outcome.queries:,}", *cells, time)
        for category, (queries, metrics) in outcome.categories.items():
            cells = (f"{metrics[name]:.3f}" for name in measures)
            rows.add_row(f"  {category}", f"{queries:,}", *cells, style="dim")
    return rows


def _intervals(outcomes: Sequence[Outcome]) -> Table:
    rows = render.table("95 % intervals", "conversations", *COMPARED, numbers=["conversations"])
    for outcome in outcomes:
        rows.add_row(_title(outcome), *_spans(outcome.judged))
        for category, judged in outcome.by_category.items():
            rows.add_row(f"  {category}", *_spans(judged), style="dim")
    return rows


def _spans(judged: Sequence[Judged]) -> list[str]:
    spans = intervals(judged)
    conversations = len({each.conversation for each in judged})
    return [f"{conversations:,}", *(_span(spans[name]) for name in COMPARED if spans)]


def _title(figures: Outcome | Change) -> str:
    return f"{figures.set} · {figures.profile} · {figures.embedder}"


def _span(interval: Interval, form: str = ".3f") -> str:
    low, high = interval
    return f"{low:{form}} to {high:{form}}"
