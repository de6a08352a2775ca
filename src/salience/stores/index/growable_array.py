"""An array that grows at its end in amortized constant time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MIN_SPARE = 16  # elements of an array that grows; most namespaces are filled once


class GrowableArray:
    """A NumPy array with spare capacity; `view` is the part in use."""

    def __init__(self, dtype: DTypeLike, shape: tuple[int, ...] = ()) -> None:
        self._data: NDArray[Any] = np.empty((0, *shape), dtype=dtype)
        self.view = self._data  # the elements in use, without a copy

    @classmethod
    def over(cls, data: NDArray[Any], size: int) -> GrowableArray:
        """An array over existing memory; its first `size` elements are in use."""
        array = cls.__new__(cls)
        array._data, array.view = data, data[:size]
        return array

    def __len__(self) -> int:
        return len(self.view)

    @property
    def nbytes(self) -> int:
        """Bytes held; spare capacity takes no memory until it is written to."""
        return self.view.nbytes

    def reserve(self, size: int) -> None:
        """Make room for `size` elements and some more, so that filling it copies nothing."""
        if size > len(self._data):
            spare = len(self.view) // 4 + _MIN_SPARE if len(self.view) else size // 16
            grown = np.empty((size + spare, *self._data.shape[1:]), dtype=self._data.dtype)
            grown[: len(self.view)] = self.view
            self._data, self.view = grown, grown[: len(self.view)]

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Append values along the first axis."""
        count = len(values)
        self.fill(values[0] if count == 1 else values, count)

    def fill(self, value: Any, count: int) -> None:
        """Append one value `count` times, or so many values."""
        before = len(self.view)
        size = before + count
        if size > len(self._data):
            self.reserve(size)
        if count == 1:
            self._data[before] = value
        elif count:
            self._data[before:size] = value
        self.view = self._data[:size]
