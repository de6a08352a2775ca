"""What the commands that look behind a ranking print for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from salience.language.tokens import shorten
from salience.ranking.profile import Profile
from salience.search.compare import Comparison, Standing
from salience.search.context import Context
from salience.search.explain import ExplainReport


def show_reason(console: Console, reason: ExplainReport) -> None:
    """Print a reason with its verdict in colour."""
    for line in reason.lines():
        style = "bold green" if reason.found else "bold red"
        shown = Text(line, style=style if line == reason.verdict else "")
        console.print(shown, soft_wrap=True)


def show_comparison(console: Console, found: Comparison) -> None:
    """Print one query under several profiles side by side."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("memory", no_wrap=True)
    for name in found.profiles:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("moved by")
    table.add_column("content")
    for each in found:
        moves = [None, *each.moves]
        ranks = [
            _rank(standing, None if move is None else move.by)
            for standing, move in zip(each.standings, moves, strict=True)
        ]
        causes = "\n".join(
            ", ".join(f"{part} {shift:+.2f}" for part, shift in move.causes) for move in each.moves
        )
        content = shorten(each.record.content, 60)
        table.add_row(Text(each.id), *ranks, Text(causes.strip()), Text(content))
    console.print(table)
    for at, name in enumerate(found.profiles[1:], 1):
        shares = f"{name} shares {found.shared(at)} of {found.limit} with {found.profiles[0]}"
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


def show_context(console: Console, found: Context) -> None:
    """Print a context, and below it what it cost."""
    console.print(Text(found.text), soft_wrap=True)
    console.print()
    for each in found.sections:
        left = f", {each.without_room} without room" if each.without_room else ""
        cut = f", {len(each.cut)} cut" if each.cut else ""
        line = f"{each.name}: {len(each.ids)} memories, {each.tokens} of {each.allowed} tokens"
        console.print(Text(line + cut + left, style="dim"))
    console.print(Text(f"{found.tokens} of {found.max_tokens} tokens", style="dim"))


def show_profile(console: Console, profile: Profile) -> None:
    """Print a profile: what it is for, its stages, and its formulas with their weights."""
    console.print(Text(profile.name, style="bold"))
    if profile.doc:
        console.print(Text(profile.doc))
    console.print()
    console.print(Text(profile.formula(max(console.width, 60))), soft_wrap=True)
