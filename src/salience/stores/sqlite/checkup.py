"""Looking for damage in a SQLite file, and mending it.

Each check follows the repairs of earlier ones. What it removes goes to the quarantine.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from salience.errors import SalienceError
from salience.lazily import regex
from salience.retrieval.safety import STRUCTURE, Finding
from salience.stores.findings import EXAMPLES, FIX, Problem, Quarantine
from salience.stores.sqlite.connection import DAMAGED, connect, prepare_schema
from salience.stores.sqlite.row_checks import LogEvent, SqliteRowChecks
from salience.stores.sqlite.snapshots import damaged_snapshots, remove_snapshots
from salience.stores.sqlite.statements import interrupt_of

_MAX_PROBLEMS = 100  # of the structure that SQLite lists
_MAX_LOG_BYTES = 64 << 20
_MAX_FREE_BYTES, _MAX_FREE_SHARE = 16 << 20, 0.25
_INDEX_PROBLEM = regex(r"index|NUMERIC value|TEXT value", re.IGNORECASE)
_WORD = regex(r"--[^\n]*|'(?:[^']|'')*'|\"[^\"]*\"|\w+|[^\w\s]")
Writing = Callable[[], AbstractContextManager[sqlite3.Connection]]
"""Begins a transaction of the store."""


def check_file(
    db: sqlite3.Connection,
    path: str,
    *,
    writing: Writing | None = None,
    fold_log: Callable[[], bool] | None = None,
    log_event: LogEvent | None = None,
) -> tuple[Finding, ...]:
    """Look for damage in a file by a connection; mend it if `writing` is given."""
    findings: list[Finding] = []
    try:
        rows = SqliteRowChecks(db, Quarantine(path), log_event)
        for problem in _problems(_FileChecks(db, path, fold_log), rows):
            finding = problem.finding
            if writing is not None and problem.mend is not None:
                with writing() as writer:
                    usual, writer.text_factory = writer.text_factory, db.text_factory
                    try:
                        problem.mend(writer)
                    finally:
                        writer.text_factory = usual
                finding = replace(finding, fixed=True)
            elif writing is not None and problem.mend_alone is not None:
                finding = replace(finding, fixed=problem.mend_alone())
            findings.append(finding)
        if writing is not None and rows.confirmed:
            with writing() as writer:
                rows.note_confirmed(writer)
    except (sqlite3.DatabaseError, SalienceError) as error:
        findings.append(_unreadable(error))
    return tuple(findings)


def check_namespace(db: sqlite3.Connection, path: str, namespace: str) -> tuple[Finding, ...]:
    """Look for damage in the rows of a namespace, and in what the whole file shares."""
    try:
        rows = SqliteRowChecks(db, Quarantine(path), namespace=namespace)
        file = _FileChecks(db, path)
        structure = (
            replace(problem.finding, examples=())  # they name rows of other namespaces
            for problem in file.structure()
        )
        counters = (
            replace(
                problem.finding, problem="numbers in use would be given again", count=1, examples=()
            )
            for problem in file.counters()
        )
        return (*structure, *counters, *(problem.finding for problem in rows.damage()))
    except (sqlite3.DatabaseError, SalienceError) as error:
        return (_unreadable(error),)


def _problems(file: _FileChecks, rows: SqliteRowChecks) -> Iterator[Problem]:
    """All problems, possible causes of others first."""
    yield from file.structure()
    yield from file.schema()
    yield from file.counters()
    yield from rows.damage()
    yield from rows.unfit()
    yield from file.snapshots()
    yield from file.size_of_log()
    yield from file.free_pages()


def _unreadable(error: Exception) -> Finding:
    if (interrupt := interrupt_of(error)) is not None:
        raise interrupt
    return Finding(STRUCTURE, f"it cannot be read on: {error}", remedy=DAMAGED)


class _FileChecks:
    """The checks of a file besides its rows."""

    def __init__(
        self, db: sqlite3.Connection, path: str, fold_log: Callable[[], bool] | None = None
    ) -> None:
        self._db = db
        self._path = path
        self._fold_log = fold_log

    def structure(self) -> Iterator[Problem]:
        """Damaged pages, and indexes that do not fit their tables."""
        texts = [text for (text,) in self._db.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})")]
        if texts == ["ok"]:
            return
        of_indexes = [text for text in texts if _INDEX_PROBLEM.search(text)]
        if len(of_indexes) == len(texts):
            problem = f"{len(texts):,} entries of indexes do not fit their tables"
            remedy = f"{FIX} rebuilds the indexes"
            finding = Finding("indexes", problem, len(texts), tuple(texts[:EXAMPLES]), remedy)
            yield Problem(finding, partial(_run, statements=("REINDEX",)))
            return
        problem = "the structure of the file is damaged"
        yield Problem(Finding(STRUCTURE, problem, len(texts), tuple(texts[:EXAMPLES]), DAMAGED))

    def schema(self) -> Iterator[Problem]:
        """Tables and indexes that are not as in a new file."""
        with closing(connect(":memory:", False)) as fresh:
            prepare_schema(fresh, ":memory:", False)
            expected = _schema_of(fresh)
        stored = _schema_of(self._db)
        for kind, name in sorted(expected):
            declared, actual = expected[kind, name], stored.get((kind, name))
            if actual is None or actual.meaning != declared.meaning:
                state = "missing" if actual is None else "not declared as it should be"
                finding = Finding("schema", f"the {kind} {name} is {state}", remedy=DAMAGED)
                if kind == "table":
                    yield Problem(finding)
                    continue
                finding = replace(finding, remedy=f"{FIX} makes it")
                make = (f"DROP {kind.upper()} IF EXISTS {name}", declared.sql)
                yield Problem(finding, partial(_run, statements=make))
        others = stored.keys() - expected.keys()
        triggers = tuple(sorted(name for kind, name in others if kind == "trigger"))
        if triggers:
            problem = "there are triggers of others, which may change what is written"
            remedy = "drop them with DROP TRIGGER, unless they are yours"
            yield Problem(Finding("schema", problem, len(triggers), triggers, remedy))
        rest = tuple(sorted(name for kind, name in others if kind != "trigger"))
        if rest:
            problem = "there are tables or indexes of others"
            yield Problem(Finding("schema", problem, len(rest), rest, harmless=True))

    def counters(self) -> Iterator[Problem]:
        """Counters that would give a number a second time."""
        value = self._one("SELECT value FROM counter")
        last = self._one(
            "SELECT max(coalesce((SELECT max(row) FROM memories), 0), "
            "coalesce((SELECT max(seq) FROM changes), 0))"
        )
        if not isinstance(value, int) or value < last:
            problem = f"the counter is at {value}, and {last} is in use"
            finding = Finding("counter", problem, remedy=f"{FIX} sets it")
            mend = f"UPDATE counter SET value = {last:d}"
            yield Problem(finding, partial(_run, statements=(mend,)))
        used = (
            "max(coalesce((SELECT max(sequence) FROM memories AS m WHERE m.space = spaces.space), "
            "0), coalesce((SELECT max(seq) FROM events AS e WHERE e.space = spaces.space), 0))"
        )
        behind = f"typeof(last) <> 'integer' OR last < {used}"
        names = tuple(
            str(name) for (name,) in self._db.execute(f"SELECT name FROM spaces WHERE {behind}")
        )
        if names:
            problem = "the numbers of namespaces are behind those in use"
            finding = Finding("counter", problem, len(names), names[:EXAMPLES], f"{FIX} sets them")
            mend = f"UPDATE spaces SET last = {used} WHERE {behind}"
            yield Problem(finding, partial(_run, statements=(mend,)))

    def snapshots(self) -> Iterator[Problem]:
        """Snapshots of indexes that are damaged, of another file, or of erased memories."""
        for name, state in damaged_snapshots(self._db, self._path):
            finding = Finding("snapshots", f"{name} {state}", remedy=f"{FIX} removes it")
            yield Problem(finding, mend_alone=partial(remove_snapshots, self._path, name))

    def size_of_log(self) -> Iterator[Problem]:
        """A write-ahead log that has grown."""
        path = f"{self._path}-wal"
        size = os.path.getsize(path) if os.path.exists(path) else 0
        if size > _MAX_LOG_BYTES:
            problem = f"the write-ahead log {path} has {size / 1e6:,.0f} MB"
            remedy = f"{FIX} folds it, when no other program reads for long"
            finding = Finding("log", problem, remedy=remedy, harmless=True)
            yield Problem(finding, mend_alone=self._fold_log)

    def free_pages(self) -> Iterator[Problem]:
        """Room in the file that nothing uses."""
        free, pages, size = (
            self._one(f"PRAGMA {name}") for name in ("freelist_count", "page_count", "page_size")
        )
        if free * size > _MAX_FREE_BYTES and free > _MAX_FREE_SHARE * pages:
            problem = f"{free * size / 1e6:,.0f} MB of {pages * size / 1e6:,.0f} are free pages"
            remedy = "new memories use them; a backup that is restored is as large"
            yield Problem(Finding("room", problem, remedy=remedy, harmless=True))

    def _one(self, select: str) -> int:
        [value] = self._db.execute(select).fetchone()
        return value


def _run(db: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        db.execute(statement)


class _Declared(NamedTuple):
    """A table, index, view or trigger: its SQL, and what that means however it is laid out."""

    sql: str
    meaning: object


def _schema_of(db: sqlite3.Connection) -> dict[tuple[str, str], _Declared]:
    """The tables, indexes, views and triggers, by kind and name."""
    select = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    return {
        (kind, name): _Declared(sql, _table_meaning(db, name) if kind == "table" else _words(sql))
        for kind, name, sql in db.execute(select).fetchall()
    }


def _table_meaning(db: sqlite3.Connection, name: str) -> object:
    """The columns of a table in any order, its keys, what it refers to, and how its rows lie.

    Its SQL has the words of the steps that made it, which an upgrade does not change.
    """
    columns = (
        'SELECT name, upper(type), "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)'
    )
    keys = "SELECT name, origin, \"unique\", partial FROM pragma_index_list(?) WHERE origin <> 'c'"
    refers = 'SELECT "table", "from", "to", on_update, on_delete FROM pragma_foreign_key_list(?)'
    rows = "SELECT wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?"
    of_keys = "SELECT seqno, name FROM pragma_index_info(?)"
    return (
        *(frozenset(db.execute(select, (name,))) for select in (columns, refers, rows)),
        frozenset(
            (*kind, *db.execute(of_keys, (index,)))
            for index, *kind in db.execute(keys, (name,)).fetchall()
        ),
    )


def _words(sql: str) -> list[str]:
    """The words and signs of a statement, without comments, quotes of names and white space."""
    return [word.strip('"').lower() for word in _WORD.findall(sql) if not word.startswith("--")]
