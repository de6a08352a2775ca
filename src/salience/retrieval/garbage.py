"""Garbage collection beside upkeep in a thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PUT_OFF = 1_000_000  # the collections of the second generation before a full one
_lock = threading.Lock()
_runs = 0  # plans of upkeep under way
_usual = 0  # the threshold of full collections without them


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Put off full collections while upkeep runs in a thread.

    One among the million objects that upkeep of a large namespace reads takes a third of a second,
    in which no other thread runs, nor an event loop. Young garbage is collected as usual.
    """
    global _runs, _usual
    with _lock:
        _runs += 1
        if _runs == 1:
            first, second, _usual = gc.get_threshold()
            gc.set_threshold(first, second, _PUT_OFF)
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            first, second, present = gc.get_threshold()
            if not _runs and present == _PUT_OFF:  # nobody has set another meanwhile
                gc.set_threshold(first, second, _usual)
