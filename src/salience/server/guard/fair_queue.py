"""Slots that a few may hold at once, and a queue for them that is fair between names."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
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

    def pop(self, may: Callable[[str], bool] = lambda name: True) -> tuple[str, Waiter] | None:
        """Remove the waiter whose turn it is of those that may have one, or None."""
        name = next(filter(may, self._names), None)
        if name is None:
            return None
        waiter = self._names[name].popleft()
        self._names.move_to_end(name)
        self._removed_from(name)
        return name, waiter

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
    """A number of slots, one more for names that hold none, and a queue of bounded length for them.

    So a name with none does not wait for those who hold all others, however slow they are. If the
    queue is full, the last waiter of the name with most waiters has to go: one busy name cannot
    keep others out.
    """

    def __init__(self, capacity: int, queue_length: int) -> None:
        self.queue = FairQueue()
        self._held: Counter[str] = Counter()
        self._capacity = capacity
        self._queue_length = queue_length

    @property
    def taken(self) -> int:
        """The number of slots that are held."""
        return self._held.total()

    def enter(self, name: str) -> Waiter | None:
        """Take a slot (None), or begin to wait for one.

        Whoever has a slot calls `release` in the end. Whoever stops waiting calls `leave`.
        """
        if self._may_begin(name):  # then nobody waits who may
            self._held[name] += 1
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
            self.release(name)

    def release(self, name: str) -> None:
        """Give a slot of a name back; whoever may have it now is the next."""
        self._held[name] -= 1
        self._held += Counter()  # only names that hold some are kept
        while (following := self.queue.pop(self._may_begin)) is not None:
            self._held[following[0]] += 1
            following[1].set_result(Turn.YOURS)

    def _may_begin(self, name: str) -> bool:
        return self.taken < self._capacity + (name not in self._held)
