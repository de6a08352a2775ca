"""Connections that are cut when they idle: uvicorn's HTTP protocol with limits of time."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
from typing import Any

import uvicorn
from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from salience.access import Keyring
from salience.errors import InvalidInput
from salience.server.guard.request import STOPPING
from salience.server.settings import ServerSettings
from salience.stores import open_store

STALL_SECONDS = 30.0
MAX_HEAD_BYTES = 65_536
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n"
ARRIVAL_SECONDS = 2.0  # for the request of a new connection to arrive when the server stops


class TimedHttpToolsProtocol(HttpToolsProtocol):
    """A connection that has to bring the whole head of a request in time, the first as the next.

    The time is uvicorn's `timeout_keep_alive`, which by itself does not hold for a first request or
    for a head that arrives byte by byte. A client that does not read its answer for `STALL_SECONDS`
    is cut off as well, and so is one whose head has more than `MAX_HEAD_BYTES`. Pass the class to
    uvicorn as `http=`.

    When the server stops, a connection that has just been made is not closed under the request that
    its client is about to send: that is answered, and then the connection is closed.
    """

    _is_stopping = False
    _head: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    _head_bytes: int | None = None  # that came since a head began which has not ended
    _field_bytes = 0  # of the fields of the head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse_head()

    def on_message_begin(self) -> None:
        self._head_bytes = self._field_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_bytes is None:
            return  # a trailer, which comes after the checks of the head
        self._field_bytes += len(name) + len(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.url) + self._field_bytes > MAX_HEAD_BYTES:  # it came with other data
            self._refuse_head()
            raise HttpParserError("the head is too large")
        self._head_bytes = None
        _cancel(self._head)
        super().on_headers_complete()
        if self._is_stopping:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        is_idle = not self.pipeline
        super().on_response_complete()
        if is_idle and not self.transport.is_closing():
            self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self.loop.call_later(STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        _cancel(self._stall)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._head)
        _cancel(self._stall)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection after the request that is under way, or about to be.

        A request that only waits for something to happen is told.
        """
        self._is_stopping = True
        if self.cycle is None:
            _cancel(self._head)
            self._head = self.loop.call_later(ARRIVAL_SECONDS, self.transport.close)
        else:
            self.cycle.scope.setdefault("state", {})[STOPPING] = True
            super().shutdown()

    def _refuse_head(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()

    def _await_head(self) -> None:
        _cancel(self._head)
        self._head = self.loop.call_later(self.timeout_keep_alive, self.transport.close)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


# The processes of a server: uvicorn with httptools and uvloop, one worker or several

IDLE_SECONDS = 15  # for the head of a request to arrive
GRACE_SECONDS = 30  # that requests in flight have when the server is told to stop
START_SECONDS = 60  # for a worker to get ready, or it is given up
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the folder where workers share their metrics
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "lines": {"format": "%(message)s"},
        "notes": {"format": "%(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {
        "lines": {"class": "logging.StreamHandler", "formatter": "lines"},
        "notes": {"class": "logging.StreamHandler", "formatter": "notes"},
    },
    "loggers": {
        "salience.server": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        "salience": {"handlers": ["notes"], "level": "WARNING"},
        "uvicorn": {"handlers": ["notes"], "level": "WARNING"},
    },
}


def serve(settings: ServerSettings) -> None:
    """Serve until the process is told to stop; then answer what is in flight, and write all."""
    os.environ.update(settings.to_environment())
    signal.signal(signal.SIGTERM, _leave)
    with tempfile.TemporaryDirectory(prefix="salience-metrics-") as folder:
        if settings.workers > 1:
            os.environ.setdefault(MULTIPROCESS_VARIABLE, folder)
        uvicorn.run(
            "salience.server.app:create_app",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            http=TimedHttpToolsProtocol,
            ws="none",
            timeout_keep_alive=IDLE_SECONDS,
            loop="uvloop" if sys.platform != "win32" else "asyncio",
            lifespan="on",
            log_config=_LOGGING,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_worker_healthcheck=START_SECONDS,
        )


def free_port(host: str) -> int:
    """A port of a host at which nobody listens now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as probe:
        return int(probe.getsockname()[1])


def _leave(number: int, frame: object) -> None:
    """End the process well when uvicorn, which has stopped, passes the signal on."""
    sys.exit(0)


def check_address(settings: ServerSettings) -> None:
    """Refuse to serve other machines from a store without keys.

    Raises:
        InvalidInput: it listens beyond loopback, and there is no key.
    """
    if settings.is_loopback or settings.oauth is not None:
        return
    store = open_store(settings.db)
    try:
        with Keyring(store) as keyring:
            has_key = keyring.any_key()
    finally:
        store.close()
    if not has_key:
        raise InvalidInput(
            "host",
            f"{settings.host} is open to other machines, and the store has no key",
            "make one by `salience keys create`, or listen at 127.0.0.1",
        )
