"""What the guard does with every request: ids, logs, header fields, hosts, origins, errors."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest

from support.guarded import SECRET, Guarded, with_guard

OTHER_PAGE = "https://evil.example"
OWN_PAGE = "https://app.example.com"


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The access log."""
    return [
        json.loads(record.message)
        for record in caplog.records
        if record.name == "salience.server" and record.message.startswith("{")
    ]


def test_a_request_keeps_its_id_and_gets_one_if_it_has_none_or_a_bad_one() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        kept = await client.get("/health", headers={"X-Request-Id": "a.b-c_1"})
        assert kept.headers["x-request-id"] == "a.b-c_1"
        for bad in ("", "a b", "x" * 129, "<script>"):
            made = await client.get("/health", headers={"X-Request-Id": bad})
            assert made.headers["x-request-id"] != bad
            assert len(made.headers["x-request-id"]) == 32
        refused = await client.get("/v1/none", headers={"Host": "x", "X-Request-Id": "r1"})
        assert refused.json()["instance"] == refused.headers["x-request-id"] == "r1"

    with_guard(body)


def test_the_log_has_numbers_and_names_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "salience.server")
    trace = "0af7651916cd43dd8448eb211c80319c"

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        await client.post("/v1/search", json={"query": SECRET}, headers=headers)
        await client.get(f"/v1/memories/{SECRET}?q={SECRET}")
        await client.get(f"/{SECRET}", headers={"traceparent": "00-" + "0" * 32 + "-1-01"})

    with_guard(body)
    search, memory, unmatched = lines(caplog)
    assert search["key"] == "ana"
    assert (search["method"], search["route"], search["status"]) == ("POST", "/v1/search", 200)
    assert search["trace_id"] == trace
    assert search["counts"] == {"hits": 2}  # and not the query, which is not a number
    assert search["bytes_in"] > len(SECRET)
    assert search["bytes_out"] > len(SECRET)
    assert search["ms"] >= 0
    assert memory["route"] == "/v1/memories/{id}"
    assert (unmatched["route"], unmatched["trace_id"]) == ("unmatched", None)
    own = "".join(each.getMessage() for each in caplog.records if each.name.startswith("salience"))
    assert SECRET not in own
    assert SECRET.replace(" ", "%20") not in own


def test_a_refused_key_is_in_the_log_by_its_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "salience.server")

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        refused = await client.get("/v1/memories/x", headers={"Authorization": "Bearer wrong"})
        assert refused.status_code == 401
        assert "www-authenticate" in refused.headers
        assert refused.json()["code"] == "KeyRequired"

    with_guard(body)
    [line] = lines(caplog)
    assert (line["key"], line["denied"], line["status"]) == ("wrong", "missing", 401)


def test_every_answer_tells_browsers_and_caches_to_take_no_liberties() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        answers = [
            await client.get("/health"),
            await client.get("/v1/none"),
            await client.get("/health", headers={"Host": "evil.example"}),
            await client.get("/v1/fail/now"),
        ]
        assert [answer.status_code for answer in answers] == [200, 404, 421, 500]
        for answer in answers:
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-frame-options"] == "DENY"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "access-control-allow-origin" not in answer.headers
        page = await client.get("/docs")
        assert "default-src" not in page.headers["content-security-policy"]

    with_guard(body)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *[(host, 200) for host in ("localhost", "LOCALHOST:1", "127.0.0.1:8420", "[::1]:8420")],
        *[(host, 200) for host in ("mine.example", "mine.example:1", "a.lan", "b.a.lan:80")],
        ("ported.example:8420", 200),
        *[(host, 421) for host in ("ported.example:1", "ported.example", "evil.example", "lan")],
        *[(host, 421) for host in ("localhost.evil.example", "evil.lan.example", "::1", "mine")],
        *[(host, 421) for host in ("localhost:80@evil.example", "127.0.0.2", "evil.example:8420")],
        ("", 400),
    ],
)
def test_the_server_answers_for_its_own_names_alone(host: str, status: int) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        answer = await client.get("/health", headers={"Host": host})
        assert answer.status_code == status

    with_guard(body, hosts=("mine.example", "ported.example:8420", "*.lan"))


def test_two_hosts_are_none() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = [("Host", "localhost"), ("Host", "localhost")]
        request = httpx.Request("GET", "http://localhost/health", headers=headers)
        assert (await client.send(request)).status_code == 400

    with_guard(body)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:8420"}, 200),
        ({"Origin": "https://localhost:8420"}, 200),  # through a proxy with TLS
        ({"Origin": OWN_PAGE, "Sec-Fetch-Site": "cross-site"}, 200),
        ({"Origin": OWN_PAGE.upper()}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": "null"}, 403),
        ({"Origin": OTHER_PAGE}, 403),
        ({"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Origin": "ftp://localhost:8420"}, 403),
        ({"Origin": OWN_PAGE + ".evil.example"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://localhost:8420", "Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_other_origins_are_refused(
    headers: dict[str, str], status: int, method: str
) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        path = "/health" if method == "GET" else "/v1/search"
        answer = await client.request(
            method, path, headers=headers, json={} if method == "POST" else None
        )
        assert answer.status_code == status
        assert bool(guarded.calls) == (method == "POST" and status == 200)

    with_guard(body, origins=(OWN_PAGE,))


def test_two_origins_are_none() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = [("Host", "localhost"), ("Origin", OWN_PAGE), ("Origin", OTHER_PAGE)]
        request = httpx.Request("GET", "http://localhost/health", headers=headers)
        assert (await client.send(request)).status_code == 403

    with_guard(body, origins=(OWN_PAGE,))


def test_a_link_from_elsewhere_opens_a_public_page_and_nothing_else() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        link = {
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "document",
        }
        assert (await client.get("/docs", headers=link)).status_code == 200
        assert (await client.get("/v1/memories/x", headers=link)).status_code == 403
        frame = link | {"Sec-Fetch-Dest": "iframe"}
        assert (await client.get("/docs", headers=frame)).status_code == 403

    with_guard(body)


def test_without_configured_origins_there_is_no_cors() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {"Origin": OWN_PAGE, "Access-Control-Request-Method": "POST"}
        answer = await client.options("/v1/search", headers=headers)
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]

    with_guard(body)


def test_a_configured_page_gets_the_answers_of_cors_for_refusals_too() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {
            "Origin": OWN_PAGE,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type,salience-namespace",
        }
        preflight = await client.options("/v1/search", headers=headers | {"Authorization": ""})
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == OWN_PAGE
        assert "access-control-allow-credentials" not in preflight.headers
        for method in ("DELETE", "GET", "PATCH", "PUT"):
            asked = headers | {"Access-Control-Request-Method": method}
            assert (await client.options("/v1/x", headers=asked)).status_code == 200
        answers = [
            await client.post("/v1/search", json={}, headers={"Origin": OWN_PAGE}),
            await client.get("/v1/fail/now", headers={"Origin": OWN_PAGE}),
            await client.get("/v1/x", headers={"Origin": OWN_PAGE, "Authorization": ""}),
        ]
        assert [answer.status_code for answer in answers] == [200, 500, 401]
        for answer in answers:
            assert answer.headers["access-control-allow-origin"] == OWN_PAGE
            assert "x-request-id" in answer.headers["access-control-expose-headers"].lower()

    with_guard(body, origins=(OWN_PAGE,))


def test_an_error_gives_nothing_away_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "salience.server")

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {"X-Request-Id": "one"}
        answer = await client.get("/v1/fail/store", headers=headers)
        assert answer.status_code == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert SECRET not in answer.text

    with_guard(body)
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert errors[0].startswith("request one failed: StoreError: ")


def test_an_unforeseen_error_is_logged_by_its_place_and_with_debug_in_full(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from salience.server.guard.request import AnswerFailures

    async def app(*_: Any) -> None:
        raise ValueError(SECRET)

    async def body() -> None:
        transport = httpx.ASGITransport(AnswerFailures(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            answer = await client.get("/")
        assert answer.status_code == 500
        assert answer.json()["code"] == "InternalError"
        assert SECRET not in answer.text

    caplog.set_level(logging.INFO, "salience.server")
    asyncio.run(body())
    assert "ValueError" in caplog.text
    assert "test_guard_requests.py" in caplog.text
    assert SECRET not in caplog.text
    caplog.set_level(logging.DEBUG, "salience.server")
    asyncio.run(body())
    assert SECRET in caplog.text


def test_a_websocket_is_refused() -> None:
    sent: list[Any] = []

    async def body() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        await Guarded().app({"type": "websocket", "path": "/", "headers": []}, receive, send)

    asyncio.run(body())
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_draining_server_refuses_new_requests_and_waits_for_the_others() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        assert (await client.get("/health")).status_code == 200
        guarded.gate.clear()
        running = asyncio.create_task(client.post("/v1/search", json={}))
        while not guarded.calls:
            await asyncio.sleep(0)
        assert await guarded.in_flight.drain(0.01) == 1
        refused = await client.get("/health")
        assert refused.status_code == 503
        assert refused.json()["code"] == "Stopping"
        assert refused.headers["connection"] == "close"
        guarded.gate.set()
        assert await guarded.in_flight.drain(10) == 0
        assert (await running).status_code == 200

    with_guard(body)
