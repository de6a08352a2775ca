"""Retries: which requests are sent again after a failure, and after how long."""

from __future__ import annotations

import random

from salience.errors import SalienceError, ServerBusy, StoreError
from salience.remote.calls import Request

MAX_TRIES = 4
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 5.0
MAX_RETRY_AFTER_SECONDS = 30.0  # that a server may ask to wait; for longer its refusal is raised
_UNTOUCHED = frozenset({"RateLimited", "Busy", "Stopping"})
"""The codes of refusals before anything was done."""
_PASSING = frozenset({"TimeLimit", "RequestInProgress"})
_PASSING_STATUSES = frozenset({502, 503, 504})  # of a proxy whose server is away for a moment


class Tries:
    """The tries of one request.

    Sent again is what never reached a server, and what a server refused because it was busy. Where
    an answer was lost, only a request is sent again that has the effect of once: one that reads, or
    one with an Idempotency-Key.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._count = 0
        self._has_effect_of_once = request.repeatable or "Idempotency-Key" in request.headers

    def pause_after_failure(self, error: StoreError, was_sent: bool) -> float:
        """The seconds until the next try, after no answer came; raises the error if there is none.

        `was_sent` is False where the server cannot have got the request.
        """
        return self._pause(error, 0.0, not was_sent or self._has_effect_of_once)

    def pause_after_refusal(self, error: SalienceError, status: int, code: str) -> float:
        """The seconds until the next try, after an answer that tells of an error, or raise it.

        `code` is that of the problem, empty where a proxy answered.
        """
        is_passing = code in _PASSING or (not code and status in _PASSING_STATUSES)
        may_repeat = code in _UNTOUCHED or (is_passing and self._has_effect_of_once)
        least = error.retry_after if isinstance(error, ServerBusy) else 0.0
        return self._pause(error, least, may_repeat)

    def _pause(self, error: SalienceError, least: float, may_repeat: bool) -> float:
        self._count += 1
        if not may_repeat or self._count >= MAX_TRIES or least > MAX_RETRY_AFTER_SECONDS:
            raise error
        backoff = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self._count - 1))
        return max(least, backoff * random.uniform(0.5, 1.0))
