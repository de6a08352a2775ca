"""Items of LangGraph's store: the SQLite file of SqliteStore, or the table of PostgresStore."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from salience.importers import _sqlite
from salience.importers._entries import imported, time
from salience.importers._source import Address, ImportProblem, Item, Place, clean

TABLE, COLUMNS = "store", {"prefix", "key", "value", "created_at", "updated_at"}
_SELECT = f"SELECT * FROM {TABLE} ORDER BY prefix, key"
_TEXT_KEYS = ("content", "text", "memory", "fact", "data")


def read(place: Place) -> Iterator[Item]:
    """Yield the items of a store: the id is made of namespace and key.

    The content is the text that the value has as `content`, `text`, `memory`, `fact` or `data`
    (also one level deeper), else the value as JSON. All else that the value has is metadata, with
    the `namespace` and the `key`. The end of its time to live becomes `expires_at`.

    Raises:
        ImportProblem: it cannot be read, or has no such table.
    """
    for row in _rows(place):
        yield _item(place, row)


def _item(place: Place, row: Mapping[str, Any]) -> Item:
    id = f"{row['prefix']}/{row['key']}"
    value = row["value"]
    if isinstance(place, Path):  # PostgreSQL has read it already
        value = _sqlite.json_of(place, id, value)
    if not isinstance(value, dict):
        raise ImportProblem(place, f"{id}: its value is no JSON object", "remove the row")
    content, further = _content(value)
    return imported(
        "langgraph",
        id,
        {
            "id": id,
            "content": clean(content),
            "kind": "note",
            "created_at": time(row["created_at"]),
            "updated_at": time(row["updated_at"]),
            "expires_at": time(row.get("expires_at")),
            "metadata": {**further, "namespace": row["prefix"].split("."), "key": row["key"]},
        },
    )


def _content(value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text of a value, and what else it has."""
    for key in _TEXT_KEYS:
        others = {name: part for name, part in value.items() if name != key}
        if isinstance(value.get(key), str):
            return value[key], others
        if isinstance(value.get(key), dict):
            for inner in _TEXT_KEYS:
                if isinstance(value[key].get(inner), str):
                    rest = {name: part for name, part in value[key].items() if name != inner}
                    return value[key][inner], {**others, **({key: rest} if rest else {})}
    return json.dumps(value, ensure_ascii=False), dict(value)


def _rows(place: Place) -> Iterator[Mapping[str, Any]]:
    if isinstance(place, Address):
        yield from _of_postgres(place)
        return
    if not place.is_file() or not _sqlite.columns(place).get(TABLE, set()) >= COLUMNS:
        raise ImportProblem(place, f"has no table {TABLE!r} of LangGraph", "give its SQLite file")
    yield from _sqlite.rows(place, _SELECT)


def _of_postgres(place: Address) -> Iterator[Mapping[str, Any]]:
    try:
        psycopg = import_module("psycopg")
    except ImportError:
        raise ImportProblem(place, "needs psycopg", "pip install 'salience[postgres]'") from None
    try:
        with (
            psycopg.connect(
                place.url, row_factory=import_module("psycopg.rows").dict_row
            ) as server,
            server.cursor("salience_import") as cursor,  # the server keeps what is not read yet
        ):
            yield from cursor.execute(_SELECT)
    except psycopg.Error as problem:
        raise ImportProblem(
            place, f"cannot be read: {str(problem).strip()}", "check the address and the table"
        ) from None
