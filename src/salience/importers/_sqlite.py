"""Reading SQLite files of other systems, which are never written to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from salience.importers._source import ImportProblem, head

if TYPE_CHECKING:
    from sqlite3 import Connection

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
