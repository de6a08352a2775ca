"""Plans: computation that yields its requests, so that sync and async share one core.

A plan is a generator that yields a batch of operations and is sent their answers. `drive` and
`adrive` are the only places in the package where anything waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextvars import ContextVar, copy_context
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from salience.retrieval.operations import Op

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
Request = TypeVar("Request")  # a batch of operations, or a task of a store
STOP_WAIT_SECONDS = 1.0  # that a cancelled task waits for its thread to perform a last request
Plan = Generator[Sequence[Op], Sequence[Any], T]


def ask(operation: Op) -> Plan[Any]:
    """A plan of one operation; its result is the answer."""
    [answer] = yield [operation]
    return answer


def drive(plan: Generator[Request, Any, T], perform: Callable[[Request], Any]) -> T:
    """Run a plan to its result; `perform` answers each of its requests.

    An error raised by `perform` is thrown into the plan, which may handle it; so is an interrupt,
    after which the plan may tidy up.
    """
    try:
        request = next(plan)
        while True:
            try:
                answer = perform(request)
            except BaseException as problem:  # the plan re-raises what it cannot use
                request = plan.throw(problem)
            else:
                request = plan.send(answer)
    except StopIteration as end:
        return end.value


async def adrive(
    plan: Generator[Request, Any, T], perform: Callable[[Request], Awaitable[Any]]
) -> T:
    """`drive` for an asynchronous `perform`."""
    try:
        request = next(plan)
        while True:
            try:
                answer = await perform(request)
            except BaseException as problem:
                request = plan.throw(problem)
            else:
                request = plan.send(answer)
    except StopIteration as end:
        return end.value


async def until_cancelled(work: Callable[[], T], threads: ThreadPoolExecutor | None = None) -> T:
    """Call `work` in one of some threads, by default the loop's, so that no event loop waits.

    If cancelled, it is stopped where it next asks `stop_if_cancelled`, and may tidy up.
    """
    import asyncio  # here: who never awaits need not wait for its import either

    context, loop, cancelled = copy_context(), asyncio.get_running_loop(), Event()
    context.run(_CANCELLED.set, cancelled)
    running = loop.run_in_executor(threads, context.run, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancelled.set()
        running.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody asks
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


async def in_thread(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Call `work` in a thread, so that an event loop never waits for it; returns its result."""
    import asyncio  # here: who never awaits need not wait for its import either

    return await asyncio.to_thread(work, *arguments, **named)
