"""The store on PostgreSQL: for many processes, and more than one process can hold in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from salience.errors import InvalidInput, StoreClosed, StoreError
from salience.records.events import ACCESSES
from salience.records.filters import filter_fields
from salience.records.tombstones import Tombstone
from salience.retrieval import operations
from salience.retrieval.candidates import Column, Rows
from salience.retrieval.erasure import Tally
from salience.retrieval.safety import NO_FILE, Backup, Finding
from salience.retrieval.turnstile import Turnstile
from salience.retrieval.vector_sets import VectorSetsFigures
from salience.stores import codec
from salience.stores.access_queue import AccessQueue, Batch
from salience.stores.postgres import rewrite, schema
from salience.stores.postgres.large import indexes
from salience.stores.postgres.reads import StoreReader
from salience.stores.postgres.replica.answers import SEARCHING, Replicas
from salience.stores.postgres.replica.manager import memory_limit, most_memories
from salience.stores.postgres.replica.replica import NotReplicated
from salience.stores.postgres.row_ids import RowIds
from salience.stores.postgres.safety.checkup import check_store
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.wire.database import Database
from salience.stores.postgres.write import erase
from salience.stores.postgres.write.dialect import (
    DIALECT,
    change_nothing,
    write_accesses,
)
from salience.stores.tables import event_log, vector_sets
from salience.stores.tables.commands import Send, Statement
from salience.stores.tables.put import PreparedDrafts, put
from salience.stores.tables.writer import TableWriter

_MAX_ATTEMPTS = 10  # at a search whose index is dropped while it lasts
T = TypeVar("T")
_OF_A_SEARCH = (*SEARCHING, operations.ReadRecords, operations.ReadTexts, operations.Touch)
"""Operations on what a search has brought up to date."""
_OF_ACCESSES = (operations.ListRecords, operations.Events, operations.RetrievedTexts)
"""Operations whose tables must hold all accesses; other reads overlay what waits."""


class PostgresStore(TableWriter):
    """A store in the database of an address.

    Its operations may be called from many threads. The namespaces that it searches it holds as
    replicas in up to `memory` bytes, by default as many as the environment says. One that
    `previews` searches the vectors beside the searched ones; it is to be read only.
    """

    dialect = DIALECT

    def __init__(self, url: str, *, memory: int | None = None, previews: bool = False) -> None:
        self._memory_limit = memory_limit() if memory is None else memory
        self.database = Database(url)
        schema.open_database(self.database)
        self.connections = Connections(self.database)
        self._row_ids = RowIds()
        self._closed = False
        self.turnstile = Turnstile()  # of searches, which compute in this process
        self._accesses = AccessQueue(self._write_accesses, one_by_one=self.database.distributed)
        waiting = self._accesses.waiting
        self.replicas = Replicas(self._row_ids, waiting, self._memory_limit, previews)
        self._reader = StoreReader(
            self._row_ids,
            waiting,
            self.replicas.index_figures,
            DIALECT,
            previews=previews,
            distributed=self.database.distributed,
        )

    def batch(self, batch: Sequence[operations.Op]) -> list[Any]:
        """Answer every operation, in order; those that only read are answered together."""
        if self._closed:
            raise StoreClosed("the store is closed; open it again with Memory.open(...)")
        if not all(isinstance(op, _OF_A_SEARCH) for op in batch):
            self.replicas.end_search()
        answers: list[Any] = []
        for only_reads, ops in groupby(batch, _only_reads):
            answer = self._read if only_reads else self._write
            answers += answer(list(ops))
        return answers

    def embedder(self) -> str | None:
        """The identity of the embedder that the stored vectors came from."""
        return self.connections.read(self._reader.embedder)

    def preview(self) -> PostgresStore:
        """A store of the same memories that searches the vectors beside the searched ones."""
        return PostgresStore(self.database.url, memory=self._memory_limit, previews=True)

    def flush(self) -> None:
        """Write the pending accesses; any that could not be written stay pending."""
        self._accesses.flush()

    def close(self) -> None:
        """Write the pending accesses and close every connection.

        Raises:
            StoreError: says how many accesses are not counted; everything is closed nevertheless.
        """
        if not self._closed:
            try:
                self._accesses.close()
            finally:
                self._closed = True
                self.replicas.close()
                self.database.is_open = False
                self.connections.close()

    # Reading

    def _read(self, batch: Sequence[operations.Op]) -> list[Any]:
        namespaces = self._namespaces(batch)
        if any(map(_depends_on_accesses, batch)):
            self._accesses.flush(namespaces)
        for _ in range(_MAX_ATTEMPTS):
            with suppress(NotReplicated):  # what others erased meanwhile, or what gave way
                return self.connections.read(partial(self._answers, batch), namespaces)
        raise StoreError("these memories keep changing; try again")

    def _answers(self, batch: Sequence[operations.Op], send: Send) -> list[Any]:
        names = self.replicas.named(batch)
        with self.replicas.pinned(names):
            if names:
                self.replicas.begin(batch, send)
            return [self._answer(op, send) for op in batch]

    def _answer(self, op: operations.Op, send: Send) -> Any:
        """Answer an operation by an index, else by the server."""
        if isinstance(op, operations.FetchColumns) and "content" in op.names:
            columns = self.replicas.answer(replace(op, names=_but_content(op.names)), send)
            return {**columns, "content": self._contents(op.rows, send)}
        if isinstance(op, operations.Collect) and "content" in op.columns:
            table = self.replicas.answer(replace(op, columns=_but_content(op.columns)), send)
            return table.with_columns(content=self._contents(table.rows, send))
        if isinstance(op, SEARCHING):
            return self.replicas.answer(op, send)
        return getattr(self._reader, op.method)(op, send)

    def _contents(self, rows: Rows, send: Send) -> Column:
        """The column of texts, which no index keeps."""
        content = np.empty(len(rows), dtype=object)
        content[:] = self._reader.read_texts(operations.ReadTexts(rows), send)
        return content

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

    def _write(self, batch: Sequence[operations.Op]) -> list[Any]:
        for op in batch:
            if not hasattr(self, op.method):
                raise TypeError(f"a store does not answer {type(op).__name__}")
        return [getattr(self, op.method)(op) for op in batch]

    def run(self, work: Callable[[Send], T], namespaces: Sequence[str] = ()) -> T:
        """See `TableWriter.run`."""
        return self.connections.write(work, namespaces)

    def ask(self, work: Callable[[Send], T], namespaces: Sequence[str] = ()) -> T:
        """See `TableWriter.ask`."""
        return self.connections.read(work, namespaces)

    def put(self, op: operations.Put) -> tuple[str, ...]:
        """See `TableWriter.put`."""
        decoded = None if op.seen is None else self._row_ids.decoded(op.seen)
        return super().put(replace(op, seen=decoded))

    def _put(self, op: operations.Put, prepared: PreparedDrafts, send: Send) -> tuple[str, ...]:
        for batch in put(op, prepared, DIALECT, send).values():
            [[before]] = batch.head
            after = before + len(batch.memories)
            schema.analyze_if_doubled(batch.namespace, before, after, send)
        return ()

    def back_up(self, op: operations.BackUp) -> Backup:
        self._accesses.flush(())
        raise InvalidInput("backup", "PostgreSQL is no file", NO_FILE)

    def check_store(self, op: operations.CheckStore) -> tuple[Finding, ...]:
        self._accesses.flush(())
        if op.namespace is not None:
            return ()  # the server checks its pages itself
        findings, namespaces = check_store(self.connections, fix=op.fix)
        if any(finding.fixed for finding in findings):
            self.replicas.forget(namespaces)
        return findings

    def tombstones(self, op: operations.Tombstones) -> list[Tombstone]:
        names = list(self.batch([operations.ReadStats()])[0]["namespaces"])
        return self.connections.write(partial(event_log.tombstones, op.new, names, DIALECT), names)

    def rewrite(self, op: operations.Rewrite) -> str:
        self._accesses.flush(())
        try:
            if self.database.distributed:
                raise StoreError("the tables are spread over a cluster; run VACUUM FULL there")
            return rewrite.rewrite_tables(self.connections)
        except StoreError as problem:
            raise StoreError(
                f"what was erased is deleted, but not rewritten: {problem}"
            ) from problem

    def _erase_name(self, namespace: str, tally: Tally, kept: Sequence[str]) -> str:
        done = self.run(partial(erase.erase_name, namespace, kept), (namespace,))
        if done is None:
            return ""
        erased, own = done
        tally.add(erased)
        is_dropped = indexes.drop_indexes_of(self.database, namespace, own)
        return ("" if is_dropped else erase.NAMED_BY_INDEX) + self._renew_samples()

    def _end_erasing(self, namespace: str, *, everything: bool) -> None:
        if everything:
            self.replicas.forget((namespace,))

    def _left_on_disk(self, op: operations.Delete, tally: Tally, named: str) -> str:
        is_sampled = op.ids is None and tally.has_erased and not named
        return tally.erasure().disk + (self._renew_samples() if is_sampled else named)

    def _renew_samples(self) -> str:
        """Remove what was erased from the planner's samples; says if some may still have it.

        This never fails: the erasure is done.
        """
        is_done = False
        if not self.database.distributed:  # the workers take theirs by themselves
            with suppress(StoreError):
                is_done = self.connections.write(erase.renew_samples, ())
        return "" if is_done else erase.SAMPLED

    def check_writable(self, _: operations.CheckWritable) -> None:
        """Commit a change of nothing."""
        self.connections.write(change_nothing)

    def put_vectors(self, op: operations.PutVectors) -> None:
        for namespace, rows, at in self._row_ids.by_namespace(op.rows):
            if namespace == op.namespace:
                vectors = map(op.vectors.__getitem__, at.tolist())
                by_row = dict(zip(rows.tolist(), vectors, strict=True))
                vector_sets.put_vectors(op, by_row, DIALECT, self.connections.write)

    def read_vector_sets(self, _: operations.ReadVectorSets) -> VectorSetsFigures:
        return self.connections.read(vector_sets.read_figures, self._all_namespaces())

    def cut_over(self, op: operations.CutOver) -> int | None:
        namespaces, least = self._all_namespaces(), most_memories(self._memory_limit) + 1
        names = self.connections.read(vector_sets.read_sets).names_beside()
        indexes.build_indexes(self.connections, least, stored_names=names)  # searches go on
        ask, run = self.connections.read, self.connections.write
        return vector_sets.cut_over(op, namespaces, DIALECT, ask, run)

    def drop_vectors(self, _: operations.DropVectors) -> None:
        namespaces, ask, run = self._all_namespaces(), self.connections.read, self.connections.write
        sets = run(partial(vector_sets.begin_dropping, DIALECT))
        indexes.drop_vector_indexes(self.database, sets.names_beside())
        vector_sets.drop(sets, namespaces, DIALECT, ask, run)

    def _all_namespaces(self) -> list[str]:
        """All namespaces of the store."""
        if self.database.row_security:
            raise StoreError(
                "row-level security hides namespaces from this role; re-embed as the "
                "owner of the tables"
            )
        select = Statement("SELECT namespace FROM spaces")
        [rows] = self.connections.read(lambda send: send(select))
        return [name for (name,) in rows]

    # Accesses

    def touch(self, op: operations.Touch) -> None:
        at = codec.encode("last_accessed", op.at)
        for namespace, rows, places in self._row_ids.by_namespace(op.rows):
            self._accesses.add(namespace, (rows.tolist(), at, op.type, op.actor, op.session))
            self.replicas.touch(namespace, op.rows[places], at)

    def _write_accesses(self, batches: Mapping[str, Batch]) -> None:
        try:
            self.connections.write(partial(write_accesses, batches), batches)
        except BaseException:
            for batch in batches.values():
                batch.seq = None
            raise


def _but_content(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name != "content")


def _only_reads(op: operations.Op) -> bool:
    return isinstance(op, SEARCHING) or hasattr(StoreReader, op.method)


def _depends_on_accesses(op: operations.Op) -> bool:
    """True if the server must know of all accesses to answer."""
    if isinstance(op, _OF_ACCESSES):
        return True
    where = getattr(op, "where", None) or getattr(getattr(op, "query", None), "where", None)
    return not filter_fields(where).isdisjoint(ACCESSES)
