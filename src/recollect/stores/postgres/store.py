"""The store on PostgreSQL: for many processes, and for more than fits into one's memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from psycopg.errors import NumericValueOutOfRange

from recollect import ops
from recollect.errors import StoreClosed, StoreError
from recollect.stores import codec
from recollect.stores.postgres import changing, happening, writing
from recollect.stores.postgres.answers import Answers
from recollect.stores.postgres.database import Database, Statement, Steps
from recollect.stores.postgres.happening import Use
from recollect.stores.postgres.schema import check
from recollect.stores.postgres.sight import Numbers, Sight, together
from recollect.stores.postgres.spaces import Spaces
from recollect.stores.postgres.waiting import Waiting

_BY_ROW = (
    ops.Score, ops.Matched, ops.Mentions, ops.Fetch, ops.Read, ops.Texts, ops.Vectors, ops.Linked,
    ops.Beside, ops.Touch,
)  # fmt: skip


class PostgresStore:
    """A store in the database of an address; its operations may be called from many threads."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        check(self.database)
        self.database.open()
        self._numbers = Numbers()
        self._spaces = Spaces()
        self._sights = threading.local()
        self._closed = False
        self._waiting = Waiting(self.database)

    def batch(self, batch: Sequence[ops.Op]) -> list[Any]:
        """Answer every operation, in order; what only reads goes into common round trips."""
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        if not all(isinstance(op, _BY_ROW) for op in batch):
            self._sights.sight = Sight()
        answers: list[Any] = []
        at = 0
        while at < len(batch):
            end = at
            while end < len(batch) and type(batch[end]) in (*self._READS, ops.Search):
                end += 1
            if end > at:
                answers += self._read(batch[at:end])
                at = end
            else:
                answers.append(self._write(batch[at]))
                at += 1
        return answers

    def embedder(self) -> str | None:
        """The identity of the embedder that the stored vectors came from."""
        [found] = self.database.read(
            lambda: _one(Statement("SELECT value FROM meta WHERE key = 'embedder'"))
        )
        return found[0][0] if found else None

    def close(self) -> None:
        """Write what waits and close every connection."""
        if not self._closed:
            try:
                self.flush()
            finally:
                self._closed = True
                self.database.close()

    # Reading

    def _read(self, batch: Sequence[ops.Op]) -> list[Any]:
        namespaces = self._namespaces(batch)
        self._waiting.flush(namespaces)  # what was counted shows
        sight = getattr(self._sights, "sight", None) or Sight()
        self._sights.sight = sight
        answers = Answers(self._numbers, self._spaces, sight, self.database.distributed)

        def steps() -> Steps[list[Any]]:
            routes = [op for op in batch if isinstance(op, ops.Search)]
            others = [op for op in batch if not isinstance(op, ops.Search)]
            parts = [self._READS[type(op)](answers, op) for op in others]
            rankings, *rest = yield from together([answers.searches(routes), *parts])
            found, left = iter(rankings), iter(rest)
            return [next(found if isinstance(op, ops.Search) else left) for op in batch]

        try:
            found = self.database.read(steps, namespaces)
        except StoreError as problem:
            beyond = isinstance(problem.__cause__, NumericValueOutOfRange)
            if beyond and all(isinstance(op, ops.Best) for op in batch):
                return [None] * len(batch)  # what is infinite here is an error there
            raise
        self._spaces.learn(sight.known.values())
        return found

    def _namespaces(self, batch: Sequence[ops.Op]) -> set[str]:
        """The namespaces that operations are about."""
        found: set[str] = set()
        for op in batch:
            found.update(getattr(op, "namespaces", ()))
            query = getattr(op, "query", None)
            if query is not None:
                found.update(query.namespaces)
            namespace = getattr(op, "namespace", None)
            if namespace is not None:
                found.add(namespace)
            rows = getattr(op, "rows", None)
            if isinstance(rows, np.ndarray):
                found.update(name for name, _, _ in self._numbers.parts(rows))
        return found

    # Writing

    def _write(self, op: ops.Op) -> Any:
        answer = self._WRITES.get(type(op))
        if answer is None:
            raise TypeError(f"a store does not answer {type(op).__name__}")
        return answer(self, op)

    def _put(self, op: ops.Put) -> tuple[str, ...]:
        prepared = writing.prepared(op.drafts)
        namespaces = writing.namespaces_of(op)
        self._waiting.flush(namespaces)
        refused = self.database.write(lambda: writing.put(op, prepared), namespaces)
        self._spaces.written(namespaces)
        return refused

    def _log(self, op: ops.Log) -> tuple[str, ...]:
        self._waiting.flush((op.namespace,))
        return self.database.write(lambda: happening.log(op), (op.namespace,))

    def _mend(self, op: ops.Mend) -> None:
        self._waiting.flush((op.namespace,))
        self.database.write(lambda: happening.mend(op), (op.namespace,))

    def _note(self, op: ops.Note) -> bool:
        return self.database.write(lambda: happening.note(op), (op.namespace,))

    def _delete(self, op: ops.Delete) -> int:
        self._waiting.flush((op.namespace,))
        gone = self.database.write(
            lambda: changing.delete(op.namespace, op.ids, op.where), (op.namespace,)
        )
        self._spaces.written((op.namespace,))
        return gone

    def _put_vectors(self, op: ops.PutVectors) -> None:
        for namespace, rows, places in self._numbers.parts(op.rows):
            if namespace == op.namespace:
                given = [op.vectors[place] for place in places.tolist()]
                self._changed(
                    (namespace,), changing.put_vectors, namespace, op.name, rows.tolist(), given
                )

    def _adopt_vectors(self, op: ops.AdoptVectors) -> bool:
        if self.database.row_security:
            raise StoreError(
                "row-level security hides namespaces from this role; make vectors anew as the "
                "owner of the tables"
            )
        names = self.database.read(lambda: _one(Statement("SELECT namespace FROM spaces")))
        return self._changed(
            [name for (name,) in names[0]],
            changing.adopt_vectors,
            op.source,
            op.target,
            op.embedder,
        )

    def _changed(
        self, namespaces: Sequence[str], steps: Callable[..., Steps[Any]], *given: Any
    ) -> Any:
        found = self.database.write(lambda: steps(*given), namespaces)
        self._spaces.written(namespaces)
        return found

    # Accesses

    def _touch(self, op: ops.Touch) -> None:
        at = codec.encode("last_accessed", op.at)
        for namespace, rows, _ in self._numbers.parts(op.rows):
            self._waiting.add(
                namespace,
                [Use(row, op.type, at, op.actor, op.session) for row in rows.tolist()],
            )

    def flush(self) -> None:
        """Write the accesses that wait; what could not be written waits on."""
        self._waiting.flush()

    _READS: ClassVar[dict[type, Callable[[Answers, Any], Steps[Any]]]] = {
        ops.Names: Answers.names,
        ops.VectorNames: Answers.vector_names,
        ops.Dimensions: Answers.dimensions,
        ops.Best: Answers.best,
        ops.Score: Answers.score,
        ops.Matched: Answers.matched,
        ops.Mentions: Answers.mentions,
        ops.Fetch: Answers.fetch,
        ops.Read: Answers.read,
        ops.Texts: Answers.texts,
        ops.Vectors: Answers.vectors,
        ops.Linked: Answers.linked,
        ops.Beside: Answers.beside,
        ops.Same: Answers.same,
        ops.Alike: Answers.alike,
        ops.Find: Answers.find,
        ops.Order: Answers.order,
        ops.List: Answers.listing,
        ops.Unembedded: Answers.unembedded,
        ops.Neighbors: Answers.neighbors,
        ops.Stats: Answers.stats,
        ops.Events: lambda _, op: happening.events(op),
        ops.FormerVectors: lambda _, op: happening.former_vectors(op),
        ops.Notes: lambda _, op: happening.notes(op),
    }
    _WRITES: ClassVar[dict[type, Callable[[PostgresStore, Any], Any]]] = {
        ops.Put: _put,
        ops.Log: _log,
        ops.Mend: _mend,
        ops.Note: _note,
        ops.Touch: _touch,
        ops.Delete: _delete,
        ops.PutVectors: _put_vectors,
        ops.AdoptVectors: _adopt_vectors,
    }


def _one(statement: Statement) -> Steps[list[Any]]:
    return (yield [statement])
