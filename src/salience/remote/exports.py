"""Exports on their way: received from a server into a file, and sent from a file to one."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from salience.engine.lifecycle_api import Progress
from salience.errors import StoreError
from salience.write.outcomes import Transferred
from salience.write.transfer import lines
from salience.write.transfer.files import readable, written

_SENT_AT_ONCE = 1 << 16  # bytes
_OFTEN = 1_000  # memories after which progress is told


class Received:
    """An export as it comes, written to a path or an open file; whole, or not at all."""

    def __init__(self, target: Any, progress: Progress | None) -> None:
        self._written = written(target)
        self._progress = progress
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._rest = b""  # of a line that has not ended yet
        self._namespaces: list[str] = []
        self._memories = 0
        self._end: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._write = self._written.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._written.__exit__(*problem)

    def take(self, chunk: bytes) -> None:
        """Write a part of the export."""
        self._write(self._decoder.decode(chunk))
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        for line in whole:
            self._note(line)

    def _note(self, line: bytes) -> None:
        if line.startswith(b'{"memory"'):
            self._memories += 1
            if self._progress is not None and self._memories % _OFTEN == 0:
                self._progress("receiving", self._memories, self._memories)
        elif line.startswith(b'{"namespace"'):
            self._namespaces.append(lines.parsed(line)["namespace"])
        elif line.startswith(b'{"end"'):
            self._end = lines.parsed(line)["end"]

    def result(self) -> Transferred:
        """The contents of the export.

        Raises:
            StoreError: it has no end.
        """
        if not self._end or self._rest:
            raise StoreError("the export broke off before its end; ask for it again")
        counts = (self._end[name] for name in ("memories", "links", "events"))
        return Transferred(tuple(self._namespaces), *counts)


@contextmanager
def sent_lines(source: Any, progress: Progress | None) -> Iterator[Callable[[], Iterable[bytes]]]:
    """The function that gives the bytes of a path or an open file, from the beginning."""
    with readable(source) as (_, read):

        def parts() -> Iterator[bytes]:
            part, sent = bytearray(), 0
            for line in read():
                part += line
                if len(part) >= _SENT_AT_ONCE:
                    yield bytes(part)
                    sent += len(part)
                    part.clear()
                    if progress is not None:
                        progress("sending", sent, 0)
            yield bytes(part)

        yield parts


async def awaited(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The same parts for an event loop."""
    for part in parts:
        yield part
