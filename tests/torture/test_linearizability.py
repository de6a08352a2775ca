"""The checker is tried on histories of which it is known whether they are linearizable."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import permutations
from random import Random

import pytest

from torture.linearizability import Operation, is_linearizable


def register(state: Hashable, operation: Operation) -> Sequence[Hashable]:
    """A register: a read gives what was written last, a swap writes only over what it names."""
    match operation.name:
        case "write":
            return [operation.argument]
        case "swap":
            old, new = operation.argument
            return [new if old == state else state] if operation.answer == (old == state) else []
        case _:
            return [state] if operation.answer == state else []


def write(begin: int, end: int, value: int) -> Operation:
    return Operation(begin, end, "write", value)


def read(begin: int, end: int, value: int) -> Operation:
    return Operation(begin, end, "read", None, value)


RIGHT = {
    "one after the other": [write(0, 1, 1), read(2, 3, 1), write(4, 5, 2), read(6, 7, 2)],
    "a read during a write sees it": [write(0, 9, 1), read(1, 2, 1)],
    "a read during a write sees what was before": [write(0, 9, 1), read(1, 2, 0)],
    "two reads during a write": [write(0, 9, 1), read(1, 2, 0), read(3, 4, 1)],
    "writes at once": [write(0, 9, 1), write(0, 9, 2), read(10, 11, 1)],
    "reads tell the order of writes at once": [
        write(0, 20, 1), write(0, 20, 2), read(1, 2, 2), read(3, 4, 1), read(21, 22, 1),
    ],
    "none": [],
}  # fmt: skip
WRONG = {
    "a value that nobody wrote": [write(0, 1, 1), read(2, 3, 7)],
    "a value that was written over": [write(0, 1, 1), write(2, 3, 2), read(4, 5, 1)],
    "a lost write": [write(0, 1, 1), read(2, 3, 0)],
    "back in time": [write(0, 9, 1), read(1, 2, 1), read(3, 4, 0)],
    "two orders": [
        write(0, 20, 1), write(0, 20, 2), read(1, 2, 2), read(3, 4, 1), read(5, 6, 2),
    ],
    "two swaps of one value": [
        Operation(0, 5, "swap", (0, 1), True), Operation(0, 5, "swap", (0, 2), True),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_linearizable(name: str) -> None:
    assert is_linearizable(RIGHT[name], 0, register)


@pytest.mark.parametrize("name", WRONG)
def test_not_linearizable(name: str) -> None:
    assert not is_linearizable(WRONG[name], 0, register)


def test_a_state_may_be_none() -> None:
    assert is_linearizable([Operation(0, 1, "read", None, None)], None, register)
    assert not is_linearizable([Operation(0, 1, "read", None, 1)], None, register)


def test_each_state_that_a_call_may_lead_to_is_tried() -> None:
    def coin(state: Hashable, operation: Operation) -> Sequence[Hashable]:
        return ["heads", "tails"] if operation.name == "toss" else register(state, operation)

    for answer, is_right in (("heads", True), ("tails", True), ("edge", False)):
        history = [Operation(0, 1, "toss"), Operation(2, 3, "read", None, answer)]
        assert is_linearizable(history, None, coin) is is_right


def by_trying_all_orders(history: Sequence[Operation]) -> bool:
    for order in permutations(history):
        if any(a.begin > b.end for n, a in enumerate(order) for b in order[n + 1 :]):
            continue
        states: Sequence[Hashable] = [0]
        for operation in order:
            states = [s for state in states for s in register(state, operation)]
        if states:
            return True
    return not history


def test_it_agrees_with_trying_all_orders() -> None:
    random, answers = Random(5), []
    for _ in range(400):
        history = []
        for _ in range(random.randint(1, 5)):
            begin, value = random.randrange(12), random.randrange(3)
            end = begin + random.randint(1, 6)
            history.append(random.choice([write, read])(begin, end, value))
        answers.append(is_linearizable(history, 0, register))
        assert answers[-1] == by_trying_all_orders(history)
    assert 50 < sum(answers) < 350
