"""An issuer of tokens: real keys, and a real server that publishes them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER, AUDIENCE = "https://login.example.com/", "https://memory.example.com/v1"


class Issuer:
    """The keys of an issuer, and how often they were asked for."""

    def __init__(self) -> None:
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.ed = ed25519.Ed25519PrivateKey.generate()
        self.body = json.dumps(
            {
                "keys": [
                    self._published(RSAAlgorithm.to_jwk(self.rsa.public_key()), "r", "RS256"),
                    self._published(ECAlgorithm.to_jwk(self.ec.public_key()), "e", "ES256"),
                    self._published(OKPAlgorithm.to_jwk(self.ed.public_key()), "d", "EdDSA"),
                    {"kty": "oct", "kid": "o", "k": "c2VjcmV0" * 8, "alg": "HS256"},
                ]
            }
        )
        self.requests = 0
        self.url = ""

    @staticmethod
    def _published(key: str, kid: str, algorithm: str) -> dict[str, Any]:
        return {**json.loads(key), "kid": kid, "alg": algorithm, "use": "sig"}

    def token(
        self, key: Any = None, algorithm: str = "RS256", kid: str = "r", **claims: Any
    ) -> str:
        now = datetime.now(timezone.utc)
        own = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "ana@example.com",
            "exp": now + timedelta(minutes=5),
            "scope": "openid memories:read upkeep",
            "salience_namespaces": ["ana", "team/*"],
            **claims,
        }
        payload = {name: value for name, value in own.items() if value is not None}
        return jwt.encode(payload, key or self.rsa, algorithm, headers={"kid": kid})


@contextmanager
def token_issuer() -> Iterator[Issuer]:
    """An issuer whose server runs during a block."""
    own = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own.requests += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(own.body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    own.url = f"http://127.0.0.1:{server.server_port}/jwks.json"
    yield own
    server.shutdown()
    server.server_close()
    thread.join()
