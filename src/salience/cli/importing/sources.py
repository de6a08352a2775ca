"""Sources: files, folders and servers as they were given, each read as often as needed."""

from __future__ import annotations

import os
import select
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from salience import importers
from salience.errors import InvalidInput
from salience.importers import ImportProblem, Place, detect, located
from salience.importers._archives import is_archive
from salience.lazily import dataclass
from salience.write.transfer.files import is_export

_STDIN = Path("-")
_WAIT_SECONDS = 5.0  # for somebody to write to a pipe


@dataclass(frozen=True)
class How:
    """The way in which sources are read."""

    format: str | None
    lenient: bool
    strict: bool
    columns: Mapping[str, str]
    dates: importers.DateOrder | None = None


@dataclass
class Source:
    """A file, folder or server: as it was given, where it can be read repeatedly, its format."""

    path: Place
    place: Place
    how: How
    format: str | None

    @property
    def is_export(self) -> bool:
        return self.how.format is None and isinstance(self.place, Path) and is_export(self.place)

    def checked(self) -> tuple[int, list[ImportProblem]]:
        """Read to the end, before anything is written: the number of items, the notes left out.

        Raises:
            ImportProblem: the source is damaged.
        """
        omitted: list[ImportProblem] = []
        blank: list[str] = []
        count = sum(1 for _ in self.read(omitted, blank))
        if not (count or omitted or blank):
            remedy = f"it was taken for {self.format}; name another as --format"
            problem = ImportProblem(self.place, "nothing in this file was read", remedy)
            omitted.append(self._named(problem))
        return count, omitted

    def read(self, omitted: list[ImportProblem], blank: list[str]) -> Iterator[importers.Item]:
        """The items; parts without text go to `blank`. Problems name the path as it was given."""

        def omit(problem: ImportProblem) -> None:
            omitted.append(self._named(problem))

        try:
            spares = self.how.lenient or (not self.how.strict and self._has_parts())
            left_out = omit if spares else None
            how = self.how
            items = importers.read(self.place, self.format, left_out, how.columns, how.dates)
            self.format = items.format
            yield from items
            blank += items.blank
        except ImportProblem as problem:
            raise self._named(problem) from None

    def _has_parts(self) -> bool:
        """Test whether it is a folder, a zip or a mailbox: one bad part of it spoils no other."""
        if not isinstance(self.place, Path):
            return False
        try:
            if os.path.isdir(self.place) or is_archive(self.place):
                return True
            return (self.format or detect(self.place)) == "mbox"
        except OSError:  # reading it will report the problem
            return False

    def _named(self, problem: ImportProblem) -> ImportProblem:
        if problem.path != self.place:
            return problem
        path = "stdin" if self.path == _STDIN else self.path
        return ImportProblem(path, problem.problem, problem.remedy, line=problem.line)


@contextmanager
def sources(paths: Sequence[str], how: How) -> Iterator[list[Source]]:
    """The sources at paths; stdin and pipes are copied, as they can be read only once."""
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:

        def copied(path: Path, stream: BinaryIO) -> Source:
            copy = Path(tempfile.mkdtemp(dir=folder), "stdin" if path == _STDIN else path.name)
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
            kind = how.format or (None if copy.stat().st_size else "jsonl")
            return Source(path, copy, how, kind)

        opened = []
        for path in map(located, paths):
            if not isinstance(path, Path):
                opened.append(Source(path, path, how, how.format))
            elif path == _STDIN:
                opened.append(copied(path, sys.stdin.buffer))
            elif _is_pipe(path):
                with _pipe(path) as stream:
                    opened.append(copied(path, stream))
            else:
                opened.append(Source(path, path, how, how.format))
        yield opened


def _is_pipe(path: Path) -> bool:
    try:
        return path.is_fifo()
    except OSError:  # reading it will report the problem
        return False


def _pipe(path: Path) -> BinaryIO:
    """Open a pipe that somebody writes to."""
    stream = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # noqa: SIM115  # the caller closes it
    if not select.select([stream], [], [], _WAIT_SECONDS)[0]:
        stream.close()
        raise ImportProblem(path, "is a pipe that nobody writes to", "write what it has to a file")
    os.set_blocking(stream.fileno(), True)
    return stream


def folder_at(path: str, how: How) -> Source:
    """The folder of notes at a path."""
    place = located(path)
    kind = (how.format or detect(place)) if isinstance(place, Path) and place.is_dir() else None
    if kind not in ("markdown", "basic-memory", "text"):
        raise InvalidInput("sync", f"{path} is not a folder of notes", "import it without --sync")
    return Source(place, place, how, kind)
