"""Which values of a column are, or hold, a name: for routes that look for it as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from recollect.entities import folded


class ExactIndex:
    """The places of a growing list of values (texts, or tuples of them) by folded text."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self._known = 0
        self._places: dict[str, list[int]] = {}

    def places(self, names: Iterable[str]) -> list[int]:
        """The places of the values that are or hold one of some folded names."""
        for place in range(self._known, len(self._values)):
            value = self._values[place]
            for text in (value,) if isinstance(value, str) else value or ():
                self._places.setdefault(folded(text), []).append(place)
        self._known = len(self._values)
        return [place for name in names for place in self._places.get(name, ())]

    @property
    def nbytes(self) -> int:
        return 150 * len(self._places)
