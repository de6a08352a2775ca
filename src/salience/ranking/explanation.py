"""Explanations: the tree of a score, with the value of every part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from salience.display.html import HtmlResult, section, text
from salience.lazily import dataclass


@dataclass(frozen=True, repr=False)
class Explanation(HtmlResult):
    """One node of a score: its name, its value, and the operation on its children.

    `value` is the very number that entered the score (NaN where there was none). `how` is the
    operation that computed it from the children: for "sum" the children add up to the value, for
    "product" they multiply to it, in order and without rounding. `doc` is the meaning of a named
    part in a line, `group` the heading above it.
    """

    _shown = ("label", "value", "how", "children")

    label: str
    value: float
    how: str = ""
    children: tuple[Explanation, ...] = ()
    note: str = ""
    doc: str = ""
    group: str = ""

    def __iter__(self) -> Iterator[Explanation]:
        """This node and every node below it, depth first."""
        yield self
        for child in self.children:
            yield from child

    def find(self, label: str) -> Explanation | None:
        """The first node of that label, or None."""
        return next((node for node in self if node.label == label), None)

    @property
    def weight(self) -> float | None:
        """The weight, for a node that is a constant times one part."""
        if self.how != "product" or len(self.children) != 2:
            return None
        first, part = self.children
        return first.value if self.label == f"{first.value:g} * {part.label}" else None

    @property
    def part_node(self) -> Explanation:
        """The weighted part, for a node that is a constant times one part; else the node itself."""
        return self if self.weight is None else self.children[1]

    @property
    def part(self) -> str:
        """The label of the weighted part, or else of the node itself."""
        return self.part_node.label

    def groups(self) -> dict[str, float]:
        """Subtotals of a sum: group -> sum of the parts under that heading, in their order."""
        subtotals: dict[str, float] = {}
        for child in self.children if self.how == "sum" else ():
            group = child.part_node.group
            if group:
                subtotals[group] = subtotals.get(group, 0.0) + child.value
        return subtotals

    def contributions(self) -> dict[str, float]:
        """The share of each part in this value: part -> number; the shares add up to it.

        The parts of a sum. A sum times factors gives the sum's parts, each times the factors.
        Anything else is one part.
        """
        parts, factors = self.factored()
        scale = math.prod(factors.values())
        return {name: value * scale for name, value in parts.items()}

    def factored(self) -> tuple[dict[str, float], dict[str, float]]:
        """Parts and factors: this value is the sum of the parts times the product of the factors.

        A part or factor that occurs twice is added or multiplied up.
        """
        sums = [child for child in self.children if child.how == "sum"]
        base, factors = self, dict[str, float]()
        if self.how == "product" and self.weight is None and len(sums) == 1:
            base = sums[0]
            for child in self.children:
                if child is not base:
                    factors[child.label] = factors.get(child.label, 1.0) * child.value
        parts: dict[str, float] = {}
        for name, value in _summands(base):
            parts[name] = parts.get(name, 0.0) + value
        return parts, factors

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready tree; a missing value is null."""
        data: dict[str, Any] = {
            "label": self.label,
            "value": self.value if math.isfinite(self.value) else None,
        }
        if self.how:
            data["how"] = self.how
        for name in ("note", "doc", "group"):
            if getattr(self, name):
                data[name] = getattr(self, name)
        if self.children:
            data["children"] = [child.to_dict() for child in self.children]
        return data

    def lines(self) -> Iterator[str]:
        """The tree as text, a line a node.

        Parts stand under their groups. The parts of a sum that are 0 share one line; the children
        of a node that was shown above are not shown again.
        """
        yield from self._lines(0, set())

    def _lines(self, indent: int, shown: set[tuple[str, float]]) -> Iterator[str]:
        node = self.part_node
        weight = "" if node is self else f" = {self.weight:g} * {number(node.value).strip()}"
        repeated = (node.label, node.value) in shown
        folded_up = bool(node.children) and repeated
        shown.add((node.label, node.value))
        computed = node.children and not folded_up and node.how != node.label
        how = f"  = {node.how}" if computed else ""
        notes = dict.fromkeys(note for note in (self.note, node.note) if note)
        note = f"  ({'; '.join(notes)})" if notes else ""
        doc = f"  # {node.doc}" if node.doc and not repeated else ""
        yield f"{'  ' * indent}{number(self.value)}  {node.label}{weight}{how}{note}{doc}"
        if folded_up:
            return
        zeros = [c for c in node.children if c.value == 0.0] if node.how == "sum" else []
        folded = zeros if len(zeros) > 1 else []
        subtotals, group = {} if indent else node.groups(), ""
        for child in node.children:
            if any(child is zero for zero in folded):
                continue
            if subtotals and child.part_node.group != group:
                group = child.part_node.group
                if group:
                    yield f"{'  ' * (indent + 1)}{number(subtotals[group])}  {group}"
            yield from child._lines(indent + 1 + bool(group), shown)
        if folded:
            names = ", ".join(child.part for child in folded)
            at = "  " * (indent + 1)
            yield f"{at}{number(0.0)}  ({len(folded)} parts are 0: {names})"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _sections(self) -> Iterator[str]:
        yield computation(self)


def computation(tree: Explanation) -> str:
    """The whole tree of a score as HTML, folded."""
    return section("The whole computation", tree_html(tree, opened=True))


def tree_html(node: Explanation, *, opened: bool = False) -> str:
    """A node as HTML that opens to show its children; a weight and its part are one node."""
    inner = node.part_node
    weight = "" if inner is node else f" = {node.weight:g} * {number(inner.value).strip()}"
    notes = "; ".join(dict.fromkeys(note for note in (node.note, inner.note) if note))
    line = f"<code>{number(node.value)}</code> {text(inner.label + weight)}"
    if notes:
        line += f' <span class="soft">({text(notes)})</span>'
    if inner.doc:
        group = f"{inner.group}: " if inner.group else ""
        line += f' <span class="soft">{text(group + inner.doc)}</span>'
    if not inner.children:
        return f'<div class="leaf">{line}</div>'
    how = f' <span class="soft">= {text(inner.how)}</span>' if inner.how else ""
    zero = [c for c in inner.children if c.value == 0.0] if inner.how == "sum" else []
    folded = zero if len(zero) > 1 else []
    below = "".join(tree_html(c) for c in inner.children if not any(c is other for other in folded))
    if folded:
        title = f'<span class="soft">{len(folded)} parts are 0</span>'
        zeros = "".join(tree_html(child) for child in folded)
        below += f'<details class="zeros"><summary>{title}</summary>{zeros}</details>'
    return f"<details{' open' if opened else ''}><summary>{line}{how}</summary>{below}</details>"


def number(value: float) -> str:
    """A value in seven characters or more; a dash for NaN."""
    return "   —   " if math.isnan(value) else f"{figure(value):>7}"


def figure(value: float) -> str:
    """A value to four places, or to three digits where that would hide it."""
    return f"{value:.3g}" if 0.0 < abs(value) < 0.001 else f"{value + 0.0:.4f}"  # no -0


def _summands(node: Explanation, inside: bool = False) -> Iterator[tuple[str, float]]:
    """The parts of a sum, and of sums in it that have no name of their own."""
    if node.how == "sum" and (not inside or node.label == "sum"):
        for child in node.children:
            yield from _summands(child, inside=True)
    else:
        yield node.part, node.value
