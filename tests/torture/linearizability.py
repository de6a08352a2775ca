"""A checker of histories: is there an order of the calls in which each answer was right?

A history is linearizable if each call can be given a moment between its begin and its end such
that the answers are those of calls made one after the other at these moments. The search is that
of Wing and Gong (1993), with Lowe's memory of what was tried (2017): a call that could be first is
taken out and the rest is searched; a set of calls with a state is not searched twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Operation:
    """One call, with its answer; `begin` and `end` are times of one clock."""

    begin: int
    end: int
    name: str
    argument: Any = None
    answer: Any = None


Step = Callable[[Hashable, Operation], Sequence[Hashable]]
"""The states that a call with this answer may lead to from a state; none if it could not be."""


class _Entry:
    """The begin of a call, with its `end`, or an end; a place in a list with two directions."""

    __slots__ = ("after", "before", "end", "number", "operation")

    def __init__(self, operation: Operation | None = None, number: int = -1) -> None:
        self.operation, self.number = operation, number
        self.end: _Entry | None = None
        self.before: _Entry | None = None
        self.after: _Entry | None = None

    def take_out(self) -> None:
        for entry in (self, self.end):
            assert entry is not None
            assert entry.before is not None
            entry.before.after = entry.after
            if entry.after is not None:
                entry.after.before = entry.before

    def put_back(self) -> None:
        for entry in (self.end, self):
            assert entry is not None
            assert entry.before is not None
            entry.before.after = entry
            if entry.after is not None:
                entry.after.before = entry


def is_linearizable(history: Sequence[Operation], initial: Hashable, step: Step) -> bool:
    """Whether calls one after the other could have given the answers of a history."""
    head = _listed(history)
    state, taken = initial, 0
    seen: set[tuple[int, Hashable]] = set()
    path: list[tuple[_Entry, Hashable]] = []
    entry = head.after
    while head.after is not None:
        assert entry is not None
        if entry.end is None:  # an end that no order before it explains: take another way
            if not path:
                return False
            entry, state = path.pop()
            taken &= ~(1 << entry.number)
            entry.put_back()  # and it is tried again: it may lead to another state
            continue
        assert entry.operation is not None
        now_taken = taken | 1 << entry.number
        following = [s for s in step(state, entry.operation) if (now_taken, s) not in seen]
        if not following:
            entry = entry.after
            continue
        seen.add((now_taken, following[0]))  # the others come next, if this one leads nowhere
        path.append((entry, state))
        state, taken = following[0], now_taken
        entry.take_out()
        entry = head.after
    return True


def _listed(history: Sequence[Operation]) -> _Entry:
    """The begins and ends in order of time; at one time, begins come first."""
    moments: list[tuple[int, int, _Entry]] = []
    for number, operation in enumerate(history):
        begin, end = _Entry(operation, number), _Entry()
        begin.end = end
        moments += [(operation.begin, 0, begin), (operation.end, 1, end)]
    head = last = _Entry()
    for _, _, entry in sorted(moments, key=lambda moment: moment[:2]):
        last.after, entry.before, last = entry, last, entry
    return head
