"""The heartbeat notices whatever holds up its event loop, and a server tells it."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest

from salience.server.app import INTERVAL_SECONDS, beat
from support.real_server import RealServer
from support.waiting import until, until_awaited


def test_a_step_that_holds_up_the_loop_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lateness = [5.0], list[float]()
    monkeypatch.setattr("salience.server.app.perf_counter", lambda: now[0])

    async def hold_up() -> None:
        heartbeat = asyncio.create_task(beat(lateness.append))
        await until_awaited(lambda: lateness)
        now[0] += 0.2
        await until_awaited(lambda: max(lateness) > 0)
        heartbeat.cancel()

    asyncio.run(hold_up())
    assert min(lateness) == 0
    assert max(lateness) == pytest.approx(0.2 - INTERVAL_SECONDS)


def test_a_server_tells_how_late_its_loop_was(server: RealServer) -> None:
    def beats() -> float:
        metrics = httpx.get(f"{server.url}/metrics").text
        [count] = re.findall(r"^salience_event_loop_lateness_seconds_count (\S+)$", metrics, re.M)
        return float(count)

    before = beats()
    until(lambda: beats() > before)
