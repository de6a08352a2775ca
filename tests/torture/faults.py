"""Faults at every statement: interrupted, disk full, failing writes on SQLite; cuts on PostgreSQL.

Each call meets a fault at its n-th chance, for n = 1, 2, ... until it succeeds. A call that fails
has to raise an error of the library, and to leave the state before it, or all of its effect.
"""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from shutil import copyfile

from salience import Memory
from salience.closing import Closing
from salience.errors import SalienceError
from salience.stores.embedded import EmbeddedStore
from salience.stores.sqlite.records import SqliteRecords
from torture.kills import remove, undisturbed
from torture.life import CALLS, LONG_AGO, Call, do, found, opened
from torture.postgres import Databases
from torture.state import answers, first_difference, rebuilt, state
from torture.tally import Tally

MOST_CHANCES = 2_000  # of one call; more would mean that the fault never ends
_FRAME_BYTES = 4_096 + 24  # a page in the write-ahead log
_MOST_PAGES = 2**30
Fault = Callable[[SqliteRecords, int], "Iterator[None]"]


@contextmanager
def interrupted(records: SqliteRecords, n: int) -> Iterator[None]:
    """The n-th statement is interrupted."""
    left = n

    def interrupt(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            records._writer.interrupt()

    records._writer.set_trace_callback(interrupt)
    try:
        yield
    finally:
        records._writer.set_trace_callback(None)


@contextmanager
def interrupted_within(records: SqliteRecords, n: int) -> Iterator[None]:
    """SQLite's machine is stopped after (n - 1) * 97 instructions, in the midst of a statement."""
    left = n - 1

    def stop() -> int:
        nonlocal left
        left -= 1
        return left == -1

    records._writer.set_progress_handler(stop, 97)
    try:
        yield
    finally:
        records._writer.set_progress_handler(None, 0)


@contextmanager
def full(records: SqliteRecords, n: int) -> Iterator[None]:
    """The file may grow by n - 1 pages."""
    [pages] = records._writer.execute("PRAGMA page_count").fetchone()
    records._writer.execute(f"PRAGMA max_page_count = {pages + n - 1}")
    try:
        yield
    finally:
        records._writer.execute(f"PRAGMA max_page_count = {_MOST_PAGES}")


@contextmanager
def failing_writes(records: SqliteRecords, n: int) -> Iterator[None]:
    """The operating system refuses to write behind the n-th frame of the write-ahead log."""
    log = Path(f"{records.path}-wal")
    written = log.stat().st_size if log.exists() else 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (written + (n - 1) * _FRAME_BYTES + 16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


FAULTS = (interrupted, interrupted_within, full, failing_writes)


def on_sqlite(
    calls: Sequence[Call], seed: int, folder: Path, progress: Callable[[Tally], None]
) -> list[Tally]:
    """Every fault at every chance of each call, on a file."""
    first, path = folder / "first.db", folder / "faulty.db"
    with opened(first, LONG_AGO) as memory:
        found(memory)
    tallies = []
    for fault in FAULTS:
        tally = Tally(f"faults, SQLite, {fault.__name__}", seed)
        tallies.append(tally)
        for call in calls:
            for name in ("whole.db", "faulty.db"):
                remove(folder / name)
                copyfile(first, folder / name)
            number = CALLS.index(call)
            (before, after), _, _ = undisturbed(folder / "whole.db", [(number, seed)])
            records = SqliteRecords(str(path))
            with opened(EmbeddedStore(records)) as memory:
                state(memory)  # it reads what it keeps before the first fault
                for n in range(1, MOST_CHANCES):
                    label = f"{call.name}, chance {n}"
                    tally.rounds += 1
                    with fault(records, n):
                        succeeded = _attempt(tally, label, call, memory, seed)
                    left = state(memory)
                    if succeeded or left == after:
                        tally.acknowledged += succeeded
                        break
                    if left != before and not call.in_steps:
                        tally.report("half", f"{label}: {first_difference(left, before)}")
                        break
                else:
                    tally.report("endless", label)
                if left != after:
                    tally.report("half", f"{label}, in the end: {first_difference(left, after)}")
                _check(tally, label, memory)
            progress(tally)
    return tallies


def _attempt(tally: Tally, label: str, call: Call, memory: Memory, seed: int) -> bool:
    """Make a call; whether it succeeded."""
    try:
        do(call, memory, seed)
    except SalienceError:
        return False
    except Exception as problem:
        tally.report("foreign", f"{label}: {type(problem).__name__}: {problem}")
        return False
    return True


def _check(tally: Tally, label: str, memory: Memory) -> None:
    """What was met by faults goes on, and answers like a rebuilt store."""
    if not memory.upkeep.verify():
        tally.report("verify", f"{label}: {memory.upkeep.verify()}")
    memory.add("The store goes on.", id="after")
    if answers(memory) != rebuilt(memory):
        tally.report("searches", f"{label}: differ from those of a rebuilt store")


class Proxy(Closing):
    """Passes connections on to a server's socket; cuts all of them at the n-th request.

    `lose` says what is lost: the request, or the answer to it.
    """

    def __init__(self, server: Path, folder: Path) -> None:
        self._server = str(server)
        self._lock = threading.Lock()
        self._left, self._lose = 0, "request"
        self._open: set[socket.socket] = set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, n: int, lose: str) -> None:
        """Cut at the n-th request from now."""
        with self._lock:
            self._left, self._lose = n, lose

    @property
    def has_cut(self) -> bool:
        """Whether the cut has happened."""
        return self._left <= 0

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                arguments = (source, target, source is client)
                threading.Thread(target=self._pass_on, args=arguments, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if counted and self._is_last():
                    if self._lose == "answer":
                        target.sendall(data)
                    self._cut_all()
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _is_last(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left == 0

    def _cut_all(self) -> None:
        for end in list(self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()


def on_postgres(
    calls: Sequence[Call], seed: int, folder: Path, progress: Callable[[Tally], None]
) -> Tally:
    """A cut connection at every request of each call; it comes back at once."""
    tally = Tally("faults, PostgreSQL, cut", seed)
    with Databases(fsync="off") as databases:  # this server is never killed
        real = databases.sockets / ".s.PGSQL.5432"
        with Proxy(real, folder) as proxy:
            for call in calls:
                number = CALLS.index(call)
                states, _, _ = undisturbed(databases.copy("whole"), [(number, seed)])
                for lose in ("request", "answer"):
                    for n in range(1, MOST_CHANCES):
                        databases.copy("faulty")
                        label = f"{call.name}, {lose} {n} lost"
                        url = f"postgresql://postgres@/faulty?host={folder}"
                        with opened(url) as memory:
                            memory.count()  # connects
                            tally.rounds += 1
                            proxy.cut(n, lose)
                            succeeded = _attempt(tally, label, call, memory, seed)
                            is_over = not proxy.has_cut
                            proxy.cut(0, lose)
                            left = state(memory)
                            tally.acknowledged += succeeded
                            if succeeded and left != states[1]:
                                kind = "lost" if left == states[0] else "half"
                                tally.report(kind, f"{label}: {first_difference(left, states[1])}")
                            elif left not in states and not call.in_steps:
                                tally.report(
                                    "half", f"{label}: {first_difference(left, states[1])}"
                                )
                            _check(tally, label, memory)
                        if is_over:
                            break
                progress(tally)
    return tally


def some(count: int, seed: int) -> list[Call]:
    """Some of the calls, chosen by a seed."""
    return Random(seed).sample(CALLS, count)
