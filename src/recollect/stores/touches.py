"""Accesses waiting to be written: a search counts its hits without waiting for a commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_DELAY = 0.5  # seconds from the first queued access to the write


class Touches:
    """A queue of accesses by row, written together half a second after the first, or on `flush`.

    What is read meanwhile is overlaid with what waits, so that an access shows at once.
    """

    def __init__(self, write: Callable[[Mapping[int, tuple[int, float]]], None], lazy: bool):
        self._write = write
        self._lazy = lazy
        self._pending: dict[int, tuple[int, float]] = {}  # row: how often, the latest time
        self._writing: dict[int, tuple[int, float]] = {}
        self._lock = threading.Lock()
        self._flushing = threading.RLock()
        self._timer: threading.Timer | None = None
        self._problem: Exception | None = None

    def add(self, rows: Sequence[int], at: float) -> None:
        """Queue an access of each row at a time in seconds."""
        with self._lock:
            for row in rows:
                count, last = self._pending.get(row, (0, at))
                self._pending[row] = (count + 1, max(last, at))
            if self._lazy and self._timer is None:
                self._timer = threading.Timer(_DELAY, self._flush_later)
                self._timer.daemon = True
                self._timer.start()
        if not self._lazy:
            self.flush()

    def _flush_later(self) -> None:
        try:
            self.flush()
        except Exception as problem:  # raised by the next flush, which somebody waits for
            self._problem = problem

    def flush(self) -> None:
        """Write what waits; what could not be written waits on, and its error is raised."""
        with self._flushing:
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
                self._writing, self._pending = self._pending, {}
            if not self._writing:
                return
            try:
                self._write(self._writing)
            except BaseException:
                with self._lock:
                    for row, (count, at) in self._writing.items():
                        more, last = self._pending.get(row, (0, at))
                        self._pending[row] = (count + more, max(at, last))
                raise
            finally:
                self._writing = {}

    def close(self) -> None:
        """Flush for the last time."""
        self.flush()

    def _waiting(self, row: int) -> tuple[int, float] | None:
        found = [queue[row] for queue in (self._writing, self._pending) if row in queue]
        if not found:
            return None
        return sum(count for count, _ in found), max(at for _, at in found)

    def overlaid(self, values: list[Any], place: Mapping[str, int]) -> list[Any]:
        """A row's values (its number first) with its waiting accesses counted in."""
        waiting = self._waiting(values[0]) if self._pending or self._writing else None
        if waiting is not None:
            count, last = place["access_count"], place["last_accessed"]
            values[count] += waiting[0]
            values[last] = waiting[1] if values[last] is None else max(values[last], waiting[1])
        return values

    def overlay_columns(self, columns: dict[str, list[Any]]) -> None:
        """`overlaid` for the columns of many rows, in place."""
        names = [name for name in ("access_count", "last_accessed") if name in columns]
        if not names or not (self._pending or self._writing):
            return
        for i, row in enumerate(columns["row"]):
            waiting = self._waiting(row)
            if waiting is None:
                continue
            if "access_count" in columns:
                columns["access_count"][i] += waiting[0]
            if "last_accessed" in columns:
                last = columns["last_accessed"][i]
                columns["last_accessed"][i] = waiting[1] if last is None else max(last, waiting[1])
