"""The heartbeat notices whatever holds up its event loop, and a server tells it."""

from __future__ import annotations

import asyncio
import re
import time

import httpx

from salience.server.app import beat
from support.real_server import RealServer


def test_a_step_that_holds_up_the_loop_is_noticed() -> None:
    lateness: list[float] = []

    async def hold_up() -> None:
        heartbeat = asyncio.create_task(beat(lateness.append))
        await asyncio.sleep(0.05)
        time.sleep(0.2)
        await asyncio.sleep(0.05)
        heartbeat.cancel()

    asyncio.run(hold_up())
    assert min(lateness) >= 0
    assert max(lateness) >= 0.18


def test_a_server_tells_how_late_its_loop_was(server: RealServer) -> None:
    def beats() -> float:
        metrics = httpx.get(f"{server.url}/metrics").text
        [count] = re.findall(r"^salience_event_loop_lateness_seconds_count (\S+)$", metrics, re.M)
        return float(count)

    before, deadline = beats(), time.monotonic() + 60
    while beats() == before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert beats() > before
