"""Metrics by route and status, of one process and of several; who may read them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from salience.server.guard import Metrics
from support.guarded import Guarded, with_guard


def test_answers_are_counted_by_route_and_status_and_never_by_path() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        for id in ("one", "two"):
            await client.get(f"/v1/memories/{id}")
        await client.get("/wp-login.php")
        await client.request("BREW", "/v1/memories/x")
        await client.get("/v1/memories/x", headers={"Authorization": ""})
        page = guarded.metrics.text().decode()
        memory = 'method="GET",route="/v1/memories/{id}"'
        assert f'salience_requests_total{{{memory},status="200"}} 2.0' in page
        assert f"salience_request_seconds_count{{{memory}}} 2.0" in page
        assert 'method="GET",route="unmatched",status="404"} 1.0' in page
        assert 'method="GET",route="unmatched",status="401"} 1.0' in page
        assert 'method="other",route="unmatched",status="405"} 1.0' in page
        assert "wp-login" not in page
        assert "process_resident_memory_bytes" in page

    with_guard(body)


def test_degraded_searches_are_counted_by_a_few_reasons() -> None:
    metrics = Metrics()
    metrics.degraded(["vector: it answers 500", "vector: no vectors", "during: no dates"])
    metrics.degraded(["my route: no memory has a vector 'x'"])
    metrics.degraded([])
    page = metrics.text().decode()
    for reason in ("vector", "during", "other"):
        assert f'salience_degraded_searches_total{{reason="{reason}"}} 1.0' in page
    assert "answers 500" not in page
    assert "my route" not in page


@pytest.mark.parametrize(
    ("access", "key", "address", "host", "status"),
    [
        ("loopback", None, "127.0.0.1", "localhost", 200),
        ("loopback", None, "10.0.0.1", "localhost", 401),
        ("loopback", None, "127.0.0.1", "mine.example", 401),  # perhaps through a proxy
        ("loopback", "ana", "10.0.0.1", "localhost", 200),
        ("key", None, "127.0.0.1", "localhost", 401),
        ("key", "ana", "10.0.0.1", "localhost", 200),
        ("open", None, "10.0.0.1", "mine.example", 200),
    ],
)
def test_metrics_are_for_keys_and_this_machine(
    access: str, key: str | None, address: str, host: str, status: int
) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        async with guarded.client(key, address=(address, 1)) as asker:
            answer = await asker.get("/metrics", headers={"Host": host})
            assert answer.status_code == status
            if access == "loopback" and status == 200 and key is None:
                forwarded = {"Host": host, "X-Forwarded-For": "10.0.0.1"}
                assert (await asker.get("/metrics", headers=forwarded)).status_code == 401

    with_guard(body, metrics_access=access, hosts=("mine.example",))


def test_the_metrics_of_several_processes_add_up(tmp_path: Path) -> None:
    program = """
from salience.server.guard import Metrics
metrics = Metrics()
metrics.answered("GET", "/v1/x", 200, 0.01)
metrics.slots("heavy").set(1)
print(metrics.text().decode())
metrics.close()
"""
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    pages = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    for count, page in enumerate(pages, start=1):
        line = f'salience_requests_total{{method="GET",route="/v1/x",status="200"}} {count}.0'
        assert line in page
        assert 'salience_operations_in_flight{kind="heavy"} 1.0' in page  # the first has gone
