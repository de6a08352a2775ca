"""Token buckets never give more than their rate, and tell what is left."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.server.guard import Rate, entry
from salience.server.guard.entry import TokenBuckets
from support.guarded import Guarded, with_guard


@given(
    st.lists(st.floats(0, 30), min_size=1, max_size=80),
    st.integers(1, 12),
    st.integers(1, 20),
)
def test_no_time_sees_more_tokens_than_the_rate_allows(
    pauses: list[float], quota: int, window: int
) -> None:
    now = 0.0
    buckets = TokenBuckets(Rate(quota, window), clock=lambda: now)
    granted: list[float] = []
    for pause in pauses:
        now += pause
        level = buckets.take("ana")
        assert 0 <= level.remaining <= quota
        assert level.retry_seconds >= 1
        if level.is_allowed:
            granted.append(now)
    for first, start in enumerate(granted):
        for last in range(first, len(granted)):
            most = quota * (1 + (granted[last] - start) / window)
            assert last - first + 1 <= most + 1e-6


@given(st.integers(1, 50), st.integers(1, 100))
def test_whoever_waits_as_told_is_served(quota: int, window: int) -> None:
    now = 0.0
    buckets = TokenBuckets(Rate(quota, window), clock=lambda: now)
    assert [buckets.take("ana").is_allowed for _ in range(quota)] == [True] * quota
    refused = buckets.take("ana")
    assert not refused.is_allowed
    assert buckets.take("ben").is_allowed
    now += refused.retry_seconds
    assert buckets.take("ana").is_allowed


def test_the_names_that_asked_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "MAX_BUCKETS", 3)
    buckets = TokenBuckets(Rate(1, 60), clock=lambda: 0.0)
    for name in ("a", "b", "c", "a", "d"):
        buckets.take(name)
    assert len(buckets) == 3
    assert not buckets.take("a").is_allowed
    assert buckets.take("b").is_allowed


def test_each_key_has_a_rate_of_its_own_and_every_answer_tells_it() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        answers = [await client.get("/v1/memories/x") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        for answer, remaining in zip(answers, (1, 0, 0), strict=True):
            assert answer.headers["ratelimit-policy"] == '"requests";q=2;w=3600'
            assert answer.headers["ratelimit"].startswith(f'"requests";r={remaining};t=')
        assert answers[2].json()["code"] == "RateLimited"
        assert 1 <= int(answers[2].headers["retry-after"]) <= 1_800
        other = {"Authorization": "Bearer ben"}
        assert (await client.get("/v1/memories/x", headers=other)).status_code == 200
        assert (await client.get("/health")).status_code == 200

    with_guard(body, key_rate=Rate(2, 3_600))


def test_the_default_rate_is_told_and_generous() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        answer = await client.get("/v1/memories/x")
        assert answer.headers["ratelimit-policy"] == '"requests";q=60000;w=60'

    with_guard(body)


def test_wrong_keys_are_limited_by_address_and_right_ones_are_not() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        wrong = {"Authorization": "Bearer wrong"}
        statuses = [
            (await client.get("/v1/memories/x", headers=wrong)).status_code for _ in range(3)
        ]
        assert statuses == [401, 401, 429]
        assert (await client.get("/v1/memories/x")).status_code == 200
        async with guarded.client("wrong", address=("10.0.0.1", 1)) as elsewhere:
            assert (await elsewhere.get("/v1/memories/x")).status_code == 401

    with_guard(body, refusal_rate=Rate(2, 3_600))


def test_hosts_of_one_ipv6_network_are_one_address() -> None:
    async def body(guarded: Guarded, client: httpx.AsyncClient) -> None:
        statuses = []
        for address in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::ffff:10.0.0.1"):
            async with guarded.client("wrong", address=(address, 1)) as one:
                statuses.append((await one.get("/v1/memories/x")).status_code)
        assert statuses == [401, 429, 401, 401]

    with_guard(body, refusal_rate=Rate(1, 3_600))
