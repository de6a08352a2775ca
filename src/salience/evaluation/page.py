"""A page of figures with their intervals: one file of HTML, its plots drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from salience.evaluation.comparison import COMPARED, Change, Outcome, intervals
from salience.retrieval.metrics import Interval, Metrics

_LABEL, _PLOT, _FIGURE, _ROW = 260, 420, 150, 22  # pixels
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { display: block; max-width: 100%; height: auto; }
text { fill: currentColor; font-size: 13px; }
.axis { stroke: currentColor; opacity: .2; }
.all { stroke: #3465a4; fill: #3465a4; } .part { stroke: #888; fill: #888; }
.fell { stroke: #c0392b; fill: #c0392b; } .rose { stroke: #27864a; fill: #27864a; }
"""

Row = tuple[str, float, Interval, str]
"""A label, a figure, its interval, and the class of its mark."""


def page(outcomes: Sequence[Outcome], changes: Sequence[Change] = ()) -> str:
    """The text of a page: the figures of each set by category, then their changes."""
    parts = ["<h1>Recall, measured</h1>"]
    for outcome in outcomes:
        title = f"{outcome.set} · {outcome.profile} · {outcome.embedder}"
        conversations = len({each.conversation for each in outcome.judged})
        parts.append(f"<h2>{escape(title)}</h2>")
        parts.append(
            f"<p>{outcome.queries:,} questions about {conversations:,} conversations, "
            f"{outcome.ms_per_query:.1f} ms a search. Bars are 95 % intervals.</p>"
        )
        parts += [
            f"<h3>{measure}</h3>{_plot(_figures(outcome, measure), 0.0, 1.0)}"
            for measure in COMPARED
        ]
    if changes:
        parts.append("<h2>Changes since the run before</h2>")
        parts.append("<p>The intervals hold all together with a confidence of 95 %.</p>")
        parts += [f"<h3>{m}</h3>{_plot(_changed(changes, m), -0.5, 0.5)}" for m in COMPARED]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Recall, measured</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>"
    )


def _figures(outcome: Outcome, measure: str) -> list[Row]:
    rows: list[Row] = [
        ("all", outcome.metrics[measure], outcome.intervals[measure], "all"),
    ]
    for name, judged in outcome.by_category.items():
        figures: Metrics = outcome.categories[name][1]
        label = f"{name} ({len(judged):,})"
        rows.append((label, figures[measure], intervals(judged)[measure], "part"))
    return rows


def _changed(changes: Sequence[Change], measure: str) -> list[Row]:
    return [
        (
            f"{change.set} · {change.profile} · {change.category or 'all'}",
            change.after - change.before,
            (change.low, change.high),
            "fell" if change.fell else "rose" if change.rose else "part",
        )
        for change in changes
        if change.measure == measure
    ]


def _plot(rows: Sequence[Row], low: float, high: float) -> str:
    """Figures as dots, each on its interval, in a row of its own."""

    def x(value: float) -> float:
        return _LABEL + (min(max(value, low), high) - low) / (high - low) * _PLOT

    bottom = _ROW * len(rows)
    drawn = []
    for step in range(5):
        value = low + (high - low) * step / 4
        drawn.append(
            f'<line class="axis" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="0" y2="{bottom}"/>'
            f'<text x="{x(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value:g}</text>'
        )
    for place, (label, figure, (least, most), mark) in enumerate(rows):
        y = _ROW * place + _ROW / 2
        drawn.append(
            f'<text x="0" y="{y + 4}">{escape(label)}</text>'
            f'<line class="{mark}" stroke-width="3" x1="{x(least):.1f}" x2="{x(most):.1f}" '
            f'y1="{y}" y2="{y}"/><circle class="{mark}" r="4" cx="{x(figure):.1f}" cy="{y}"/>'
            f'<text x="{_LABEL + _PLOT + 10}" y="{y + 4}">{figure:.3f} '
            f"({least:.3f} to {most:.3f})</text>"
        )
    width, height = _LABEL + _PLOT + _FIGURE, bottom + 24
    marks = "".join(drawn)
    return f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}">{marks}</svg>'
