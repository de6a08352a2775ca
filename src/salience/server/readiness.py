"""Readiness: whether the store of a server can be read and written now, and if not, why."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from salience.errors import SalienceError
from salience.server.problems import public

_EACH_SECONDS = 1.0
_LONGEST_SECONDS = 5.0
_SILENT = "the store does not answer"
_FAILED = "the store could not do its work; the log of the server says why"
_log = logging.getLogger("salience.server")


class Readiness:
    """Asks a store at most once a second; all who want to know meanwhile share the answer."""

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self._ask = ask
        self._asked: asyncio.Task[str] | None = None
        self._at = 0.0

    async def problem(self) -> str:
        """The reason why the store cannot be used; empty if it can."""
        loop = asyncio.get_running_loop()
        asked = self._asked
        if asked is None or (asked.done() and loop.time() - self._at > _EACH_SECONDS):
            asked = self._asked = loop.create_task(self._problem())
            self._at = loop.time()
        done, _ = await asyncio.wait([asked], timeout=_LONGEST_SECONDS)
        return asked.result() if done else _SILENT

    async def _problem(self) -> str:
        try:
            await self._ask()
        except Exception as error:
            _log.error("not ready: %s: %s", type(error).__name__, error)
            return public(error) if isinstance(error, SalienceError) else _FAILED
        return ""

    def close(self) -> None:
        """Ask no more."""
        if self._asked is not None:
            self._asked.cancel()
