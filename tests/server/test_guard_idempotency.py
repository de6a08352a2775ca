"""Of the requests with one idempotency key, one runs at a time."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from support.guarded import Guarded, with_guard
from support.waiting import until_awaited

KEY = {"Idempotency-Key": "k1"}


def test_a_request_whose_first_is_still_running_is_told_so() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        async def post(
            path: str = "/v1/search", a: int = 1, headers: dict[str, str] = KEY
        ) -> httpx.Response:
            return await client.post(path, json={"a": a}, headers=headers)

        guarded.gate.clear()
        first = asyncio.create_task(post())
        await until_awaited(lambda: len(guarded.calls) == 1)
        for again in (await post(), await post(headers={"Idempotency-Key": '"k1"'})):
            assert (again.status_code, again.json()["code"]) == (409, "RequestInProgress")
            assert again.headers["retry-after"] == "1"
        for other in (
            await post(a=2),
            await post("/v1/search?x=1"),
            await post(headers={**KEY, "If-Match": "1"}),
        ):
            assert (other.status_code, other.json()["code"]) == (422, "KeyReused")
            assert other.json()["errors"][0]["field"] == "Idempotency-Key"
        assert len(guarded.calls) == 1
        guarded.gate.set()
        assert (await first).status_code == 200
        assert (await post()).status_code == 200  # what was done is told by the store
        assert len(guarded.calls) == 2

    with_guard(body)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/feedback", {}),
        ("/v1/search", {"Authorization": "Bearer ben"}),
        ("/v1/search", {"Salience-Namespace": "other"}),
    ],
)
def test_another_path_owner_or_namespace_has_other_keys(path: str, headers: dict[str, str]) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        first = asyncio.create_task(client.post("/v1/search", json={}, headers=KEY))
        await until_awaited(lambda: len(guarded.calls) == 1)
        other = asyncio.create_task(client.post(path, json={"a": 2}, headers=KEY | headers))
        await until_awaited(lambda: len(guarded.calls) == 2)
        guarded.gate.set()
        assert {(await each).status_code for each in (first, other)} == {200}

    with_guard(body)


def test_a_request_that_failed_or_was_cancelled_may_be_sent_again() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        for _ in range(2):
            answer = await client.post("/v1/fail/store", json={}, headers=KEY)
            assert answer.status_code == 503
        guarded.gate.clear()
        first = asyncio.create_task(client.post("/v1/search", json={}, headers=KEY))
        await until_awaited(lambda: len(guarded.calls) == 1)
        first.cancel()
        await until_awaited(lambda: guarded.in_flight.count == 0)
        guarded.gate.set()
        assert (await client.post("/v1/search", json={}, headers=KEY)).status_code == 200

    with_guard(body)


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "ü", '""'])
def test_a_bad_key_is_refused(key: str) -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = {b"Idempotency-Key": key.encode()}
        answer = await client.post("/v1/search", json={}, headers=headers)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
        assert not guarded.calls

    with_guard(body)


def test_a_key_is_not_taken_with_an_upload() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = KEY | {"Content-Type": "application/x-ndjson"}
        answer = await client.post("/v1/load", content=b"{}\n", headers=headers)
        assert answer.status_code == 400
        assert guarded.imported == 0

    with_guard(body)
