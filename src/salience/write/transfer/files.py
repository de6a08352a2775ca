"""Files of exports: written whole or not at all, read as often as needed."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from salience.closing import regular_file
from salience.errors import InvalidInput, shown
from salience.write.transfer import lines
from salience.write.transfer.load import Lines

_HEADER_BYTES = 4_096  # at most
_MEMORY_BYTES = 64 << 20  # of a stream that is kept in memory; a longer one goes to a file


@contextmanager
def written(target: Any) -> Iterator[Callable[[str], object]]:
    """The function that writes text to a path, or to an open file.

    A file at a path is replaced once all is written, and keeps its mode; if that fails, it stays as
    it was. A new file can be read by its owner alone. A link stays one, and its file is replaced. A
    device or a pipe, such as /dev/stdout, is written to.
    """
    if not isinstance(target, (str, os.PathLike)):
        if not hasattr(target, "write"):
            raise InvalidInput("target", f"is {shown(target)}", "give a path or an open file")
        is_text = isinstance(target, io.TextIOBase) or hasattr(target, "encoding")
        yield target.write if is_text else lambda text: target.write(text.encode())
        return
    if Path(target).is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file in it", str(target))
    if Path(target).exists() and not Path(target).is_file():
        with open(target, "w", encoding="utf-8", newline="\n") as stream:
            yield stream.write
        return
    path = Path(os.path.realpath(target))
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(target)) from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file.write
            file.flush()
            os.fsync(descriptor)
        with suppress(FileNotFoundError):  # a new file is its owner's alone
            os.chmod(name, stat.S_IMODE(path.stat().st_mode))
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def is_export(path: Path) -> bool:
    """Test whether a file begins with the header of an export."""
    try:
        with regular_file(path) as file:
            return lines.parsed(file.readline(_HEADER_BYTES)).get("salience") == lines.FORMAT
    except (OSError, InvalidInput):
        return False


@contextmanager
def readable(source: Any) -> Iterator[tuple[str, Lines]]:
    """The name of a path or an open file, and a function that reads its lines."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)

        def lines_of_path() -> Iterator[bytes]:
            with regular_file(path) as file:
                yield from file

        yield str(path), lines_of_path
        return
    if not hasattr(source, "read"):
        raise InvalidInput("source", f"is {shown(source)}", "give a path or an open file")
    with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as copy:
        _copy(source, copy)

        def lines_of_copy() -> Iterator[bytes]:
            copy.seek(0)
            yield from copy

        yield str(getattr(source, "name", None) or "file"), lines_of_copy


def _copy(source: Any, copy: IO[bytes]) -> None:
    """Copy the bytes of an open file, which can perhaps be read only once."""
    first = source.read(1)
    if isinstance(first, bytes):
        copy.write(first)
        shutil.copyfileobj(source, copy)
        return
    copy.write(first.encode())
    while text := source.read(1 << 20):
        copy.write(text.encode())
