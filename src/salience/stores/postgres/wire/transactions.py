"""Transactions: the statements that begin and end them, and marks that tell of a commit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from salience.records.tombstones import name_hash
from salience.stores.postgres.wire.commands import Statement, set_local

_CLEANUP_SHARE = 0.02  # of the writes clear away the marks of old ones
BEGIN = Statement("BEGIN")
BEGIN_READ = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
COMMIT = Statement("COMMIT")


def namespace_scope(namespaces: Sequence[str]) -> tuple[Statement, ...]:
    """Name the namespaces of a transaction to row-level security, and those of their tombstones."""
    of_tombstones = map(name_hash, namespaces)
    names = [
        name.replace("\\", "\\\\").replace('"', '\\"') for name in (*namespaces, *of_tombstones)
    ]
    listed = ",".join(f'"{name}"' for name in names)
    return (set_local("salience.namespaces", f"{{{listed}}}"),)


class ReadTransaction:
    """One read: each of its round trips is a transaction, which sees one state of the database."""

    def __init__(self, scope: Sequence[Statement]) -> None:
        self.begin = (BEGIN_READ, *scope)


class WriteTransaction:
    """One write as one transaction, however often it has to be tried.

    If the connection breaks while it is being committed, the mark that it leaves in the database
    tells whether it was.
    """

    def __init__(self, namespaces: tuple[str, ...], scope: Sequence[Statement]) -> None:
        self.begin = (BEGIN, *scope)
        self._namespaces = namespaces
        self._token = uuid4()
        self._answer: tuple[Any] | None = None

    @property
    def may_be_committed(self) -> bool:
        """True if an attempt before got as far as to its commit."""
        return self._answer is not None and bool(self._namespaces)

    @property
    def answer(self) -> Any:
        """The answer of the attempt that was to be committed."""
        assert self._answer is not None
        return self._answer[0]

    @answer.setter
    def answer(self, value: Any) -> None:
        self._answer = (value,)

    def marks(self) -> list[Statement]:
        """Leave the mark of this transaction; now and then, clear away old ones."""
        if not self._namespaces:
            return []
        namespace = self._namespaces[0]
        # Of a namespace that was erased meanwhile nothing is written, not even its name.
        mark = (
            "INSERT INTO attempts (namespace, token) SELECT namespace, %s::uuid FROM spaces "
            "WHERE namespace = %s"
        )
        marks = [Statement(mark, (self._token, namespace))]
        if random.random() < _CLEANUP_SHARE:
            old = "DELETE FROM attempts WHERE namespace = %s AND at < now() - interval '1 hour'"
            marks.append(Statement(old, (namespace,)))
        return marks

    def select_mark(self) -> list[Statement]:
        """Read the mark, after any transaction that still commits it."""
        namespace = self._namespaces[0]
        return [
            Statement("SELECT 1 FROM spaces WHERE namespace = %s FOR UPDATE", (namespace,)),
            Statement(
                "SELECT 1 FROM attempts WHERE namespace = %s AND token = %s",
                (namespace, self._token),
            ),
        ]
