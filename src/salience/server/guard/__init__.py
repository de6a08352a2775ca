"""Guard: what stands between a socket and the operations, each part an ASGI middleware.

In the order that a request passes them:

RequestLog       its id, its trace, its line in the log             telemetry
ResponseHeaders  fields against browsers and caches                 request
CountAnswers     counts and times for Prometheus                    telemetry
CountInFlight    the drain of a server that stops                   request
CheckHosts       the host it names                                  entry
CheckOrigin      the web page it comes from; CORS for some          entry
AnswerFailures   errors that nothing else answered                  request
Authentication   whose it is                                        entry
RateLimit        how many a key may send                            entry
CheckBody        type, size, depth and arrival of its body          body
Idempotency      the key of a change that may be sent again         idempotency
Admission        a slot for what costs much, in fair turn           admission
TimeLimit        the end of what takes too long                     request
"""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from salience.server.guard.admission import Admission
from salience.server.guard.body import CheckBody
from salience.server.guard.entry import (
    Authenticate,
    Authentication,
    CheckHosts,
    CheckOrigin,
    CountWrites,
    RateLimit,
)
from salience.server.guard.idempotency import Idempotency
from salience.server.guard.request import (
    AnswerFailures,
    CountInFlight,
    InFlight,
    ResponseHeaders,
    TimeLimit,
)
from salience.server.guard.settings import GuardSettings, Rate
from salience.server.guard.telemetry import CountAnswers, Metrics, RequestLog

__all__ = ["Authenticate", "GuardSettings", "InFlight", "Metrics", "Rate", "guard"]

_REQUEST_FIELDS = (
    *("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Salience-Namespace"),
    "Salience-Time-Zone",
    *("X-API-Key", "X-Request-Id", "traceparent"),
    *("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID"),
)
_RESPONSE_FIELDS = (
    *("ETag", "Idempotency-Replayed", "RateLimit", "RateLimit-Policy", "Retry-After"),
    "X-Request-Id",
)


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
    principal        whose it is, or None on a path that needs no key
    idempotency_key  the `Idempotency-Key` of a change, or None
    route            its template for the log and the metrics, which the operation writes there
    counts           a dict into which an operation writes numbers for the log, as {"hits": 10}

    One that writes calls `count_write`, if that is there, which refuses it if its key has written
    too much.
    """
    guarded: ASGIApp = TimeLimit(app, settings)
    guarded = Admission(guarded, settings, metrics)
    guarded = Idempotency(guarded)
    guarded = CheckBody(guarded, settings)
    if settings.write_rate is not None:
        guarded = CountWrites(guarded, settings.write_rate)
    if settings.key_rate is not None:
        guarded = RateLimit(guarded, settings.key_rate)
    guarded = Authentication(guarded, authenticate, settings)
    guarded = AnswerFailures(guarded)
    if settings.origins:
        guarded = _cors(guarded, settings.origins)
    guarded = CheckOrigin(guarded, settings.origins, settings.public_paths)
    guarded = CheckHosts(guarded, settings.hosts)
    guarded = CountInFlight(guarded, in_flight)
    guarded = CountAnswers(guarded, metrics)
    guarded = RequestLog(ResponseHeaders(guarded))
    return _by_type(guarded, app)


def _cors(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("DELETE", "GET", "PATCH", "POST", "PUT"),
        allow_headers=_REQUEST_FIELDS,
        expose_headers=_RESPONSE_FIELDS,
    )


def _by_type(guarded: ASGIApp, app: ASGIApp) -> ASGIApp:
    """Requests to the guarded app, the lifespan to the app itself; WebSockets are refused."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await guarded(scope, receive, send)
        elif scope["type"] == "lifespan":
            await app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    return door
