"""Turns: one thread at a time, in the order in which they come, and nobody waits for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from salience.retrieval import turnstile as module
from salience.retrieval.turnstile import Turnstile
from support.waiting import HANG_SECONDS


def started(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def wait_for_line(turnstile: Turnstile, length: int) -> None:
    while len(turnstile._line) < length:
        time.sleep(0.001)


def test_threads_pass_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_TURN_SECONDS", 60.0)
    turnstile, inside, most = Turnstile(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with turnstile.turn():
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                inside -= 1

    for thread in [started(work) for _ in range(4)]:
        thread.join()
    assert most == 1
    assert not turnstile._line


def test_the_order_is_that_of_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_TURN_SECONDS", 60.0)
    turnstile, order = Turnstile(), list[int]()

    def work(number: int) -> None:
        with turnstile.turn():
            order.append(number)

    threads = []
    with turnstile.turn():
        for number in range(6):
            threads.append(started(lambda number=number: work(number)))  # type: ignore[misc]
            wait_for_line(turnstile, number + 2)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4, 5]


def test_a_turn_within_a_turn_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_TURN_SECONDS", 1e6)
    turnstile = Turnstile()
    with turnstile.turn():
        with turnstile.turn():
            assert len(turnstile._line) == 1
        assert len(turnstile._line) == 1  # the turn goes on
    assert not turnstile._line


def test_a_turn_ends_with_an_error() -> None:
    turnstile = Turnstile()
    with pytest.raises(ValueError, match="wrong"), turnstile.turn():
        raise ValueError("wrong")
    assert not turnstile._line


def test_who_waits_for_another_thread_in_a_turn_is_passed() -> None:
    """Each of these waits for the next within its turn, which would wait for ever otherwise."""
    turnstile, depth = Turnstile(), 0

    def work() -> None:
        nonlocal depth
        with turnstile.turn():
            depth += 1
            if depth < 4:
                started(work).join(timeout=HANG_SECONDS)

    started(work).join(timeout=HANG_SECONDS)
    assert depth == 4
    assert not turnstile._line


def test_a_place_that_is_never_left_holds_up_nobody() -> None:
    """As an interrupt may leave one."""
    turnstile = Turnstile()
    turnstile._wait(module._Place(-1, threading.Lock()))
    passed = threading.Event()

    def work() -> None:
        with turnstile.turn():
            passed.set()

    threads = [started(work) for _ in range(3)]
    assert passed.wait(HANG_SECONDS)
    for thread in threads:
        thread.join()
    assert not turnstile._line
