"""What runs for long tells its progress as events, and then the answer that it gives without."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from salience import Memory
from support.real_server import RealServer, real_server

EVENTS = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}


@pytest.fixture
def server(tmp_path: Any) -> Any:
    with Memory(tmp_path / "memory.db") as memory:
        memory.add_many([f"Ana has {number} cellos." for number in range(40)], dedup=False)
        memory.add_many([{"content": "Ben sings.", "kind": "fact"}] * 2, dedup=False)
    with real_server(tmp_path / "memory.db") as running:
        yield running


def told(client: httpx.Client, path: str, body: Any) -> list[dict[str, Any]]:
    with client.stream("POST", path, json=body, headers=EVENTS) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.parametrize(
    ("path", "body", "step"),
    [
        ("/audit", {}, "reading"),
        ("/zones/shares", {"points": 3, "until": "2030-01-01"}, "zone_shares"),
    ],
)
def test_progress_comes_before_the_same_answer(
    server: RealServer, path: str, body: Any, step: str
) -> None:
    with server.client() as client:
        *steps, last = told(client, path, body)
        plain = client.post(path, json=body).json()
        assert {**last["answer"], "now": 0, "times": 0} == {**plain, "now": 0, "times": 0}
        assert steps[0]["progress"]["step"] == step
        assert all(0 <= one["progress"]["done"] <= one["progress"]["of"] for one in steps)


def test_what_is_wrong_from_the_start_is_a_problem_and_no_event(server: RealServer) -> None:
    with server.client() as client:
        answer = client.post("/audit", json={"mend": ["nothing"]}, headers=EVENTS)
        assert (answer.status_code, answer.json()["code"]) == (422, "InvalidInput")
        content = client.get("/openapi.json").json()["paths"]["/v1/audit"]["post"]
        assert "text/event-stream" in content["responses"]["200"]["content"]
