"""The files that are open: in this process by a register, in others by the locks that SQLite holds.

A lock of POSIX belongs to a process, and goes when that closes the file by whatever handle. So no
file that this process has open may be looked at in any other way than through SQLite.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import ModuleType

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
        """Note that a file is being opened; it is checked first, unless it is open already."""
        with self._lock:
            identity = file_identity(path)
            if identity not in self._counts:
                check(path)
            assert identity is not None
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
    """Lock bytes of a file until `files` are closed; False if another process has locked some."""
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
