"""Along which orders of all memories a formula rises: nearness, importance, last use.

Where it rises along each and looks at nothing else, its value for whatever comes later in all of
them is at most that of a memory that stands where they were left: the threshold of `threshold.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import singledispatchmethod

from recollect.expr import (
    Apply,
    Col,
    Constant,
    Default,
    Fact,
    Given,
    Named,
    Product,
    Signal,
    Sum,
)
from recollect.query import Formula, Query
from recollect.signals import Age
from recollect.stores.postgres.formula import Form, NoForm, sql_form

UNKNOWN = 0.5  # the importance that stands in, by which the server keeps an order
_RISING = frozenset({"exp", "log", "sqrt", "floor", "sigmoid", "minimum", "maximum"})

Ways = Mapping[str, int]
"""By order ("near", "importance", "used"): 1 where a value rises along it, -1 where it falls."""


def rises_along(formula: Formula, query: Query, near: str, cosine: Form) -> frozenset[str]:
    """The orders along which a formula rises; `near` is the column of the cosines.

    Raises:
        NoForm: it falls along one, or depends on anything else.
    """
    ways = _Ways(query, near, cosine).of(formula)
    falling = sorted(name for name, way in ways.items() if way < 0)
    if falling:
        raise NoForm(f"{formula} falls along the order {falling[0]}")
    return frozenset(ways)


class _Ways:
    """The directions in which the parts of one formula go."""

    def __init__(self, query: Query, near: str, cosine: Form) -> None:
        self._query = query
        self._near = near
        self._cosine = cosine

    @singledispatchmethod
    def of(self, signal: Formula) -> Ways:
        """The ways of a node; those below register theirs."""
        raise NoForm(f"there is no order for {signal}")

    @of.register
    def _(self, signal: Constant | Fact) -> Ways:
        return {}

    @of.register
    def _(self, signal: Named) -> Ways:
        return self.of(signal.of)

    @of.register
    def _(self, signal: Given) -> Ways:
        return self.of(signal.of) if self._query.reading.facts.get(signal.fact) else {}

    @of.register
    def _(self, signal: Col) -> Ways:
        if signal.name != self._near:
            raise NoForm(f"there is no order by {signal.name}")
        return {"near": 1}

    @of.register
    def _(self, signal: Default) -> Ways:
        if signal == Default(Col("importance"), UNKNOWN):
            return {"importance": 1}
        return self.of(signal.of)

    @of.register
    def _(self, signal: Age) -> Ways:
        if signal.of != Age().of:
            raise NoForm(f"there is no order by {signal}")
        return {"used": -1}

    @of.register
    def _(self, signal: Sum) -> Ways:
        return _same(self.of(part) for part in signal.parts)

    @of.register
    def _(self, signal: Product) -> Ways:
        sign, moving = 1, list[Ways]()
        forms = [self._form(part) for part in signal.parts]
        for part, form in zip(signal.parts, forms, strict=True):
            ways = self.of(part)
            if ways:
                moving.append(ways)
            elif form.high < 0.0:
                sign = -sign
            elif form.low < 0.0:
                raise NoForm(f"{signal} may rise and fall")
        if len(moving) > 1 and any(form.low < 0.0 for form in forms):
            raise NoForm(f"{signal} may rise and fall")
        return {name: sign * way for name, way in _same(moving).items()}

    @of.register
    def _(self, signal: Apply) -> Ways:
        if signal.function not in _RISING:
            raise NoForm(f"{signal.function} may rise and fall")
        return _same(self.of(each) for each in signal.arguments)

    def _form(self, signal: Signal) -> Form:
        return sql_form(signal, self._query, {self._near: self._cosine})


def _same(parts: Iterable[Ways]) -> Ways:
    """The ways of a sum, if its parts do not pull apart."""
    found: dict[str, int] = {}
    for ways in parts:
        for name, way in ways.items():
            if found.setdefault(name, way) != way:
                raise NoForm(f"a sum rises and falls along the order {name}")
    return found
