"""A real embeddings server on a local port that behaves as each test scripts it."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np

from salience.embedders import OpenAIEmbedder

Step = Callable[["Handler", dict[str, Any]], None]

DIMENSIONS = 8


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The answer of the server's "model": the same for the same text, whatever is beside it."""
    seed = int.from_bytes(text.encode("utf-8"), "little") % 2**63
    return [float(x) for x in np.random.default_rng(seed).normal(size=dimensions)]


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, dict(self.headers), body))
        step = self.server.script.pop(0) if self.server.script else embeddings()
        step(self, body)

    def reply(self, status: int, body: Any, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """`script` holds what to do with the next requests; when it is empty, answer correctly.

    It runs inside a `with` block. The embedders it made are closed with it.
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script: list[Step] = []
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self._embedders: list[OpenAIEmbedder] = []

    def embedder(self, **options: Any) -> OpenAIEmbedder:
        """An embedder that asks this server."""
        made = OpenAIEmbedder("m", **{"base_url": self.url, "backoff": 0.001, **options})
        self._embedders.append(made)
        return made

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def server_close(self) -> None:
        for made in self._embedders:
            made.close()
        super().server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def inputs(self) -> list[list[str]]:
        return [body["input"] for _, _, body in self.seen]


def embeddings(
    *, reverse: bool = False, packed: bool = False, delay: float = 0.0, dimensions: int = DIMENSIONS
) -> Step:
    def step(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(delay)
        data: list[dict[str, Any]] = []
        for index, text in enumerate(body["input"]):
            row: Any = vector(text, body.get("dimensions", dimensions))
            if packed:
                row = base64.b64encode(np.array(row, dtype="<f4").tobytes()).decode()
            data.append({"object": "embedding", "index": index, "embedding": row})
        handler.reply(200, {"object": "list", "data": data[::-1] if reverse else data})

    return step


def answer(status: int, body: Any, **headers: str) -> Step:
    return lambda handler, _: handler.reply(status, body, **headers)


def drop(handler: Handler, body: dict[str, Any]) -> None:
    """Hangs up without a word."""
    handler.close_connection = True
    handler.connection.close()
