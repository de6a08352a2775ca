"""Checks of the rows of one namespace: what they belong to, are found by, and add up to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from salience.retrieval.safety import Finding
from salience.stores.findings import EXAMPLES, FIX, Problem, Quarantine, RowChecks, stale_words
from salience.stores.postgres.sql.columns import SELECT_MEMORIES, Found, written
from salience.stores.postgres.wire.connection import Connections
from salience.stores.postgres.write.dialect import DIALECT, lock_namespace
from salience.stores.tables.commands import Send, Statement, shared

_PAGE_MEMORIES = 1_000
_SELECT_PAGE = (
    f'{SELECT_MEMORIES} WHERE m.namespace = %s AND m."row" > %s ORDER BY m."row" '
    f"LIMIT {_PAGE_MEMORIES}"
)
_LAST_ROW = 'coalesce((SELECT max("row") FROM memories WHERE namespace = %s), 0)'
_LIVING = "(SELECT count(*) FROM memories WHERE namespace = %s)"
_LAST_EVENT = "coalesce((SELECT max(seq) FROM events WHERE namespace = %s), 0)"


class NamespaceChecks(RowChecks):
    """The checks of a namespace; each mends in one transaction that locks it."""

    owned = ("vectors", "words", "events", "links", "former_vectors")
    vector_bytes = "2 * vector_dims(t.vector)"
    within = "t.namespace = %s AND "

    def __init__(self, connections: Connections, namespace: str, quarantine: Quarantine) -> None:
        super().__init__(quarantine)
        self._connections = connections
        self._namespace = namespace
        self.values = (namespace,)

    def problems(self) -> Iterator[Problem]:
        """All problems, possible causes of others first."""
        yield from self.orphans()
        yield from self.odd_dimensions()
        yield from self._counters()
        yield from self._stale_words()
        yield from self.missing_vectors()

    # Reading and writing

    def _read(self, *statements: Statement) -> list[Any]:
        """The answers of statements, all from one state."""
        return self._connections.read(lambda send: send(*statements), (self._namespace,))

    def select(self, sql: str, values: Sequence[Any]) -> list[Any]:
        [rows] = self._read(shared(sql, values))
        return rows

    def _mend(self, work: Callable[[Send], object]) -> None:
        """Lock the namespace and run work; whoever holds it reloads."""
        name = self._namespace

        def mend(send: Send) -> None:
            send(lock_namespace(name))
            work(send)
            send(*DIALECT.reload(name))

        self._connections.write(mend, (name,))

    def taking(self, table: str, where: str, values: Sequence[Any], why: str) -> Callable[[], None]:
        def work(send: Send) -> None:
            condition, all_values = (
                f"FROM {table} t WHERE {self.within}{where}",
                (*self.values, *values),
            )
            [rows] = send(shared(f"SELECT to_jsonb(t)::text {condition}", all_values))
            entries = ((self._namespace, json.loads(row)) for (row,) in rows)
            self.quarantine.keep(table, entries, why)
            send(shared(f"DELETE {condition}", all_values))

        return partial(self._mend, work)

    # The checks

    def _counters(self) -> Iterator[Problem]:
        """Counters that would give a number a second time, and the number of memories."""
        name = self._namespace
        [[[counter, living, last, count]], events] = self._read(
            Statement(
                f"SELECT counter, living, {_LAST_ROW}, {_LIVING} FROM spaces WHERE namespace = %s",
                (name, name, name),
            ),
            Statement(
                "SELECT 1 FROM events WHERE namespace = %s AND seq > coalesce((SELECT seq "
                "FROM clocks WHERE namespace = %s), 0) LIMIT 1",
                (name, name),
            ),
        )
        if counter >= last and living == count and not events:
            return
        problem = f"the numbers of the namespace (row {counter}, {living} memories) are wrong"
        finding = Finding("counter", problem, remedy=f"{FIX} sets them")
        yield Problem(finding, partial(self._mend, self._set_counters))

    def _set_counters(self, send: Send) -> None:
        name = self._namespace
        send(
            Statement(
                f"UPDATE spaces SET counter = greatest(counter, {_LAST_ROW}), living = {_LIVING} "
                "WHERE namespace = %s",
                (name,) * 3,
            ),
            Statement(
                f"INSERT INTO clocks AS c (namespace, seq) SELECT %s, {_LAST_EVENT} ON CONFLICT "
                "(namespace) DO UPDATE SET seq = greatest(c.seq, excluded.seq)",
                (name, name),
            ),
        )

    def _stale_words(self) -> Iterator[Problem]:
        """Memories whose terms, features or keys are not those of their texts."""
        memories = list(self._found())
        stale = [each for each in memories if not isinstance(each, str)]
        unreadable = [each for each in memories if isinstance(each, str)]
        if stale:
            finding = stale_words(len(stale), [each.id for each in stale[:EXAMPLES]])
            yield Problem(finding, partial(self._mend, lambda send: send(*written(stale))))
        if unreadable:
            problem = f"{len(unreadable):,} memories cannot be read"
            examples = tuple(unreadable[:EXAMPLES])
            remedy = "correct the values, or restore the database from a dump (pg_restore)"
            yield Problem(Finding("memories", problem, len(unreadable), examples, remedy))

    def _found(self) -> Iterator[Found | str]:
        """The memories found by something else than their texts, or unreadable, page by page."""
        rows, after = [()] * _PAGE_MEMORIES, 0
        while len(rows) == _PAGE_MEMORIES:
            [rows] = self._read(Statement(_SELECT_PAGE, (self._namespace, after)))
            for row in rows:
                memory, after = Found.of(row), row[1]
                if isinstance(memory, str) or memory.is_stale:
                    yield memory
