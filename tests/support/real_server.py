"""A real server: `salience serve` in a process of its own, on a free port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_PROGRAM = "import sys; from salience.cli import main; sys.exit(main())"
_START_SECONDS = 60.0


class RealServer:
    """A process of `salience serve` over a store; `kill` ends it as a loss of power would."""

    def __init__(self, db: str | Path, *options: str, log: Path | None = None) -> None:
        self.db, self.options, self.port = str(db), options, free_port()
        self._log = log
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process, and wait until it is ready."""
        command = [sys.executable, "-c", _PROGRAM, "serve", "--db", self.db]
        output: Any = subprocess.DEVNULL if self._log is None else self._log.open("ab")
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), *self.options],
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONWARNINGS": "default"},
            start_new_session=True,  # its workers go with it
        )
        if self._log is not None:
            output.close()
        deadline = time.monotonic() + _START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                log = "" if self._log is None else self._log.read_text()
                raise AssertionError(f"the server did not start: {log}")
            time.sleep(0.05)

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    def client(self, key: str | None = None, **options: Any) -> httpx.Client:
        """A client of its operations."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=f"{self.url}/v1", headers=headers, timeout=60, **options)

    def stop(self) -> int:
        """Tell it to stop, and wait; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        """End it and its workers at once."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

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


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def real_server(db: str | Path, *options: str, log: Path | None = None) -> Iterator[RealServer]:
    """A server during a block."""
    server = RealServer(db, *options, log=log)
    try:
        yield server
    finally:
        server.kill()
