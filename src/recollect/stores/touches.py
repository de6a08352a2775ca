"""Accesses waiting to be written: a search counts its hits without waiting for a commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recollect.memory import recent
from recollect.stores import codec

Waiting = tuple[int, tuple[float, ...]]
"""How many accesses of a row wait, and the times of the most recent, newest first."""
_DELAY = 0.5  # seconds from the first queued access to the write


class Touches:
    """A queue of accesses by row, written together half a second after the first, or on `flush`.

    What is read meanwhile is overlaid with what waits, so that an access shows at once.
    """

    def __init__(self, write: Callable[[Mapping[int, Waiting]], None], lazy: bool):
        self._write = write
        self._lazy = lazy
        self._pending: dict[int, Waiting] = {}  # by row
        self._writing: dict[int, Waiting] = {}
        self._lock = threading.Lock()
        self._flushing = threading.RLock()
        self._timer: threading.Timer | None = None
        self._problem: Exception | None = None

    def add(self, rows: Sequence[int], at: float) -> None:
        """Queue an access of each row at a time in seconds."""
        with self._lock:
            for row in rows:
                count, times = self._pending.get(row, (0, ()))
                self._pending[row] = (count + 1, recent(times, (at,)))
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
                    for row in self._writing:
                        self._pending[row] = self._waiting(row)
                raise
            finally:
                self._writing = {}

    def close(self) -> None:
        """Flush for the last time."""
        self.flush()

    def _waiting(self, row: int) -> Waiting:
        """What waits for a row, (0, ()) for nothing."""
        found = [queue[row] for queue in (self._writing, self._pending) if row in queue]
        return sum(count for count, _ in found), recent(*(times for _, times in found))

    def overlaid(self, values: list[Any], place: Mapping[str, int]) -> list[Any]:
        """A row's values (its number first) with its waiting accesses counted in.

        `place` tells where the fields stand; those that are not there are left out.
        """
        if not (self._pending or self._writing):
            return values
        count, times = self._waiting(values[0])
        if count and "access_count" in place:
            values[place["access_count"]] += count
        if count and "last_accessed" in place:
            last = values[place["last_accessed"]]
            values[place["last_accessed"]] = times[0] if last is None else max(last, times[0])
        if count and "accesses" in place:
            values[place["accesses"]] = codec.accessed(values[place["accesses"]], times)
        return values

    def overlay_columns(self, columns: dict[str, list[Any]]) -> None:
        """`overlaid` for the columns of many rows, in place."""
        names: list[str] = [
            n for n in ("access_count", "last_accessed", "accesses") if n in columns
        ]
        if not names or not (self._pending or self._writing):
            return
        place: dict[str, int] = {name: i for i, name in enumerate(names, 1)}
        for i, row in enumerate(columns["row"]):
            values = self.overlaid([row, *(columns[name][i] for name in names)], place)
            for name, at in place.items():
                columns[name][i] = values[at]
