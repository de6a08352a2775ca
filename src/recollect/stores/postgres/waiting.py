"""Accesses that wait to be written, for half a second at most, together."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping

from recollect.errors import StoreError
from recollect.stores.postgres import happening
from recollect.stores.postgres.database import Database
from recollect.stores.postgres.happening import Use

_DELAY = 0.5  # seconds from the first counted access to the write


class Waiting:
    """The accesses of one process that are not yet in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._uses: dict[str, list[Use]] = {}
        self._writing: set[str] = set()
        self._changed = threading.Condition()
        self._timer: threading.Timer | None = None

    def add(self, namespace: str, uses: Iterable[Use]) -> None:
        """Count accesses, soon."""
        with self._changed:
            self._uses.setdefault(namespace, []).extend(uses)
            if self._timer is None:
                self._timer = threading.Timer(_DELAY, self._later)
                self._timer.daemon = True
                self._timer.start()

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
            names = self._uses.keys() | self._writing
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
                self._database.write(lambda: happening.touch(taken), taken)
        except BaseException:
            with self._changed:
                for name, uses in taken.items():
                    self._uses[name] = [*uses, *self._uses.get(name, ())]
            raise
        finally:
            with self._changed:
                self._writing -= taken.keys()
                self._changed.notify_all()

    def _take(self, about: set[str] | None) -> Mapping[str, list[Use]]:
        """What waits of some namespaces, as soon as nobody else is writing it."""
        with self._changed:
            self._changed.wait_for(
                lambda: not (self._writing if about is None else self._writing & about)
            )
            names = list(self._uses) if about is None else [n for n in about if n in self._uses]
            self._writing.update(names)
            return {name: self._uses.pop(name) for name in names}
