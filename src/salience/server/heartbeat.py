"""The heartbeat of an event loop: how late it comes says how long something held up the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

INTERVAL_SECONDS = 0.01


async def beat(observe: Callable[[float], None]) -> None:
    """Tell every ten milliseconds by how many seconds the loop was late, until it is cancelled."""
    while True:
        due = perf_counter() + INTERVAL_SECONDS
        await asyncio.sleep(INTERVAL_SECONDS)
        observe(max(0.0, perf_counter() - due))
