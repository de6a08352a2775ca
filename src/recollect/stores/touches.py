"""Accesses waiting to be written: a search counts its hits without waiting for a commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_DELAY = 0.5  # seconds from the first queued access to the write


@dataclass(eq=False)
class Batch:
    """Accesses by row, how often and the latest time, that are written together.

    `seq` is the number of the change that writes them: whoever reads a state of the records at or
    beyond it has them already. It is None until then.
    """

    rows: dict[int, tuple[int, float]] = field(default_factory=dict)
    seq: int | None = None

    def add(self, row: int, count: int, at: float) -> None:
        """Count accesses of a row."""
        before, last = self.rows.get(row, (0, at))
        self.rows[row] = (before + count, max(last, at))


class Touches:
    """A queue of accesses by row, written together half a second after the first, or on `flush`.

    What is read meanwhile is overlaid with what waits, so that an access shows at once. A reader
    takes `waiting()` before it reads and gives `overlay` what it read and at which change.
    """

    def __init__(self, write: Callable[[Batch], None], lazy: bool):
        self._write = write
        self._lazy = lazy
        self._pending = Batch()
        self._writing = Batch()
        self._lock = threading.Lock()
        self._flushing = threading.RLock()
        self._timer: threading.Timer | None = None

    def add(self, rows: Sequence[int], at: float) -> None:
        """Queue an access of each row at a time in seconds."""
        with self._lock:
            for row in rows:
                self._pending.add(row, 1, at)
            if self._lazy and self._timer is None:
                self._timer = threading.Timer(_DELAY, self._flush_later)
                self._timer.daemon = True
                self._timer.start()
        if not self._lazy:
            self.flush()

    def _flush_later(self) -> None:
        try:
            self.flush()
        except Exception:  # they wait on, and the next flush, which somebody calls, tells why
            return

    def flush(self) -> None:
        """Write what waits; what could not be written waits on, and its error is raised."""
        with self._flushing:
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
                if not self._pending.rows:
                    return
                batch = self._writing = self._pending
                self._pending = Batch()
            try:
                self._write(batch)
            except BaseException:
                with self._lock:
                    for row, (count, at) in batch.rows.items():
                        self._pending.add(row, count, at)
                    self._writing = Batch()
                raise

    def waiting(self) -> tuple[Batch, ...]:
        """What may not be written yet."""
        with self._lock:
            return tuple(batch for batch in (self._writing, self._pending) if batch.rows)


def overlay(
    waiting: Sequence[Batch], seq: int, row: int, kept: Mapping[str, Any]
) -> dict[str, Any]:
    """The accesses of a row as kept at change `seq`, with those counted in that waited then."""
    count, last = kept["access_count"], kept["last_accessed"]
    for batch in waiting:
        if row in batch.rows and (batch.seq is None or seq < batch.seq):
            more, at = batch.rows[row]
            count, last = count + more, at if last is None else max(last, at)
    return {"access_count": count, "last_accessed": last}
