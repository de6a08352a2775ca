"""Accesses that wait to be written: a search counts its hits without waiting for a commit."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from salience.errors import StoreError
from salience.forks import renew_after_fork
from salience.lazily import dataclass, field
from salience.records.events import ACCESSES
from salience.records.record import recent
from salience.stores import codec

AccessTimes = tuple[int, tuple[float, ...]]
"""The number of waiting accesses of a row, and the times of the most recent, newest first."""
Use = tuple[Sequence[int], float, str, str | None, str | None]
"""Rows used at a time in seconds; the type of the use, the actor and the session."""
WRITE_DELAY_SECONDS = 0.5  # from the first queued access to the write


@dataclass(eq=False)
class Batch:
    """Uses that are written together.

    `seq` is the number of the change that writes them, None until then. A state of the records at
    or beyond it contains them.
    """

    uses: list[Use] = field(default_factory=list)
    seq: int | None = None
    taken: Batch | None = field(init=False, default=None)  # the one that is written with its uses
    _counted: tuple[int, Mapping[int, AccessTimes]] = field(init=False, default=(0, {}))

    @property
    def rows(self) -> Mapping[int, AccessTimes]:
        """The accesses by row.

        They are counted on demand and kept by one assignment: whenever an interrupt comes, they
        match the uses.
        """
        uses, before = self._counted  # the number of uses counted, and their accesses by row
        if uses == len(self.uses):
            return before
        fresh, counted = self.uses[uses:], dict(before)
        for rows, at, *_ in fresh:
            for row in rows:
                count, times = counted.get(row, (0, ()))
                counted[row] = (count + 1, recent(times, (at,)) if times else (at,))
        self._counted = (uses + len(fresh), counted)
        return counted

    def waits(self, seq: int) -> bool:
        """Test whether the state of the records at change `seq` lacks its accesses."""
        batch = self
        while batch.taken is not None:
            batch = batch.taken
        return batch.seq is None or seq < batch.seq


class AccessQueue:
    """Accesses by namespace, written together half a second after the first, or on `flush`.

    Reads overlay what waits, so an access shows at once: a reader takes `waiting(namespace)` before
    it reads, and passes it to `overlay` with what it read and the change it read at. A store whose
    rows are unique across namespaces may use one key for all of them.
    """

    def __init__(
        self,
        write: Callable[[Mapping[str, Batch]], None],
        *,
        one_by_one: bool = False,
        at_exit: bool = False,
    ) -> None:
        """`write` leaves batches with their `seq` if and only if they are written.

        `one_by_one` writes each namespace by itself: none waits for the server of another.
        `at_exit` writes what waits in a program that ends without closing its store.
        """
        self._write = write
        self._one_by_one = one_by_one
        self._start()
        renew_after_fork(self)
        if at_exit:
            _FLUSHED_AT_EXIT.add(self)

    def _start(self) -> None:
        # The batch that is being written, or was last, and the one that comes after it. Both
        # change by one assignment, so that an interrupt neither loses uses nor writes any twice.
        self._batches: dict[str, tuple[Batch, Batch]] = {}
        self._lock = threading.Lock()
        self._writing: WeakValueDictionary[str, Any] = WeakValueDictionary()  # locks by namespace
        # When what waits is to be written. The timer is not stopped by a flush, as starting another
        # thread with the next use would cost more than the search that it counts.
        self._due: float | None = None
        self._timer: threading.Timer | None = None

    def after_fork(self) -> None:
        """Begin with an empty queue, in the copy of a process: the parent writes what waits."""
        self._start()

    def add(self, namespace: str, use: Use) -> None:
        """Queue a use of rows."""
        with self._lock:
            batches = self._batches.get(namespace)
            if batches is None:
                batches = self._batches[namespace] = (Batch(), Batch())
            batches[1].uses.append(use)
            if self._due is None:
                self._due = time.monotonic() + WRITE_DELAY_SECONDS
                self._timer = self._timer or _start_timer(self._flush_when_due)
            written_later = self._timer is not None
        if not written_later:
            self.flush()

    def waiting(self, namespace: str) -> tuple[Batch, ...]:
        """The batches that may not be written yet."""
        with self._lock:
            return tuple(batch for batch in self._batches.get(namespace, ()) if batch.uses)

    def is_empty(self) -> bool:
        """True if nothing waits or is being written."""
        return not self._batches

    def flush(self, namespaces: Collection[str] | None = None) -> None:
        """Write what waits; what could not be written waits on, and its error is raised.

        One by one, it writes only the accesses of the given `namespaces`.
        """
        if namespaces is None or not self._one_by_one:
            with self._lock:
                self._due = None
        if not self._one_by_one:
            self._flush_together("", None)
            return
        problem: StoreError | None = None
        with self._lock:
            waiting = self._batches.keys() if namespaces is None else {*namespaces}
            chosen = sorted(self._batches.keys() & waiting)
        for namespace in chosen:
            try:
                self._flush_together(namespace, namespace)
            except StoreError as raised:
                problem = raised
        if problem is not None:
            raise problem

    def _flush_together(self, lock: str, namespace: str | None) -> None:
        """Write one namespace, or all of them for None, in one call."""
        with self._lock:
            writing = self._writing.setdefault(lock, threading.RLock())
        with writing:
            batches = self._take(namespace)
            if batches:
                self._write(batches)
                self._forget_written(batches)

    def _take(self, namespace: str | None) -> dict[str, Batch]:
        """The batches to write next: what could not be written before, then what waits."""
        batches = {}
        with self._lock:
            for name in list(self._batches) if namespace is None else [namespace]:
                last, pending = self._batches.get(name, (Batch(), Batch()))
                unwritten = last.uses if last.seq is None else []
                if unwritten or pending.uses:
                    batches[name] = Batch([*unwritten, *pending.uses])
                    # Whoever has these already, to overlay reads, sees when they are written.
                    last.taken = batches[name] if unwritten else last.taken
                    pending.taken = batches[name]
                    self._batches[name] = (batches[name], Batch())
                else:
                    self._batches.pop(name, None)
        return batches

    def _forget_written(self, batches: Mapping[str, Batch]) -> None:
        """Drop batches that readers from now on need not overlay."""
        with self._lock:
            for name, batch in batches.items():
                last, pending = self._batches[name]
                if last is not batch or batch.seq is None:
                    continue
                if pending.uses:
                    self._batches[name] = (Batch(), pending)
                else:
                    del self._batches[name]

    def _flush_when_due(self) -> None:
        """Write what waits whenever it is due, until nothing waits."""
        while True:
            with self._lock:
                timer, due = self._timer, self._due
                if timer is None or due is None:
                    self._timer = None
                    return
            if timer.finished.wait(max(0.0, due - time.monotonic())):
                return
            with self._lock:
                is_due = self._due is not None and self._due <= time.monotonic()
            if is_due:
                with suppress(Exception):  # they wait on; the next flush called raises it
                    self.flush()

    def close(self) -> None:
        """Write what waits; give up what cannot be written.

        Raises:
            StoreError: something was given up; says how many accesses are not counted.
        """
        try:
            self.flush()
        except StoreError as problem:
            raise StoreError(
                f"closed, but {self._unwritten():,} accesses are not counted: {problem}"
            ) from problem
        finally:
            _FLUSHED_AT_EXIT.discard(self)
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None

    def _unwritten(self) -> int:
        """The number of accesses that wait, or could not be written."""
        with self._lock:
            waiting = [batch for pair in self._batches.values() for batch in pair]
        return sum(len(rows) for b in waiting if b.seq is None for rows, *_ in b.uses)


def _start_timer(flush: Callable[[], None]) -> threading.Timer | None:
    """Start the timer of a write; None where no thread can be started."""
    timer = threading.Timer(WRITE_DELAY_SECONDS, flush)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError:  # the interpreter is shutting down, or there are too many threads
        return None
    return timer


_log = logging.getLogger(__name__)
_FLUSHED_AT_EXIT: WeakSet[AccessQueue] = WeakSet()


@atexit.register
def _flush_all() -> None:
    for queue in list(_FLUSHED_AT_EXIT):
        try:
            queue.flush()
        except Exception as problem:
            warnings.warn(f"accesses could not be counted: {problem}", stacklevel=1)
            _log.warning("accesses could not be counted: %s", type(problem).__name__)


def overlay(
    waiting: Sequence[Batch], seq: int, row: int, stored: Mapping[str, Any]
) -> dict[str, Any]:
    """The access fields of a row `stored` at change `seq`, with the accesses that waited then."""
    fields = {name: stored[name] for name in ACCESSES}
    for batch in waiting:
        accesses = batch.rows.get(row)
        if accesses is not None and batch.waits(seq):
            count, times = accesses
            last = fields["last_accessed"]
            fields["access_count"] += count
            fields["last_accessed"] = times[0] if last is None else max(last, times[0])
            fields["accesses"] = codec.add_accesses(fields["accesses"], times)
    return fields
