"""A load generator: HTTP requests over connections, each with one request under way at a time.

It reads a job as JSON from stdin. It writes a line when it begins, and in the end as JSON how long
every request took. It runs in a process of its own and does nothing but send and count, so that the
server has the machine.

    host, port, headers    the address, and what every request says besides
    connections            how many; all are open before the clock starts
    seconds                until no more requests are sent
    rate                   requests a second over all connections, if not as many as there can be
    requests               [method, path, body or null], sent in this order, again from the first
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from typing import Any, cast

import httptools
import uvloop

_PATIENCE_S = 30.0  # for the last answers
_CLOCK = time.perf_counter


class Load:
    """The requests of a job, and what became of them."""

    def __init__(self, job: dict[str, Any]) -> None:
        head = "".join(f"{name}: {value}\r\n" for name, value in job["headers"].items())
        self.messages = [
            message(f"{job['host']}:{job['port']}", head, *request) for request in job["requests"]
        ]
        self.numbers = cycle(range(len(self.messages)))
        self.interval = job["connections"] / job["rate"] if job.get("rate") else 0.0
        self.began = self.ends = 0.0
        self.open = job["connections"]
        self.is_done = asyncio.Event()
        self.took_ms: list[float] = []
        self.server_ms: list[dict[str, float]] = []  # what the server says of it
        self.errors: Counter[str] = Counter()
        self.accepted: list[int] = []  # numbers of requests
        self.failure: BaseException | None = None

    def fail(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End the load because of an error that is not the server's."""
        self.failure = context.get("exception") or RuntimeError(context["message"])
        self.is_done.set()

    def lose(self) -> None:
        """Note that a connection is gone; the load ends with the last."""
        self.open -= 1
        if not self.open:
            self.is_done.set()


class Connection(asyncio.Protocol):
    """One connection, on which one request is under way at a time."""

    transport: asyncio.Transport
    parser: httptools.HttpResponseParser

    def __init__(self, load: Load) -> None:
        self.load = load
        self.number: int | None = None  # of the request under way
        self.sent = self.due = 0.0
        self.timing = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class

    def send(self) -> None:
        """Send the next request."""
        load = self.load
        self.parser = httptools.HttpResponseParser(self)
        self.timing = b""
        self.number = next(load.numbers)
        self.sent = _CLOCK()
        self.transport.write(load.messages[self.number])

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the time that the server says it took."""
        if name.lower() == b"server-timing":
            self.timing = value

    def on_message_complete(self) -> None:
        """Count an answer and go on."""
        load, now = self.load, _CLOCK()
        assert self.number is not None
        status = self.parser.get_status_code()
        if status < 300:
            load.took_ms.append((now - self.sent) * 1e3)
            load.server_ms.append(durations(self.timing.decode("latin-1")))
            load.accepted.append(self.number)
        else:
            load.errors[str(status)] += 1
        self.number = None
        if not self.parser.should_keep_alive():
            load.errors["closed"] += 1
            self.transport.close()
        elif now >= load.ends:
            self.transport.close()
        elif load.interval:
            self.due = max(self.due + load.interval, now)
            asyncio.get_running_loop().call_later(self.due - now, self.send)
        else:
            self.send()

    def connection_lost(self, error: Exception | None) -> None:
        if self.number is not None:
            self.load.errors["lost" if error is None else type(error).__name__] += 1
        self.load.lose()


def message(host: str, head: str, method: str, path: str, body: Any) -> bytes:
    """The bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    typed = "" if body is None else "Content-Type: application/json\r\n"
    lines = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{head}{typed}"
    return f"{lines}Content-Length: {len(content)}\r\n\r\n".encode() + content


def durations(header: str) -> dict[str, float]:
    """Milliseconds by name, of a header Server-Timing: `rank;dur=2.1, total;dur=2.5`."""
    figures = {}
    for entry in filter(None, header.split(",")):
        name, *parameters = (part.strip() for part in entry.split(";"))
        for parameter in parameters:
            if parameter.startswith("dur="):
                figures[name] = float(parameter.removeprefix("dur="))
    return figures


async def run(job: dict[str, Any]) -> dict[str, Any]:
    """Send the requests of a job; the figures."""
    loop, load = asyncio.get_running_loop(), Load(job)
    loop.set_exception_handler(load.fail)
    connect: Callable[[], Connection] = lambda: Connection(load)  # noqa: E731
    opened = [
        await loop.create_connection(connect, job["host"], job["port"])
        for _ in range(job["connections"])
    ]
    print("begun", flush=True)
    processor = time.process_time()
    load.began = _CLOCK()
    load.ends = load.began + job["seconds"]
    for place, (_, connection) in enumerate(opened):
        connection.due = load.began + load.interval * place / len(opened)
        loop.call_later(connection.due - load.began, connection.send)
    try:
        await asyncio.wait_for(load.is_done.wait(), job["seconds"] + _PATIENCE_S)
    except TimeoutError:
        load.errors["unanswered"] += load.open
    if load.failure is not None:
        raise load.failure
    elapsed = _CLOCK() - load.began
    return {
        "connections": job["connections"],
        "elapsed_s": elapsed,
        "processor_s": time.process_time() - processor,
        "took_ms": load.took_ms,
        "server_ms": load.server_ms,
        "accepted": load.accepted,
        "errors": dict(load.errors),
    }


if __name__ == "__main__":
    json.dump(uvloop.run(run(json.load(sys.stdin))), sys.stdout)
