"""Answers that are kept for requests which are sent again, as long as the server lives."""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from time import time

import msgspec

from salience.lazily import dataclass
from salience.server.guard.request import UNMATCHED

_ENTRY_BYTES = 1_024  # of memory, beside the body


@dataclass(frozen=True)
class Answer:
    """A whole answer, the template of the path that gave it, and the namespace that it is about."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    route: str = UNMATCHED
    namespace: str = ""


@dataclass(frozen=True)
class KeptRequest:
    """A request that was seen: the hash of its content, and its answer once there is one.

    `is_done` without an answer: the answer was too large to be kept, or it is dropped.
    """

    fingerprint: bytes
    answer: Answer | None = None
    is_done: bool = False

    @property
    def bytes(self) -> int:
        """The memory that it takes, roughly."""
        return _ENTRY_BYTES + (len(self.answer.body) if self.answer else 0)


_SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL,
    until REAL NOT NULL,
    pid INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0,
    answer BLOB,
    namespace TEXT,
    erased_in TEXT NOT NULL DEFAULT '[]' -- namespaces, while it was running
);
"""
_WAIT_SECONDS = 5.0  # for another worker that writes
_CHECKS = 32  # of the whole size, while the file fills up once


class KeptAnswers:
    """The answers of one process or of those that share a file, which replay for each other.

    They are kept for some time and up to about a number of bytes. A request whose process has died
    is forgotten. The `path` of answers in the memory of a process is ":memory:".
    """

    def __init__(
        self, path: str, seconds: float, max_bytes: int, clock: Callable[[], float] = time
    ) -> None:
        self._seconds, self._max_bytes, self._clock = seconds, max_bytes, clock
        self._unchecked = 0  # bytes kept since the size was last looked at
        self._db = sqlite3.connect(
            path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        weakref.finalize(self, self._db.close)
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON"):
            self._db.execute(f"PRAGMA {pragma}").close()
        with self._changing():
            self._db.execute(_SCHEMA).close()

    async def begin(self, name: str, fingerprint: bytes) -> KeptRequest | None:
        """Reserve a name for a request: None, or the request that has it already."""
        with self._changing() as db:
            now = self._clock()
            db.execute("DELETE FROM requests WHERE until <= ? AND is_done", (now,))
            with closing(
                db.execute(
                    "SELECT fingerprint, is_done, answer, pid FROM requests WHERE name = ?", (name,)
                )
            ) as found:
                row = found.fetchone()
            if row is not None and (row[1] or is_alive(row[3])):
                answer = None if row[2] is None else msgspec.msgpack.decode(row[2], type=Answer)
                return KeptRequest(row[0], answer, bool(row[1]))
            request = KeptRequest(fingerprint)
            db.execute(
                "INSERT OR REPLACE INTO requests (name, fingerprint, until, pid, bytes)"
                " VALUES (?, ?, ?, ?, ?)",
                (name, fingerprint, now + self._seconds, os.getpid(), request.bytes),
            )
            self._count(request.bytes)
        return None

    async def finish(self, name: str, answer: Answer | None) -> None:
        """Keep the answer of a request, unless it was dropped before; None: it was too large."""
        with self._changing() as db:
            if answer is not None:
                [dropped] = db.execute(
                    "SELECT EXISTS (SELECT 1 FROM requests, json_each(erased_in)"
                    " WHERE name = ? AND json_each.value = ?)",
                    (name, answer.namespace),
                ).fetchone()
                answer = None if dropped else answer
            kept = None if answer is None else msgspec.msgpack.encode(answer)
            namespace = None if answer is None else answer.namespace
            size = KeptRequest(b"", answer, is_done=True).bytes
            db.execute(
                "UPDATE requests SET is_done = 1, answer = ?, bytes = ?, namespace = ?"
                " WHERE name = ?",
                (kept, size, namespace, name),
            )
            self._count(size)

    async def abandon(self, name: str) -> None:
        """Forget a request that failed, so that it can be sent again."""
        with self._changing() as db:
            db.execute("DELETE FROM requests WHERE name = ?", (name,))

    async def drop_answers(self, namespace: str, own: str | None = None) -> None:
        """Forget what was answered about a namespace, but not which requests were done.

        A request that is running may have read what is gone, so its answer about the namespace is
        not kept either; that of the request `own` is.
        """
        size = KeptRequest(b"", None, is_done=True).bytes
        with self._changing() as db:
            db.execute(
                "UPDATE requests SET answer = NULL, bytes = ?, namespace = NULL"
                " WHERE namespace = ?",
                (size, namespace),
            )
            db.execute(
                "UPDATE requests SET erased_in = json_insert(erased_in, '$[#]', ?)"
                " WHERE NOT is_done AND name IS NOT ?",
                (namespace, own),
            )
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()  # the log has them, too

    def _count(self, size: int) -> None:
        """Forget the oldest answers if there are too many bytes, looking now and then."""
        self._unchecked += size
        if self._unchecked < self._max_bytes / _CHECKS:
            return
        self._unchecked = 0
        self._db.execute(
            "DELETE FROM requests WHERE is_done AND number IN (SELECT number FROM"
            " (SELECT number, sum(bytes) OVER (ORDER BY number DESC) AS newer FROM requests)"
            " WHERE newer > ?)",
            (self._max_bytes,),
        )

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which no other process writes in."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def is_alive(pid: int) -> bool:
    """Test whether a process of this machine still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
