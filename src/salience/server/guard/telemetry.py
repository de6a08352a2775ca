"""Telemetry: metrics for Prometheus, and a line in the log for each request.

The metrics are those of all workers, if `PROMETHEUS_MULTIPROC_DIR` is set. That variable names an
empty folder. It has to be set before this module is imported.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from secrets import token_hex
from time import perf_counter
from typing import Any

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salience.server.guard.request import header, method_of, route_template, state
from salience.stores.index_reader import INDEX_BUDGET

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `Metrics.text`."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_LATENESS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 1.0)
_LACKS = frozenset(("during", "exactness", "lexical", "vector"))
_CLOSED_BY_CLIENT = 499  # the usual number for an answer that nobody waits for


class Metrics:
    """The metrics of one app, in a registry of its own."""

    def __init__(self) -> None:
        self._is_multiprocess = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        self._registry = registry = CollectorRegistry()
        if not self._is_multiprocess:
            ProcessCollector(registry=registry)
        labels = ("method", "route", "status")
        self._requests = Counter(
            "salience_requests", "Requests, by status", labels, registry=registry
        )
        self._seconds = Histogram(
            "salience_request_seconds",
            "Time from a request to the end of its answer",
            labels[:2],
            buckets=_SECONDS,
            registry=registry,
        )
        self._slots = Gauge(
            "salience_operations_in_flight",
            "Operations that hold a slot",
            ("kind",),
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._queue = Gauge(
            "salience_operations_waiting",
            "Operations that wait for a slot",
            ("kind",),
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._degraded = Counter(
            "salience_degraded_searches",
            "Searches that went without something",
            ("reason",),
            registry=registry,
        )
        self._lateness = Histogram(
            "salience_event_loop_lateness_seconds",
            "Time by which a heartbeat of the event loop was late",
            buckets=_LATENESS,
            registry=registry,
        )
        self._index_bytes, self._index_limit, self._indexes_dropped = (
            Gauge(name, text, multiprocess_mode="livesum", registry=registry)
            for name, text in (
                ("salience_index_bytes", "Bytes that indexes of namespaces take in memory"),
                ("salience_index_limit_bytes", "Bytes that they may take"),
                ("salience_indexes_dropped", "Indexes that gave way to others"),
            )
        )
        self._series = lru_cache(maxsize=1_024)(self._labelled)

    def _labelled(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        return (
            self._requests.labels(method, route, status),
            self._seconds.labels(method, route),
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        requests, durations = self._series(method, route, status)
        requests.inc()
        durations.observe(seconds)
        self.indexes()

    def indexes(self) -> None:
        """Note what the indexes of this process take."""
        self._index_bytes.set(INDEX_BUDGET.nbytes)
        self._index_limit.set(INDEX_BUDGET.limit)
        self._indexes_dropped.set(INDEX_BUDGET.dropped)

    def loop_was_late(self, seconds: float) -> None:
        """Count a heartbeat of the event loop by how late it was."""
        self._lateness.observe(seconds)

    def degraded(self, lacks: Iterable[str]) -> None:
        """Count a search by what it lacked: the `degraded` of its result."""
        for reason in {lack.partition(":")[0] for lack in lacks}:
            self._degraded.labels(reason if reason in _LACKS else "other").inc()

    def slots(self, kind: str) -> Gauge:
        """The gauge of the operations of a kind that hold a slot."""
        return self._slots.labels(kind)

    def queue(self, kind: str) -> Gauge:
        """The gauge of the operations of a kind that wait for a slot."""
        return self._queue.labels(kind)

    def close(self) -> None:
        """Take the slots of this process out of the sums over all workers."""
        if self._is_multiprocess:
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]

    def text(self) -> bytes:
        """All metrics in the format of Prometheus; of all workers, if there are several."""
        self.indexes()
        registry = self._registry
        if self._is_multiprocess:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class CountAnswers:
    """Middleware that counts each answer, and the time that it took."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        status = _CLOSED_BY_CLIENT

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, counted)
        finally:
            seconds = perf_counter() - started
            self.metrics.answered(method_of(scope), route_template(scope), status, seconds)


# The id and the trace of a request, and its line in the log: JSON without any text

_log = logging.getLogger("salience.server")
_ID = re.compile(rb"[A-Za-z0-9._\-]{1,128}")
_TRACEPARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-..")


class RequestLog:
    """Middleware that gives each request an id, answers it as `X-Request-Id`, and logs the request.

    An id of the client is taken if it has at most 128 letters, digits, dots, dashes and underlines.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        id = _id(header(scope, b"x-request-id"))
        request_state = state(scope)
        request_state |= {
            "request_id": id,
            "trace_id": _trace(header(scope, b"traceparent")),
            "principal": None,
            "denied": None,
            "idempotency_key": None,
            "counts": {},
        }
        status, bytes_in, bytes_out = _CLOSED_BY_CLIENT, 0, 0

        async def counted_receive() -> Message:
            nonlocal bytes_in
            message = await receive()
            bytes_in += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status, bytes_out
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", id.encode())]
            else:
                bytes_out += len(message.get("body", b""))
            await send(message)

        try:
            await self.app(scope, counted_receive, counted_send)
        finally:
            if _log.isEnabledFor(logging.INFO):
                milliseconds = (perf_counter() - started) * 1e3
                _log.info("%s", _line(scope, status, milliseconds, bytes_in, bytes_out))


def _line(scope: Scope, status: int, milliseconds: float, bytes_in: int, bytes_out: int) -> str:
    request_state = scope["state"]
    principal, denied = request_state["principal"], request_state["denied"]
    owner = principal or denied
    line: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "request_id": request_state["request_id"],
        "trace_id": request_state["trace_id"],
        "key": None if owner is None else owner.key_id,
        "denied": None if denied is None else denied.reason,
        "method": method_of(scope),
        "route": route_template(scope),
        "status": status,
        "ms": round(milliseconds, 3),
        "bytes_in": bytes_in,
        "bytes_out": bytes_out,
        "counts": {
            name: count
            for name, count in request_state["counts"].items()
            if isinstance(count, (int, float))  # never a text
        },
    }
    return msgspec.json.encode(line).decode()


def _id(field: bytes | None) -> str:
    if field is not None and _ID.fullmatch(field):
        return field.decode()
    return token_hex(16)


def _trace(field: bytes | None) -> str | None:
    form = None if field is None else _TRACEPARENT.match(field)
    return None if form is None else form[1].decode()
