"""The files that are open: in this process by a register, in others by the locks that SQLite holds.

A POSIX lock belongs to a process, which loses it when it closes the file by any handle. So this
process may read a file that it has open only through SQLite.

SQLite replays any log that lies beside a file. If a file replaces one that is open, the log is that
of the former file, and replaying it destroys both. So every transaction of a store gives the row of
`counter` a random state, and keeps the one before. A log belongs to a file if it contains the state
of the file: as the one before its first transaction, or as that of a transaction which SQLite has
copied into the file already. For the format see https://www.sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from types import ModuleType
from typing import BinaryIO, NamedTuple, Self
from urllib.parse import quote

from salience.closing import regular_file
from salience.errors import StoreError

fcntl: ModuleType | None = None
with suppress(ImportError):  # not on Windows, where no open file can be replaced
    import fcntl

Identity = tuple[int, int]
"""The device and inode of a file."""
_FIRST_LOCK, _LOCKS = 0x40000000, 512  # the bytes of a file that SQLite locks
_OPEN_LOCK = 128  # the byte of the shared memory that whoever has the store open locks


def file_identity(path: str) -> Identity | None:
    """The device and inode of the file at a path now; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class OpenFiles:
    """The files that stores of this process have open, by path and by identity."""

    def __init__(self) -> None:
        self._counts: Counter[str | Identity] = Counter()
        self._lock = threading.Lock()

    def add(self, path: str, check: Callable[[str], None]) -> Identity:
        """Note that a file is being opened; it is checked first, unless it is open already.

        Raises:
            FileNotFoundError: there is none.
        """
        with self._lock:
            identity = file_identity(path)
            if identity is None:
                raise FileNotFoundError(path)
            if identity not in self._counts:
                check(path)
            self._counts.update((path, identity))
            return identity

    def remove(self, path: str, identity: Identity) -> None:
        """Note that it was closed."""
        with self._lock:
            self._counts -= Counter((path, identity))

    def forget(self) -> None:
        """Forget all, in a forked copy, which has none open."""
        self._counts = Counter()
        self._lock = threading.Lock()

    def __contains__(self, file: object) -> bool:
        return file in self._counts


OPEN_FILES = OpenFiles()


@contextmanager
def only_user(path: str) -> Iterator[bool]:
    """Keep others from a store during a block; False if somebody has it open.

    Somebody may have the former file of that path open, too, and so its log.
    """
    with ExitStack() as files:
        yield (
            file_identity(path) not in OPEN_FILES
            and os.path.abspath(path) not in OPEN_FILES
            and _locks(files, path, _FIRST_LOCK, _LOCKS)
            and _locks(files, f"{path}-shm", _OPEN_LOCK, 1)
        )


def _locks(files: ExitStack, path: str, first: int, count: int) -> bool:
    """Lock bytes of a file until `files` close it; False if another process has locked some."""
    if fcntl is None:
        return True
    if not os.path.exists(path):
        return True
    file = open(path, "r+b")  # noqa: SIM115  # `files` close it
    files.enter_context(file)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, count, first)
    except OSError:
        return False
    return True


_FIRST_GUARDED = 24  # the first schema that only those who know it may write to
_GUARD = "only_this_schema"


def next_state(schema: int) -> str:
    """The statement that begins each transaction of a file with this schema.

    It adds the version of the schema to a sum, which tells `guard_schema` that of the writer.
    """
    schemas = f", schemas = schemas + {schema:d}" if schema >= _FIRST_GUARDED else ""
    return f"UPDATE counter SET previous_state = state, state = randomblob(8){schemas}"


def guard_schema(db: sqlite3.Connection, schema: int) -> None:
    """Refuse writes by programs of another schema, such as an older one with the file open.

    Every release since schema 14 begins each transaction with a new state. SQLite itself refuses
    it, in words that an older program passes on.
    """
    db.execute(f"DROP TRIGGER IF EXISTS {_GUARD}")
    db.execute(
        f"CREATE TRIGGER {_GUARD} BEFORE UPDATE OF state ON counter "
        f"WHEN new.schemas - old.schemas IS NOT {schema:d} BEGIN SELECT RAISE(ABORT, "
        f"'another salience has brought this file to schema {schema:d}; nothing was written; "
        "upgrade salience, and start whatever runs the older one again'); END"
    )


_COUNTER_PAGE = "SELECT rootpage FROM sqlite_schema WHERE name = 'counter'"
_LOG_HEADER, _FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_LEAF_WITH_ONE_ROW = b"\r\0\1"  # the type of its page, and its number of rows
_TWO_STATES = b"\x1c\x1c"  # two values of eight bytes; a row of an older schema has none
_ATTEMPTS = 5  # others may write or fold the log while it is read
_PAUSE_SECONDS = 0.02


def check_log(path: str) -> None:
    """Refuse a file whose write-ahead log belongs to another.

    Raises:
        StoreError: names the log, and what to do.
    """
    log_path = f"{path}-wal"
    before: object = None
    for _ in range(_ATTEMPTS):
        try:
            if not os.path.getsize(log_path):
                return
            root, state = _state_of_file(path)
            if state is None:  # of an older schema, or of none yet
                return
            header, rows = _rows_of_log(log_path, root)
        except (OSError, TypeError, ValueError, sqlite3.Error):  # opening it says what is wrong
            return
        if not rows or any(state in row for row in rows):
            return
        if before == (header, state):
            break
        before = header, state
        time.sleep(_PAUSE_SECONDS)
    else:
        return  # it is written all the time, which nobody does to a log of another file
    raise StoreError(
        f"{path}: the write-ahead log {log_path} belongs to another file, which was here before; "
        "SQLite would destroy this one with it. Close whatever still has the former file open; if "
        f"the log stays, move it and {path}-shm elsewhere; then reopen {path}. Keep the log "
        "with the former file, if that is needed: it may hold what was written to it last"
    )


class MovedLog(NamedTuple):
    """The log of a file that is no longer at its path, once all of it is in the file."""

    path: str
    page: int  # of `counter`
    state: bytes

    @classmethod
    def folded(cls, db: sqlite3.Connection, path: str) -> Self | None:
        """Copy the log of such a file into it; None if that is not possible now."""
        with suppress(sqlite3.Error):
            [state] = db.execute("SELECT state FROM counter").fetchone()
            [page] = db.execute(_COUNTER_PAGE).fetchone()
            busy, frames, copied = db.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
            if not busy and frames == copied:
                return cls(f"{path}-wal", page, state)
        return None

    def is_here(self) -> bool:
        """Test whether the log beside the path is still this one."""
        with suppress(OSError):
            return any(self.state in row for row in _rows_of_log(self.path, self.page)[1])
        return False


def _state_of_file(path: str) -> tuple[int, bytes | None]:
    """The page of `counter`, and the state that the file has without its log."""
    target = f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(target, uri=True, isolation_level=None)) as db:
        names = {name for _, name, *_ in db.execute("PRAGMA table_info(counter)")}
        if "state" not in names:
            return 0, None
        [root] = db.execute(_COUNTER_PAGE).fetchone()
        [state] = db.execute("SELECT state FROM counter").fetchone()
    return root, state


def _rows_of_log(path: str, page: int) -> tuple[bytes, list[bytes]]:
    """The header of a log, and the pages in it that have the one row of `counter`, oldest first."""
    with regular_file(path) as log:
        header = log.read(_LOG_HEADER.size)
        if len(header) < _LOG_HEADER.size:
            return header, []
        magic, _, page_size, _, *salt, _, _ = _LOG_HEADER.unpack(header)
        if magic not in _LOG_MAGIC:
            return header, []
        frames = _frames(log, page_size, salt, page)
        leaves = (each for each in frames if each[:1] + each[3:5] == _LEAF_WITH_ONE_ROW)
        return header, [each for each in leaves if _TWO_STATES in each]


def _frames(log: BinaryIO, page_size: int, salt: list[int], page: int) -> Iterator[bytes]:
    """The versions of a page in a log, oldest first; frames of another salt are left over."""
    place = _LOG_HEADER.size
    while True:
        log.seek(place)
        frame = log.read(_FRAME_HEADER.size)
        if len(frame) < _FRAME_HEADER.size:
            return
        number, _, *own_salt, _, _ = _FRAME_HEADER.unpack(frame)
        if own_salt != salt:
            return
        if number == page:
            yield log.read(page_size)
        place += _FRAME_HEADER.size + page_size
