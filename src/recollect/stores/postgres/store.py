"""The store on PostgreSQL: for many processes, and for more than fits into one's memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from psycopg.errors import NumericValueOutOfRange

from recollect import ops
from recollect.errors import StoreClosed, StoreError
from recollect.events import ACCESSES
from recollect.filters import fields_of
from recollect.stores import codec
from recollect.stores.postgres import changing, happening, writing
from recollect.stores.postgres.answers import Answers
from recollect.stores.postgres.awaited import AwaitedDatabase
from recollect.stores.postgres.commands import Statement, Steps
from recollect.stores.postgres.database import Database
from recollect.stores.postgres.keeping import Gone, memory_limit
from recollect.stores.postgres.kept import Kept, found_by_index
from recollect.stores.postgres.schema import check
from recollect.stores.postgres.sight import Numbers, Sight, together
from recollect.stores.postgres.spaces import Spaces
from recollect.stores.postgres.waiting import Waiting

T = TypeVar("T")
_MANY = 24  # memories beyond which to write them is left to a thread
_BY_ROW = (
    ops.Score, ops.Matched, ops.Mentions, ops.Fetch, ops.Read, ops.Texts, ops.Vectors, ops.Linked,
    ops.Beside, ops.Touch,
)  # fmt: skip
_OVERLAID = (
    *_BY_ROW, ops.Names, ops.VectorNames, ops.Dimensions, ops.Search, ops.Same, ops.Alike, ops.Find,
    ops.Unembedded, ops.Notes,
)  # fmt: skip
"""Answered without accesses of memories, or by `Reader`, which lays over those that wait."""


@dataclass(frozen=True)
class _Flush:
    """Write the accesses that wait, at least those of some namespaces."""

    namespaces: Collection[str]


@dataclass(frozen=True)
class _Read:
    """Steps that only read, about some namespaces."""

    steps: Callable[[], Steps[Any]]
    namespaces: Collection[str]


@dataclass(frozen=True)
class _Write:
    """Steps that are one transaction, about some namespaces."""

    steps: Callable[[], Steps[Any]]
    namespaces: Collection[str]


Work = Generator[_Flush | _Read | _Write, Any, T]
"""What operations take, one thing after the other, whoever does it and waits."""


class PostgresStore:
    """A store in the database of an address.

    Its operations may be called from many threads, and awaited in many tasks of event loops.
    Namespaces that it searches again and again it keeps in up to `memory` bytes (see `kept`; by
    default, what the environment says), `at_once` from the first search on.
    """

    def __init__(self, url: str, *, memory: int | None = None, at_once: bool = False) -> None:
        limit = memory_limit() if memory is None else memory
        self.database = Database(url)
        check(self.database)
        self.database.open()
        self.awaited = AwaitedDatabase(self.database)
        self._numbers = Numbers()
        self._spaces = Spaces()
        self._sight: ContextVar[Sight | None] = ContextVar("sight", default=None)
        self._closed = False
        self._waiting = Waiting(self.database)
        self._kept = Kept(self._numbers, self._waiting.of, self.database.read, limit, at_once)

    def batch(self, batch: Sequence[ops.Op]) -> list[Any]:
        """Answer every operation, in order; what only reads goes into common round trips."""
        work, done, problem = self._work(batch), None, None
        while True:
            try:
                task = work.send(done) if problem is None else work.throw(problem)
            except StopIteration as end:
                return list(end.value)
            done = problem = None
            try:
                if isinstance(task, _Flush):
                    self._waiting.flush(task.namespaces)
                elif isinstance(task, _Read):
                    done = self.database.read(task.steps, task.namespaces)
                else:
                    done = self.database.write(task.steps, task.namespaces)
            except StoreError as raised:
                problem = raised

    async def abatch(self, batch: Sequence[ops.Op]) -> list[Any]:
        """`batch`, awaited: other tasks go on meanwhile."""
        if any(isinstance(op, ops.Put) and len(op.drafts) > _MANY for op in batch):
            return await asyncio.to_thread(self.batch, batch)  # to make them takes a while, too
        work, done, problem = self._work(batch), None, None
        while True:
            try:
                task = work.send(done) if problem is None else work.throw(problem)
            except StopIteration as end:
                return list(end.value)
            done = problem = None
            try:
                if isinstance(task, _Flush):
                    if self._waiting.any():
                        await asyncio.to_thread(self._waiting.flush, task.namespaces)
                elif isinstance(task, _Read):
                    done = await self.awaited.read(task.steps, task.namespaces)
                else:
                    done = await self.awaited.write(task.steps, task.namespaces)
            except StoreError as raised:
                problem = raised

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
                self._sight.set(None)
                self._kept.close()
                self.database.close()

    async def aclose(self) -> None:
        """`close`, awaited, and the connections of this event loop."""
        await self.awaited.close()
        await asyncio.to_thread(self.close)

    def _work(self, batch: Sequence[ops.Op]) -> Work[list[Any]]:
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        if not all(isinstance(op, _BY_ROW) for op in batch):
            before = self._sight.get()
            ranks = any(isinstance(op, (ops.Best, ops.Search)) for op in batch)
            self._sight.set(Sight(begun=before.begun if before and ranks else frozenset()))
        answers: list[Any] = []
        at = 0
        while at < len(batch):
            end = at
            while end < len(batch) and type(batch[end]) in self._ASKED:
                end += 1
            if end > at:
                answers += yield from self._read(batch[at:end])
                at = end
            else:
                answers.append((yield from self._write(batch[at])))
                at += 1
        return answers

    # Reading

    def _read(self, batch: Sequence[ops.Op]) -> Work[list[Any]]:
        namespaces = self._namespaces(batch)
        if any(map(_counts, batch)):  # what was counted shows
            yield _Flush(namespaces)
        sight = self._sight.get() or Sight()
        self._sight.set(sight)
        answers = Answers(
            self._numbers,
            self._spaces,
            sight,
            self._waiting.of,
            self._kept,
            self.database.distributed,
        )

        def steps() -> Steps[list[Any]]:
            yield from self._prepare(batch, sight)
            searches = [op for op in batch if isinstance(op, ops.Search)]
            others = [op for op in batch if not isinstance(op, ops.Search)]
            rankings, *rest = yield from together(
                [
                    self._rankings(searches, answers, sight),
                    *(self._answered(op, answers, sight) for op in others),
                ]
            )
            found, left = iter(rankings), iter(rest)
            return [next(found if isinstance(op, ops.Search) else left) for op in batch]

        try:
            answered: list[Any] = yield _Read(steps, namespaces)
        except StoreError as problem:
            beyond = isinstance(problem.__cause__, NumericValueOutOfRange)
            if beyond and all(isinstance(op, ops.Best) for op in batch):
                return [None] * len(batch)  # what is infinite here is an error there
            raise
        self._spaces.learn(sight.known.values())
        if any(isinstance(op, ops.Search) for op in batch):
            self._kept.searched(sight.known.values())
        return answered

    def _prepare(self, batch: Sequence[ops.Op], sight: Sight) -> Steps[None]:
        """Decide what is answered out of memory, and bring that up to date, once a search."""
        searches = [op for op in batch if isinstance(op, ops.Search)]
        if searches:
            names = frozenset(name for op in searches for name in op.query.namespaces)
            if not all(map(found_by_index, searches)):
                sight.kept = frozenset()
            elif names <= sight.begun and self._kept.holds(names):
                sight.kept = names
            else:
                sight.kept = yield from self._kept.prepare(names)
            sight.begun = frozenset()
        elif any(isinstance(op, ops.Names) for op in batch):
            names = frozenset(name for op in batch for name in getattr(op, "namespaces", ()))
            sight.kept = sight.begun = yield from self._kept.prepare(names)

    def _answered(self, op: ops.Op, answers: Answers, sight: Sight) -> Steps[Any]:
        """Answer an operation out of memory, else by the server."""
        if isinstance(op, ops.Best) and self._kept.holds(op.query.namespaces):
            return None  # all columns are at hand
        if self._kept.covers(op, sight.kept):
            try:
                return (yield from self._kept.answer(op))
            except Gone:
                sight.kept = frozenset()
        return (yield from self._READS[type(op)](answers, op))

    def _rankings(
        self, searches: Sequence[ops.Search], answers: Answers, sight: Sight
    ) -> Steps[list[ops.Ranking]]:
        """The same for all routes of a search."""
        if sight.kept:
            try:
                return (yield from self._kept.rankings(searches))
            except Gone:
                sight.kept = frozenset()
        return (yield from answers.searches(searches))

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

    def _write(self, op: ops.Op) -> Work[Any]:
        answer = self._WRITES.get(type(op))
        if answer is None:
            raise TypeError(f"a store does not answer {type(op).__name__}")
        return (yield from answer(self, op))

    def _put(self, op: ops.Put) -> Work[tuple[str, ...]]:
        prepared = writing.prepared(op.drafts)
        namespaces = writing.namespaces_of(op)
        yield _Flush(namespaces)
        refused: tuple[str, ...] = yield _Write(lambda: writing.put(op, prepared), namespaces)
        self._spaces.written(namespaces)
        return refused

    def _log(self, op: ops.Log) -> Work[tuple[str, ...]]:
        yield _Flush((op.namespace,))
        refused: tuple[str, ...] = yield _Write(lambda: happening.log(op), (op.namespace,))
        return refused

    def _mend(self, op: ops.Mend) -> Work[None]:
        yield _Flush((op.namespace,))
        yield _Write(lambda: happening.mend(op), (op.namespace,))

    def _note(self, op: ops.Note) -> Work[bool]:
        done: bool = yield _Write(lambda: happening.note(op), (op.namespace,))
        return done

    def _delete(self, op: ops.Delete) -> Work[int]:
        yield _Flush((op.namespace,))
        gone: int = yield from self._changed(
            (op.namespace,), changing.delete, op.namespace, op.ids, op.where
        )
        if op.ids is None and op.where is None:
            self._kept.forget((op.namespace,))
        return gone

    def _put_vectors(self, op: ops.PutVectors) -> Work[None]:
        for namespace, rows, places in self._numbers.parts(op.rows):
            if namespace == op.namespace:
                given = [op.vectors[place] for place in places.tolist()]
                yield from self._changed(
                    (namespace,), changing.put_vectors, namespace, op.name, rows.tolist(), given
                )

    def _adopt_vectors(self, op: ops.AdoptVectors) -> Work[bool]:
        if self.database.row_security:
            raise StoreError(
                "row-level security hides namespaces from this role; make vectors anew as the "
                "owner of the tables"
            )
        [names] = yield _Read(lambda: _one(Statement("SELECT namespace FROM spaces")), ())
        done: bool = yield from self._changed(
            [name for (name,) in names],
            changing.adopt_vectors,
            op.source,
            op.target,
            op.embedder,
        )
        return done

    def _changed(
        self, namespaces: Sequence[str], steps: Callable[..., Steps[Any]], *given: Any
    ) -> Work[Any]:
        found = yield _Write(lambda: steps(*given), namespaces)
        self._spaces.written(namespaces)
        return found

    # Accesses

    def _touch(self, op: ops.Touch) -> Work[None]:
        at = codec.encode("last_accessed", op.at)
        for namespace, rows, places in self._numbers.parts(op.rows):
            self._waiting.add(namespace, (rows.tolist(), at, op.type, op.actor, op.session))
            self._kept.touch(namespace, op.rows[places], at)
        yield from ()

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
    _ASKED: ClassVar[frozenset[type]] = frozenset({*_READS, ops.Search})
    _WRITES: ClassVar[dict[type, Callable[[PostgresStore, Any], Work[Any]]]] = {
        ops.Put: _put,
        ops.Log: _log,
        ops.Mend: _mend,
        ops.Note: _note,
        ops.Touch: _touch,
        ops.Delete: _delete,
        ops.PutVectors: _put_vectors,
        ops.AdoptVectors: _adopt_vectors,
    }


def _counts(op: ops.Op) -> bool:
    """Whether the server has to know of all accesses to answer."""
    if not isinstance(op, _OVERLAID):
        return True
    where = getattr(op, "where", None) or getattr(getattr(op, "query", None), "where", None)
    return not fields_of(where).isdisjoint(ACCESSES)


def _one(statement: Statement) -> Steps[list[Any]]:
    return (yield [statement])
