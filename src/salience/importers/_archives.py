"""Zips: their parts that hold text, unpacked to a folder while they are read."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from salience.importers._source import (
    ZIP_DAMAGE,
    ImportProblem,
    LeftOut,
    head,
    most_unpacked,
    unpacked,
)
from salience.lazily import regex

if TYPE_CHECKING:
    from sqlite3 import Connection


HTML = (".html", ".htm")
"""The endings of pages of HTML."""
_SUFFIXES = frozenset(
    (
        *(".json", ".jsonl", ".ndjson", ".md", ".markdown", ".org", ".txt", ".csv", ".mbox"),
        *(".zip", *HTML),
    )
)
_DEPTH = 2  # zips in zips
_NO_YEAR = 1980  # of entries whose time was not kept
_MAX_BYTES = 4 << 30  # of all parts together
_FORBIDDEN = regex(r'[\0:*?"<>|\\]')  # in the name of a file, on some systems
_MAX_NAME_BYTES = 200  # of a file, which most systems let have 255


def is_archive(path: Path) -> bool:
    """Test whether a file is a zip, or was one before it was damaged."""
    return path.is_file() and (
        path.suffix.lower() == ".zip" or head(path).startswith(b"PK\x03\x04")
    )


@contextmanager
def folder_of(path: Path, left_out: LeftOut = lambda problem: None) -> Iterator[Path]:
    """A folder with the parts of a zip that may hold text; it is gone afterwards.

    A part that cannot be unpacked goes to `left_out`; those of one name stand beside each other.

    Raises:
        ImportProblem: the zip is damaged, its parts are too large together, or none can be read.
    """
    if not zipfile.is_zipfile(path):
        problem = "is a zip cut short, or none at all" if head(path) else "is empty"
        raise ImportProblem(path, problem, "download it again")
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        root = Path(folder)
        most = min(_MAX_BYTES, most_unpacked(path.stat().st_size))
        problems = _Unpacking(path, most).unpack(path, root, _DEPTH)
        if problems and not any(root.iterdir()):
            raise problems[0]
        for each in problems:
            left_out(each)
        while len(inner := list(root.iterdir())) == 1 and inner[0].is_dir():
            root = inner[0]
        yield root


class _Unpacking:
    """The unpacking of the zip at a path, up to a number of bytes."""

    def __init__(self, path: Path, most: int) -> None:
        self._path, self._most, self._left = path, most, most

    def unpack(self, path: Path, folder: Path, depth: int) -> list[ImportProblem]:
        """Unpack a zip, this or one in it; what of its parts cannot be."""
        problems: list[ImportProblem] = []
        try:
            with zipfile.ZipFile(path) as archive:
                for part in archive.infolist():
                    problems += self._unpack_part(archive, part, folder, depth)
        except ZIP_DAMAGE as damage:
            raise self._damaged("cannot be unpacked", damage) from None
        return problems

    def _unpack_part(
        self, archive: zipfile.ZipFile, part: zipfile.ZipInfo, folder: Path, depth: int
    ) -> list[ImportProblem]:
        # No name leads out of the folder, and none is too long for it.
        names = [n for n in PurePosixPath(part.filename).parts if n not in ("/", "..", ".")]
        if part.is_dir() or not names or Path(names[-1]).suffix.lower() not in _SUFFIXES:
            return []
        if part.file_size <= most_unpacked(part.compress_size):  # or it is refused by itself
            self._left -= part.file_size
        if self._left < 0:
            problem = f"unpacks to more than {self._most:,} bytes, as no text does"
            raise ImportProblem(self._path, problem, "unpack it, and give the files")
        try:
            content = unpacked(self._path, archive, part)
            names = [_FORBIDDEN.sub("_", name) for name in names]
            if names[-1].lower().endswith(".zip") and depth > 1:
                return self._unpack_inner(content, folder, names[:-1], depth - 1)
            target = _free_place(folder, names)
            target.write_bytes(content)
            _set_time(target, part)
        except ImportProblem as problem:
            return [problem]
        except (*ZIP_DAMAGE, ValueError) as damage:
            return [self._damaged(f"{part.filename} cannot be unpacked", damage)]
        return []

    def _unpack_inner(
        self, content: bytes, folder: Path, names: list[str], depth: int
    ) -> list[ImportProblem]:
        """Unpack a zip in this one to where it stands."""
        with tempfile.TemporaryDirectory(prefix="salience-") as other:
            archive, parts = Path(other, "inner.zip"), Path(other, "parts")
            archive.write_bytes(content)
            parts.mkdir()
            problems = self.unpack(archive, parts, depth)
            for file in sorted(parts.rglob("*")):
                if file.is_file():
                    place = [*names, *file.relative_to(parts).parts]
                    shutil.move(file, _free_place(folder, place))
        return problems

    def _damaged(self, problem: str, damage: Exception) -> ImportProblem:
        return ImportProblem(self._path, f"{problem}: {damage}", "download it again")


def _free_place(folder: Path, names: list[str]) -> Path:
    """A path in a folder that nothing is at, by some names or by ones like them."""
    for name in names[:-1]:
        path = folder / _shortened(name)
        folder = next(p for p in _alternatives(path) if p.is_dir() or not p.exists())
        folder.mkdir(exist_ok=True)
    return next(p for p in _alternatives(folder / _shortened(names[-1])) if not p.exists())


def _alternatives(path: Path) -> Iterator[Path]:
    yield path
    for number in count(2):
        yield path.with_name(f"{path.stem} ({number}){path.suffix}")


def _shortened(name: str) -> str:
    stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
    room = _MAX_NAME_BYTES - len(suffix.encode())
    return (
        name
        if len(name.encode()) <= _MAX_NAME_BYTES
        else (stem.encode()[: max(room, 1)].decode(errors="ignore") + suffix)
    )


def _set_time(target: Path, part: zipfile.ZipInfo) -> None:
    """Give a file the time that its zip has for it; one without a date has none."""
    with suppress(ValueError, OverflowError, OSError):
        if part.date_time[0] > _NO_YEAR:
            at = datetime(*part.date_time, tzinfo=UTC).timestamp()
            os.utime(target, (at, at))


# Reading SQLite files of other systems, which are never written to

MAGIC = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Test whether a file begins as one of SQLite does."""
    return path.is_file() and head(path).startswith(MAGIC)


@contextmanager
def opened(path: Path) -> Iterator[Connection]:
    """A connection that reads a file; its rows are mappings.

    Raises:
        ImportProblem: the file is damaged, or no SQLite file.
    """
    import sqlite3

    connection = None
    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        pages, size = (
            connection.execute(f"PRAGMA page_{n}").fetchone()[0] for n in ("count", "size")
        )
        if pages * size > path.stat().st_size and not path.with_name(f"{path.name}-wal").exists():
            raise ImportProblem(path, "is a database cut short", "copy it from its store again")
        yield connection
    except sqlite3.Error as problem:
        raise ImportProblem(
            path, f"cannot be read as SQLite: {problem}", "copy it from its store again"
        ) from None
    finally:
        if connection is not None:
            connection.close()


def columns(path: Path) -> dict[str, set[str]]:
    """The names of the columns of each table."""
    with opened(path) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema")]
        return {
            table: {row["name"] for row in connection.execute(f'PRAGMA table_info("{table}")')}
            for table in tables
            if '"' not in table
        }


def rows(path: Path, statement: str) -> Iterator[dict[str, Any]]:
    """The rows of a statement, as mappings of columns."""
    with opened(path) as connection:
        for row in connection.execute(statement):
            yield dict(row)


def json_of(path: Path, place: str, source: Any) -> Any:
    """The JSON of a column."""
    try:
        return json.loads(source)
    except (ValueError, TypeError, RecursionError):
        raise ImportProblem(path, f"{place}: is not JSON", "repair or remove the row") from None
