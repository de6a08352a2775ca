"""Circuit breakers: calls to a server that is away fail at once; one a second tries it again.

The first failing calls wait together for the server, up to a limit; from then on it is away. Each
worker of a Citus cluster has a breaker of its own: the tenants of the others go on.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable

from salience.errors import InvalidInput, StoreError
from salience.lazily import regex

WAIT_VARIABLE = "SALIENCE_POSTGRES_WAIT_SECONDS"
"""The environment variable with the time that calls wait for a server that went away."""
DEFAULT_WAIT_SECONDS = 10.0
PROBE_INTERVAL_SECONDS = 1.0
_WORKER = regex(r"\bnode (\S+:\d+)")
_MAX_NAMES = 10_000  # of namespaces whose worker is known to be away

Clock = Callable[[], float]


class Breaker:
    """The state of one server: there, failing (calls wait for it), or away (calls fail at once)."""

    def __init__(self, wait_seconds: float, clock: Clock = time.monotonic) -> None:
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failing_since: float | None = None
        self._next_probe = 0.0
        self._problem = ""

    @property
    def is_failing(self) -> bool:
        """True from the first failure to the next success."""
        return self._failing_since is not None

    def admit(self) -> bool:
        """Let a call go ahead: True if it is the one that finds out whether the server is back.

        Raises:
            StoreError: the server is away, and another call has tried it within the last second.
        """
        if self._failing_since is None:
            return False
        with self._lock:
            since, now = self._failing_since, self._clock()
            if since is None or now - since < self._wait_seconds:
                return False
            if now < self._next_probe:
                raise StoreError(
                    f"{self._problem}; it has been away for {now - since:.0f} s and is tried "
                    "again every second"
                )
            self._next_probe = now + PROBE_INTERVAL_SECONDS
            return True

    def failed(self, problem: str) -> float:
        """Note a failure: the seconds that calls still wait, 0 once the server counts as away."""
        with self._lock:
            now = self._clock()
            if self._failing_since is None:
                self._failing_since = now
            self._problem = problem
            self._next_probe = now + PROBE_INTERVAL_SECONDS
            return max(0.0, self._failing_since + self._wait_seconds - now)

    def succeeded(self) -> None:
        """Note that the server answers."""
        self._failing_since = None


class Breakers:
    """The breaker of a server, and those of the workers behind it that have failed."""

    def __init__(
        self, server: str, wait_seconds: float | None = None, clock: Clock = time.monotonic
    ) -> None:
        self._name = server
        self._wait_seconds = wait_limit() if wait_seconds is None else wait_seconds
        self._clock = clock
        self.server = Breaker(self._wait_seconds, clock)
        self._workers: dict[str, Breaker] = {}
        self._by_namespace: dict[str, Breaker] = {}

    def admit(self, namespaces: Iterable[str]) -> bool:
        """Let a call on some namespaces go ahead, as `Breaker.admit` does.

        True if its connections must be renewed first.
        """
        for breaker in {self._by_namespace.get(name) for name in namespaces} - {None}:
            assert breaker is not None
            breaker.admit()  # the call itself finds out about a worker
        return self.server.admit()

    def failed(self, problem: str, namespaces: Iterable[str], *, of_worker: bool) -> float:
        """Note a failure, as `Breaker.failed` does; `of_worker` if the server itself reports it."""
        problem = f"{self._name}: {problem}"
        worker = _WORKER.search(problem) if of_worker else None
        if worker is None:
            return self.server.failed(problem)
        breaker = self._workers.setdefault(worker[1], Breaker(self._wait_seconds, self._clock))
        if len(self._by_namespace) < _MAX_NAMES:
            self._by_namespace.update(dict.fromkeys(namespaces, breaker))
        return breaker.failed(problem)

    def succeeded(self, namespaces: Iterable[str]) -> None:
        """Note that a call on some namespaces was answered."""
        if self.server.is_failing:
            self.server.succeeded()
        if not self._by_namespace:
            return
        for name in namespaces:
            if (breaker := self._by_namespace.get(name)) is not None:
                breaker.succeeded()
        there = [name for name, breaker in self._by_namespace.items() if not breaker.is_failing]
        for name in there:
            self._by_namespace.pop(name, None)


def wait_limit() -> float:
    """The seconds that calls wait for a server that went away.

    Raises:
        InvalidInput: the environment variable holds no number, or a negative one.
    """
    value = os.environ.get(WAIT_VARIABLE)
    if value is None:
        return DEFAULT_WAIT_SECONDS
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0.0 <= seconds < math.inf:
        remedy = "give a number of seconds, 0 to wait for none"
        raise InvalidInput(WAIT_VARIABLE, f"is {value!r}", remedy)
    return seconds
