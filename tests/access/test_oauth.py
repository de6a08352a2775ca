"""Tokens are signed by real keys, which a real server publishes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from salience.access import Keyring, Principal
from salience.access.oauth import ALGORITHMS, OAuthSettings, TokenVerifier
from salience.errors import InvalidInput
from salience.server.principal import Authenticator, Denied
from support.token_issuer import AUDIENCE, ISSUER, Issuer, token_issuer


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with token_issuer() as issuer:
        yield issuer


@pytest.fixture
def verifier(issuer: Issuer) -> TokenVerifier:
    return TokenVerifier(OAuthSettings(ISSUER, AUDIENCE, issuer.url))


def test_claims_become_namespaces_and_scopes(verifier: TokenVerifier, issuer: Issuer) -> None:
    expected = Principal(
        "oauth:ana@example.com", ("ana", "team/*"), frozenset({"memories:read", "upkeep"})
    )
    assert verifier.verify(issuer.token()) == expected
    assert verifier.verify(issuer.token(issuer.ec, "ES256", "e")) == expected
    assert verifier.verify(issuer.token(issuer.ed, "EdDSA", "d")) == expected
    assert asyncio.run(verifier.averify(issuer.token())) == expected


def test_scopes_may_be_a_list(verifier: TokenVerifier, issuer: Issuer) -> None:
    principal = verifier.verify(issuer.token(scope=None, scp=["memories:write", "offline"]))
    assert isinstance(principal, Principal)
    assert principal.scopes == {"memories:write"}


def test_an_audience_may_be_one_of_several(verifier: TokenVerifier, issuer: Issuer) -> None:
    assert isinstance(verifier.verify(issuer.token(aud=["https://a.example", AUDIENCE])), Principal)


def test_tokens_that_are_refused(verifier: TokenVerifier, issuer: Issuer) -> None:
    now = datetime.now(timezone.utc)
    foreign = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    good = issuer.token()
    cases = {
        "expired": [issuer.token(exp=now - timedelta(minutes=5))],
        "unknown": [
            issuer.token(iss="https://login.example.com"),
            issuer.token(iss=None),
            issuer.token(aud="https://other.example.com"),
            issuer.token(aud=f"{AUDIENCE}/"),
            issuer.token(aud=None),
            issuer.token(exp=None),
            issuer.token(sub=None),
            issuer.token(nbf=now + timedelta(minutes=5)),
            issuer.token(kid="missing"),
            jwt.encode({}, issuer.rsa, "RS256", headers={"kid": "r", "crit": ["exp"]}),
            issuer.token(issuer.ec, "ES256", "r"),  # the key of another algorithm
        ],
        "malformed": [
            "",
            "a.b",
            "a.b.c",
            good[:-8] + "AAAAAAAA",
            issuer.token(foreign),
            jwt.encode({"sub": "ana"}, "", "none"),
            issuer.token("secret" * 8, "HS256", "o"),
            issuer.token("secret" * 8, "HS256", "r"),
            issuer.token(salience_namespaces=None),
            issuer.token(salience_namespaces=["a*"]),
            issuer.token(salience_namespaces={"ana": 1}),
            issuer.token(scope=5),
            issuer.token(sub="x" * 300),
            "x" * 20_000 + ".b.c",
            jwt.encode({}, issuer.rsa, "RS256", headers={"kid": "r", "typ": "dpop+jwt"}),
        ],
    }
    for reason, tokens in cases.items():
        for at, token in enumerate(tokens):
            assert verifier.verify(token) == reason, (reason, at)


def test_unknown_keys_do_not_ask_the_issuer_again_and_again(
    verifier: TokenVerifier, issuer: Issuer
) -> None:
    verifier.verify(issuer.token())
    before = issuer.requests
    for at in range(20):
        verifier.verify(issuer.token(kid=f"missing{at}"))
        verifier.verify(issuer.token())
    assert issuer.requests == before


def test_an_issuer_that_does_not_answer_is_logged(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    away = TokenVerifier(OAuthSettings(ISSUER, AUDIENCE, "http://127.0.0.1:9/jwks.json"))
    assert away.verify(issuer.token()) == "unknown"
    assert "the keys of https://login.example.com/ cannot be read" in caplog.text


def test_an_issuer_that_answers_nonsense_is_logged(
    issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    body, issuer.body = issuer.body, "<html>"
    try:
        verifier = TokenVerifier(OAuthSettings(ISSUER, AUDIENCE, issuer.url))
        assert verifier.verify(issuer.token()) == "unknown"
    finally:
        issuer.body = body
    assert "cannot be read" in caplog.text


def test_an_issuer_on_this_machine_is_asked_by_no_proxy(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    verifier = TokenVerifier(OAuthSettings(ISSUER, AUDIENCE, issuer.url))
    assert isinstance(verifier.verify(issuer.token()), Principal)
    away = TokenVerifier(OAuthSettings(ISSUER, AUDIENCE, "https://login.example.com/jwks.json"))
    assert away.verify(issuer.token()) == "unknown"
    assert "asked by the proxy of HTTPS_PROXY" in caplog.text


def test_wrong_settings() -> None:
    for change, field in (
        ({"issuer": ""}, "issuer"),
        ({"audience": "memory"}, "audience"),
        ({"jwks_url": "http://login.example.com/jwks"}, "jwks_url"),
        ({"jwks_url": "file:///etc/passwd"}, "jwks_url"),
        ({"algorithms": ()}, "algorithms"),
        ({"algorithms": ("RS256", "HS256")}, "algorithms"),
        ({"algorithms": ("none",)}, "algorithms"),
    ):
        settings: dict[str, Any] = {
            "issuer": ISSUER,
            "audience": AUDIENCE,
            "jwks_url": "https://login.example.com/jwks",
        }
        with pytest.raises(InvalidInput, match=f"^{field}: "):
            OAuthSettings(**{**settings, **change})
    assert not any(algorithm.startswith("HS") for algorithm in ALGORITHMS)


def test_the_metadata_of_the_resource(verifier: TokenVerifier) -> None:
    metadata = verifier.metadata()
    assert metadata["resource"] == AUDIENCE
    assert metadata["authorization_servers"] == [ISSUER]
    assert metadata["bearer_methods_supported"] == ["header"]
    assert json.loads(json.dumps(metadata)) == metadata
    assert verifier.metadata_url == (
        "https://memory.example.com/.well-known/oauth-protected-resource/v1"
    )


def test_a_server_takes_keys_and_tokens(verifier: TokenVerifier, issuer: Issuer) -> None:
    with Keyring.open("ram://") as keys:
        door = Authenticator(keys, verifier)
        created = keys.create("bo", "upkeep")

        def answer(headers: dict[str, str]) -> Principal | Denied:
            return asyncio.run(door.authenticate(headers, "127.0.0.1"))

        for credential, name in ((issuer.token(), "oauth:ana@example.com"),
                                 (created.text, created.key.id)):  # fmt: skip
            principal = answer({"authorization": f"Bearer {credential}"})
            assert isinstance(principal, Principal)
            assert principal.key_id == name
        denied = answer({"host": "localhost"})
        assert isinstance(denied, Denied)
        [(_, challenge)] = denied.problem.headers
        assert f'resource_metadata="{verifier.metadata_url}"' in challenge
