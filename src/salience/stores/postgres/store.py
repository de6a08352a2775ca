"""The store on PostgreSQL: for many processes, and for more than fits into one's memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from psycopg.errors import NumericValueOutOfRange

from salience.errors import InvalidInput, StoreClosed, StoreError
from salience.records.events import ACCESSES
from salience.records.filters import filter_fields
from salience.retrieval import operations
from salience.retrieval.erasure import Erasure, Tally
from salience.retrieval.plan import drive
from salience.retrieval.safety import NO_FILE, Backup, Finding
from salience.retrieval.turnstile import Turnstile
from salience.retrieval.vector_sets import VectorSets, VectorSetsFigures
from salience.stores import codec
from salience.stores.access_queue import AccessQueue, Batch
from salience.stores.postgres import rewrite, schema, vector_indexes
from salience.stores.postgres.replica.answers import NAMESPACE_OPERATIONS, Replicas
from salience.stores.postgres.replica.memory import memory_limit
from salience.stores.postgres.replica.replica import NotReplicated
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.safety.checkup import check_store
from salience.stores.postgres.search.read_cache import SearchCache
from salience.stores.postgres.search.route_search import SearchContext
from salience.stores.postgres.search.searcher import Searcher
from salience.stores.postgres.search.snapshot import Reborn, SnapshotCache
from salience.stores.postgres.tasks import Flush, ReadOnly, ReadWrite, Work
from salience.stores.postgres.wire.commands import Statement, Steps, concurrently
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.wire.database import Database
from salience.stores.postgres.write import erase, event_log, keys, put, vector_sets

T = TypeVar("T")
_ROW_OPERATIONS = (
    operations.ScoreRows,
    operations.MatchedTerms,
    operations.TermWeights,
    operations.Mentions,
    operations.FindPassages,
    operations.FetchColumns,
    operations.ReadRecords,
    operations.ReadTexts,
    operations.FetchVectors,
    operations.LinksBetween,
    operations.SessionNeighbors,
    operations.Touch,
)
"""Operations about rows that a search has found: they belong to that search."""
_OVERLAID = (
    *_ROW_OPERATIONS,
    operations.FindSpeakers,
    operations.FindWords,
    operations.FindNames,
    operations.VectorNames,
    operations.Dimensions,
    operations.SearchRoute,
    operations.FindByTextHash,
    operations.FindByAttribute,
    operations.NearestVectors,
    operations.RowsById,
    operations.CountRecords,
    operations.ListNames,
    operations.Unembedded,
    operations.Notes,
    operations.ReadKeys,
)
"""Answered without accesses of memories, or with pending accesses laid over what is read."""


class PostgresStore:
    """A store in the database of an address.

    Its operations may be called from many threads. The namespaces that it searches it holds as
    replicas in up to `memory` bytes, by default as many as the environment says. One that
    `previews` searches the vectors beside the searched ones; it is to be read only.
    """

    def __init__(self, url: str, *, memory: int | None = None, previews: bool = False) -> None:
        self._memory_limit = memory_limit() if memory is None else memory
        self._previews = previews
        self.database = Database(url)
        schema.open_database(self.database)
        self.connections = Connections(self.database)
        self._row_ids = RowIds()
        self._snapshots = SnapshotCache(self.database.sets, previews)
        self._search_cache: ContextVar[SearchCache | None] = ContextVar("cache", default=None)
        self._closed = False
        self.turnstile = Turnstile()  # of searches, which compute in this process
        self._accesses = AccessQueue(self._write_accesses, one_by_one=self.database.distributed)
        self.replicas = Replicas(
            self._row_ids, self._accesses.waiting, self._memory_limit, previews
        )

    def batch(self, batch: Sequence[operations.Op]) -> list[Any]:
        """Answer every operation, in order; those that only read share round trips."""
        return drive(self._answers(batch), self._perform)

    def _perform(self, task: Flush | ReadOnly | ReadWrite) -> Any:
        if isinstance(task, Flush):
            return self._accesses.flush(task.namespaces)
        run = self.connections.read if isinstance(task, ReadOnly) else self.connections.write
        return run(task.steps, task.namespaces)

    def embedder(self) -> str | None:
        """The identity of the embedder that the stored vectors came from."""
        select = Statement("SELECT value FROM meta WHERE key = 'embedder'")
        if self._previews:
            return self.connections.read(vector_sets.read_sets).beside
        rows = self.connections.read(lambda: _answer(select))
        return rows[0][0] if rows else None

    def preview(self) -> PostgresStore:
        """A store of the same memories that searches the vectors beside the searched ones."""
        return PostgresStore(self.database.url, memory=self._memory_limit, previews=True)

    def flush(self) -> None:
        """Write the pending accesses; any that could not be written stay pending."""
        self._accesses.flush()

    def close(self) -> None:
        """Write the pending accesses and close every connection.

        Raises:
            StoreError: says how many accesses are not counted; all is closed nevertheless.
        """
        if not self._closed:
            try:
                self._accesses.close()
            finally:
                self._closed = True
                self._search_cache.set(None)
                self.replicas.close()
                self.database.is_open = False
                self.connections.close()

    def _answers(self, batch: Sequence[operations.Op]) -> Work[list[Any]]:
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        if not all(isinstance(op, _ROW_OPERATIONS) for op in batch):
            self._begin_search(batch)
        answers: list[Any] = []
        at = 0
        while at < len(batch):
            end = at
            while end < len(batch) and type(batch[end]) in self._READ_ONLY:
                end += 1
            if end > at:
                answers += yield from self._read(batch[at:end])
                at = end
            else:
                answers.append((yield from self._write(batch[at])))
                at += 1
        return answers

    def _begin_search(self, batch: Sequence[operations.Op]) -> None:
        """Forget what the search before has read."""
        before = self._search_cache.get()
        ranks = any(isinstance(op, (operations.TopK, operations.SearchRoute)) for op in batch)
        advanced = before.advanced if before is not None and ranks else frozenset[str]()
        self._search_cache.set(SearchCache(advanced=advanced))

    # Reading

    def _read(self, batch: Sequence[operations.Op]) -> Work[list[Any]]:
        namespaces = self._namespaces(batch)
        if any(map(_depends_on_accesses, batch)):
            yield Flush(namespaces)
        cache = self._search_cache.get() or SearchCache()
        self._search_cache.set(cache)
        context = SearchContext(self._row_ids, self._snapshots, cache, self._accesses.waiting)
        searcher = Searcher(context, self.database.distributed)
        try:
            answers: list[Any] = yield ReadOnly(
                lambda: self._read_steps(batch, searcher, cache), namespaces
            )
        except Reborn as problem:
            self._snapshots.forget(problem.namespace)
            return (yield from self._read(batch))
        except StoreError as problem:
            overflow = isinstance(problem.__cause__, NumericValueOutOfRange)
            if overflow and all(isinstance(op, operations.TopK) for op in batch):
                return [None] * len(batch)  # a score that is infinite here is an error there
            raise
        self._snapshots.update(cache.snapshots.values())
        return answers

    def _read_steps(
        self, batch: Sequence[operations.Op], searcher: Searcher, cache: SearchCache
    ) -> Steps[list[Any]]:
        names = frozenset(name for op in batch for name in self.replicas.namespaces_of(op))
        with self.replicas.pinned(names):
            if names:
                yield from self._advance_replicas(batch, names, cache)
            searches = [op for op in batch if isinstance(op, operations.SearchRoute)]
            others = [op for op in batch if not isinstance(op, operations.SearchRoute)]
            rankings, *answers = yield from concurrently(
                [
                    self._rankings(searches, searcher, cache),
                    *(self._answer(op, searcher, cache) for op in others),
                ]
            )
        next_ranking, next_answer = iter(rankings), iter(answers)
        return [
            next(next_ranking if isinstance(op, operations.SearchRoute) else next_answer)
            for op in batch
        ]

    def _advance_replicas(
        self, batch: Sequence[operations.Op], names: frozenset[str], cache: SearchCache
    ) -> Steps[None]:
        """Bring the replicas of some namespaces up to date, once a search."""
        advance = self.replicas.advance
        if any(isinstance(op, NAMESPACE_OPERATIONS) for op in batch):
            cache.in_memory = cache.advanced = yield from advance(names)
        elif any(isinstance(op, operations.SearchRoute) for op in batch):
            cache.in_memory = yield from advance(names, anew=not names <= cache.advanced)
            cache.advanced = frozenset()
        elif cache.in_memory is None or (cache.in_memory and not names <= cache.in_memory):
            cache.in_memory = yield from advance(names)
        elif cache.in_memory:
            yield from advance(names, anew=False)

    def _rankings(
        self,
        searches: Sequence[operations.SearchRoute],
        searcher: Searcher,
        cache: SearchCache,
    ) -> Steps[list[operations.Ranking]]:
        """Rank all routes of a search by replicas, else by the server."""
        if cache.in_memory:
            try:
                return (yield from self.replicas.rankings(searches))
            except NotReplicated:
                cache.in_memory = frozenset()
        return (yield from searcher.search_routes(searches))

    def _answer(self, op: operations.Op, searcher: Searcher, cache: SearchCache) -> Steps[Any]:
        """Answer an operation by replicas, else by the server."""
        if isinstance(op, operations.ReadStats):
            return (yield from searcher.stats(op, self.replicas.nbytes))
        if isinstance(op, operations.TopK) and self.replicas.hold(op.query.namespaces):
            return None  # all columns are at hand
        if cache.in_memory and self.replicas.namespaces_of(op):
            try:
                return (yield from self.replicas.answer(op))
            except NotReplicated:
                cache.in_memory = frozenset()
        return (yield from self._READS[type(op)](searcher, op))

    def _namespaces(self, batch: Sequence[operations.Op]) -> set[str]:
        """The namespaces that operations are about."""
        names: set[str] = set()
        for op in batch:
            names.update(getattr(op, "namespaces", ()))
            query = getattr(op, "query", None)
            if query is not None:
                names.update(query.namespaces)
            namespace = getattr(op, "namespace", None)
            if namespace is not None:
                names.add(namespace)
            rows = getattr(op, "rows", None)
            if isinstance(rows, np.ndarray):
                names.update(self._row_ids.namespaces(rows))
        return names

    # Writing

    def _write(self, op: operations.Op) -> Work[Any]:
        answer = self._WRITES.get(type(op))
        if answer is None:
            raise TypeError(f"a store does not answer {type(op).__name__}")
        return (yield from answer(self, op))

    def _put(self, op: operations.Put) -> Work[tuple[str, ...]]:
        prepared = put.prepare(op.drafts)
        namespaces = put.written_namespaces(op)
        if op.seen is not None:
            op = replace(op, seen=self._row_ids.decoded(op.seen))
        yield Flush(namespaces)
        refused: tuple[str, ...] = yield ReadWrite(lambda: put.put(op, prepared), namespaces)
        self._snapshots.mark_written(namespaces)
        return refused

    def _log(self, op: operations.Log) -> Work[tuple[str, ...]]:
        yield Flush((op.namespace,))
        steps = partial(erase.erase_and_log if op.erased else event_log.log, op)
        refused: tuple[str, ...] = yield ReadWrite(steps, (op.namespace,))
        if op.erased:
            self._snapshots.mark_written((op.namespace,))
            yield from self._erase_name(op.namespace, Tally())
        return refused

    def _set_fields(self, op: operations.SetFields) -> Work[None]:
        yield Flush((op.namespace,))
        yield ReadWrite(lambda: event_log.set_fields(op), (op.namespace,))

    def _note(self, op: operations.Note) -> Work[bool]:
        done: bool = yield ReadWrite(lambda: event_log.note(op), (op.namespace,))
        if done and op.value is None and op.key in operations.WORK_NOTES:
            yield from self._erase_name(op.namespace, Tally())  # it was kept for the note
        return done

    def _put_key(self, op: operations.PutKey) -> Work[bool]:
        done: bool = yield ReadWrite(lambda: keys.put_key(op), ())
        return done

    def _use_key(self, op: operations.UseKey) -> Work[None]:
        yield ReadWrite(lambda: keys.use_key(op), ())

    def _back_up(self, op: operations.BackUp) -> Work[Backup]:
        yield Flush(())
        raise InvalidInput("backup", "PostgreSQL is no file", NO_FILE)

    def _check_writable(self, op: operations.CheckWritable) -> Work[None]:
        yield ReadWrite(event_log.change_nothing, ())

    def _check(self, op: operations.CheckStore) -> Work[tuple[Finding, ...]]:
        yield Flush(())
        if op.namespace is not None:
            return ()  # the server checks its pages itself
        found, namespaces = check_store(self.connections, fix=op.fix)
        if any(finding.fixed for finding in found):
            self.replicas.forget(namespaces)
            self._snapshots.mark_written(namespaces)
        return found

    def _delete(self, op: operations.Delete) -> Work[Erasure]:
        """Erase memories in short transactions: of some ids, or as long as there are any.

        Raises:
            StoreError: it was cut short; says how many are erased.
        """
        namespace = op.namespace
        yield Flush((namespace,))
        tally = Tally()
        try:
            is_empty = yield from self._delete_some(op, tally)
            if op.user_id is not None:
                yield from self._erase_user(op, tally)
            left = ""
            if is_empty:
                left = yield from self._erase_name(namespace, tally)
            elif op.ids is None and tally.has_erased:
                left = yield from self._renew_samples()
        except StoreError as problem:
            if not tally.memories:
                raise
            rest = f"{tally.memories:,} are erased, erase again for the rest"
            raise StoreError(f"{problem}; {rest}") from problem
        finally:
            if op.ids is None and op.where is None:
                self.replicas.forget((namespace,))
            self._snapshots.mark_written((namespace,))
        erasure = tally.erasure()
        return replace(erasure, disk=erasure.disk + left)

    def _rewrite(self, op: operations.Rewrite) -> Work[str]:
        yield Flush(())
        try:
            if self.database.distributed:
                raise StoreError("the tables are spread over a cluster; run VACUUM FULL there")
            namespaces = yield ReadOnly(rewrite.namespaces_with_dead, ())
            for namespace in namespaces:
                yield ReadWrite(partial(rewrite.forget_words, namespace), (namespace,))
                self._snapshots.mark_written((namespace,))
            return rewrite.rewrite_tables(self.connections)
        except StoreError as problem:
            raise StoreError(
                f"what was erased is deleted, but not written anew: {problem}"
            ) from problem

    def _delete_some(self, op: operations.Delete, tally: Tally) -> Work[bool]:
        """Erase the memories of an operation, adding up; True if the namespace has no others."""
        size = erase.ERASED_AT_ONCE
        ids = None if op.ids is None else deque(op.ids)
        everything = ids is None and op.where is None
        emptied = is_done = False
        while not is_done:
            part = None if ids is None else [ids.popleft() for _ in range(min(size, len(ids)))]
            if everything:  # once few are left, with all else that the namespace has
                last: Erasure | None = yield ReadWrite(
                    partial(erase.erase_namespace, op.namespace), (op.namespace,)
                )
                if last is not None:
                    tally.add(last)
                    return True
            erased, is_empty = yield ReadWrite(
                partial(erase.delete, op.namespace, part, op.where), (op.namespace,)
            )
            emptied |= is_empty
            tally.add(erased)
            count = erased.memories
            is_done = count < (1 if everything else size) if ids is None else not ids
        return emptied

    def _erase_user(self, op: operations.Delete, tally: Tally) -> Work[None]:
        """Take the name of a user out of the events of a namespace, in short transactions."""
        after: int | None = 0
        while after is not None:
            steps = partial(erase.erase_user, op.namespace, str(op.user_id), after)
            erased, after = yield ReadWrite(steps, (op.namespace,))
            tally.add(replace(erased, disk="") if tally.memories else erased)

    def _erase_name(self, namespace: str, tally: Tally) -> Work[str]:
        """Erase the name of a namespace if it has no memories any more; says what may name it.

        The answer is empty if nothing does.
        """
        done = yield ReadWrite(partial(erase.erase_name, namespace), (namespace,))
        if done is None:
            return ""
        erased, indexes = done
        tally.add(erased)
        self._snapshots.forget(namespace)
        is_dropped = vector_indexes.drop_indexes_of(self.database, namespace, indexes)
        left = yield from self._renew_samples()
        return left if is_dropped else erase.NAMED_BY_INDEX + left

    def _renew_samples(self) -> Work[str]:
        """Take what was erased out of the samples of the planner; says if it may be in some still.

        Nothing fails by it: the erasure is done.
        """
        is_done = False
        if not self.database.distributed:  # the workers take theirs by themselves
            with suppress(StoreError):
                is_done = yield ReadWrite(erase.renew_samples, ())
        return "" if is_done else erase.SAMPLED

    def _put_vectors(self, op: operations.PutVectors) -> Work[None]:
        for namespace, rows, at in self._row_ids.by_namespace(op.rows):
            if namespace == op.namespace:
                vectors = [op.vectors[place] for place in at.tolist()]
                numbers = rows.tolist()
                steps = partial(vector_sets.put_vectors, op, numbers, vectors)
                done = yield ReadWrite(steps, (namespace,))
                if done is False:  # the first of their name in the set beside
                    begin = partial(vector_sets.begin_beside, str(op.embedder), op.name)
                    yield ReadWrite(begin, ())
                    yield ReadWrite(steps, (namespace,))
                self._snapshots.mark_written((namespace,))

    def _vector_sets(self, _: operations.ReadVectorSets) -> Work[VectorSetsFigures]:
        figures: VectorSetsFigures = yield ReadOnly(
            vector_sets.read_figures, (yield from self._all_namespaces())
        )
        return figures

    def _prepare_cut_over(self, _: operations.PrepareCutOver) -> Work[None]:
        sets: VectorSets = yield ReadOnly(vector_sets.read_sets, ())
        vector_indexes.build_vector_indexes(self.connections, stored_names=sets.names_beside())

    def _cut_over(self, op: operations.CutOver) -> Work[bool]:
        namespaces = yield from self._all_namespaces()
        done: bool = yield ReadWrite(partial(vector_sets.cut_over, op.embedder), namespaces)
        return done

    def _drop_vectors(self, _: operations.DropVectors) -> Work[None]:
        namespaces = yield from self._all_namespaces()
        sets: VectorSets = yield ReadWrite(vector_sets.begin_dropping, ())
        names = sets.names_beside()
        for namespace in namespaces if names else ():
            drop = partial(vector_sets.drop_some, namespace, names)
            while (yield ReadWrite(drop, (namespace,))):
                pass
        vector_indexes.drop_vector_indexes(self.database, names)
        if not (yield ReadWrite(partial(vector_sets.end_dropping, sets), ())):
            raise StoreError(
                "somebody else changed the sets of vectors meanwhile; look at "
                "`salience reembed --status`"
            )
        self._snapshots.mark_written(namespaces)

    def _all_namespaces(self) -> Work[list[str]]:
        """All namespaces of the store.

        Raises:
            StoreError: this role does not see them all.
        """
        if self.database.row_security:
            raise StoreError(
                "row-level security hides namespaces from this role; make vectors anew as the "
                "owner of the tables"
            )
        select = Statement("SELECT namespace FROM spaces")
        rows: list[Any] = yield ReadOnly(lambda: _answer(select), ())
        return [name for (name,) in rows]

    # Accesses

    def _touch(self, op: operations.Touch) -> Work[None]:
        at = codec.encode("last_accessed", op.at)
        for namespace, rows, places in self._row_ids.by_namespace(op.rows):
            self._accesses.add(namespace, (rows.tolist(), at, op.type, op.actor, op.session))
            self.replicas.touch(namespace, op.rows[places], at)
        yield from ()

    def _write_accesses(self, batches: Mapping[str, Batch]) -> None:
        try:
            self.connections.write(lambda: event_log.write_accesses(batches), batches)
        except BaseException:
            for batch in batches.values():
                batch.seq = None
            raise

    _READS: ClassVar[dict[type, Callable[[Searcher, Any], Steps[Any]]]] = {
        operations.FindSpeakers: Searcher.find_speakers,
        operations.FindWords: Searcher.find_words,
        operations.FindNames: Searcher.find_names,
        operations.VectorNames: Searcher.vector_names,
        operations.Dimensions: Searcher.dimensions,
        operations.TopK: Searcher.top_k,
        operations.ScoreRows: Searcher.score_rows,
        operations.MatchedTerms: Searcher.matched_terms,
        operations.TermWeights: Searcher.term_weights,
        operations.Mentions: Searcher.mentions,
        operations.FindPassages: Searcher.find_passages,
        operations.FetchColumns: Searcher.fetch_columns,
        operations.ReadRecords: Searcher.read_records,
        operations.ReadTexts: Searcher.read_texts,
        operations.FetchVectors: Searcher.fetch_vectors,
        operations.LinksBetween: Searcher.links_between,
        operations.SessionNeighbors: Searcher.session_neighbors,
        operations.FindByTextHash: Searcher.find_by_text_hash,
        operations.FindByAttribute: Searcher.find_by_attribute,
        operations.NearestVectors: Searcher.nearest_vectors,
        operations.RowsById: Searcher.rows_by_id,
        operations.RowsInWriteOrder: Searcher.rows_in_write_order,
        operations.ListRecords: Searcher.list_records,
        operations.CountRecords: Searcher.count_records,
        operations.ListNames: Searcher.list_names,
        operations.Unembedded: Searcher.unembedded,
        operations.LinksOf: Searcher.links_of,
        operations.Events: lambda _, op: event_log.events(op),
        operations.RetrievedTexts: lambda _, op: event_log.retrieved_texts(op),
        operations.FormerVectors: lambda _, op: event_log.former_vectors(op),
        operations.Notes: lambda _, op: event_log.notes(op),
        operations.ReadKeys: lambda _, op: keys.read_keys(op),
    }
    _READ_ONLY: ClassVar[frozenset[type]] = frozenset(
        {*_READS, operations.SearchRoute, operations.ReadStats}
    )
    _WRITES: ClassVar[dict[type, Callable[[PostgresStore, Any], Work[Any]]]] = {
        operations.Put: _put,
        operations.Log: _log,
        operations.SetFields: _set_fields,
        operations.Note: _note,
        operations.PutKey: _put_key,
        operations.UseKey: _use_key,
        operations.Touch: _touch,
        operations.Delete: _delete,
        operations.Rewrite: _rewrite,
        operations.PutVectors: _put_vectors,
        operations.ReadVectorSets: _vector_sets,
        operations.PrepareCutOver: _prepare_cut_over,
        operations.CutOver: _cut_over,
        operations.DropVectors: _drop_vectors,
        operations.BackUp: _back_up,
        operations.CheckStore: _check,
        operations.CheckWritable: _check_writable,
    }


def _depends_on_accesses(op: operations.Op) -> bool:
    """True if the server has to know of all accesses to answer."""
    if not isinstance(op, _OVERLAID):
        return True
    where = getattr(op, "where", None) or getattr(getattr(op, "query", None), "where", None)
    return not filter_fields(where).isdisjoint(ACCESSES)


def _answer(statement: Statement) -> Steps[list[Any]]:
    [answer] = yield [statement]
    return list(answer)
