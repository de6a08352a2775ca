"""Transactions, trip by trip: what is said to a server, whoever says it and waits."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from salience.stores.postgres.wire.commands import (
    Abandon,
    Exchange,
    Rollback,
    Statement,
    Steps,
    T,
    Trip,
    set_local,
)

_CLEANUP_SHARE = 0.02  # share of the writes that clear away the marks of old ones
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
COMMIT = Statement("COMMIT")


def namespace_scope(namespaces: Sequence[str]) -> tuple[Statement, ...]:
    """What tells row-level security of which namespaces a transaction is."""
    names = [name.replace("\\", "\\\\").replace('"', '\\"') for name in namespaces]
    listed = ",".join(f'"{name}"' for name in names)
    return (set_local("salience.namespaces", f"{{{listed}}}"),)


def reading(steps: Steps[T], named: Sequence[Statement]) -> Exchange[T]:
    """Steps that only read: each round trip sees one state of the database."""
    results: list[Any] | None = None
    while True:
        try:
            commands = next(steps) if results is None else steps.send(results)
        except StopIteration as end:
            return end.value
        results = yield Trip(commands, first=(Statement(_BEGIN_READ), *named), last=True)


class WriteTransaction:
    """One write as one transaction, however often it has to be tried.

    Where the connection broke while it was being committed, the mark that it leaves tells whether
    it was.
    """

    def __init__(
        self,
        steps: Callable[[], Steps[Any]],
        namespaces: tuple[str, ...],
        named: Sequence[Statement],
    ) -> None:
        self._steps = steps
        self._namespaces = namespaces
        self._begin = (Statement("BEGIN"), *named)
        self._token = uuid4()
        self._committing: tuple[Any] | None = None  # the answer, once it was to be committed

    def talk(self) -> Exchange[Any]:
        """Try it, once more if it was tried before."""
        begin = self._begin
        if self._committing is not None and self._namespaces:
            if (yield from self._is_committed()):
                yield Rollback()
                [answer] = self._committing
                return answer
            begin = ()
        steps = self._steps()
        results: list[Any] | None = None
        while True:
            try:
                commands = list(next(steps) if results is None else steps.send(results))
            except StopIteration as end:
                if results is None:
                    yield Rollback()
                    return end.value
                self._committing = (end.value,)
                yield Trip([COMMIT])
                return end.value
            except Abandon as end:
                yield Rollback()
                return end.args[0]
            except BaseException:
                yield Rollback()
                raise
            if results is None:
                marks = self._marks()
                results = yield Trip([*commands, *marks], first=begin)
                results = results[: len(results) - len(marks)]
            else:
                results = yield Trip(commands)

    def _marks(self) -> list[Statement]:
        """What tells later that this transaction was committed."""
        if not self._namespaces:
            return []
        here = self._namespaces[0]
        mark = "INSERT INTO attempts (namespace, token) VALUES (%s, %s)"
        marks = [Statement(mark, (here, self._token))]
        if random.random() < _CLEANUP_SHARE:
            old = "DELETE FROM attempts WHERE namespace = %s AND at < now() - interval '1 hour'"
            marks.append(Statement(old, (here,)))
        return marks

    def _is_committed(self) -> Exchange[bool]:
        """Whether what was to be committed was; whoever still commits it is waited for."""
        here = self._namespaces[0]
        ask = [
            Statement("SELECT 1 FROM spaces WHERE namespace = %s FOR UPDATE", (here,)),
            Statement(
                "SELECT 1 FROM attempts WHERE namespace = %s AND token = %s", (here, self._token)
            ),
        ]
        *_, found = yield Trip(ask, first=self._begin)
        return bool(found)
