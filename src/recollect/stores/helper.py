"""A second thread for what can go on beside one's own work."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Found = TypeVar("_Found")


class Helper:
    """One thread, started when there is something for it to do.

    Two threads are faster than one where most of the work is done by NumPy, which lets go of
    Python's lock in long loops.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def begin(self, work: Callable[[], _Found]) -> Callable[[], _Found]:
        """Begin some work; what is returned waits for its result, or raises what it raised."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "recollect-helper")
        try:
            return self._pool.submit(work).result
        except RuntimeError:  # the interpreter is shutting down
            return work

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
