"""Plans: computation that yields its requests, so that sync and async share one core.

A plan is a generator that yields a batch of operations and is sent their answers. `drive` is the
only place in the package where anything waits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from salience.errors import StoreError
from salience.retrieval.operations import Op

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
Request = TypeVar("Request")  # a batch of operations, or a task of a store
Plan = Generator[Sequence[Op], Sequence[Any], T]


def ask(operation: Op) -> Plan[Any]:
    """A plan of one operation; its result is the answer."""
    [answer] = yield [operation]
    return answer


def drive(plan: Generator[Request, Any, T], perform: Callable[[Request], Any]) -> T:
    """Run a plan to its result; `perform` answers each of its requests.

    An error of `perform` is thrown into the plan, which may handle it. So is an interrupt, so that
    the plan can tidy up.
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


async def in_thread(work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Call `work` in a thread and return its result; the event loop goes on meanwhile.

    Raises:
        StoreError: no event loop runs here.
    """
    import asyncio  # here: code that never awaits should not wait for the import

    running_loop()
    return await asyncio.to_thread(work, *arguments, **named)


def running_loop() -> AbstractEventLoop:
    """The event loop that runs here; a process forked inside one no longer has it.

    Raises:
        StoreError: there is none.
    """
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        problem = "no event loop runs here, as in a process forked inside that of its parent"
        raise StoreError(f"{problem}; begin one by asyncio.run") from None
