"""The parts of a score as a list: score = (weight * value + weight * value + ...) * factor * ...

A sum adds from left to right, so that whoever has the values computes the score to the bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from salience.display.result import Result
from salience.lazily import dataclass
from salience.ranking.expressions import Constant, NamedExpression, Product, Signal, Sum
from salience.ranking.stages import Stage
from salience.ranking.weights import weighted


@dataclass(frozen=True, repr=False)
class ScorePart(Result):
    """A part of a score: its name, its meaning in a line, and the heading it stands under.

    `weight` is None for a part whose weight cannot be set; its value then counts as it is. A
    `factor` multiplies the sum of the parts. `moves_with` are the weights that change its values.
    """

    name: str
    title: str
    doc: str
    group: str
    weight: float | None
    factor: bool
    moves_with: tuple[str, ...]


def score_parts(score: Signal, stages: Sequence[Stage]) -> tuple[tuple[ScorePart, Signal], ...]:
    """The parts of a score that stages compute, factors last, each with the signal of its value."""
    base, factors = _split(score)
    columns, before = _column_weights(stages), list[str]()
    parts = []
    for summand in base.parts if isinstance(base, Sum) else ():
        name, weight, signal = _weighed(summand)
        if name in before:  # only the first of a name can be set
            weight, signal = None, summand
        parts.append((_part(name, weight, signal, columns, before), signal))
        if weight is not None:
            before.append(name)
    parts += [(_part(f.label(), None, f, columns, (), factor=True), f) for f in factors]
    return tuple(parts)


def _split(signal: Signal) -> tuple[Signal | None, tuple[Signal, ...]]:
    """A sum and what it is multiplied by; no sum where the product of both is another number."""
    if isinstance(signal, Sum):
        return signal, ()
    if isinstance(signal, Product):
        places = [place for place, part in enumerate(signal.parts) if isinstance(part, Sum)]
        if len(places) == 1 and places[0] <= 1:  # a * s * b is s * a * b, to the bit
            [place] = places
            return signal.parts[place], (*signal.parts[:place], *signal.parts[place + 1 :])
        return None, signal.parts
    return None, (signal,)


def _weighed(summand: Signal) -> tuple[str, float | None, Signal]:
    """The name, weight and value of a summand; no weight for what has no name to set one by."""
    if isinstance(summand, NamedExpression):
        return summand.name, 1.0, summand
    if isinstance(summand, Product) and len(summand.parts) == 2:
        weight, part = summand.parts
        if isinstance(weight, Constant) and isinstance(part, NamedExpression):
            return part.name, weight.value, part
    return summand.label(), None, summand


def _part(
    name: str,
    weight: float | None,
    signal: Signal,
    columns: Mapping[str, frozenset[str]],
    before: Collection[str],
    *,
    factor: bool = False,
) -> ScorePart:
    moving = set(before) if signal.reads_subtotal else set()
    moving.update(*(columns.get(column, ()) for column in signal.inputs()))
    doc, group = (signal.doc, signal.group) if isinstance(signal, NamedExpression) else ("", "")
    title = name.replace("_", " ")
    return ScorePart(name, title, doc, group, weight, factor, tuple(sorted(moving)))


def _column_weights(stages: Sequence[Stage]) -> dict[str, frozenset[str]]:
    """The weights on which each column depends that a stage before the score writes."""
    columns: dict[str, frozenset[str]] = {}
    for stage in stages:
        weights = _stage_weights(stage, columns)
        columns |= {name: weights for name in stage.writes() if weights and name != "score"}
    return columns


def _stage_weights(stage: Stage, columns: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The weights on which what a stage writes depends."""
    direct = [frozenset(weighted(signal)) for signal in stage.signals()]
    return frozenset().union(*direct, *(columns.get(name, frozenset()) for name in stage.reads()))
