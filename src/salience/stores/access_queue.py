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

from salience.records.events import ACCESSES
from salience.records.record import recent
from salience.stores import codec

Waiting = tuple[int, tuple[float, ...]]
"""How many accesses of a row wait, and the times of the most recent, newest first."""
Use = tuple[Sequence[int], float, str, str | None, str | None]
"""Rows used at a time in seconds; of what type the use was, by whom and in which session."""
_DELAY = 0.5  # seconds from the first queued access to the write


@dataclass(eq=False)
class Batch:
    """Uses that are written together.

    `seq` is the number of the change that writes them: whoever reads a state of the records at or
    beyond it has them already. It is None until then.
    """

    uses: list[Use] = field(default_factory=list)
    seq: int | None = None
    _counted: tuple[int, Mapping[int, Waiting]] = field(init=False, default=(0, {}))

    @property
    def rows(self) -> Mapping[int, Waiting]:
        """The accesses by row.

        They are counted when asked for and kept by one assignment: wherever an interrupt comes,
        they are those of the uses.
        """
        done, before = self._counted  # of how many uses, and what they come to
        if done == len(self.uses):
            return before
        fresh, counted = self.uses[done:], dict(before)
        for rows, at, *_ in fresh:
            for row in rows:
                count, times = counted.get(row, (0, ()))
                counted[row] = (count + 1, recent(times, (at,)))
        self._counted = (done + len(fresh), counted)
        return counted

    def waits(self, seq: int) -> bool:
        """Whether its accesses are not in the state of the records at change `seq`."""
        return self.seq is None or seq < self.seq


def soon(flush: Callable[[], None]) -> threading.Timer | None:
    """A timer that runs out half a second from now; None where no thread can be started."""
    timer = threading.Timer(_DELAY, flush)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # the interpreter is shutting down, or there are too many threads
        return None
    return timer


class AccessQueue:
    """A queue of accesses by row, written together half a second after the first, or on `flush`.

    What is read meanwhile is overlaid with what waits, so that an access shows at once. A reader
    takes `waiting()` before it reads and gives `overlay` what it read and at which change.
    """

    def __init__(self, write: Callable[[Batch], None], lazy: bool):
        """`write` leaves a batch with its `seq` if and only if it is written."""
        self._write = write
        self._lazy = lazy
        self._process = os.getpid()
        # What is written, or was last, and what comes after it; both change at once, so that an
        # interrupt neither loses uses nor has any written twice.
        self._batches = (Batch(), Batch())
        self._lock = threading.Lock()
        self._flushing = threading.RLock()
        self._timer: threading.Timer | None = None
        if lazy:
            _LAZY.add(self)

    def add(self, use: Use) -> None:
        """Queue a use of rows."""
        with self._lock:
            self._batches[1].uses.append(use)
            if self._lazy and self._timer is None:
                self._timer = soon(self._flush_later)
            waits = self._timer is not None
        if not waits:
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
                last, pending = self._batches
                unwritten = last.uses if last.seq is None else []
                if not unwritten and not pending.uses:
                    return
                batch = Batch([*unwritten, *pending.uses])
                self._batches = (batch, Batch())
            self._write(batch)

    def close(self) -> None:
        """Write what waits; what cannot be written is given up."""
        try:
            self.flush()
        finally:
            _LAZY.discard(self)

    def waiting(self) -> tuple[Batch, ...]:
        """What may not be written yet."""
        with self._lock:
            return tuple(batch for batch in self._batches if batch.uses)


_LAZY: WeakSet[AccessQueue] = WeakSet()


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
        waits = batch.rows.get(row)
        if waits is not None and batch.waits(seq):
            count, times = waits
            last = found["last_accessed"]
            found["access_count"] += count
            found["last_accessed"] = times[0] if last is None else max(last, times[0])
            found["accesses"] = codec.accessed(found["accesses"], times)
    return found
