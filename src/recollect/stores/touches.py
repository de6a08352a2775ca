"""Accesses waiting to be written: a search counts its hits without waiting for a commit."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from recollect.events import ACCESSES
from recollect.memory import recent
from recollect.stores import codec

Waiting = tuple[int, tuple[float, ...]]
"""How many accesses of a row wait, and the times of the most recent, newest first."""
Use = tuple[Sequence[int], float, str, str | None, str | None]
"""Rows used at a time in seconds; of what type the use was, by whom and in which session."""
_DELAY = 0.5  # seconds from the first queued access to the write


@dataclass(eq=False)
class Batch:
    """Accesses by row, and the uses that they come from, which are written together.

    `seq` is the number of the change that writes them: whoever reads a state of the records at or
    beyond it has them already. It is None until then.
    """

    rows: dict[int, Waiting] = field(default_factory=dict)
    seq: int | None = None
    uses: list[Use] = field(default_factory=list)

    def add(self, row: int, count: int, times: Sequence[float]) -> None:
        """Count accesses of a row, at least one of them with its time."""
        before, known = self.rows.get(row, (0, ()))
        self.rows[row] = (before + count, recent(known, times))

    def waits(self, seq: int) -> bool:
        """Whether its accesses are not in the state of the records at change `seq`."""
        return self.seq is None or seq < self.seq


class Touches:
    """A queue of accesses by row, written together half a second after the first, or on `flush`.

    What is read meanwhile is overlaid with what waits, so that an access shows at once. A reader
    takes `waiting()` before it reads and gives `overlay` what it read and at which change.
    """

    def __init__(self, write: Callable[[Batch], None], lazy: bool):
        self._write = write
        self._lazy = lazy
        self._process = os.getpid()
        self._pending = Batch()
        self._writing = Batch()
        self._lock = threading.Lock()
        self._flushing = threading.RLock()
        self._timer: threading.Timer | None = None
        if lazy:
            _LAZY.add(self)

    def add(self, use: Use) -> None:
        """Queue a use of rows."""
        rows, at, *_ = use
        with self._lock:
            self._pending.uses.append(use)
            for row in rows:
                self._pending.add(row, 1, (at,))
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
        if self._process != os.getpid():  # a copy of what the process that was forked writes itself
            return
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
                    for row, (count, times) in batch.rows.items():
                        self._pending.add(row, count, times)
                    self._pending.uses[:0] = batch.uses
                    self._writing = Batch()
                raise

    def close(self) -> None:
        """Write what waits; what cannot be written is given up."""
        try:
            self.flush()
        finally:
            _LAZY.discard(self)

    def waiting(self) -> tuple[Batch, ...]:
        """What may not be written yet."""
        with self._lock:
            return tuple(batch for batch in (self._writing, self._pending) if batch.rows)


_LAZY: WeakSet[Touches] = WeakSet()


@atexit.register
def _flush_all() -> None:
    """Write what waits in a program that ends without closing its stores."""
    for touches in list(_LAZY):
        try:
            touches.flush()
        except Exception as problem:
            warnings.warn(f"accesses could not be counted: {problem}", stacklevel=1)


def overlay(
    waiting: Sequence[Batch], seq: int, row: int, kept: Mapping[str, Any]
) -> dict[str, Any]:
    """The accesses of a row as kept at change `seq`, with those counted in that waited then."""
    found = {name: kept[name] for name in ACCESSES}
    for batch in waiting:
        if row in batch.rows and batch.waits(seq):
            count, times = batch.rows[row]
            last = found["last_accessed"]
            found["access_count"] += count
            found["last_accessed"] = times[0] if last is None else max(last, times[0])
            found["accesses"] = codec.accessed(found["accesses"], times)
    return found
