"""A real server: `salience serve` in a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from support.children import PROGRAM, end_child, start_child
from support.command_server import Fork
from support.waiting import HANG_SECONDS


class RealServer:
    """A process of `salience serve` over a store; `kill` ends it as a loss of power would.

    It is a copy of a warm process, or a `cold` one of the present interpreter.
    """

    def __init__(
        self, db: str | Path, *options: str, log: Path | None = None, cold: bool = False
    ) -> None:
        self.db, self.options = str(db), options
        self._log, self._is_cold = log, cold
        self._reserved = _reserve(0)
        self.port: int = self._reserved.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process, and wait until it is ready."""
        if self._reserved.fileno() < 0:  # it was killed
            self._reserved = _reserve(self.port)
        with (Path(os.devnull) if self._log is None else self._log).open("ab") as output:
            self.process = self._started(output.fileno())
        deadline = time.monotonic() + HANG_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                log = "" if self._log is None else self._log.read_text()
                raise AssertionError(f"the server did not start: {log}")
            time.sleep(0.05)

    def _started(self, output: int) -> Any:
        arguments = ("serve", "--db", self.db, "--port", str(self.port), *self.options)
        environment = {**os.environ, "PYTHONWARNINGS": "default"}
        if not self._is_cold:
            return Fork(arguments, environment, output)
        return start_child(PROGRAM, *arguments, stdout=output, stderr=output, env=environment)

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        """A client of its operations."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(
            base_url=f"{self.url}/v1", headers=headers, timeout=HANG_SECONDS, **options
        )

    def stop(self) -> int:
        """Tell it to stop, and wait; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_SECONDS)

    def kill(self) -> None:
        """End it and its workers at once."""
        end_child(self.process)
        self._reserved.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.stop()
        self.kill()


def free_port() -> int:
    """A port that nobody listens at."""
    with _reserve(0) as reserved:
        port: int = reserved.getsockname()[1]
        return port


def _reserve(port: int) -> socket.socket:
    """A socket that keeps a port, or any free one, from others until a server listens there."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
    reserved.bind(("127.0.0.1", port))
    return reserved


@contextmanager
def real_server(
    db: str | Path, *options: str, log: Path | None = None, cold: bool = False
) -> Iterator[RealServer]:
    """A server during a block."""
    server = RealServer(db, *options, log=log, cold=cold)
    try:
        yield server
    finally:
        server.kill()
