"""Work in threads: searches take turns, collections of garbage wait, a cancelled task stops."""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Event, Lock, get_ident
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from salience.retrieval.operations import Op, Rerank
from salience.retrieval.plan import Plan, running_loop

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
STOP_WAIT_SECONDS = 1.0  # that a cancelled task waits for its thread to perform a last request
LONGEST_TURN_SECONDS = 0.1
"""The time after which a turn ends, done or not."""


class _Place(NamedTuple):
    """The place of a thread in the line, and the lock that opens when its turn comes."""

    thread: int
    gate: Lock


class Turnstile:
    """Lets threads compute one after the other, in the order of their arrival.

    NumPy gives Python's global lock away in many short steps. Threads that compute at the same time
    take it from each other, and are slower together than one. Turns are for speed alone: one that
    lasts too long, because it waits for something, ends for those in the line and goes on beside
    them. So nothing waits for long, and nothing forever.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._line: deque[_Place] = deque()  # the first has the turn
        self._began = 0.0  # its turn

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of this thread, and end it at the end of the block.

        A block within a turn of the same thread belongs to that turn.
        """
        place = _Place(get_ident(), Lock())
        place.gate.acquire()
        try:
            self._wait(place)
            yield
        finally:
            with self._lock:
                self._leave(place)

    def _wait(self, place: _Place) -> None:
        """Join the line, and wait until all before this place have had their turns."""
        with self._lock:
            before = len(self._line)
            if before and self._line[0].thread == place.thread:
                return
            self._line.append(place)
            if not before:
                self._began = time.perf_counter()
                return
        while not place.gate.acquire(timeout=before * LONGEST_TURN_SECONDS):
            with self._lock:
                if self._line and time.perf_counter() - self._began >= LONGEST_TURN_SECONDS:
                    self._leave(self._line[0])
            before = 1

    def _leave(self, place: _Place) -> None:
        """Take a place out of the line; if it had the turn, that passes to the next."""
        if place not in self._line:
            return
        had_turn = self._line[0] is place
        self._line.remove(place)
        if had_turn and self._line:
            self._began = time.perf_counter()
            self._line[0].gate.release()


def in_turns(plan: Plan[T], turn: Callable[[], AbstractContextManager[object]]) -> Plan[T]:
    """The same plan, which computes within turns, and waits for a reranker outside of them."""
    resume: Callable[[], Sequence[Op]] = partial(next, plan)
    try:
        while True:
            with turn():
                batch = resume()
                while Rerank not in map(type, batch):
                    try:
                        answers = yield batch
                    except BaseException as problem:  # the plan re-raises what it cannot use
                        batch = plan.throw(problem)
                    else:
                        batch = plan.send(answers)
            try:
                answers = yield batch
            except BaseException as problem:
                resume = partial(plan.throw, problem)
            else:
                resume = partial(plan.send, answers)
    except StopIteration as end:
        result: T = end.value
        return result


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


async def until_cancelled(work: Callable[[], T], threads: ThreadPoolExecutor | None = None) -> T:
    """Call `work` in one of some threads, by default the loop's, so that no event loop waits.

    If cancelled, it is stopped where it next asks `stop_if_cancelled`, and may tidy up.

    Raises:
        StoreError: no event loop runs here.
    """
    import asyncio  # here: who never awaits need not wait for its import either

    context, loop, cancelled = copy_context(), running_loop(), Event()
    context.run(_CANCELLED.set, cancelled)
    with without_full_collections():
        running = loop.run_in_executor(threads, context.run, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cancelled.set()
            running.add_done_callback(lambda done: done.cancelled() or done.exception())  # unasked
            await asyncio.wait([running], timeout=STOP_WAIT_SECONDS)
            raise


_CANCELLED: ContextVar[Event | None] = ContextVar("cancelled", default=None)


def stop_if_cancelled() -> None:
    """Stop the work of a thread whose task was cancelled; once, for then it may tidy up.

    Raises:
        Stopped: it was.
    """
    cancelled = _CANCELLED.get()
    if cancelled is not None and cancelled.is_set():
        cancelled.clear()
        raise Stopped


class Stopped(BaseException):
    """Raised in a thread whose task was cancelled; like an interrupt."""
