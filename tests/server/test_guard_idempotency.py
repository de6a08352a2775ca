"""A change that is sent again with its key gets the answer of the first, and does nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salience.server.guard import idempotency
from salience.server.guard.answers import Answer, KeptAnswers, KeptRequest
from support.examples import examples
from support.guarded import Guarded, with_guard
from support.waiting import until_awaited

KEY = {"Idempotency-Key": "k1"}


def test_the_same_request_again_gets_the_same_answer_and_is_not_done_again() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        first = await client.post("/v1/search", json={"a": 1}, headers=KEY)
        again = await client.post("/v1/search", json={"a": 1}, headers=KEY)
        quoted = await client.post("/v1/search", json={"a": 1}, headers={"Idempotency-Key": '"k1"'})
        assert first.content == again.content == quoted.content
        assert first.status_code == again.status_code == 200
        assert guarded.calls == ["ana"]
        assert "idempotency-replayed" not in first.headers
        for replayed in (again, quoted):
            assert replayed.headers["idempotency-replayed"] == "true"
            assert replayed.headers["content-type"] == first.headers["content-type"]
        assert first.headers["x-request-id"] != again.headers["x-request-id"]
        names = [name for name, _ in again.headers.multi_items()]
        assert len(names) == len(set(names))

    with_guard(body)


def test_another_body_path_key_or_namespace_is_another_request() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        async def post(body: Any, path: str = "/v1/search", **headers: str) -> httpx.Response:
            return await client.post(path, json=body, headers=KEY | headers)

        await post({"a": 1})
        mismatch = await post({"a": 2})
        assert mismatch.status_code == 422
        assert mismatch.json()["code"] == "KeyReused"
        assert mismatch.json()["errors"][0]["field"] == "Idempotency-Key"
        assert (await post({"a": 1}, "/v1/search?x=1")).status_code == 422
        assert len(guarded.calls) == 1
        await post({"a": 2}, "/v1/feedback")
        await post({"a": 2}, Authorization="Bearer ben")
        await post({"a": 2}, **{"Salience-Namespace": "other"})
        assert len(guarded.calls) == 4

    with_guard(body)


def test_a_request_whose_first_is_still_running_is_told_so() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        first = asyncio.create_task(client.post("/v1/search", json={}, headers=KEY))
        await until_awaited(lambda: len(guarded.calls) == 1)
        second = await client.post("/v1/search", json={}, headers=KEY)
        assert second.status_code == 409
        assert second.json()["code"] == "RequestInProgress"
        assert second.headers["retry-after"] == "1"
        guarded.gate.set()
        assert (await first).status_code == 200
        third = await client.post("/v1/search", json={}, headers=KEY)
        assert third.headers["idempotency-replayed"] == "true"

    with_guard(body)


def test_a_request_that_failed_or_was_cancelled_may_be_sent_again() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        for _ in range(2):
            answer = await client.post("/v1/fail/store", json={}, headers=KEY)
            assert answer.status_code == 503
            assert "idempotency-replayed" not in answer.headers
        guarded.gate.clear()
        first = asyncio.create_task(client.post("/v1/search", json={}, headers=KEY))
        await until_awaited(lambda: len(guarded.calls) == 1)
        first.cancel()
        await until_awaited(lambda: guarded.in_flight.count == 0)
        guarded.gate.set()
        assert (await client.post("/v1/search", json={}, headers=KEY)).status_code == 200

    with_guard(body)


def test_a_refusal_is_not_kept_unless_it_is_of_a_version() -> None:
    """What is wrong with a request now may be right later; a version comes once."""

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        for status, times in ((204, 1), (303, 1), (400, 2), (409, 2), (412, 1), (413, 2), (500, 2)):
            for _ in range(2):
                answer = await client.post(f"/v1/fail/{status}", headers=KEY)
                assert answer.status_code == status
            assert guarded.calls.count(str(status)) == times, status

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


def test_a_key_is_not_taken_with_an_upload_and_ignored_with_a_get() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        headers = KEY | {"Content-Type": "application/x-ndjson"}
        answer = await client.post("/v1/load", content=b"{}\n", headers=headers)
        assert answer.status_code == 400
        assert guarded.imported == 0
        for _ in range(2):
            answer = await client.get("/v1/memories/x", headers=KEY)
            assert "idempotency-replayed" not in answer.headers

    with_guard(body)


def test_an_answer_too_large_to_keep_is_not_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_ANSWER_BYTES", 100)

    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        first = await client.post("/v1/search", json={"a": "x" * 200}, headers=KEY)
        assert len(first.content) > 100
        again = await client.post("/v1/search", json={"a": "x" * 200}, headers=KEY)
        assert again.status_code == 409
        assert "too large" in again.json()["detail"]
        assert len(guarded.calls) == 1

    with_guard(body)


def test_a_change_of_one_memory_counts_with_its_version() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        first = await client.patch("/v1/memories/x", json={}, headers=KEY)
        again = await client.patch("/v1/memories/x", json={}, headers=KEY)
        assert again.headers["idempotency-replayed"] == "true"
        assert (again.content, again.headers["etag"]) == (first.content, first.headers["etag"])
        other = await client.patch("/v1/memories/x", json={}, headers=KEY | {"If-Match": '"1"'})
        assert (other.status_code, other.json()["code"]) == (422, "KeyReused")

    with_guard(body)


def in_file(folder: Path, seconds: float, size: int, clock: Any) -> KeptAnswers:
    return KeptAnswers(str(folder / "answers.db"), seconds, size, clock)


def test_an_answer_is_kept_for_its_time_alone() -> None:
    async def body() -> None:
        now = 0.0
        answers = KeptAnswers(":memory:", 10, 1 << 20, lambda: now)
        assert await answers.begin("a", b"1") is None
        await answers.finish("a", Answer(200, (), b"x"))
        now = 9.9
        kept = await answers.begin("a", b"1")
        assert kept is not None
        assert kept.answer == Answer(200, (), b"x")
        now = 10.0
        assert await answers.begin("a", b"1") is None

    asyncio.run(body())


def test_processes_share_the_answers_of_a_file(tmp_path: Path) -> None:
    async def body() -> None:
        one, other = (in_file(tmp_path, 10, 1 << 20, time) for _ in range(2))
        with closing(one), closing(other):
            assert await one.begin("a", b"1") is None
            running = await other.begin("a", b"1")
            assert running == KeptRequest(b"1")
            answer = Answer(201, ((b"etag", b'"1"'),), b"{}", "/v1/memories")
            await one.finish("a", answer)
            assert await other.begin("a", b"2") == KeptRequest(b"1", answer, is_done=True)
            await other.begin("large", b"")
            await other.finish("large", None)
            assert await one.begin("large", b"") == KeptRequest(b"", None, is_done=True)
            assert await one.begin("failed", b"") is None
            await one.abandon("failed")
            assert await other.begin("failed", b"") is None

    asyncio.run(body())


def test_a_request_of_a_process_that_died_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "answers.db"
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    async def body() -> None:
        with closing(in_file(tmp_path, 10, 1 << 20, time)) as answers:
            assert await answers.begin("a", b"1") is None
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("UPDATE requests SET pid = ?", (ended.pid,))
            assert await answers.begin("a", b"2") is None
            assert await answers.begin("a", b"2") == KeptRequest(b"2")

    asyncio.run(body())


@settings(max_examples=examples(20))
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 900)), min_size=20, max_size=40))
def test_a_file_keeps_the_newest_answers_and_what_is_running(
    requests: list[tuple[bool, int]],
) -> None:
    async def body(answers: KeptAnswers) -> None:
        running = []
        for number, (ends, size) in enumerate(requests):
            assert await answers.begin(str(number), b"") is None
            if ends:
                await answers.finish(str(number), Answer(200, (), b"x" * size))
            else:
                running.append(str(number))
            with closing(answers._db.execute("SELECT total(bytes) FROM requests")) as sums:
                [(total,)] = sums.fetchall()
            assert total <= 5_000 * (1 + 1 / 32) + 2_048 + len(running) * 1_024
        for name in running:
            assert await answers.begin(name, b"") == KeptRequest(b"")
        done = [str(n) for n, (ends, _) in enumerate(requests) if ends]
        kept = [await answers.begin(name, b"") is not None for name in done]
        assert kept == sorted(kept)

    with closing(KeptAnswers(":memory:", 100, 5_000)) as answers:
        asyncio.run(body(answers))


def test_erasing_drops_the_answers_of_its_namespace_and_not_that_they_were_done(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        path = tmp_path / "answers.db"
        for answers in (
            KeptAnswers(":memory:", 60.0, 1 << 20),
            KeptAnswers(str(path), 60.0, 1 << 20),
        ):
            for namespace in ("ana", "ben"):
                assert await answers.begin(namespace, b"f") is None
                text = f"secret of {namespace}".encode()
                await answers.finish(namespace, Answer(200, (), text, namespace=namespace))
            await answers.drop_answers("ana")
            assert await answers.begin("ana", b"f") == KeptRequest(b"f", None, is_done=True)
            kept = await answers.begin("ben", b"f")
            assert kept is not None
            assert kept.answer is not None
            assert kept.answer.body == b"secret of ben"
        written = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert b"secret of ben" in written
        assert b"secret of ana" not in written

    asyncio.run(run())


def test_a_request_that_ends_after_an_erasure_leaves_no_answer_and_the_receipt_stays(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        path = tmp_path / "answers.db"
        for answers in (
            KeptAnswers(":memory:", 60.0, 1 << 20),
            KeptAnswers(str(path), 60.0, 1 << 20),
        ):
            for name in ("ana", "ben", "erasing"):
                assert await answers.begin(name, b"f") is None
            await answers.drop_answers("other", "ben")
            await answers.drop_answers("ana", "erasing")
            for name, namespace in (("ana", "ana"), ("ben", "ben"), ("erasing", "ana")):
                text = f"told by {name}".encode()
                await answers.finish(name, Answer(200, (), text, namespace=namespace))
            assert await answers.begin("ana", b"f") == KeptRequest(b"f", None, is_done=True)
            for name in ("ben", "erasing"):
                kept = await answers.begin(name, b"f")
                assert kept is not None
                assert kept.answer is not None
        written = b"".join(each.read_bytes() for each in tmp_path.iterdir())
        assert b"told by ben" in written
        assert b"told by ana" not in written

    asyncio.run(run())


def test_what_a_running_request_read_before_an_erasure_is_not_answered_later() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        guarded.gate.clear()
        slow = asyncio.create_task(client.post("/v1/feedback", json={}, headers=KEY))
        await until_awaited(lambda: len(guarded.calls) == 1)
        erased = await client.post("/v1/users/delete", json={}, headers=KEY)
        guarded.gate.set()
        assert (await slow).status_code == 200
        again = await client.post("/v1/feedback", json={}, headers=KEY)
        assert (again.status_code, len(guarded.calls)) == (409, 1)
        receipt = await client.post("/v1/users/delete", json={}, headers=KEY)
        assert receipt.content == erased.content
        assert receipt.headers["idempotency-replayed"] == "true"

    with_guard(body)
