"""The OpenAI protocol against a local server that fails in every way."""

from __future__ import annotations

import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from salience.embedders import OpenAIEmbedder
from salience.embedders._http import MAX_WAIT_SECONDS, Retries
from salience.errors import EmbedderError
from support.scripted_server import DIMENSIONS, Server, answer, drop, embeddings

pytest.importorskip("httpx", reason="the extra 'openai' is not installed")

KEY = "sk-secret-0123456789"


@pytest.mark.parametrize(
    "bad",
    [
        answer(500, {"error": {"message": "oops"}}),
        answer(503, b"<html>"),
        answer(408, {}),
        answer(429, {"error": {"message": "slow down"}}),
        drop,
    ],
)
def test_failures_that_may_pass_are_tried_again(server: Server, bad: Any) -> None:
    server.script = [bad, bad]
    assert server.embedder().embed(["a"]).shape == (1, DIMENSIONS)
    assert len(server.seen) == 3


def test_lasting_failures_end_with_the_message_of_the_server(server: Server) -> None:
    server.script = [answer(500, {"error": {"message": "disk on fire"}})] * 9
    with pytest.raises(EmbedderError, match="gave up after 3 tries; status 500: disk on fire"):
        server.embedder(max_retries=2).embed(["a"])
    assert len(server.seen) == 3


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited before each further try; nothing waits for real."""
    seconds: list[float] = []
    monkeypatch.setattr(
        "salience.embedders._http.time",
        SimpleNamespace(sleep=seconds.append, monotonic=time.monotonic),
    )
    return seconds


def test_retry_after_is_honoured(server: Server, waits: list[float]) -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.script = [answer(429, {}, Retry_After="7.3"), answer(503, {}, Retry_After=at)]
    server.embedder().embed(["a"])
    first, second = waits
    assert first == 7.3
    assert 1.0 < second <= 30.0


def test_a_retry_after_that_is_not_a_time_is_ignored(server: Server, waits: list[float]) -> None:
    server.script = [answer(429, {}, Retry_After=text) for text in ("soon", "-5", "nan", "0")]
    server.embedder(backoff=0.001).embed(["a"])
    assert len(waits) == 4
    assert all(seconds <= 0.001 * 2**k for k, seconds in enumerate(waits))


def test_a_server_that_asks_for_too_long_a_wait_is_given_up(server: Server) -> None:
    server.script = [answer(429, {}, Retry_After=str(MAX_WAIT_SECONDS + 1))]
    with pytest.raises(EmbedderError, match="asks to wait 61 s"):
        server.embedder().embed(["a"])


def test_a_used_up_quota_is_not_tried_again(server: Server) -> None:
    error = {"message": "You exceeded your quota", "code": "insufficient_quota"}
    server.script = [answer(429, {"error": error})]
    with pytest.raises(EmbedderError, match="exceeded your quota"):
        server.embedder().embed(["a"])
    assert len(server.seen) == 1


def test_waits_double_with_jitter_up_to_a_minute() -> None:
    retries = Retries(9, 0.5)
    for k in range(12):
        full = min(MAX_WAIT_SECONDS, 0.5 * 2**k)
        waits = [retries.wait_seconds(k, 0.0) for _ in range(50)]
        assert full / 2 <= min(waits) < max(waits) <= full
    assert retries.wait_seconds(0, 7.0) == 7.0


def test_a_slow_answer_times_out_and_is_tried_again(server: Server) -> None:
    server.script = [embeddings(delay=3.0)]
    assert server.embedder(timeout=1.0).embed(["a"]).any()
    assert len(server.seen) == 2


def test_no_answer_in_time_is_an_error(server: Server) -> None:
    server.script = [embeddings(delay=2.0)] * 2
    with pytest.raises(EmbedderError, match="ReadTimeout"):
        server.embedder(timeout=0.1, max_retries=1).embed(["a"])


def test_a_port_without_a_server_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            OpenAIEmbedder("m", base_url=url, backoff=0.001, max_retries=1) as client,
            pytest.raises(EmbedderError, match="gave up after 2 tries; ConnectError"),
        ):
            client.embed(["a"])


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        (400, {"detail": f"bad {KEY}"}),
        (404, f"no such model {KEY}".encode()),
        (301, b""),
    ],
)
def test_a_refusal_is_raised_at_once_without_the_key(
    server: Server, status: int, body: object
) -> None:
    server.script = [answer(status, body)]
    with pytest.raises(EmbedderError, match=f"status {status}") as caught:
        server.embedder(api_key=KEY).embed(["a"])
    assert len(server.seen) == 1
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def one(embedding: object, **more: object) -> dict[str, object]:
    return {"data": [{"index": 0, "embedding": embedding, **more}]}


@pytest.mark.parametrize(
    "body",
    [
        b"<html>not json",
        b"\xff\xfe",
        b"[1, 2]",
        b"null",
        {"data": None},
        {"data": []},
        {"data": ["row"]},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": [1.0]}] * 2},
        one([1.0], index=1),
        one([]),
        one(None),
        one(1.0),
        one([[1.0]]),
        one([1.0, None]),
        one(["x"]),
        one("not base64!"),
        one("AAAA"),
        one([1.0, float("nan")]),
        one([1.0, float("inf")]),
        one([10**400]),
    ],
)
def test_an_answer_that_is_not_rows_is_an_embedder_error(server: Server, body: object) -> None:
    server.script = [answer(200, body)]
    with pytest.raises(EmbedderError):
        server.embedder().embed(["a"])
    assert len(server.seen) == 1


def test_rows_of_different_lengths_are_an_error(server: Server) -> None:
    data = [{"index": k, "embedding": [1.0] * (k + 1)} for k in range(2)]
    server.script = [answer(200, {"data": data})]
    with pytest.raises(EmbedderError, match="different lengths"):
        server.embedder().embed(["a", "b"])


def test_a_copy_of_the_process_has_connections_of_its_own(server: Server) -> None:
    embedder = server.embedder()
    embedder.embed(["a"])
    poster = embedder._poster
    of_parent = poster._client
    poster.after_fork()
    assert embedder.embed(["b"]).shape == (1, DIMENSIONS)
    assert poster._client is not of_parent
    assert not of_parent.is_closed  # the parent goes on with it
    of_parent.close()
