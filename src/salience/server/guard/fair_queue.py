"""Slots that a few may hold at once, and a queue for them that is fair between names."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from enum import Enum


class Turn(Enum):
    """The outcome for somebody who waited for a slot."""

    YOURS = "yours"
    QUEUE_FULL = "queue full"


Waiter = asyncio.Future[Turn]


class FairQueue:
    """Waiters in the order in which they are served: one of each name in turn.

    Among the waiters of one name, the first to come is the first to be served.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[str, deque[Waiter]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def count(self, name: str) -> int:
        """The number of waiters of a name."""
        return len(self._names.get(name, ()))

    def push(self, name: str, waiter: Waiter) -> None:
        """Add the last waiter of a name."""
        self._names.setdefault(name, deque()).append(waiter)
        self._length += 1

    def pop(self) -> Waiter:
        """Remove the waiter whose turn it is.

        Raises:
            IndexError: nobody waits.
        """
        if not self._names:
            raise IndexError("nobody waits")
        name, waiters = next(iter(self._names.items()))
        waiter = waiters.popleft()
        self._names.move_to_end(name)
        self._removed_from(name)
        return waiter

    def longest(self) -> str:
        """The name that has most waiters."""
        return max(self._names, key=self.count)

    def pop_last(self, name: str) -> Waiter:
        """Remove the last waiter of a name."""
        waiter = self._names[name].pop()
        self._removed_from(name)
        return waiter

    def discard(self, name: str, waiter: Waiter) -> bool:
        """Remove a waiter; tell whether it was still there."""
        if waiter not in self._names.get(name, ()):
            return False
        self._names[name].remove(waiter)
        self._removed_from(name)
        return True

    def _removed_from(self, name: str) -> None:
        self._length -= 1
        if not self._names[name]:
            del self._names[name]


class Slots:
    """A number of slots, and a queue of bounded length for them.

    If the queue is full, the last waiter of the name with most waiters has to go: one busy name
    cannot keep others out.
    """

    def __init__(self, capacity: int, queue_length: int) -> None:
        self.taken = 0
        self.queue = FairQueue()
        self._capacity = capacity
        self._queue_length = queue_length

    def enter(self, name: str) -> Waiter | None:
        """Take a slot (None), or begin to wait for one.

        Whoever has a slot calls `release` in the end. Whoever stops waiting calls `leave`.
        """
        if self.taken < self._capacity:  # then nobody waits
            self.taken += 1
            return None
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self.queue.push(name, waiter)
        if len(self.queue) > self._queue_length:
            # Of names with equally many, the newcomer's gives way.
            longest = self.queue.longest()
            loser = name if self.queue.count(name) >= self.queue.count(longest) else longest
            self.queue.pop_last(loser).set_result(Turn.QUEUE_FULL)
        return waiter

    def leave(self, name: str, waiter: Waiter) -> None:
        """Stop waiting; a slot that was given meanwhile goes on to the next."""
        if not self.queue.discard(name, waiter) and waiter.result() is Turn.YOURS:
            self.release()

    def release(self) -> None:
        """Give a slot back, or on to the next who waits."""
        if self.queue:
            self.queue.pop().set_result(Turn.YOURS)
        else:
            self.taken -= 1
