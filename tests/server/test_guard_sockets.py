"""The guard over real sockets: slow, broken and oversized requests, disconnects, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
import uvicorn

from salience import AsyncMemory
from salience.server import connections
from salience.server.app import create_app
from salience.server.connections import TimedHttpToolsProtocol
from salience.server.settings import ServerSettings
from support.guarded import Guarded
from support.waiting import HANG_SECONDS, until_awaited

HEAD = "Host: localhost\r\nAuthorization: Bearer ana\r\n"


@contextlib.asynccontextmanager
async def serving(guarded: Guarded, **options: Any) -> AsyncIterator[int]:
    """The port of a server that runs while the block does."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        guarded.app,
        http=TimedHttpToolsProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        **options,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()


def over_socket(
    body: Callable[[Guarded, int], Awaitable[None]],
    server: dict[str, Any] | None = None,
    **settings: Any,
) -> None:
    async def run() -> None:
        guarded = Guarded(**settings)
        async with serving(guarded, **(server or {})) as port, asyncio.timeout(HANG_SECONDS):
            await body(guarded, port)
            guarded.gate.set()

    asyncio.run(run())


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def head(path: str, *fields: str, method: str = "POST") -> bytes:
    lines = "".join(f"{field}\r\n" for field in fields)
    return f"{method} {path} HTTP/1.1\r\n{HEAD}{lines}\r\n".encode()


async def status(reader: asyncio.StreamReader) -> int:
    return int((await reader.readline()).split()[1])


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """The status, the header fields and the body of one answer that says its length."""
    code = await status(reader)
    fields = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode().partition(":")
        fields[name.lower()] = value.strip()
    return code, fields, await reader.readexactly(int(fields.get("content-length", 0)))


JSON_FIELD = "Content-Type: application/json"
TOO_LARGE = b"Request Header Fields Too Large\r\n"
CHUNKED = "Transfer-Encoding: chunked"


def test_requests_pass_and_a_connection_serves_several() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with connected(port) as (reader, writer):
            for _ in range(3):
                writer.write(head("/v1/search", JSON_FIELD, "Content-Length: 7") + b'{"a":1}')
                code, fields, content = await answer(reader)
                assert code == 200
                assert json.loads(content)["body"] == {"a": 1}
                assert "ratelimit" in fields
                assert "server" not in fields

    over_socket(body)


def test_a_chunked_body_without_end_is_cut_off_at_the_limit() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with connected(port) as (reader, writer):
            writer.write(head("/v1/search", JSON_FIELD, CHUNKED))
            chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
            with contextlib.suppress(OSError):
                for _ in range(4):
                    writer.write(chunk)
                    await writer.drain()
            code, fields, content = await answer(reader)
            assert (code, json.loads(content)["code"]) == (413, "BodyTooLarge")
            assert fields["connection"] == "close"
            assert await reader.read() == b""  # closed
        assert not guarded.calls

    over_socket(body, body_bytes=100_000)


def test_a_client_that_sends_all_before_it_reads_still_gets_the_refusal() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with httpx.AsyncClient(base_url=f"http://localhost:{port}") as client:
            headers = {"Authorization": "Bearer ana", "Content-Type": "application/json"}
            large = b"x" * 3_000_000
            refused = await client.post("/v1/search", content=large, headers=headers)
            assert refused.status_code == 413
            again = await client.post("/v1/search", content=b"{}", headers=headers)
            assert again.status_code == 200

    over_socket(body, body_bytes=1_000_000)


def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        for fields in (
            (JSON_FIELD, "Content-Length: 99999999999", "Expect: 100-continue"),
            ("Content-Type: text/plain", "Content-Length: 5", "Expect: 100-continue"),
        ):
            async with connected(port) as (reader, writer):
                writer.write(head("/v1/search", *fields))
                code, _, _ = await answer(reader)
                assert code in (413, 415)
        async with connected(port) as (reader, writer):
            writer.write(
                head("/v1/search", JSON_FIELD, "Content-Length: 2", "Expect: 100-continue")
            )
            assert await status(reader) == 100
            await reader.readline()
            writer.write(b"{}")
            assert await status(reader) == 200

    over_socket(body)


def test_a_body_that_comes_byte_by_byte_is_given_up() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        for path, kind in (("/v1/search", JSON_FIELD), ("/v1/load", kind_of_lines)):
            async with connected(port) as (reader, writer):
                writer.write(head(path, kind, "Content-Length: 1000"))
                writer.write(b" ")
                code, fields, content = await answer(reader)
                assert (code, json.loads(content)["code"]) == (408, "BodyTimeout")
                assert fields["connection"] == "close"
        assert not guarded.calls

    kind_of_lines = "Content-Type: application/x-ndjson"
    over_socket(body, body_seconds=0.1)


@pytest.mark.parametrize("start", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_head_that_does_not_come_is_cut_off(start: bytes) -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with connected(port) as (reader, writer):
            writer.write(start)
            assert await reader.read() == b""
        async with connected(port) as (reader, writer):  # the second head of a connection
            writer.write(head("/v1/memories/x", method="GET"))
            assert (await answer(reader))[0] == 200
            writer.write(start)
            assert await reader.read() == b""

    over_socket(body, {"timeout_keep_alive": 1})


@pytest.mark.parametrize("part", ["x", "X-Field: x\r\n"])
def test_a_head_without_end_is_cut_off(part: str) -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with connected(port) as (reader, writer):
            start = "GET /health HTTP/1.1\r\nHost: localhost\r\n"
            writer.write((start + part).encode())
            with contextlib.suppress(OSError):
                for _ in range(100):
                    writer.write(part.encode() * 1_000)
                    await writer.drain()
                    await asyncio.sleep(0)
            with contextlib.suppress(ConnectionError):
                assert await reader.readline() in (b"HTTP/1.1 431 " + TOO_LARGE, b"")
                await reader.read()
        assert guarded.in_flight.count == 0
        async with connected(port) as (reader, writer):  # fields that are many, but end
            writer.write((start + "X-Field: x\r\n" * 1_000 + "\r\n").encode())
            assert (await answer(reader))[0] == 200

    over_socket(body, {"timeout_keep_alive": 60})


def test_a_head_in_time_may_have_a_slow_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(guarded: Guarded, port: int) -> None:
        guarded.gate.clear()
        async with connected(port) as (reader, writer):
            writer.write(head("/v1/search", JSON_FIELD, "Content-Length: 2") + b"{}")
            await until_awaited(lambda: len(guarded.calls) == 1)
            loop = asyncio.get_running_loop()
            own_time = loop.time
            monkeypatch.setattr(loop, "time", lambda: own_time() + 2)
            await asyncio.sleep(0.01)  # what was due in the two seconds is done before
            guarded.gate.set()
            assert (await answer(reader))[0] == 200

    over_socket(body, {"timeout_keep_alive": 1})


def test_a_client_that_goes_leaves_the_queue() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        guarded.gate.clear()
        request = head("/v1/search", JSON_FIELD, "Content-Length: 2") + b"{}"
        async with connected(port) as (reader, writer):
            writer.write(request)
            await until_awaited(lambda: len(guarded.calls) == 1)
            gauge = guarded.metrics.queue("heavy")
            async with connected(port) as (_, other):
                other.write(request)
                await until_awaited(lambda: gauge._value.get() == 1)
            await until_awaited(lambda: gauge._value.get() == 0)
            guarded.gate.set()
            assert (await answer(reader))[0] == 200
        assert len(guarded.calls) == 1

    over_socket(body, heavy_slots=1)


def test_an_answer_that_breaks_off_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with httpx.AsyncClient(base_url=f"http://localhost:{port}") as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get("/v1/fail/midway", headers={"Authorization": "Bearer ana"})

    caplog.set_level(logging.INFO)
    over_socket(body)
    assert "failed: ValueError" in caplog.text
    assert "nobody else may read" not in caplog.text


def test_a_client_that_does_not_read_its_answer_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.2)

    async def body(guarded: Guarded, port: int) -> None:
        async with connected(port) as (_, writer):
            writer.write(head("/v1/fail/endless", method="GET"))
            await until_awaited(lambda: guarded.in_flight.count == 1)
            await until_awaited(lambda: guarded.in_flight.count == 0)

    over_socket(body)


def test_a_server_that_stops_answers_what_is_in_flight() -> None:
    async def run() -> None:
        guarded = Guarded()
        guarded.gate.clear()
        async with asyncio.timeout(HANG_SECONDS):
            async with serving(guarded) as port:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head("/v1/search", JSON_FIELD, "Content-Length: 2") + b"{}")
                await until_awaited(lambda: len(guarded.calls) == 1)
                asyncio.get_running_loop().call_later(0.3, guarded.gate.set)
            code, fields, _ = await answer(reader)
            assert (code, fields["connection"]) == (200, "close")
            writer.close()
            await writer.wait_closed()

    asyncio.run(run())


def test_a_head_that_comes_in_one_piece_has_the_same_limit() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        for size, first in (
            (40_000, b"HTTP/1.1 200 OK\r\n"),
            (66_000, b"HTTP/1.1 431 " + TOO_LARGE),
        ):
            async with connected(port) as (reader, writer):
                field = f"X-Field: {'x' * size}"
                writer.write(head("/v1/search", field, JSON_FIELD, "Content-Length: 2") + b"{}")
                assert await reader.readline() == first
        assert len(guarded.calls) == 1

    over_socket(body)


def test_a_trailer_is_no_field_of_the_head() -> None:
    async def body(guarded: Guarded, port: int) -> None:
        async with connected(port) as (reader, writer):
            trailer = b"Idempotency-Key: k\r\nAuthorization: Bearer ben\r\n"
            for _ in range(2):
                writer.write(head("/v1/search", JSON_FIELD, CHUNKED))
                writer.write(b"2\r\n{}\r\n0\r\n" + trailer + b"\r\n")
                code, fields, _ = await answer(reader)
                assert (code, "idempotency-replayed" in fields) == (200, False)
        assert guarded.calls == ["ana", "ana"]

    over_socket(body)


def test_a_wait_for_events_ends_when_the_server_is_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    events = AsyncMemory.events

    async def counted(self: AsyncMemory, *args: Any, wait: float = 0.0, **options: Any) -> Any:
        waits.append(wait)
        return await events(self, *args, wait=0.0, **options)

    monkeypatch.setattr(AsyncMemory, "events", counted)
    monkeypatch.setattr("salience.server.routes.methods._WAIT_SECONDS", 0.001)

    async def run() -> None:
        app = create_app(ServerSettings(db="ram://", embedder="none"))
        config = uvicorn.Config(app, port=0, http=TimedHttpToolsProtocol, log_config=None)
        server = uvicorn.Server(config)
        server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
        task = asyncio.create_task(server.serve())
        await until_awaited(lambda: server.started)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, timeout=HANG_SECONDS) as client:
            asked = asyncio.create_task(client.get("/v1/events?wait=30"))
            await until_awaited(lambda: len(waits) > 1)
            server.should_exit = True
            answer = await asked
        await task
        assert answer.status_code == 200
        assert answer.json()["events"] == []

    asyncio.run(run())
    assert sum(waits) < 15  # of the 30 seconds that were asked for
