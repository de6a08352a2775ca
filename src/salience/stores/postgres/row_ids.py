"""Row ids: the number of a row within its namespace, and above it that of the namespace.

The number of a row has 28 bits. A namespace is numbered when this process first meets it. Row ids
stay below 2^53, so that a column of floats holds them exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import StoreError
from salience.retrieval.candidates import Rows

_ROW_BITS = 28
_MAX_NAMESPACES = 1 << 25


class RowIds:
    """The numbers that this process gave to namespaces."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._number_of: dict[str, int] = {}
        self._lock = threading.Lock()

    def rows(self, namespace: str, rows: Any) -> Rows:
        """Rows of a namespace as they are given out."""
        with self._lock:
            number = self._number_of.get(namespace)
            if number is None:
                number = self._number_of[namespace] = len(self._names)
                if number >= _MAX_NAMESPACES:
                    raise StoreError("one process can use no more than 33,554,432 namespaces")
                self._names.append(namespace)
        return np.asarray(rows, dtype=np.int64) + (number << _ROW_BITS)

    def names(self, rows: Rows) -> set[str]:
        """The namespaces of rows."""
        numbers = rows >> _ROW_BITS
        if len(numbers) and (numbers == numbers[0]).all():
            numbers = numbers[:1]
        return {self._names[number] for number in np.unique(numbers).tolist()}

    def names_by_row(self, rows: Rows) -> list[str]:
        """The namespace of each row."""
        return [self._names[number] for number in (rows >> _ROW_BITS).tolist()]

    def parts(self, rows: Rows) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.intp]]]:
        """Rows by namespace: its name, the rows within it, and their places."""
        if not len(rows):
            return
        numbers, within = rows >> _ROW_BITS, rows & ((1 << _ROW_BITS) - 1)
        if (numbers == numbers[0]).all():
            yield self._names[numbers[0]], within, np.arange(len(rows))
            return
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            yield self._names[number], within[places], places
