"""How results look to people: tables of hits, trees of explanations, records, figures."""

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

_LINES = 4  # of a memory's text in a table
_REASONS = 3
_ID_WIDTH = 34


def when(moment: datetime) -> str:
    """A time as people read it."""
    return moment.strftime("%Y-%m-%d %H:%M")


def table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """An empty table; the columns named in `numbers` are aligned to the right."""
    right = frozenset(numbers)
    made = Table(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left")
    return made


def vitals(found: Sequence[ZonedMemory]) -> Table:
    """How alive memories are, and which of them hold the link graph together."""
    made = table("vitality", "zone", "memory", "", numbers=("vitality",))
    for one in found:
        made.add_row(f"{one.vitality:.3f}", one.zone, one.id, "bridge" if one.bridge else "")
    return made


def hits(found: Sequence[Hit], width: int, *, ticked: frozenset[str] | None = None) -> Table:
    """Hits by rank with their score, who said it when, and what made most of the score.

    Those whose id is in `ticked` get a tick.
    """
    made = table("#", "score", "memory", "why", numbers=("#", "score"))
    made.columns[0].min_width = 3 if ticked is not None else 1
    made.columns[1].style = "cyan"
    made.columns[2].ratio = 1
    made.columns[3].min_width = 16
    room = max(20, width - 36)
    for hit in found:
        tick = "✓ " if ticked and hit.id in ticked else ""
        rank = Text.assemble((tick, "green"), f"{hit.rank}", style="bold")
        said = Group(Text(shorten(hit.content, _LINES * room)), _origin(hit.record))
        made.add_row(rank, f"{hit.score:.3f}", said, Text("\n".join(reasons(hit.explanation))))
        made.add_row()
    return made


def _origin(record: MemoryRecord) -> Text:
    """Who, when and which: the dim line below a memory's text."""
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
    made = Tree(_node(tree), guide_style="dim")
    headings = {
        group: made.add(Text.assemble((f"{subtotal:.4f}", "cyan"), f"  {group}"))
        for group, subtotal in tree.groups().items()
    }
    _grow(made, tree, headings)
    return made


def _grow(branch: Tree, tree: Explanation, headings: Mapping[str, Tree]) -> None:
    for child in tree.children:
        if not _is_constant(child):  # a weight stands in the label of what it weighs
            _grow(headings.get(child.part_node.group, branch).add(_node(child)), child, {})


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
    if tree.part_node.doc:
        text.append(f"  # {tree.part_node.doc}", style="dim")
    return text


def record(one: MemoryRecord) -> Group:
    """One memory with every field that says something."""
    fields = Table(box=None, show_header=False, pad_edge=False)
    fields.add_column(style="dim")
    fields.add_column(overflow="fold")
    for name, value in one.to_dict().items():
        if name != "content" and value not in (None, [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            fields.add_row(Text(name), Text(shown))
    return Group(Text(one.content), Text(), fields)


def records(found: Sequence[MemoryRecord], width: int) -> Table:
    """Memories as a list, a row each."""
    who = [one.speaker or one.kind for one in found]
    ids = min(_ID_WIDTH, max((len(one.id) for one in found), default=0))
    room = max(20, width - max(map(len, who), default=0) - ids - 28)
    made = table("when", "who", "memory", "id")
    made.columns[0].no_wrap = made.columns[1].no_wrap = True
    made.columns[2].ratio = 1
    made.columns[3].style, made.columns[3].overflow = "dim", "fold"
    made.columns[3].max_width = _ID_WIDTH
    for speaker, one in zip(who, found, strict=True):
        said = Text(shorten(one.content, 2 * room))
        made.add_row(when(one.created_at), Text(speaker), said, Text(one.id))
    return made


def figures(values: Mapping[str, Any]) -> Table:
    """Names with their figures; a mapping within is shown indented."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column()
    made.add_column(justify="right", overflow="fold")
    for name, value in values.items():
        if isinstance(value, Mapping):
            made.add_row(Text(name.replace("_", " "), style="bold"), "")
            for inner, figure in value.items():
                made.add_row(Text(f"  {inner}"), _figure(figure))
        else:
            made.add_row(Text(name.replace("_", " "), style="bold"), _figure(value))
    return made


def _figure(value: Any) -> Text:
    if value is None:
        return Text("—")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Text(f"{value:,}" if number else str(value))
