"""Accesses that wait to be written, for half a second at most, together.

What is read meanwhile is overlaid with what waits (`salience.stores.access_queue.overlay`), so that
an access shows at once and no search waits for a write.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from salience.errors import StoreError
from salience.stores.access_queue import Batch, Use, soon
from salience.stores.postgres.wire.connection import Database
from salience.stores.postgres.write import event_log


class Waiting:
    """The accesses of one process that may not be in the database yet, by namespace."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: dict[str, Batch] = {}
        self._writing: dict[str, Batch] = {}
        self._changed = threading.Condition()
        self._timer: threading.Timer | None = None

    def add(self, namespace: str, use: Use) -> None:
        """Count accesses, soon."""
        with self._changed:
            self._pending.setdefault(namespace, Batch()).uses.append(use)
            if self._timer is None:
                self._timer = soon(self._later)
            waits = self._timer is not None
        if not waits:
            self.flush()

    def of(self, namespace: str) -> tuple[Batch, ...]:
        """What may not be written yet; to be taken before what it is laid over is read."""
        with self._changed:
            both = (self._writing.get(namespace), self._pending.get(namespace))
        return tuple(batch for batch in both if batch is not None)

    def any(self) -> bool:
        """Whether something waits or is being written."""
        return bool(self._pending or self._writing)

    def flush(self, about: Collection[str] | None = None) -> None:
        """Write what waits, or of a cluster what is about some namespaces.

        What could not be written waits on. In a cluster each namespace is written by itself, so
        that none waits for the worker of another.
        """
        if not self._database.distributed:
            self._write(None)
            return
        problem: StoreError | None = None
        with self._changed:
            names = self._pending.keys() | self._writing.keys()
        for name in sorted(names if about is None else names & set(about)):
            try:
                self._write({name})
            except StoreError as each:
                problem = each
        if problem is not None:
            raise problem

    def _later(self) -> None:
        with self._changed:
            self._timer = None
        try:
            self.flush()
        except StoreError:  # they wait on, and the next flush, which somebody calls, tells why
            return

    def _write(self, about: set[str] | None) -> None:
        taken = self._take(about)
        try:
            if taken:
                self._database.write(lambda: event_log.write_accesses(taken), taken)
        except BaseException:
            with self._changed:
                for name, batch in taken.items():
                    self._again(name, batch)
            raise
        finally:
            with self._changed:
                for name in taken:
                    self._writing.pop(name, None)
                self._changed.notify_all()

    def _again(self, name: str, batch: Batch) -> None:
        """Let what could not be written wait on, before what came after it."""
        later = self._pending.get(name, Batch())
        self._pending[name] = Batch([*batch.uses, *later.uses])

    def _take(self, about: set[str] | None) -> Mapping[str, Batch]:
        """What waits of some namespaces, as soon as nobody else is writing it."""
        with self._changed:
            self._changed.wait_for(
                lambda: not (self._writing if about is None else self._writing.keys() & about)
            )
            names = list(self._pending) if about is None else self._pending.keys() & about
            taken = {name: self._pending.pop(name) for name in names}
            self._writing.update(taken)
            return taken
