"""Waiting for a state: what never comes is named, after longer than any machine needs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from inspect import getsource
from typing import TypeVar

T = TypeVar("T")

HANG_SECONDS = 300.0
"""Nothing that a test waits for takes so long, whatever else the machine has to do."""


def until(come: Callable[[], T]) -> T:
    """Wait until a function gives something true, and give that."""
    deadline = time.monotonic() + HANG_SECONDS
    while not (value := come()):
        assert time.monotonic() < deadline, _waited(come)
        time.sleep(0.01)
    return value


async def until_awaited(come: Callable[[], object]) -> None:
    """Let other tasks run until a function gives something true."""
    deadline = time.monotonic() + HANG_SECONDS
    while not come():
        assert time.monotonic() < deadline, _waited(come)
        await asyncio.sleep(0.001)


def _waited(come: Callable[[], object]) -> str:
    code = come.func if isinstance(come, partial) else come
    return f"waited {HANG_SECONDS:.0f} s: {getsource(code).strip()}"
