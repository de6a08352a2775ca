"""A server in a process of its own, the load on it from another, and the figures of both."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

FOLDER = Path(__file__).resolve().parent
_START_TIMEOUT_S = 3_600  # the others write every memory when they start
_LATENESS = "salience_event_loop_lateness_seconds"

Lateness = dict[float, float]
"""The number of heartbeats by how late they were at most, in seconds."""


@dataclass
class Server:
    """A server in a process of its own, ready to be asked."""

    command: Sequence[str]
    log: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Server:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [part.format(port=self.port) for part in self.command],
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until = time.monotonic() + _START_TIMEOUT_S
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise SystemExit(f"{' '.join(self.command)} did not start:\n{self.tail()}")
            time.sleep(0.05)
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"{' '.join(self.command)} did not end:\n{self.tail()}") from None

    def kill(self) -> None:
        """End the server and its workers as a power cut would."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def tail(self) -> str:
        """The end of what it logged."""
        return self.log.read_text("utf-8", "replace")[-3_000:]

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """The answer to one request."""
        content = None if body is None else json.dumps(body).encode()
        request = Request(f"http://127.0.0.1:{self.port}{path}", content, method=method)
        request.add_header("Content-Type", "application/json")
        with urlopen(request, timeout=60) as answer:
            return bytes(answer.read())

    def ask_json(self, path: str) -> dict[str, Any]:
        """The answer to a GET; empty if there is nothing."""
        try:
            return dict(json.loads(self.ask("GET", path)))
        except HTTPError:
            return {}

    def _is_ready(self) -> bool:
        try:
            self.ask("GET", "/ready")
        except (URLError, OSError):
            return False
        return True

    def processor_s(self) -> float:
        """The processor time that all its processes have taken."""
        return sum(map(_processor_s, [self.process.pid, *_descendants(self.process.pid)]))

    def rss_mb(self) -> float:
        """The memory of all its processes, in millions of bytes."""
        return sum(map(_rss_mb, [self.process.pid, *_descendants(self.process.pid)]))

    def loop_lateness(self) -> Lateness:
        """The delays of the heartbeats of its event loops; empty if it does not say."""
        try:
            lines = self.ask("GET", "/metrics").decode()
        except HTTPError:
            return {}
        buckets = re.findall(rf'^{_LATENESS}_bucket{{.*?le="(.+?)".*}} (\S+)$', lines, re.M)
        return {float(most): float(count) for most, count in buckets}


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from _descendants(child)


def _processor_s(pid: int) -> float:
    # The name of the program, in parentheses, may hold spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss_mb(pid: int) -> float:
    [line] = re.findall(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(line) * 1024 / 1e6


def start_load(
    server: Server, requests: Sequence[Any], connections: int, seconds: float, rate: float = 0.0
) -> subprocess.Popen[str]:
    """A process that loads a server from now on, and then writes its figures."""
    job = {
        "host": "127.0.0.1",
        "port": server.port,
        "headers": {"Accept": "application/json"},
        "connections": connections,
        "seconds": seconds,
        "rate": rate,
        "requests": requests,
    }
    process = subprocess.Popen(
        [sys.executable, str(FOLDER / "load.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    process.stdout.readline()  # it has begun
    return process


def end_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The figures of a load, once it has ended."""
    assert process.stdout is not None
    with process:
        written = process.stdout.read()
    if process.returncode:
        raise SystemExit("the load ended early")
    return dict(json.loads(written))


def percentile(values: Sequence[float], percent: int) -> float:
    """A percentile; NaN of too few values."""
    if len(values) < 2:
        return math.nan
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def figures_of(load: dict[str, Any]) -> dict[str, Any]:
    """The figures of a load for a row of the table; `own` where no request waits for another."""
    took, elapsed = load["took_ms"], load["elapsed_s"]
    own = [
        ms - said["search"]
        for ms, said in zip(took, load["server_ms"], strict=True)
        if "search" in said and load["connections"] == 1
    ]
    return {
        "connections": load["connections"],
        "requests": len(took),
        "per_s": len(took) / elapsed,
        **{f"p{percent}_ms": percentile(took, percent) for percent in (50, 95, 99)},
        "own_p50_ms": percentile(own, 50),
        "errors": load["errors"],
        "client_share": load["processor_s"] / elapsed,
    }


def loop_p99_ms(before: Lateness, after: Lateness) -> float:
    """The bound below which 99 of 100 heartbeats between two readings were late, in ms."""
    late = {most: count - before.get(most, 0.0) for most, count in after.items()}
    wanted = 0.99 * late.get(math.inf, math.nan)
    return next((1e3 * most for most in sorted(late) if late[most] >= wanted), math.nan)
