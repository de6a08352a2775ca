"""The store on PostgreSQL: for many processes, and for more than fits into one's memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from psycopg.errors import NumericValueOutOfRange

from salience.errors import StoreClosed, StoreError
from salience.records.events import ACCESSES
from salience.records.filters import filter_fields
from salience.retrieval import operations
from salience.stores import codec
from salience.stores.access_queue import AccessQueue, Batch
from salience.stores.postgres.replica.manager import NotReplicated, memory_limit
from salience.stores.postgres.replica.replica import Replicas, is_answered_by_index
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.schema import check_schema
from salience.stores.postgres.search.read_cache import SearchCache
from salience.stores.postgres.search.searcher import Searcher
from salience.stores.postgres.search.snapshot import SnapshotCache
from salience.stores.postgres.wire.async_connection import AsyncDatabase
from salience.stores.postgres.wire.commands import Statement, Steps, concurrently
from salience.stores.postgres.wire.connection import Database
from salience.stores.postgres.write import erase, event_log, put

T = TypeVar("T")
_MANY = 24  # memories beyond which to write them is left to a thread
_BY_ROW = (
    operations.ScoreRows,
    operations.MatchedTerms,
    operations.Mentions,
    operations.FetchColumns,
    operations.ReadRecords,
    operations.ReadTexts,
    operations.FetchVectors,
    operations.LinksBetween,
    operations.SessionNeighbors,
    operations.Touch,
)
_OVERLAID = (
    *_BY_ROW,
    operations.FindSpeakers,
    operations.VectorNames,
    operations.Dimensions,
    operations.SearchRoute,
    operations.FindByTextHash,
    operations.NearestVectors,
    operations.RowsById,
    operations.Unembedded,
    operations.Notes,
)
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
        check_schema(self.database)
        self.database.open()
        self.awaited = AsyncDatabase(self.database)
        self._numbers = RowIds()
        self._spaces = SnapshotCache()
        self._sight: ContextVar[SearchCache | None] = ContextVar("sight", default=None)
        self._closed = False
        self._accesses = AccessQueue(self._write_accesses, one_by_one=self.database.distributed)
        self._kept = Replicas(
            self._numbers, self._accesses.waiting, self.database.read, limit, at_once
        )

    def batch(self, batch: Sequence[operations.Op]) -> list[Any]:
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
                    self._accesses.flush(task.namespaces)
                elif isinstance(task, _Read):
                    done = self.database.read(task.steps, task.namespaces)
                else:
                    done = self.database.write(task.steps, task.namespaces)
            except StoreError as raised:
                problem = raised

    async def abatch(self, batch: Sequence[operations.Op]) -> list[Any]:
        """`batch`, awaited: other tasks go on meanwhile."""
        if any(isinstance(op, operations.Put) and len(op.drafts) > _MANY for op in batch):
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
                    if not self._accesses.is_empty():
                        await asyncio.to_thread(self._accesses.flush, task.namespaces)
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

    def _work(self, batch: Sequence[operations.Op]) -> Work[list[Any]]:
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        if not all(isinstance(op, _BY_ROW) for op in batch):
            before = self._sight.get()
            ranks = any(isinstance(op, (operations.TopK, operations.SearchRoute)) for op in batch)
            self._sight.set(SearchCache(begun=before.begun if before and ranks else frozenset()))
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

    def _read(self, batch: Sequence[operations.Op]) -> Work[list[Any]]:
        namespaces = self._namespaces(batch)
        if any(map(_counts, batch)):  # what was counted shows
            yield _Flush(namespaces)
        sight = self._sight.get() or SearchCache()
        self._sight.set(sight)
        answers = Searcher(
            self._numbers,
            self._spaces,
            sight,
            self._accesses.waiting,
            self.database.distributed,
        )

        def steps() -> Steps[list[Any]]:
            yield from self._prepare(batch, sight)
            searches = [op for op in batch if isinstance(op, operations.SearchRoute)]
            others = [op for op in batch if not isinstance(op, operations.SearchRoute)]
            rankings, *rest = yield from concurrently(
                [
                    self._rankings(searches, answers, sight),
                    *(self._answered(op, answers, sight) for op in others),
                ]
            )
            found, left = iter(rankings), iter(rest)
            return [next(found if isinstance(op, operations.SearchRoute) else left) for op in batch]

        try:
            answered: list[Any] = yield _Read(steps, namespaces)
        except StoreError as problem:
            beyond = isinstance(problem.__cause__, NumericValueOutOfRange)
            if beyond and all(isinstance(op, operations.TopK) for op in batch):
                return [None] * len(batch)  # what is infinite here is an error there
            raise
        self._spaces.learn(sight.known.values())
        if any(isinstance(op, operations.SearchRoute) for op in batch):
            self._kept.searched({name: known.living_count for name, known in sight.known.items()})
        return answered

    def _prepare(self, batch: Sequence[operations.Op], sight: SearchCache) -> Steps[None]:
        """Decide what is answered out of memory, and bring that up to date, once a search."""
        searches = [op for op in batch if isinstance(op, operations.SearchRoute)]
        if searches:
            names = frozenset(name for op in searches for name in op.query.namespaces)
            if not all(map(is_answered_by_index, searches)):
                sight.kept = frozenset()
            elif names <= sight.begun and self._kept.holds(names):
                sight.kept = names
            else:
                sight.kept = yield from self._kept.prepare(names)
            sight.begun = frozenset()
        elif any(isinstance(op, operations.FindSpeakers) for op in batch):
            names = frozenset(name for op in batch for name in getattr(op, "namespaces", ()))
            sight.kept = sight.begun = yield from self._kept.prepare(names)

    def _answered(self, op: operations.Op, answers: Searcher, sight: SearchCache) -> Steps[Any]:
        """Answer an operation out of memory, else by the server."""
        if isinstance(op, operations.TopK) and self._kept.holds(op.query.namespaces):
            return None  # all columns are at hand
        if isinstance(op, operations.ReadStats):
            return (yield from answers.stats(op, self._kept.nbytes, self._kept.reading))
        if self._kept.covers(op, sight.kept):
            try:
                return (yield from self._kept.answer(op))
            except NotReplicated:
                sight.kept = frozenset()
        return (yield from self._READS[type(op)](answers, op))

    def _rankings(
        self, searches: Sequence[operations.SearchRoute], answers: Searcher, sight: SearchCache
    ) -> Steps[list[operations.Ranking]]:
        """The same for all routes of a search."""
        if sight.kept:
            try:
                return (yield from self._kept.rankings(searches))
            except NotReplicated:
                sight.kept = frozenset()
        return (yield from answers.searches(searches))

    def _namespaces(self, batch: Sequence[operations.Op]) -> set[str]:
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

    def _write(self, op: operations.Op) -> Work[Any]:
        answer = self._WRITES.get(type(op))
        if answer is None:
            raise TypeError(f"a store does not answer {type(op).__name__}")
        return (yield from answer(self, op))

    def _put(self, op: operations.Put) -> Work[tuple[str, ...]]:
        prepared = put.prepare(op.drafts)
        namespaces = put.written_namespaces(op)
        yield _Flush(namespaces)
        refused: tuple[str, ...] = yield _Write(lambda: put.put(op, prepared), namespaces)
        self._spaces.written(namespaces)
        return refused

    def _log(self, op: operations.Log) -> Work[tuple[str, ...]]:
        yield _Flush((op.namespace,))
        refused: tuple[str, ...] = yield _Write(lambda: event_log.log(op), (op.namespace,))
        return refused

    def _mend(self, op: operations.SetFields) -> Work[None]:
        yield _Flush((op.namespace,))
        yield _Write(lambda: event_log.set_fields(op), (op.namespace,))

    def _note(self, op: operations.Note) -> Work[bool]:
        done: bool = yield _Write(lambda: event_log.note(op), (op.namespace,))
        return done

    def _delete(self, op: operations.Delete) -> Work[int]:
        yield _Flush((op.namespace,))
        gone: int = yield from self._changed(
            (op.namespace,), erase.delete, op.namespace, op.ids, op.where
        )
        if op.ids is None and op.where is None:
            self._kept.forget((op.namespace,))
        return gone

    def _put_vectors(self, op: operations.PutVectors) -> Work[None]:
        for namespace, rows, places in self._numbers.parts(op.rows):
            if namespace == op.namespace:
                given = [op.vectors[place] for place in places.tolist()]
                yield from self._changed(
                    (namespace,), erase.put_vectors, namespace, op.name, rows.tolist(), given
                )

    def _adopt_vectors(self, op: operations.AdoptVectors) -> Work[bool]:
        if self.database.row_security:
            raise StoreError(
                "row-level security hides namespaces from this role; make vectors anew as the "
                "owner of the tables"
            )
        [names] = yield _Read(lambda: _one(Statement("SELECT namespace FROM spaces")), ())
        done: bool = yield from self._changed(
            [name for (name,) in names],
            erase.adopt_vectors,
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

    def _touch(self, op: operations.Touch) -> Work[None]:
        at = codec.encode("last_accessed", op.at)
        for namespace, rows, places in self._numbers.parts(op.rows):
            self._accesses.add(namespace, (rows.tolist(), at, op.type, op.actor, op.session))
            self._kept.touch(namespace, op.rows[places], at)
        yield from ()

    def _write_accesses(self, batches: Mapping[str, Batch]) -> None:
        try:
            self.database.write(lambda: event_log.write_accesses(batches), batches)
        except BaseException:
            for batch in batches.values():
                batch.seq = None
            raise

    def flush(self) -> None:
        """Write the accesses that wait; what could not be written waits on."""
        self._accesses.flush()

    _READS: ClassVar[dict[type, Callable[[Searcher, Any], Steps[Any]]]] = {
        operations.FindSpeakers: Searcher.names,
        operations.VectorNames: Searcher.vector_names,
        operations.Dimensions: Searcher.dimensions,
        operations.TopK: Searcher.best,
        operations.ScoreRows: Searcher.score,
        operations.MatchedTerms: Searcher.matched,
        operations.Mentions: Searcher.mentions,
        operations.FetchColumns: Searcher.fetch,
        operations.ReadRecords: Searcher.read,
        operations.ReadTexts: Searcher.texts,
        operations.FetchVectors: Searcher.vectors,
        operations.LinksBetween: Searcher.linked,
        operations.SessionNeighbors: Searcher.beside,
        operations.FindByTextHash: Searcher.same,
        operations.NearestVectors: Searcher.alike,
        operations.RowsById: Searcher.find,
        operations.RowsInWriteOrder: Searcher.order,
        operations.ListRecords: Searcher.listing,
        operations.Unembedded: Searcher.unembedded,
        operations.LinksOf: Searcher.neighbors,
        operations.Events: lambda _, op: event_log.events(op),
        operations.FormerVectors: lambda _, op: event_log.former_vectors(op),
        operations.Notes: lambda _, op: event_log.notes(op),
    }
    _ASKED: ClassVar[frozenset[type]] = frozenset(
        {*_READS, operations.SearchRoute, operations.ReadStats}
    )
    _WRITES: ClassVar[dict[type, Callable[[PostgresStore, Any], Work[Any]]]] = {
        operations.Put: _put,
        operations.Log: _log,
        operations.SetFields: _mend,
        operations.Note: _note,
        operations.Touch: _touch,
        operations.Delete: _delete,
        operations.PutVectors: _put_vectors,
        operations.AdoptVectors: _adopt_vectors,
    }


def _counts(op: operations.Op) -> bool:
    """Whether the server has to know of all accesses to answer."""
    if not isinstance(op, _OVERLAID):
        return True
    where = getattr(op, "where", None) or getattr(getattr(op, "query", None), "where", None)
    return not filter_fields(where).isdisjoint(ACCESSES)


def _one(statement: Statement) -> Steps[list[Any]]:
    return (yield [statement])
