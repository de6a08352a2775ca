"""Kept answers in the memory of one process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from salience.server.guard.answers.kept import Answer, KeptRequest


class AnswersInMemory:
    """The answers of this process, for some time and up to a number of bytes."""

    def __init__(
        self, seconds: float, max_bytes: int, clock: Callable[[], float] = monotonic
    ) -> None:
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._clock = clock
        self._requests: OrderedDict[str, tuple[float, KeptRequest]] = OrderedDict()
        self._bytes = 0

    async def begin(self, name: str, fingerprint: bytes) -> KeptRequest | None:
        self._make_room()
        if name in self._requests:
            return self._requests[name][1]
        request = KeptRequest(fingerprint)
        self._requests[name] = (self._clock() + self._seconds, request)
        self._bytes += request.bytes
        return None

    async def finish(self, name: str, answer: Answer | None) -> None:
        until, running = self._requests[name]
        if answer is not None and answer.namespace in running.erased_in:
            answer = None
        request = KeptRequest(running.fingerprint, answer, is_done=True)
        self._requests[name] = (until, request)
        self._bytes += request.bytes - running.bytes
        self._make_room()

    async def abandon(self, name: str) -> None:
        self._forget(name)

    async def drop_answers(self, namespace: str, own: str | None = None) -> None:
        for name, (until, request) in list(self._requests.items()):
            if request.answer is not None and request.answer.namespace == namespace:
                await self.finish(name, None)
            elif not request.is_done and name != own:
                marked = replace(request, erased_in=request.erased_in | {namespace})
                self._requests[name] = (until, marked)

    def _make_room(self) -> None:
        """Forget what is too old, and the oldest answers while there are too many bytes."""
        now = self._clock()
        excess = self._bytes - self._max_bytes
        old: list[str] = []
        for name, (until, request) in self._requests.items():
            if until > now and excess <= 0:
                break
            if request.is_done:
                old.append(name)
                excess -= request.bytes
        for name in old:
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._bytes -= self._requests.pop(name)[1].bytes
