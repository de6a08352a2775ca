"""Exports on their way: received from a server into a file, and sent from a file to one."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from salience.engine.transfer_api import Progress
from salience.errors import InvalidInput, StoreError
from salience.records.record import Link
from salience.remote.calls import to_wire
from salience.remote.errors import as_embedded
from salience.write.add import id_of, iterator_of
from salience.write.outcomes import Added, AddResult, Transferred
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
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
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


# Batches: the items of `add_many`, so many in a request as a server takes

MAX_ITEMS = 1_000
MAX_BYTES = 4_000_000  # of the items of a request, unless one alone has more


class Batches:
    """The batches of some items, and the outcomes of all; to be iterated over once.

    An item that cannot be sent is REJECTED without being sent; with `strict` it raises. If the
    items are one write, `is_whole`, more of them than a request takes are refused.
    """

    def __init__(self, items: Any, *, strict: bool, is_whole: bool) -> None:
        self._items, self._strict, self._is_whole = iterator_of(items), strict, is_whole
        self._outcomes: list[Added | None] = []  # None until the server tells it
        self._waiting: list[int] = []  # the places of those
        self._degraded: dict[str, None] = {}
        self._pending: list[Link] = []
        self._requests = 0
        self._is_large = False
        self._run: str | None = None

    def __iter__(self) -> Iterator[list[Any]]:
        """The batches; an empty one if there are no items, as the other arguments are checked."""
        batch, size = list[Any](), 0
        for source in self._items:
            try:
                item = to_wire("item", source)
            except InvalidInput as unsendable:
                problem = as_embedded("add_many", {"items": [source], "strict": True}, unsendable)
                if self._strict:
                    raise problem from None
                self._outcomes.append(Added(id_of(source), "REJECTED", str(problem)))
                continue
            self._waiting.append(len(self._outcomes))
            self._outcomes.append(None)
            bytes_of_item = len(json.dumps(item))
            if batch and (len(batch) >= MAX_ITEMS or size + bytes_of_item > MAX_BYTES):
                if self._is_whole:
                    remedy = f"give at most {MAX_ITEMS:,}, or an idempotency_key to each"
                    raise InvalidInput("items", "are more than one request takes", remedy)
                yield batch
                batch, size = [], 0
            batch.append(item)
            size += bytes_of_item
            self._is_large = size > MAX_BYTES  # one item alone
        if batch or not self._requests:
            yield batch

    @property
    def count(self) -> int:
        """The number of items whose outcome is known."""
        return len(self._outcomes) - len(self._waiting)

    def note(self, result: AddResult) -> None:
        """Take note of the outcomes of the batch that was sent."""
        self._requests += 1
        for place, outcome in zip(self._waiting, result.items, strict=False):
            self._outcomes[place] = outcome
        del self._waiting[: len(result)]
        self._degraded.update(dict.fromkeys(result.degraded))
        self._pending += result.pending
        self._run = result.run or self._run

    def refuse(self, batch: list[Any], problem: InvalidInput) -> None:
        """Take note that a batch was refused as a whole: one item that is too large is REJECTED.

        Raises:
            InvalidInput: the problem is another one, or wrong items are to raise.
        """
        if self._strict or not self._is_large or len(batch) != 1:
            raise problem
        problem = as_embedded("add_many", {"items": batch, "strict": True}, problem)
        self.note(AddResult((Added(id_of(batch[0]), "REJECTED", str(problem)),)))

    @property
    def may_have_settled_links(self) -> bool:
        """True if links that were pending after one request may have their target by another."""
        return self._requests > 1 and bool(self._pending)

    def result(self, pending: Iterable[Link]) -> AddResult:
        """The outcome of all items; after several requests, with the links that are pending now."""
        now = set(pending) if self.may_have_settled_links else set(self._pending)
        outcomes = tuple(outcome for outcome in self._outcomes if outcome is not None)
        links = tuple(link for link in self._pending if link in now)
        return AddResult(outcomes, tuple(self._degraded), links, self._run)
