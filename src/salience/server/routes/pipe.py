"""A pipe: what a thread writes, an event loop reads, and neither runs far ahead of the other."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable
from typing import Any

_CHUNK_BYTES = 64 << 10
_MOST_CHUNKS = 16  # that wait to be read


class Pipe:
    """A file for a writer in a thread, and an asynchronous iterator of chunks for a reader."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0
        self._chunks: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._ready = asyncio.Event()
        self._is_complete = False
        self._is_closed = False
        self._error: BaseException | None = None

    def write(self, part: bytes) -> int:
        """Write a part; waits while the reader is far behind.

        Raises:
            BrokenPipeError: nobody reads any more.
        """
        self._parts.append(part)
        self._size += len(part)
        if self._size >= _CHUNK_BYTES:
            self._pass_on()
        return len(part)

    def _pass_on(self) -> None:
        chunk = b"".join(self._parts)
        self._parts, self._size = [], 0
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._chunks) < _MOST_CHUNKS)
            if self._is_closed:
                raise BrokenPipeError("nobody reads any more")
            if chunk:
                self._chunks.append(chunk)
        self._loop.call_soon_threadsafe(self._ready.set)

    async def filled_by(self, writing: Awaitable[Any]) -> None:
        """Await the writer; the reader gets its error."""
        try:
            await writing
            await asyncio.to_thread(self._pass_on)
        except BaseException as problem:
            self._error = problem
            if isinstance(problem, asyncio.CancelledError):
                raise
        finally:
            self._is_complete = True
            self._ready.set()

    def __aiter__(self) -> Pipe:
        return self

    async def __anext__(self) -> bytes:
        while True:
            with self._changed:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._changed.notify()
                    return chunk
                self._ready.clear()
            if self._is_complete:
                if self._error is not None and not self._is_closed:
                    raise self._error
                raise StopAsyncIteration
            await self._ready.wait()

    def close(self) -> None:
        """Stop reading; the writer is told at its next part."""
        with self._changed:
            self._is_closed = True
            self._chunks.clear()
            self._changed.notify()
