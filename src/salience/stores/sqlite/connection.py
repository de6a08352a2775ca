"""Opening a SQLite file, checked; writing to it in turns; a remedy for each error."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

from salience.errors import DiskFull, NotWritable, SalienceError, StoreClosed, StoreError
from salience.language.tokens import text_key, words
from salience.stores.codec import (
    DAMAGES,
    attribute_key,
    feature_bytes,
    passage_values,
    term_bytes,
)
from salience.stores.migrations import migrations, present_schema
from salience.stores.sqlite.open_files import (
    OPEN_FILES,
    Identity,
    check_log,
    file_identity,
    guard_schema,
    next_state,
)
from salience.stores.sqlite.row_checksums import (
    compose_names,
    composed_value,
    damaged_memories,
    recount_edits,
    renew_checksums,
)
from salience.stores.sqlite.statements import checksum, define, interrupt_of

APPLICATION_ID = 0x5245434C  # "RECL", in the header of every file that this program made
_COMPOSED_VERSION = 22  # the first whose names are all in the normal form NFC
_RECOUNTED_VERSION = 26  # the first in which edits are accesses by the rule of today
_log = logging.getLogger(__name__)
BUSY_TIMEOUT_SECONDS = 30.0
WRITER_POLL_MS = 20  # that a writer's connection waits for the lock before it asks again
DAMAGED = "restore it from a backup; `salience doctor` says where the damage is"
_REMEDIES = (
    ("disk is full", "free some room or raise the limit, then try again; nothing was lost"),
    ("readonly", "open it with ?mode=ro, or make the file and its folder writable"),
    ("locked", "another process has held its write lock for too long; try again"),
    ("not a database", "give the path of a salience store, or a new path"),
    ("malformed", f"{DAMAGED}; without one, SQLite's `.recover` saves what can be read"),
    ("utf-8", DAMAGED),
    ("unsupported file format", DAMAGED),
    ("no such", DAMAGED),  # a table or column that every file has
    ("duplicate column", DAMAGED),
    ("already exists", DAMAGED),
    ("constraint failed", "`salience doctor --fix` sets numbers and rebuilds indexes"),
    ("unable to open", "check that its folder exists and may be read and written"),
    ("disk i/o error", "check the disk, then try again"),
)


class DamagedValue(StoreError):
    """A value of a memory that cannot be read."""


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors into `StoreError`s that name the file and the remedy."""
    try:
        yield
    except sqlite3.Error as problem:
        raise translated_error(path, problem) from problem
    except UnicodeDecodeError as problem:  # in a text, or in SQLite's words about one
        raise DamagedValue(f"{path}: {problem}; {DAMAGED}") from problem


@contextmanager
def translate_damage(path: str) -> Iterator[None]:
    """Turn errors from damaged values into `StoreError`s that name the file."""
    try:
        yield
    except SalienceError:
        raise
    except DAMAGES as problem:
        raise DamagedValue(f"{path}: a value in it is damaged ({problem}); {DAMAGED}") from problem


@contextmanager
def transaction(db: sqlite3.Connection, kind: str = "") -> Iterator[sqlite3.Connection]:
    """One transaction, undone on any error; an interrupt at any point leaves none open."""
    if db.in_transaction:  # an interrupt came during a rollback
        db.execute("ROLLBACK")
    try:
        _begin(db, kind)
        yield db
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _begin(db: sqlite3.Connection, kind: str) -> None:
    """Begin a transaction; wait for the file's write lock up to `BUSY_TIMEOUT_SECONDS`.

    SQLite itself asks for the lock ever more rarely, at last ten times a second, and would miss the
    moments when upkeep leaves it to others.
    """
    give_up = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            db.execute(f"BEGIN {kind}")  # an interrupt while it waits arrives when it has begun
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
        else:
            return


def translated_error(path: str, problem: sqlite3.Error) -> BaseException:
    """The `StoreError` of an error of SQLite; wrong uses of it and interrupts stay as they are."""
    text = str(problem)
    if (interrupt := interrupt_of(problem)) is not None:
        return interrupt
    if isinstance(problem, sqlite3.ProgrammingError):
        return (
            StoreClosed(f"{path}: the store is closed; open it again with Memory.open(...)")
            if "closed" in text
            else problem
        )
    remedy = next((r for sign, r in _REMEDIES if sign in text.lower()), "")
    message = f"{path}: {text}" + (f"; {remedy}" if remedy else "")
    if "disk is full" in text:
        return DiskFull(message)
    if "readonly" in text:
        return NotWritable(message, "its file or folder can only be read")
    return DamagedValue(message) if "utf-8" in text.lower() else StoreError(message)


def open_file(path: str, read_only: bool) -> Identity | None:
    """Make a file if there is none, and note that it is open; None for `:memory:`.

    Raises:
        StoreError: it cannot be a store, or its write-ahead log belongs to another file.
    """
    if path == ":memory:":
        return None
    _check_path(path, read_only)
    if not read_only:
        _create(path)
    try:
        return OPEN_FILES.add(os.path.abspath(path), check_log)
    except FileNotFoundError:
        raise StoreError(f"{path}: is gone; check the path, then open it again") from None


def connect(path: str, read_only: bool) -> sqlite3.Connection:
    """Connect to a file that is noted as open."""
    with translate_errors(path):
        return _open(path, read_only)


def _check_path(path: str, read_only: bool) -> None:
    """Refuse a path that no file can have, or whose folder is missing."""
    try:
        path.encode()
        folder = Path(path).resolve().parent
        for part in (folder, Path(path)):
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                part.stat()
        has_folder, is_folder, exists = folder.is_dir(), Path(path).is_dir(), Path(path).exists()
    except UnicodeEncodeError:
        raise StoreError(f"{path}: has characters that are none; name the file otherwise") from None
    except ValueError:
        raise StoreError(f"{path!r}: has a NUL character; name the file otherwise") from None
    except (OSError, RuntimeError) as problem:  # too long, or links that go round in a circle
        reason = getattr(problem, "strerror", None) or str(problem)
        raise StoreError(f"{path}: cannot be a file: {reason}; give another path") from None
    if is_folder:
        raise StoreError(f"{path}: is a folder; name a file in it, as {Path(path, 'memory.db')}")
    for name in (path, *(f"{path}-{log}" for log in ("wal", "shm", "journal"))):
        if os.path.exists(name) and not os.path.isfile(name):
            raise StoreError(f"{name}: is not a regular file; move it away, or name another")
    if read_only and not exists:
        raise StoreError(f"{path}: there is no such file; leave out ?mode=ro to make it")
    if not has_folder:
        raise StoreError(f"{path}: there is no folder {folder}; make it first")


def _create(path: str) -> None:
    """Make the file of a store, for its owner only; SQLite gives its logs the same mode."""
    target = os.path.realpath(path)  # a link may lead to a file that is still to be made
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as problem:
        if file_identity(target) is None:
            remedy = f"let {os.path.dirname(target)} be written, or name a file elsewhere"
            raise StoreError(f"{path}: cannot be made: {problem.strerror}; {remedy}") from None


def _open(path: str, read_only: bool) -> sqlite3.Connection:
    target, uri = path, False
    if path != ":memory:" and read_only:
        # Without a write-ahead log nobody writes the file. SQLite may then read it even where it
        # cannot create the files that it shares with writers.
        has_no_writer = not os.path.exists(f"{path}-wal")
        target, uri = f"file:{quote(os.path.abspath(path))}?mode=ro", True
        if has_no_writer and not os.access(os.path.dirname(os.path.abspath(path)) or ".", os.W_OK):
            target += "&immutable=1"
    db = sqlite3.connect(
        target, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False, uri=uri
    )
    try:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA cache_size = -16000")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut
        db.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
        define(db, "checksum", -1, checksum)
    except sqlite3.Error:  # it is no database
        db.close()
        raise
    return db


def prepare_schema(db: sqlite3.Connection, path: str, read_only: bool) -> None:
    """Create the schema, or bring it up to date.

    Raises:
        StoreError: not a SQLite file, one of another program, or of a newer salience.
    """
    with translate_errors(path):
        [application] = db.execute("PRAGMA application_id").fetchone()
        [version] = db.execute("PRAGMA user_version").fetchone()
        [tables] = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (tables or application):
        raise StoreError(
            f"{path}: is the SQLite file of another program, not a salience store; "
            "give another path"
        )
    with translate_errors(path):
        check_schema(db, path)
    steps = migrations("sqlite")
    if version < len(steps):
        if read_only:
            raise StoreError(
                f"{path}: "
                + ("is empty" if version == 0 else f"has the older schema {version}")
                + " and cannot be written; open it once with write permission"
            )
        with translate_errors(path):
            _migrate(db, steps, path)
    elif not read_only and path != ":memory:":
        with translate_errors(path):
            _enable_wal(db)
    with translate_errors(path):
        counters = db.execute("SELECT typeof(value) FROM counter").fetchall()
    if counters != [("integer",)]:
        raise StoreError(f"{path}: its counter is damaged; {DAMAGED}")


def check_schema(db: sqlite3.Connection, path: str) -> int:
    """Refuse a file with a newer schema, which another process may have given to an open file.

    The result is the version of its schema.

    Raises:
        StoreError: names both versions and the remedy.
    """
    newest = len(migrations("sqlite"))
    [version] = db.execute("PRAGMA user_version").fetchone()
    if version > newest:
        raise NotWritable(
            f"{path}: was written by a newer salience (schema {version}, this one knows {newest}); "
            "nothing was written; upgrade salience",
            "a newer salience has written it",
        )
    return int(version)


def _enable_wal(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")


def _migrate(db: sqlite3.Connection, steps: Sequence[str], path: str) -> None:
    if path != ":memory:":
        _enable_wal(db)
    with transaction(db, "EXCLUSIVE"):
        # Read again: another process may have migrated it.
        [version] = db.execute("PRAGMA user_version").fetchone()
        define(db, "text_key", 1, text_key)
        define(db, "attribute_key", 1, attribute_key)
        define(db, "feature_bytes", 1, _feature_bytes)
        define(db, "term_bytes", 1, term_bytes)
        define(db, "passage_borders", 2, _passage_borders)
        define(db, "passage_terms", 2, _passage_terms)
        define(db, "exact_json", 1, _exact_json)
        define(db, "composed", 2, composed_value)
        # Steps may change what the checksums are of; what is damaged must not pass for sound then.
        damaged = damaged_memories(db) if 0 < version < len(steps) else []
        for step in steps[version:] if version else [present_schema("sqlite")]:
            for statement in _statements(step):
                db.execute(statement)
        if 0 < version < _COMPOSED_VERSION:
            compose_names(db)
        if 0 < version < _RECOUNTED_VERSION:
            recount_edits(db)
        if 0 < version < len(steps):
            renew_checksums(db, damaged)
        guard_schema(db, len(steps))
        db.execute(next_state(len(steps)))
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(steps)}")
    if path != ":memory:":  # a copy of the file alone is that of a store
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    if version and version < len(steps):
        _log.info("%s: schema brought from version %d to %d", path, version, len(steps))


def _feature_bytes(content: str) -> bytes:
    return feature_bytes(content, words(content))


def _passage_borders(title: str | None, content: str) -> str | None:
    return passage_values(title, content)[0]


def _passage_terms(title: str | None, content: str) -> bytes | None:
    return passage_values(title, content)[1]


def _exact_json(value: float | bytes | None) -> str:
    """A number or packed times as JSON, to the last bit."""
    return json.dumps(list(array("d", value)) if isinstance(value, bytes) else value)


@cache
def _statements(script: str) -> tuple[str, ...]:
    statements, statement = list[str](), ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            statements.append(statement)
            statement = ""
    return tuple(statements)


LONG_TURN_SECONDS = 0.03  # of a transaction; others may have begun to wait
PAUSE_SECONDS = 0.03  # after it: longer than `WRITER_POLL_MS`, so that whoever waits asks in it


class Turns:
    """The turns of the threads of this process at one write lock.

    Upkeep writes many transactions in a row. SQLite's lock has no queue: without a pause between
    them, others would hardly ever find it free.
    """

    def __init__(self) -> None:
        self._last = threading.local()

    def wait(self) -> None:
        """Wait until a long turn of this thread is over for `PAUSE_SECONDS`."""
        pause = getattr(self._last, "long_turn_end", 0.0) + PAUSE_SECONDS - time.monotonic()
        if pause > 0.0:
            time.sleep(pause)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Time a turn."""
        begun = time.monotonic()
        try:
            yield
        finally:
            end = time.monotonic()
            if end - begun > LONG_TURN_SECONDS:
                self._last.long_turn_end = end
