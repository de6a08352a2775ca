"""Row ids: the number of a row within its namespace, and above it that of the namespace.

The number of a row has 28 bits. A process numbers a namespace when it first meets it. Row ids stay
below 2^53: a column of floats holds them exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salience.errors import StoreError
from salience.retrieval.candidates import Rows
from salience.retrieval.operations import Seen

ROW_BITS = 28
_ROW_MASK = (1 << ROW_BITS) - 1
_MAX_NAMESPACES = 1 << 25


class RowIds:
    """The numbers that this process gave to namespaces, and row ids made with them."""

    def __init__(self) -> None:
        self._namespaces: list[str] = []
        self._number_of: dict[str, int] = {}
        self._lock = threading.Lock()

    def encode(self, namespace: str, rows: Any) -> Rows:
        """The ids of rows of a namespace.

        Raises:
            StoreError: the process has used as many namespaces as it can number.
        """
        with self._lock:
            number = self._number_of.get(namespace)
            if number is None:
                number = self._number_of[namespace] = len(self._namespaces)
                if number >= _MAX_NAMESPACES:
                    raise StoreError("one process can use no more than 33,554,432 namespaces")
                self._namespaces.append(namespace)
        return np.asarray(rows, dtype=np.int64) + (number << ROW_BITS)

    def offset(self, namespace: str) -> int:
        """The number to add to a row of a namespace to get its id."""
        return int(self.encode(namespace, 0))

    def decoded(self, seen: Seen) -> Seen:
        """A view of memories with the numbers of rows in place of their ids."""
        texts, attributes = (
            {key: row & _ROW_MASK for key, row in last.items()}
            for last in (seen.texts, seen.attributes)
        )
        return Seen(seen.namespace, texts, attributes)

    def namespaces(self, ids: Rows) -> set[str]:
        """The namespaces of some rows."""
        numbers = ids >> ROW_BITS
        if len(numbers) and (numbers == numbers[0]).all():
            numbers = numbers[:1]
        return {self._namespaces[number] for number in np.unique(numbers).tolist()}

    def by_namespace(self, ids: Rows) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.intp]]]:
        """Each namespace with the numbers of its rows and their positions among the ids."""
        if not len(ids):
            return
        numbers, rows = ids >> ROW_BITS, ids & _ROW_MASK
        if (numbers == numbers[0]).all():
            yield self._namespaces[numbers[0]], rows, np.arange(len(ids))
            return
        for number in np.unique(numbers).tolist():
            at = np.flatnonzero(numbers == number)
            yield self._namespaces[number], rows[at], at
