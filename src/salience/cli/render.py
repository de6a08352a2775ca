"""Results for people: tables of hits, trees of explanations, records, figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from salience.language.tokens import shorten
from salience.lifecycle.zones import ZonedMemory
from salience.ranking.explanation import Explanation
from salience.records.record import MemoryRecord
from salience.search.results import Hit

_CONTENT_LINES = 4  # of a memory's text in a table
_REASONS = 3  # largest parts of a score shown beside it
_ID_COLUMNS = 34


def when(moment: datetime) -> str:
    """A time to the minute."""
    return moment.strftime("%Y-%m-%d %H:%M")


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


def hits(hits: Sequence[Hit], width: int, *, ticked: frozenset[str] | None = None) -> Table:
    """A table of hits: rank, score, content with its origin, the largest parts of the score.

    Hits whose id is in `ticked` get a tick.
    """
    rows = table("#", "score", "memory", "why", numbers=("#", "score"))
    rows.columns[0].min_width = 3 if ticked is not None else 1
    rows.columns[1].style = "cyan"
    rows.columns[2].ratio = 1
    rows.columns[3].min_width = 16
    room = max(20, width - 36)
    for hit in hits:
        tick = "✓ " if ticked and hit.id in ticked else ""
        rank = Text.assemble((tick, "green"), f"{hit.rank}", style="bold")
        content = Group(Text(shorten(hit.content, _CONTENT_LINES * room)), _origin(hit.record))
        rows.add_row(rank, f"{hit.score:.3f}", content, Text("\n".join(reasons(hit.explanation))))
        rows.add_row()
    return rows


def _origin(record: MemoryRecord) -> Text:
    """The dim line below a memory's text: its speaker or kind, its time, its id."""
    parts = [record.speaker or record.kind, when(record.created_at), record.id]
    return Text(" · ".join(parts), style="dim")


def reasons(tree: Explanation | None) -> list[str]:
    """The largest parts of a score, such as "semantic 1.20"."""
    if tree is None:
        return []
    parts = [part for part in _parts(tree) if part.value and not math.isnan(part.value)]
    parts.sort(key=lambda part: -abs(part.value))
    return [f"{part.label.rpartition(' * ')[2]} {part.value:.2f}" for part in parts[:_REASONS]]


def _parts(tree: Explanation) -> list[Explanation]:
    """The summands of a sum, of sums within it too; of anything else the children."""
    return [
        part
        for child in tree.children
        for part in (_parts(child) if child.how == "sum" == child.label else [child])
    ]


def explanation(tree: Explanation) -> Tree:
    """An explanation with the value of every part."""
    root = Tree(_node(tree), guide_style="dim")
    headings = {
        group: root.add(Text.assemble((f"{subtotal:.4f}", "cyan"), f"  {group}"))
        for group, subtotal in tree.groups().items()
    }
    _grow(root, tree, headings)
    return root


def _grow(branch: Tree, tree: Explanation, headings: Mapping[str, Tree]) -> None:
    for child in tree.children:
        if not _is_constant(child):  # a weight is in the label of its term
            part = child.part_node
            text = _node(child)
            if headings and part.doc:
                text.append(f"  # {part.doc}", style="dim")
            _grow(headings.get(part.group, branch).add(text), child, {})


def _is_constant(tree: Explanation) -> bool:
    try:
        return not tree.children and math.isfinite(float(tree.label))
    except ValueError:
        return False


def _node(tree: Explanation) -> Text:
    number = "—" if math.isnan(tree.value) else f"{tree.value:.4f}"
    text = Text.assemble((number, "bold cyan"), "  ", (tree.label, "bold"))
    if tree.how and tree.how != tree.label:
        text.append(f"  {tree.how}", style="dim")
    if tree.note:
        text.append(f"  ({tree.note})", style="italic")
    return text


def record(memory: MemoryRecord) -> Group:
    """One memory with every field that has a value."""
    fields = Table(box=None, show_header=False, pad_edge=False)
    fields.add_column(style="dim")
    fields.add_column(overflow="fold")
    for name, value in memory.to_dict().items():
        if name != "content" and value not in (None, [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            fields.add_row(Text(name), Text(shown))
    return Group(Text(memory.content), Text(), fields)


def records(memories: Sequence[MemoryRecord], width: int) -> Table:
    """A table with a row for each memory."""
    names = [memory.speaker or memory.kind for memory in memories]
    id_width = min(_ID_COLUMNS, max((len(memory.id) for memory in memories), default=0))
    room = max(20, width - max(map(len, names), default=0) - id_width - 28)
    rows = table("when", "who", "memory", "id")
    rows.columns[0].no_wrap = rows.columns[1].no_wrap = True
    rows.columns[2].ratio = 1
    rows.columns[3].style, rows.columns[3].overflow = "dim", "fold"
    rows.columns[3].max_width = _ID_COLUMNS
    for speaker, memory in zip(names, memories, strict=True):
        content = Text(shorten(memory.content, 2 * room))
        rows.add_row(when(memory.created_at), Text(speaker), content, Text(memory.id))
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
