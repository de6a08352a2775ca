"""Turns of writers: who has held the write lock for long lets others have it first."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONG_TURN_SECONDS = 0.03  # of a transaction; others may have begun to wait
PAUSE_SECONDS = 0.03  # after it: longer than `WRITER_POLL_MS`, so that whoever waits asks in it


class Turns:
    """The turns of the threads of this process at one write lock.

    Upkeep writes in many transactions, one after the other. SQLite's lock has no queue: without a
    pause between them, others would hardly ever find it free.
    """

    def __init__(self) -> None:
        self._last = threading.local()

    def wait(self) -> None:
        """Wait until a long turn of this thread is over for `PAUSE_SECONDS`."""
        pause = getattr(self._last, "long_turn_end", 0.0) + PAUSE_SECONDS - time.monotonic()
        if pause > 0.0:
            time.sleep(pause)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Time a turn."""
        begun = time.monotonic()
        try:
            yield
        finally:
            end = time.monotonic()
            if end - begun > LONG_TURN_SECONDS:
                self._last.long_turn_end = end
