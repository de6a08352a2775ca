"""Bodies of the wrong type, size, depth or pace are refused before anything reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.server.guard.body import json_depth
from support.guarded import Guarded, with_guard
from support.waiting import until_awaited

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        *[(kind, 200) for kind in ("application/json", "Application/JSON; charset=UTF-8")],
        ('application/json;charset="utf-8"', 200),
        *[(kind, 415) for kind in ("", "text/plain", "application/x-www-form-urlencoded")],
        *[(kind, 415) for kind in ("multipart/form-data; boundary=x", "text/json")],
        *[(kind, 415) for kind in ("application/json; charset=utf-16", "application/jsonx")],
        *[(kind, 415) for kind in ("application/x-ndjson", "text/plain; x=application/json")],
    ],
)
def test_a_body_has_to_say_that_it_is_json(content_type: str, status: int) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {"Content-Type": content_type} if content_type else {}
        answer = await client.post("/v1/search", content=b"{}", headers=headers)
        assert answer.status_code == status
        assert len(guarded.calls) == (status == 200)
        if status == 415:
            assert answer.headers["accept"] == "application/json"

    with_guard(body)


def test_a_request_without_a_body_needs_no_type() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        assert (await client.post("/v1/flush")).status_code == 204
        assert (await client.get("/v1/memories/x")).status_code == 200

    with_guard(body)


def test_an_encoded_body_is_refused() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = JSON | {"Content-Encoding": "gzip"}
        answer = await client.post("/v1/search", content=b"\x1f\x8b", headers=headers)
        assert answer.status_code == 415
        assert answer.headers["accept-encoding"] == "identity"

    with_guard(body)


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(1_000, 200), (1_001, 413)])
def test_a_body_is_counted_whether_it_says_its_length_or_not(
    is_chunked: bool, size: int, status: int
) -> None:
    text = json.dumps({"query": "x" * (size - len('{"query": ""}'))}).encode()
    assert len(text) == size

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        content: Any = in_parts(text) if is_chunked else text
        answer = await client.post("/v1/search", content=content, headers=JSON)
        assert answer.status_code == status
        assert len(guarded.calls) == (status == 200)
        if status == 413:
            assert answer.json()["code"] == "BodyTooLarge"
            assert answer.headers["connection"] == "close"

    with_guard(body, body_bytes=1_000)


@pytest.mark.parametrize("length", ["-1", "+1", "1, 1", "x", "١"])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {**JSON, "Content-Length": length.encode()}
        answer = await client.post("/v1/search", content=b"{}", headers=headers)  # type: ignore[arg-type]
        assert answer.status_code == 400

    with_guard(body)


def test_an_upload_is_passed_on_as_it_arrives_up_to_a_limit_of_its_own() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/load", content=in_parts(b"{}\n" * 600), headers=LINES)
        assert answer.json() == {"bytes": 1_800}
        guarded.imported = 0
        answer = await client.post("/v1/load", content=in_parts(b"{}\n" * 700), headers=LINES)
        assert answer.status_code == 413
        assert 0 < guarded.imported <= 2_000
        answer = await client.post("/v1/load", content=b"{}\n" * 700, headers=LINES)
        assert answer.status_code == 413
        answer = await client.post("/v1/load", content=b"{}", headers=JSON)
        assert answer.status_code == 415

    with_guard(body, body_bytes=1_000, import_bytes=2_000)


def test_a_body_that_stops_coming_is_given_up() -> None:
    async def stalled() -> AsyncIterator[bytes]:
        yield b'{"query":'
        await asyncio.sleep(60)

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        for path, headers in (("/v1/search", JSON), ("/v1/load", LINES)):
            answer = await client.post(path, content=stalled(), headers=headers)
            assert answer.status_code == 408
            assert answer.json()["code"] == "BodyTimeout"
        assert not guarded.calls

    with_guard(body, body_seconds=0.02)


def test_an_upload_may_take_long_if_its_parts_come_and_a_body_may_not() -> None:
    async def dribble() -> AsyncIterator[bytes]:
        for _ in range(8):
            await asyncio.sleep(0.05)
            yield b"{}\n"

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        upload = await client.post("/v1/load", content=dribble(), headers=LINES)
        assert upload.json() == {"bytes": 24}
        refused = await client.post("/v1/search", content=dribble(), headers=JSON)
        assert refused.status_code == 408

    with_guard(body, body_seconds=0.3)


@pytest.mark.parametrize(("depth", "status"), [(64, 200), (65, 422)])
def test_a_body_is_at_most_so_deep(depth: int, status: int) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        text = '{"a":' * (depth // 2) + "[" * (depth - depth // 2)
        text += "]" * (depth - depth // 2) + "}" * (depth // 2)
        answer = await client.post("/v1/search", content=text, headers=JSON)
        assert answer.status_code == status
        if status == 422:
            [error] = answer.json()["errors"]
            assert (error["pointer"], error["field"]) == ("#", "body")

    with_guard(body)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text('[]{}\\"', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.text('[]{}\\"'), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON_VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_the_depth_is_that_of_the_value(value: Any, ascii: bool, indent: int | None) -> None:
    def depth(value: Any) -> int:
        if isinstance(value, dict):
            return 1 + max(map(depth, value.values()), default=0)
        if isinstance(value, list):
            return 1 + max(map(depth, value), default=0)
        return 0

    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    assert json_depth(text.encode("utf-8", "surrogatepass")) == depth(value)


@given(st.binary(max_size=50))
def test_the_depth_of_anything_is_a_number(text: bytes) -> None:
    assert 0 <= json_depth(text) <= len(text)


def test_a_hostile_body_is_measured_in_one_pass() -> None:
    assert json_depth(b"[" * 4_000_000) == 4_000_000
    assert json_depth(b"]" * 1_000_000 + b"[") == 0  # a parser stops at the first
    assert json_depth(b'"' + b"[" * 1_000_000) == 0
    assert json_depth(b'"' + b"\\" * 999_999 + b'"' + b"[" * 9) == 0  # the quote is escaped


def test_a_client_that_goes_while_its_body_arrives_is_left_alone() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        messages = [{"type": "http.request", "body": b"{", "more_body": True}]
        sent: list[Any] = []

        async def receive() -> Any:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"authorization", b"Bearer ana")]
        headers += [(b"content-type", b"application/json"), (b"content-length", b"9")]
        scope = {"type": "http", "method": "POST", "path": "/v1/search", "query_string": b""}
        scope |= {"headers": headers, "client": ("::1", 1), "scheme": "http"}
        await guarded.app(scope, receive, send)
        await until_awaited(lambda: guarded.in_flight.count == 0)
        assert not sent
        assert not guarded.calls

    with_guard(body)


async def in_parts(text: bytes, size: int = 300) -> AsyncIterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
