"""Garbage collection beside work in a thread."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PUT_OFF = 1_000_000  # the collections of the second generation before a full one
LONGEST_SECONDS = 60.0
"""The time for which full collections are put off where work never ends."""

_lock = threading.Lock()
_runs = 0  # plans under way
_usual = 0  # the threshold of full collections without them
_began = 0.0  # putting them off


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Put off full collections while a plan runs in a thread.

    One among the million objects that upkeep of a large namespace reads takes a third of a second,
    and one after an index was loaded 30 ms, in which no other thread runs, nor an event loop. Young
    garbage is collected as usual. In a process that is never idle there is one each minute.
    """
    global _runs, _usual, _began
    with _lock:
        _runs += 1
        is_first, now = _runs == 1, time.monotonic()
        if is_first:
            first, second, _usual = gc.get_threshold()
            gc.set_threshold(first, second, _PUT_OFF)
        is_due = not is_first and now - _began > LONGEST_SECONDS
        if is_first or is_due:
            _began = now
    if is_due and gc.isenabled():
        gc.collect()
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            first, second, present = gc.get_threshold()
            if not _runs and present == _PUT_OFF:  # nobody has set another meanwhile
                gc.set_threshold(first, second, _usual)
