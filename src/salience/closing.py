"""Objects that are closed at the end of a `with` block, and files that can be opened at once."""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from typing import BinaryIO, Self

_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class Closing(ABC):
    """Base of what a `with` block closes."""

    @abstractmethod
    def close(self) -> None:
        """Release what this holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def regular_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; anything else is refused, and nothing is waited for.

    Raises:
        OSError: it is a folder, a pipe, a socket or a device, or cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | _AT_ONCE)  # which no child inherits
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "is a pipe, a socket or a device, no regular file", str(path))
