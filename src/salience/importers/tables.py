"""Tables: CSV whose columns are named."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from salience.importers import jsonl
from salience.importers._entries import Ids
from salience.importers._source import ImportProblem, Item, Place, Told, text

_COLUMNS = {
    "highlight": "content",
    "quote": "content",
    "note": "note",
    "book title": "title",
    "highlighted at": "created_at",
}


def read_csv(place: Place, told: Told) -> Iterator[Item]:
    """Yield the rows of a table whose first line names the columns, by what these are called.

    A row is like an object of JSON lines, in whatever case its keys are; the columns of highlights
    (Readwise) are known, too, and `told.columns` names others. All others are metadata. A row goes
    by what it says, its title and its time.

    Raises:
        ImportProblem: no column has the text; names those that there are.
    """
    assert isinstance(place, Path)
    source = text(place)
    try:
        dialect: Any = csv.Sniffer().sniff(source[:10_000], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    rows = csv.reader(StringIO(source), dialect, strict=False)
    try:
        names = [name.strip() for name in next(rows, [])]
        columns = _columns(place, names, told.columns)
        ids = Ids()
        for row in rows:
            where = f"line {rows.line_num}"
            if not any(row):
                continue
            if len(row) > len(names):
                problem = f"has {len(row)} values for {len(names)} columns"
                told.left_out(
                    ImportProblem(place, problem, "put quotes around it", line=rows.line_num)
                )
                continue
            entry = {columns[n]: v for n, v in zip(names, row, strict=False) if n and v.strip()}
            item = jsonl.item_of(entry, where)
            if isinstance(item.get("tags"), str):
                item["tags"] = [tag.strip() for tag in item["tags"].split(",") if tag.strip()]
            item.setdefault("kind", "note")
            item.setdefault("id", ids.of(*map(item.get, ("content", "title", "created_at"))))
            yield item
    except csv.Error as problem:
        raise ImportProblem(
            place, f"is no table: {problem}", "save it as CSV", line=rows.line_num
        ) from None


def _columns(place: Path, names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """The field, or the key of metadata, that each column has."""
    for field, column in given.items():
        if column not in names:
            problem = f"has no column {column!r} for {field}: it has {', '.join(names)}"
            raise ImportProblem(place, problem, "name one of these")
    lower = {name: name.casefold() for name in names}
    columns = {
        name: _COLUMNS.get(low, low if jsonl.is_field(low) else name) for name, low in lower.items()
    }
    columns |= {column: field for field, column in given.items()}
    if not any(jsonl.is_content(field) for field in columns.values()):
        problem = f"no column of {', '.join(names) or 'none'} is known to be the text"
        raise ImportProblem(place, problem, "name it as --map content=COLUMN")
    return columns
