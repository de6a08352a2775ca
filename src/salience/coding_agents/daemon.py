"""The warm process that answers hooks: one for a user, started by the first hook, gone when idle.

It ends, too, when its socket or the folder of its log is removed: no hook finds it any more. A lock
file makes it the only one; whoever has the lock replaces a socket that a killed daemon left, and
renews the time of the file, without which a hook takes it for frozen; so it does if requests wait
and no thread has begun or ended one for long. The folder of the socket is this user's alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from salience.coding_agents.events import log_failure, open_log
from salience.coding_agents.paths import (
    lock_path,
    make_private,
    runtime_folder,
    socket_path,
    state_folder,
)

if sys.platform != "win32":
    import fcntl

IDLE_VARIABLE = "SALIENCE_HOOK_IDLE_SECONDS"
_IDLE_SECONDS = 1_800.0
_THREADS = 4
_REQUEST_SECONDS = 10.0  # for a client to send its request
_MAX_REQUEST_BYTES = 16 * 2**20
_HUNG_SECONDS = 60.0  # within which some thread must begin or end a request, if any waits
_WAIT_SECONDS = 0.5  # between two looks at whether it is time to end


class Daemon:
    """A server on a Unix socket, of JSON requests with one answer each."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._active = 0  # requests that wait or are being answered
        self._begun = 0  # those of them that a thread has taken
        self._answered = 0
        self._started = self._last = self._moved = time.monotonic()

    def serve(self) -> int:
        """Answer until it is idle or told to end; the exit code."""
        path = socket_path()
        make_private(runtime_folder())
        lock = os.open(lock_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0  # there is one already
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        threading.Thread(target=self._show_life, args=(lock,), daemon=True).start()
        with suppress(FileNotFoundError):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listener:
            umask = os.umask(0o177)
            listener.bind(path)
            os.umask(umask)
            status = os.stat(path)
            listener.listen(64)  # from here on hooks can wait, while the rest is imported
            listener.settimeout(_WAIT_SECONDS)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self._ending.set())
            from salience.coding_agents.handling import Handler

            with Handler() as handler, ThreadPoolExecutor(_THREADS) as pool:
                self._listen(listener, handler, pool, status)
                if _is_at(path, status):
                    os.unlink(path)
        return 0

    def _listen(
        self,
        listener: socket.socket,
        handler: Any,
        pool: ThreadPoolExecutor,
        status: os.stat_result,
    ) -> None:
        while not self._ending.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                idle = time.monotonic() - self._last
                if not self._active and idle > self._idle_seconds:
                    return
                if not _is_at(socket_path(), status) or not os.path.isdir(state_folder()):
                    return
                continue
            with self._lock:
                self._active += 1
            pool.submit(self._serve_one, connection, handler)

    def _serve_one(self, connection: socket.socket, handler: Any) -> None:
        with self._lock:
            self._begun += 1
            self._moved = time.monotonic()
        try:
            with connection, suppress(OSError, ValueError):
                connection.settimeout(_REQUEST_SECONDS)
                message = json.loads(_received(connection))
                answer = self._answer(message, handler)
                connection.sendall(json.dumps(answer).encode())
                connection.shutdown(socket.SHUT_WR)
                if message["event"] == "session-start":  # the first prompt comes soon
                    handler.warm(message)
        finally:
            with self._lock:
                self._active -= 1
                self._begun -= 1
                self._answered += 1
                self._last = self._moved = time.monotonic()

    def _show_life(self, lock: int) -> None:
        """Renew the time of the lock file for as long as the process answers."""
        while True:
            waits = self._active > self._begun
            if not (waits and time.monotonic() - self._moved > _HUNG_SECONDS):
                os.utime(lock)
            time.sleep(_WAIT_SECONDS)

    def _answer(self, message: dict[str, Any], handler: Any) -> dict[str, Any]:
        if message["event"] == "end":
            self._ending.set()
            return {"pid": os.getpid()}
        if message["event"] == "status":
            return {
                "pid": os.getpid(),
                "seconds": round(time.monotonic() - self._started),
                "answered": self._answered,
                "ends_after_idle_seconds": self._idle_seconds,
                "stores": handler.stores,
            }
        answer: dict[str, Any] = handler.answer(message)
        return answer


def _is_at(path: str, file: os.stat_result) -> bool:
    """Test whether a path leads to a file."""
    try:
        return os.path.samestat(os.stat(path), file)
    except OSError:
        return False


def _received(connection: socket.socket) -> bytes:
    received = bytearray()
    while chunk := connection.recv(65_536):
        received += chunk
        if len(received) > _MAX_REQUEST_BYTES:
            raise ValueError("the request is too large")
    return bytes(received)


def main() -> int:
    """Run the daemon of this installation, unless there is one."""
    try:
        idle_seconds = float(os.environ[IDLE_VARIABLE])
    except (KeyError, ValueError):
        idle_seconds = _IDLE_SECONDS
    try:
        return Daemon(idle_seconds).serve()
    except Exception as problem:
        open_log()
        log_failure("daemon", problem)
        return 1


if __name__ == "__main__":
    sys.exit(main())
