"""Weights: those of the named parts of a formula, and the same formula with other weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

from salience.ranking.expressions import Constant, NamedExpression, Product, Signal, Sum

Step = tuple[str, int]
"""A field of a node, and the place in it where it is a tuple."""
Path = tuple[Step, ...]


def rewrite(tree: Signal, change: Callable[[Signal], Signal | None]) -> Signal:
    """The tree with every node for which `change` returns another replaced by that; bottom up."""
    updates: dict[str, Any] = {}
    for field in fields(tree):
        value = getattr(tree, field.name)
        if isinstance(value, Signal):
            updates[field.name] = rewrite(value, change)
        elif isinstance(value, tuple) and any(isinstance(item, Signal) for item in value):
            updates[field.name] = tuple(rewrite(item, change) for item in value)
    rebuilt = replace(tree, **updates) if updates else tree
    return change(rebuilt) or rebuilt


def walk(tree: Signal) -> Iterator[Signal]:
    """Every node of the tree, the outermost first."""
    level: tuple[Signal, ...] = (tree,)
    while level:
        yield from level
        level = tuple(child for node in level for child in node.children())


def weighted(tree: Signal) -> dict[str, float]:
    """The weight of every named part: {"recency": 0.2} for 0.2 * recency; 1 for one added plainly.

    Of a part that stands in several places it is the factor of the outermost, the first of equals.
    """
    return {name: weight for name, (weight, _) in _places(tree).items()}


def with_weights(tree: Signal, weights: Mapping[str, float]) -> Signal:
    """The tree with the weights of named parts replaced, as far as it has those parts.

    A weight is the one factor that `weighted` tells. Where the part stands inside others, too, it
    counts there as before.
    """
    places = _places(tree)
    for name, value in weights.items():
        weight, path = places.get(name, (value, ()))
        if value != weight:
            tree = _at(tree, path, partial(_weighing, float(value)))
    return tree


def _weighing(weight: float, node: Signal) -> Signal:
    """A weighted part, or one that is added plainly, with another weight."""
    part = node.parts[1] if isinstance(node, Product) else node
    return Product((Constant(weight), part))


def _places(tree: Signal) -> dict[str, tuple[float, Path]]:
    """The weight of every named part, and where the part stands with it."""
    places: dict[str, tuple[float, Path]] = {}
    level: list[tuple[Path, Signal, bool]] = [((), tree, False)]
    while level:
        for path, node, is_added in level:
            weighted_part = _weighted_part(node, is_added)
            if weighted_part is not None:
                weight, name = weighted_part
                places.setdefault(name, (weight, path))
        level = [
            ((*path, step), child, isinstance(node, Sum))
            for path, node, _ in level
            for step, child in _steps(node)
        ]
    return places


def _weighted_part(node: Signal, is_added: bool) -> tuple[float, str] | None:
    """The weight and the name, of a number times a named part or a named part in a sum."""
    if isinstance(node, NamedExpression) and is_added:
        return 1.0, node.name
    if isinstance(node, Product) and len(node.parts) == 2:
        weight, part = node.parts
        if isinstance(weight, Constant) and isinstance(part, NamedExpression):
            return weight.value, part.name
    return None


def _steps(node: Signal) -> Iterator[tuple[Step, Signal]]:
    """The children of a node, each with its field and its place there."""
    for field in fields(node):
        value = getattr(node, field.name)
        for place, child in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(child, Signal):
                yield (field.name, place), child


def _at(tree: Signal, path: Path, change: Callable[[Signal], Signal]) -> Signal:
    """The tree with the node at the end of a path changed."""
    if not path:
        return change(tree)
    (name, place), *rest = path
    value = getattr(tree, name)
    if not isinstance(value, tuple):
        return replace(tree, **{name: _at(value, tuple(rest), change)})
    changed = _at(value[place], tuple(rest), change)
    return replace(tree, **{name: (*value[:place], changed, *value[place + 1 :])})
