"""Results for people: lists of hits and records, parts of scores, tables of figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from textwrap import wrap
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from salience.display.for_models import in_zone
from salience.language.passages import words
from salience.language.tokens import shorten
from salience.lifecycle.zones import ZonedMemory
from salience.ranking.explanation import Explanation
from salience.ranking.profile import Profile
from salience.records.record import MemoryRecord
from salience.search.compare import Comparison, Standing
from salience.search.context import Context
from salience.search.explain import ExplainReport
from salience.search.listing import About
from salience.search.results import Hit

_CONTENT_LINES = 3  # of a memory's text in a list
_REASONS = 3  # parts of a score shown beside it
_LEAST = 0.005  # shown as 0.01


def when(moment: datetime, zone: tzinfo, form: str = "%Y-%m-%d %H:%M") -> str:
    """A time by the clocks of a zone, to the minute unless its form says otherwise."""
    return in_zone(moment, zone).strftime(form)


def table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table; the columns named in `numbers` are aligned to the right."""
    right = frozenset(numbers)
    empty = Table(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in columns:
        empty.add_column(name, justify="right" if name in right else "left")
    return empty


def vitals(memories: Sequence[ZonedMemory]) -> Table:
    """A table of vitality and zone; a bridge is a memory that holds the link graph together."""
    rows = table("vitality", "zone", "memory", "", numbers=("vitality",))
    for memory in memories:
        rows.add_row(
            f"{memory.vitality:.3f}", memory.zone, memory.id, "bridge" if memory.bridge else ""
        )
    return rows


def about(result: About, zone: tzinfo) -> Table:
    """A table of what is known about a user, each topic named once."""
    rows = table("topic", "since", "statement", "sure", "memory", numbers=("sure",))
    before = ""
    for fact in result:
        topic = "" if fact.topic == before else fact.topic
        since = "" if fact.since is None else when(fact.since, zone, "%Y-%m-%d")
        likely = "" if fact.probability is None else f"{fact.probability:.2f}"
        sure = "confirmed" if fact.confirmed else likely
        rows.add_row(topic, since, shorten(fact.statement, 160), sure, fact.memory.id)
        before = fact.topic
    return rows


def _snippet(hit: Hit, length: int) -> str:
    """The text of a hit; of a long one its best passage, in at most `length` characters.

    A note is shown without the marks of Markdown, and without its title, which stands above it.
    """
    if hit.record.kind == "note":
        return shorten(_words(hit), length)
    if not hit.passages or len(hit.content) <= length:
        return shorten(hit.content, length)
    best = hit.passages[0]
    heading = f"{best.heading}: " if best.heading else ""
    return shorten(f"{'… ' if best.start else ''}{heading}{best.text}", length)


def _words(hit: Hit) -> str:
    """The words of a note, or of its best passage."""
    if not hit.passages:
        plain = words(hit.content)
        return plain.removeprefix(hit.record.title or "").lstrip() or plain
    best = hit.passages[0]
    heading = f"{words(best.heading)}: " if best.heading else ""
    return f"{'… ' if best.start else ''}{heading}{words(best.text)}"


def hits(
    hits: Sequence[Hit],
    width: int,
    zone: tzinfo,
    *,
    ticked: frozenset[str] | None = None,
    lines: int = _CONTENT_LINES,
    why: bool = True,
) -> Table:
    """The hits: rank, score, content; below, where it is from and, with `why`, what sets it apart.

    Hits whose id is in `ticked` get a tick; at most `lines` lines of a content are shown.
    """
    columns = {"rank": 2 if ticked is None else 4, "score": 6}
    rows = entries(**columns)
    room = max(20, width - sum(columns.values()) - 2 * len(columns))
    reasons = apart([hit.explanation if why else None for hit in hits])
    for hit, reason in zip(hits, reasons, strict=True):
        tick = "✓ " if ticked and hit.id in ticked else ""
        rank = Text.assemble((tick, "green"), f"{hit.rank}", style="bold")
        score = Text(f"{hit.score:.3f}", style="cyan")
        content = Text(_snippet(hit, lines * room - lines))
        about = [_origin(hit.record, zone)]
        if hit.may_be_replaced_by:
            about.append(Text(f"may be replaced by {', '.join(hit.may_be_replaced_by)}", "yellow"))
        if hit.passages:
            about.append(Text(f"passage {hit.passages[0].number} of {hit.passages[0].of}"))
        if reason:
            about.append(Text(reason, style="cyan"))
        title = hit.record.title if hit.record.kind == "note" else None
        lead = [Text(shorten(title, room), style="bold")] if title else []
        rows.add_row(rank, score, Group(*lead, content, *_joined(about, room)))
    return rows


def entries(**columns: int) -> Table:
    """An empty list of entries: narrow columns of figures, and the rest of the width for text."""
    rows = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for width in columns.values():
        rows.add_column(justify="right", no_wrap=True, min_width=width)
    rows.add_column(overflow="fold")
    return rows


def _joined(texts: Sequence[Text], width: int) -> list[Text]:
    """Texts on one line if they fit into `width` columns, else a line each."""
    line = Text(" · ", style="dim").join(texts)
    return [line] if line.cell_len <= width else list(texts)


def _origin(record: MemoryRecord, zone: tzinfo) -> Text:
    """The dim line below a memory's text: its speaker or kind, its time, its id."""
    parts = [record.speaker or record.kind, when(record.created_at, zone), record.id]
    if record.kind == "note" and isinstance(path := record.metadata.get("path"), str):
        parts.append(path)
    return Text(" · ".join(parts), style="dim")


def apart(trees: Sequence[Explanation | None]) -> list[str]:
    """Of each score the parts furthest above the mean of the others, such as "semantic +0.20"."""
    parts = [dict(_by_size(tree.contributions())) if tree else {} for tree in trees]
    count = max(1, sum(map(bool, parts)) - 1)
    names = sorted({name for each in parts for name in each})
    sums = {name: sum(each.get(name, 0.0) for each in parts) for name in names}

    def reasons(values: Mapping[str, float]) -> str:
        gaps = {
            name: values.get(name, 0.0) * (1 + 1 / count) - sums[name] / count for name in names
        }
        first = [gap for gap in _by_size(gaps) if gap[1] >= _LEAST][:_REASONS]
        return ", ".join(f"{name} {gap:+.2f}" for name, gap in first if values)

    return [reasons(values) for values in parts]


def _by_size(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    """The parts that are not 0, the largest first."""
    sized = [(name, value) for name, value in parts.items() if value and not math.isnan(value)]
    return sorted(sized, key=lambda part: -abs(part[1]))


def score_parts(tree: Explanation, most: int | None = None) -> Table:
    """A score folded to the parts that are not 0: a line a group, or else a line a part.

    Of a group at most the `most` largest parts are shown.
    """
    lines = entries(value=7)
    lines.add_row(Text(f"{tree.value:.4f}", style="bold cyan"), Text(tree.label, style="bold"))
    subtotals = tree.groups()
    columns = max(map(len, subtotals), default=0)
    for group, subtotal in subtotals.items():
        parts = {
            child.part: child.value for child in tree.children if child.part_node.group == group
        }
        figures = [f"{name} {value:.2f}" for name, value in _by_size(parts)]
        if figures:
            if most is not None and len(figures) > most:
                figures[most:] = ["…"]
            heading = Table.grid(padding=(0, 2, 0, 0))
            heading.add_column(min_width=columns, no_wrap=True)
            heading.add_row(Text(group), Text(", ".join(figures), style="dim"))
            lines.add_row(Text(f"{subtotal:.4f}", style="cyan"), heading)
    if not subtotals:
        summands, factors = tree.factored()
        for name, value in _by_size(summands):
            lines.add_row(Text(f"{value:.4f}", style="cyan"), Text(name))
        for name, value in factors.items():
            lines.add_row(Text(f"* {value:.4f}", style="cyan"), Text(name))
    return lines


def record(memory: MemoryRecord) -> Group:
    """One memory with every field that has a value."""
    fields = Table(box=None, show_header=False, pad_edge=False)
    fields.add_column(style="dim")
    fields.add_column(overflow="fold")
    for name, value in memory.to_dict().items():
        if name != "content" and value not in (None, [], {}):
            cell = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            fields.add_row(Text(name), Text(cell))
    return Group(Text(memory.content), Text(), fields)


def records(memories: Sequence[MemoryRecord], width: int, zone: tzinfo) -> Table:
    """A list of memories: time, content, and below it the speaker or kind and the id."""
    rows = entries(when=16)
    room = max(20, width - 20)
    for memory in memories:
        about = Text(f"{memory.speaker or memory.kind} · {memory.id}", style="dim")
        content = Text(shorten(memory.content, 2 * room - 2))
        rows.add_row(when(memory.created_at, zone), Group(content, about))
    return rows


def figures(values: Mapping[str, Any]) -> Table:
    """Names with their figures; a mapping within is shown indented."""
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column()
    rows.add_column(justify="right", overflow="fold")
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows.add_row(Text(name.replace("_", " "), style="bold"), "")
            for inner, figure in value.items():
                rows.add_row(Text(f"  {inner}"), _figure(figure))
        else:
            rows.add_row(Text(name.replace("_", " "), style="bold"), _figure(value))
    return rows


def _figure(value: Any) -> Text:
    if value is None:
        return Text("—")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Text(f"{value:,}" if number else str(value))


# Explanations, comparisons, contexts and profiles, printed for people


def show_report(console: Console, report: ExplainReport, *, full: bool = False) -> None:
    """Print a report with its verdict in colour: parts of the score, or with `full` its tree."""
    for line in report.lines() if full else report.summary():
        _show_line(console, report, line)
    if full:
        return
    if report.why is not None:
        console.print()
        console.print(score_parts(report.why))
    if report.probability is not None:
        console.print(f"{report.probability.value:.4f}  {report.probability.label}", markup=False)
    if report.why is not None:
        console.print(Text("--full shows the whole computation", style="dim"))


def _show_line(console: Console, report: ExplainReport, line: str) -> None:
    style = "bold green" if report.found else "bold red"
    line_text = Text(_wrapped(line, console.width), style=style if line == report.verdict else "")
    console.print(line_text, soft_wrap=True)


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
    cell = Text(str(standing.rank), style="bold" if standing.left is None else "dim")
    if rise:
        cell.append(f" {'↑' if rise > 0 else '↓'}{abs(rise)}", style="green" if rise > 0 else "red")
    return cell


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
    if context.considered:
        rows = table("section", "memory", "tokens", "outcome")
        for each in context.considered:
            rows.add_row(each.section, each.id, str(each.tokens), each.outcome)
        console.print(rows)


def show_profile(console: Console, profile: Profile) -> None:
    """Print a profile: what it is for, its stages, and its formulas with their weights."""
    console.print(Text(profile.name, style="bold"))
    if profile.doc:
        console.print(Text(profile.doc))
    console.print()
    console.print(Text(profile.formula(max(console.width, 60))), soft_wrap=True)
