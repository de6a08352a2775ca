from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from salience.access import LOCAL, SCOPES, Keyring, Principal
from salience.access.plans import KeyText
from salience.server.principal import Authenticator, Denied

LOOPBACK = {"host": "localhost:8765"}


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[Keyring]:
    with Keyring.open(tmp_path / "memory.db", check_seconds=0) as keys:
        yield keys


def authenticate(
    keys: Keyring, headers: dict[str, str], client: str | None = "203.0.113.9", target: str = "/v1"
) -> Principal | Denied:
    return asyncio.run(Authenticator(keys).authenticate(headers, client, target))


def test_a_key_comes_in_three_ways(keys: Keyring) -> None:
    created = keys.create("ana", "memories:read")
    for headers in (
        {"Authorization": f"Bearer {created.text}"},
        {"authorization": f"bearer   {created.text} "},
        {"AUTHORIZATION": f"Token {created.text}"},
        {"X-API-Key": created.text},
        {"x-api-key": created.text, "authorization": f"Bearer {created.text}"},
    ):
        principal = authenticate(keys, headers)
        assert principal == Principal(created.key.id, ("ana",), frozenset({"memories:read"}))


def test_every_refusal_looks_the_same_from_outside(keys: Keyring) -> None:
    now = datetime.now(timezone.utc)
    created, revoked = keys.create("ana", SCOPES), keys.create("ana", SCOPES)
    keys.revoke(revoked.key.id)
    rotated = keys.create("ana", SCOPES)
    keys.rotate(rotated.key.id)
    other = keys.create("bo", SCOPES, expires_at=now + timedelta(days=1))
    cases = {
        "missing": [{}, {"host": "localhost"}, {"cookie": created.text}],
        "malformed": [
            {"authorization": created.text},
            {"authorization": "Bearer"},
            {"authorization": f"Basic {created.text}"},
            {"authorization": f"Bearer {created.text[:-1]}"},
            {"x-api-key": ""},
            {"x-api-key": created.text, "authorization": f"Bearer {other.text}"},
            {"x-api-key": created.text, "authorization": "Basic YTpi"},
            {"authorization": "Bearer eyJhbGciOiJub25lIn0.e30."},
        ],
        "unknown": [{"x-api-key": str(KeyText.random())}],
        "expired": [{"x-api-key": rotated.text}],
        "revoked": [{"x-api-key": revoked.text}],
    }
    answers = set()
    for reason, requests in cases.items():
        for headers in requests:
            denied = authenticate(keys, headers)
            assert isinstance(denied, Denied), headers
            assert denied.reason == reason, headers
            assert denied.problem.status == 401
            answers.add((denied.problem.detail, denied.problem.headers))
            assert created.text not in repr(denied)
    [(detail, fields)] = answers
    assert "salience keys create" in detail
    assert fields == (("WWW-Authenticate", 'Bearer realm="salience"'),)


def test_the_log_may_name_the_key_that_was_refused(keys: Keyring) -> None:
    revoked = keys.create("ana", SCOPES)
    keys.revoke(revoked.key.id)
    denied = authenticate(keys, {"x-api-key": revoked.text})
    assert isinstance(denied, Denied)
    assert denied.key_id == revoked.key.id


def test_a_key_in_the_url_is_refused_with_a_remedy(keys: Keyring) -> None:
    created = keys.create("ana", SCOPES)
    headers = {"authorization": f"Bearer {created.text}"}
    quoted = created.text.replace("_", "%5F")
    for target in (
        f"/v1/memories?key={created.text}",
        f"/v1/memories/{created.text}",
        f"/v1/memories?limit=5&q=%20{quoted}",
        "/v1/memories?api_key=x",
        "/v1/memories?limit=5&access_token=x",
        "/v1/memories?X-API-Key=x",
    ):
        denied = authenticate(keys, headers, target=target)
        assert isinstance(denied, Denied), target
        assert denied.problem.status == 400
        assert "Authorization: Bearer KEY" in denied.problem.detail
        assert created.text not in denied.problem.detail
    assert isinstance(authenticate(keys, headers, target="/v1/tags?prefix=sal_&limit=5"), Principal)


def test_without_keys_this_machine_alone_is_served(keys: Keyring) -> None:
    for client in ("127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"):
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:8765"):
            assert authenticate(keys, {"Host": host}, client) == LOCAL
    refused: list[tuple[dict[str, str], str | None]] = [
        (LOOPBACK, "192.0.2.1"),
        (LOOPBACK, "::ffff:192.0.2.1"),
        (LOOPBACK, None),
        (LOOPBACK, "testclient"),
        ({"host": "memory.example.com"}, "127.0.0.1"),  # a page whose name leads here
        ({"host": "localhost.example.com"}, "127.0.0.1"),
        ({}, "127.0.0.1"),
        ({**LOOPBACK, "X-Forwarded-For": "192.0.2.1"}, "127.0.0.1"),  # a proxy on this machine
        ({**LOOPBACK, "forwarded": "for=192.0.2.1"}, "127.0.0.1"),
        ({**LOOPBACK, "x-api-key": str(KeyText.random())}, "127.0.0.1"),
    ]
    for headers, address in refused:
        assert isinstance(authenticate(keys, headers, address), Denied), (headers, address)


def test_the_first_key_closes_the_door_for_this_machine(keys: Keyring) -> None:
    assert authenticate(keys, LOOPBACK, "127.0.0.1") == LOCAL
    created = keys.create("ana", SCOPES)
    assert isinstance(authenticate(keys, LOOPBACK, "127.0.0.1"), Denied)
    keys.revoke(created.key.id)
    assert isinstance(authenticate(keys, LOOPBACK, "127.0.0.1"), Denied)
