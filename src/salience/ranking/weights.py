"""Weights: those of the named parts of a formula, and the same formula with other weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from salience.ranking.expressions import Constant, NamedExpression, Product, Signal, Sum


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

    Of a part with several weights it is the outermost.
    """
    weights: dict[str, float] = {}
    plain: dict[str, float] = {}
    for node in walk(tree):
        weighted_part = _weighted_part(node)
        if weighted_part is not None:
            weight, part = weighted_part
            weights.setdefault(part.name, weight)
        if isinstance(node, Sum):
            plain.update(
                (part.name, 1.0) for part in node.parts if isinstance(part, NamedExpression)
            )
    return {**plain, **weights}


def _weighted_part(node: Signal) -> tuple[float, NamedExpression] | None:
    """The weight and the part, of a node that is a number times a named part."""
    if isinstance(node, Product) and len(node.parts) == 2:
        weight, part = node.parts
        if isinstance(weight, Constant) and isinstance(part, NamedExpression):
            return weight.value, part
    return None


def with_weights(tree: Signal, weights: Mapping[str, float]) -> Signal:
    """The tree with the weights of named parts replaced, as far as it has those parts.

    A part that is added plainly gets one, unless it has a weight elsewhere in the tree.
    """
    weighted_names = {part.name for _, part in filter(None, map(_weighted_part, walk(tree)))}
    plain = weights.keys() - weighted_names

    def weigh(part: Signal) -> Signal:
        if isinstance(part, NamedExpression) and part.name in plain:
            return Product((Constant(float(weights[part.name])), part))
        return part

    def change(node: Signal) -> Signal | None:
        if isinstance(node, Sum):
            return Sum(tuple(weigh(part) for part in node.parts))
        weighted_part = _weighted_part(node)
        if weighted_part is not None and weighted_part[1].name in weights:
            _, part = weighted_part
            return Product((Constant(float(weights[part.name])), part))
        return None

    return rewrite(tree, change)
