"""Explanations: the tree of a score, with the value of every part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """One node of a score: what it is called, its value, what it was made of, and how.

    `value` is the very number that entered the score (NaN where nothing was there). `how` is the
    operation that made it from the children: for "sum" the children add up to the value, for
    "product" they multiply to it, in order and without rounding.
    """

    label: str
    value: float
    how: str = ""
    children: tuple[Explanation, ...] = ()
    note: str = ""

    def __iter__(self) -> Iterator[Explanation]:
        """This node and every node below it, depth first."""
        yield self
        for child in self.children:
            yield from child

    def find(self, label: str) -> Explanation | None:
        """The first node of that label, or None."""
        return next((node for node in self if node.label == label), None)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready tree; a missing value is null."""
        found: dict[str, Any] = {
            "label": self.label,
            "value": self.value if math.isfinite(self.value) else None,
        }
        if self.how:
            found["how"] = self.how
        if self.note:
            found["note"] = self.note
        if self.children:
            found["children"] = [child.to_dict() for child in self.children]
        return found

    def lines(self, indent: int = 0) -> Iterator[str]:
        """The tree as text, a line a node."""
        number = "   —   " if math.isnan(self.value) else f"{self.value:7.4f}"
        how = f"  = {self.how}" if self.how else ""
        note = f"  ({self.note})" if self.note else ""
        yield f"{'  ' * indent}{number}  {self.label}{how}{note}"
        for child in self.children:
            yield from child.lines(indent + 1)

    def __str__(self) -> str:
        return "\n".join(self.lines())
