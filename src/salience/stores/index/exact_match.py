"""Exact look-up of names among the values of a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from salience.language.entities import fold_name
from salience.language.tokens import strings_in


class ExactIndex:
    """The places of a growing list of values by the folded texts they are or hold."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self._indexed = 0  # values
        self._places: dict[str, list[int]] = {}

    def places(self, names: Iterable[str]) -> list[int]:
        """The places of the values that are or hold one of some folded names."""
        for place in range(self._indexed, len(self._values)):
            for text in strings_in(self._values[place]):
                self._places.setdefault(fold_name(text), []).append(place)
        self._indexed = len(self._values)
        return [place for name in names for place in self._places.get(name, ())]

    @property
    def nbytes(self) -> int:
        return 150 * len(self._places)
