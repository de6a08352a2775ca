"""Guard: what stands between a socket and the operations, each part an ASGI middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.types import ASGIApp

from salience.server.guard.in_flight import InFlight
from salience.server.guard.metrics import Metrics
from salience.server.guard.request import Headers
from salience.server.guard.settings import GuardSettings, Rate
from salience.server.problems import Problem

__all__ = ["Authenticate", "GuardSettings", "InFlight", "Metrics", "Rate", "guard"]


class Identified(Protocol):
    """Whoever asks, as far as the guard has to know: `salience.access.Principal`."""

    @property
    def key_id(self) -> str: ...


Authenticate = Callable[[Headers, tuple[str, int] | None], Awaitable[Identified | Problem]]
"""A function that says whose a request is, or refuses it by a problem (`KeyRequired`)."""


def guard(
    app: ASGIApp,
    settings: GuardSettings,
    authenticate: Authenticate,
    metrics: Metrics,
    in_flight: InFlight,
) -> ASGIApp:
    """The app behind all of the guard.

    `metrics.text()` is the body of /metrics. When the server stops, its lifespan awaits
    `in_flight.drain(seconds)`.

    Each request has in `scope["state"]`, which Starlette shows as `request.state`:

    request_id       its id, which every problem repeats as `instance`
    trace_id         the trace of its `traceparent`, or None
    principal        what `authenticate` gave, or None on a path that needs no key
    idempotency_key  the `Idempotency-Key` of a POST, or None
    counts           a dict into which an operation writes numbers for the log, as {"hits": 10}
    """
    return app
