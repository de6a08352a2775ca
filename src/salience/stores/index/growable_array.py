"""An array that grows at its end in amortized constant time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class GrowableArray:
    """A NumPy array with spare capacity; `view` is the part in use."""

    def __init__(self, dtype: DTypeLike, shape: tuple[int, ...] = ()) -> None:
        self._data: NDArray[Any] = np.empty((0, *shape), dtype=dtype)
        self.view = self._data  # the elements in use, without a copy

    def __len__(self) -> int:
        return len(self.view)

    @property
    def nbytes(self) -> int:
        """Bytes held; spare capacity takes no memory until it is written to."""
        return self.view.nbytes

    def reserve(self, size: int) -> None:
        """Make room for `size` elements in all, so that filling it copies nothing."""
        if size > len(self._data):
            grown = np.empty((size, *self._data.shape[1:]), dtype=self._data.dtype)
            grown[: len(self)] = self.view
            self._data, self.view = grown, grown[: len(self)]

    def extend(self, values: NDArray[Any]) -> None:
        """Append values along the first axis."""
        before, size = len(self), len(self) + len(values)
        if size > len(self._data):
            # The first fill is exact, as most namespaces are loaded once and grow little.
            self.reserve(size if before == 0 else max(size, before + before // 4 + 16))
        self._data[before:size] = values
        self.view = self._data[:size]
