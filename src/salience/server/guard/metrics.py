"""Metrics of a server, for Prometheus; of all its workers, if `PROMETHEUS_MULTIPROC_DIR` is set.

That variable names an empty folder. It has to be set before this module is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from time import perf_counter

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

from salience.server.guard.request import method_of, route_template

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

    def loop_was_late(self, seconds: float) -> None:
        """Count a heartbeat of the event loop by how late it was."""
        self._lateness.observe(seconds)

    def degraded(self, lacks: Iterable[str]) -> None:
        """Count a search by what it went without: the `degraded` of its result."""
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
