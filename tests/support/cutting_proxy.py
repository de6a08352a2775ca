"""A proxy that cuts connections once the server has done its work: the answer is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.real_server import RealServer
from support.workers import MAX_CONNECTIONS, worker_of, workers

_OF_ONE_CONNECTION = frozenset({"connection", "transfer-encoding", "content-length"})


class CuttingProxy(ThreadingHTTPServer):
    """Passes requests on; while `to_lose` is not 0 it drops the answers of those that change.

    Each connection leads to another worker than the one before, where there are several. `answered`
    has the worker of each request that may change something, and whether the answer was lost.
    """

    daemon_threads = False  # each closes its connection before the server is left

    def __init__(self, server: RealServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.to_lose = 0
        self.answered: list[tuple[int, bool]] = []
        self._upstream, self._last = server, 0
        self._several = len(workers(server)) > 1

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def connect(self) -> tuple[HTTPConnection, int]:
        """A connection to the server, and its worker; 0 for the only one."""
        for _ in range(MAX_CONNECTIONS):
            with ExitStack() as unused:
                connection = HTTPConnection("127.0.0.1", self._upstream.port, timeout=300)
                unused.callback(connection.close)
                connection.request("GET", "/health")
                answer = connection.getresponse()
                worker = 0
                if self._several:
                    worker = worker_of(self._upstream, connection.sock.getsockname()[1])
                answer.read()
                if not self._several or worker != self._last:
                    self._last = worker
                    unused.pop_all()
                    return connection, worker
        raise AssertionError("no other worker takes a connection")


class _Handler(BaseHTTPRequestHandler):
    server: CuttingProxy
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self._upstream, self._worker = self.server.connect()

    def finish(self) -> None:
        super().finish()
        self._upstream.close()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        self._upstream.request(self.command, self.path, body or None, headers)
        answer = self._upstream.getresponse()
        content = answer.read()
        is_change = "Idempotency-Key" in self.headers
        is_lost = is_change and self.server.to_lose > 0
        if is_change:
            self.server.answered.append((self._worker, is_lost))
        if is_lost:
            self.server.to_lose -= 1
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _OF_ONE_CONNECTION:
                self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = _pass_on  # noqa: N815


@contextmanager
def cutting_proxy(server: RealServer) -> Iterator[CuttingProxy]:
    """A proxy in a thread during a block."""
    with CuttingProxy(server) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
