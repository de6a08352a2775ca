"""Zips: their parts that hold text, unpacked to a folder while they are read."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from salience.importers._source import ZIP_DAMAGE, ImportProblem, head, unpacked

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


def is_archive(path: Path) -> bool:
    """Test whether a file is a zip, or was one before it was damaged."""
    return path.is_file() and (
        path.suffix.lower() == ".zip" or head(path).startswith(b"PK\x03\x04")
    )


@contextmanager
def folder_of(path: Path) -> Iterator[Path]:
    """A folder with the parts of a zip that may hold text; it is gone afterwards.

    Raises:
        ImportProblem: the zip is damaged, or its parts are too large.
    """
    if not zipfile.is_zipfile(path):
        problem = "is a zip cut short, or none at all" if head(path) else "is empty"
        raise ImportProblem(path, problem, "download it again")
    with tempfile.TemporaryDirectory(prefix="salience-") as folder:
        root = Path(folder)
        _unpack(path, path, root, _DEPTH)
        while len(inner := list(root.iterdir())) == 1 and inner[0].is_dir():
            root = inner[0]
        yield root


def _unpack(named: Path, path: Path, folder: Path, depth: int) -> None:
    left = _MAX_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                # No name leads out of the folder, and none is too long for it.
                names = [n for n in PurePosixPath(part.filename).parts if n not in ("/", "..", ".")]
                names = [re.sub(r'[\0:*?"<>|\\]', "_", name) for name in names]
                if part.is_dir() or not names or Path(names[-1]).suffix.lower() not in _SUFFIXES:
                    continue
                left -= part.file_size
                if left < 0:
                    problem = f"holds more than {_MAX_BYTES:,} bytes"
                    raise ImportProblem(named, problem, "unpack it, and give the files")
                target = folder.joinpath(*names)
                content = unpacked(named, archive, part.filename)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                _set_time(target, part)
                if target.suffix.lower() == ".zip" and depth > 1:
                    _unpack(named, target, target.parent, depth - 1)
                    target.unlink()
    except ZIP_DAMAGE as damage:
        raise ImportProblem(named, f"cannot be unpacked: {damage}", "download it again") from None


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
    """The JSON of a column.

    Raises:
        ImportProblem: it is none.
    """
    try:
        return json.loads(source)
    except (ValueError, TypeError, RecursionError):
        raise ImportProblem(path, f"{place}: is not JSON", "repair or remove the row") from None
