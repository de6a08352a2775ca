"""Explanations, comparisons, contexts and profiles, printed for people."""

from __future__ import annotations

from textwrap import wrap

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from salience.language.tokens import shorten
from salience.ranking.profile import Profile
from salience.search.compare import Comparison, Standing
from salience.search.context import Context
from salience.search.explain import ExplainReport


def show_report(console: Console, report: ExplainReport) -> None:
    """Print a report with its verdict in colour."""
    for line in report.lines():
        style = "bold green" if report.found else "bold red"
        shown = Text(_wrapped(line, console.width), style=style if line == report.verdict else "")
        console.print(shown, soft_wrap=True)


def _wrapped(line: str, width: int) -> str:
    """A line of a report in lines of `width`; what is carried over is indented further."""
    indent = len(line) - len(line.lstrip()) + 4
    return "\n".join(
        wrap(
            line,
            width,
            subsequent_indent=" " * min(indent, width // 2),
            break_on_hyphens=False,
            drop_whitespace=True,
        )
    )


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Print one query under several profiles: the ranks of each memory, and what moved it."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("memory", ratio=1, overflow="fold")
    for name in comparison.profiles:
        table.add_column(name, justify="right", no_wrap=True)
    room = console.width - sum(max(len(name), 7) + 2 for name in comparison.profiles)
    for row in comparison:
        moves = [None, *row.moves]
        ranks = [
            _rank(standing, None if move is None else move.by)
            for standing, move in zip(row.standings, moves, strict=True)
        ]
        content = Text(shorten(row.record.content, max(room, 20)))
        lines = [content, Text(row.id, style="dim")]
        for name, move in zip(comparison.profiles[1:], row.moves, strict=True):
            if causes := ", ".join(f"{part} {shift:+.2f}" for part, shift in move.causes):
                lines.append(Text(f"{name}: {causes}", style="dim"))
        table.add_row(Group(*lines, Text()), *ranks)
    console.print(table)
    for position, name in enumerate(comparison.profiles[1:], 1):
        shared, first = comparison.shared(position), comparison.profiles[0]
        shares = f"{name} shares {shared} of {comparison.limit} with {first}"
        console.print(Text(shares, style="dim"))


def _rank(standing: Standing, rise: int | None) -> Text:
    if standing.rank is None:
        return Text("–", style="dim")
    shown = Text(str(standing.rank), style="bold" if standing.left is None else "dim")
    if rise:
        shown.append(
            f" {'↑' if rise > 0 else '↓'}{abs(rise)}", style="green" if rise > 0 else "red"
        )
    return shown


def show_context(console: Console, context: Context) -> None:
    """Print a context, and below it the tokens that it takes."""
    console.print(Text(context.text), soft_wrap=True)
    console.print()
    for section in context.sections:
        omitted = f", {section.without_room} without room" if section.without_room else ""
        cut = f", {len(section.cut)} cut" if section.cut else ""
        size = f"{len(section.ids)} memories, {section.tokens} of {section.allowed} tokens"
        console.print(Text(f"{section.name}: {size}{cut}{omitted}", style="dim"))
    console.print(Text(f"{context.tokens} of {context.max_tokens} tokens", style="dim"))


def show_profile(console: Console, profile: Profile) -> None:
    """Print a profile: what it is for, its stages, and its formulas with their weights."""
    console.print(Text(profile.name, style="bold"))
    if profile.doc:
        console.print(Text(profile.doc))
    console.print()
    console.print(Text(profile.formula(max(console.width, 60))), soft_wrap=True)
