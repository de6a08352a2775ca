"""A second thread for work that NumPy does, beside the thread of the caller."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class WorkerThread:
    """One thread, started with the first work for it.

    Two threads are faster than one where NumPy does most of the work: in long loops it releases
    Python's global lock.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def start(self, work: Callable[[], T]) -> Callable[[], T]:
        """Start some work; return a function that waits for its result, or raises its error."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "salience-worker")
        try:
            return self._pool.submit(work).result
        except RuntimeError:  # the interpreter is shutting down
            return work

    def close(self) -> None:
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
