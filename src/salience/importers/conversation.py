"""Conversations with questions: one JSON object of `memories` and the `queries` about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from salience.importers._entries import Ids
from salience.importers._source import ImportProblem, Item, Job, Place, clean, moment, parsed, text
from salience.lazily import dataclass


@dataclass(frozen=True)
class Query:
    """A question about the memories of a conversation, and the ids of those that answer it.

    `at` is when it was asked, None for the end of the conversation; `filters` are those of its
    search.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    category: str | None = None
    at: datetime | None = None
    filters: Mapping[str, Any] | None = None


def read(path: Place, job: Job) -> Iterator[Item]:
    """Yield the memories of a conversation as turns; a missing id is made of session and words.

    Raises:
        ImportProblem: the file is not of this format, or a folder; a memory has no text, unless it
            is left out.
    """
    assert isinstance(path, Path)
    ids = Ids()
    for turn in _turns(path, job):
        id = turn.get("id") or ids.turn(turn.get("session_id", ""), turn)
        yield Item({"id": id, **turn}, turn.place)


def numbered(path: Path) -> Iterator[Item]:
    """As `read`, but a missing id is the name of the file and the number of the memory.

    By these the answers of questions are named.
    """
    for place, turn in enumerate(_turns(path, Job()), start=1):
        yield Item({"id": f"{path.stem}:{place}", **turn}, turn.place)


def _turns(path: Path, job: Job) -> Iterator[Item]:
    if path.is_dir():
        raise ImportProblem(path, "is a folder", "give a file, each to a namespace of its own")
    for number, entry in enumerate(_list(path, "memories"), start=1):
        try:
            content = clean(_string(path, "memory", number, entry, "text"))
        except ImportProblem as problem:
            job.left_out(problem)
            continue
        if not content:
            continue
        item = Item({"content": content, "kind": "turn"}, f"memory {number}")
        for key, field in (("id", "id"), ("speaker", "speaker"), ("session", "session_id")):
            if entry.get(key) is not None:
                item[field] = str(entry[key])
        created = moment(entry.get("created_at"))
        if created is not None:
            item["created_at"] = created
        yield item


def queries(path: Path) -> tuple[Query, ...]:
    """The questions of a conversation; none if the file has no `queries`.

    Raises:
        ImportProblem: the file is not of this format.
    """
    return tuple(
        _query(path, number, entry)
        for number, entry in enumerate(_list(path, "queries", optional=True), start=1)
    )


def _query(path: Path, number: int, entry: Any) -> Query:
    question = _string(path, "query", number, entry, "text")
    relevant = entry.get("relevant") or []
    if not isinstance(relevant, list):
        raise ImportProblem(
            path, f'query {number}: "relevant" is not a list', "list the ids of the answers"
        )
    category = entry.get("category")
    return Query(
        id=str(entry.get("id", number)),
        text=question,
        relevant=tuple(str(answer) for answer in relevant),
        category=None if category is None else str(category),
    )


def _list(path: Path, name: str, *, optional: bool = False) -> list[Any]:
    document = parsed(path, text(path))
    entries = document.get(name) if isinstance(document, dict) else None
    if entries is None and optional and isinstance(document, dict):
        return []
    if not isinstance(entries, list):
        raise ImportProblem(
            path, f'has no list of "{name}"', 'write {"memories": [...], "queries": [...]}'
        )
    return entries


def _string(path: Path, what: str, number: int, entry: Any, key: str) -> str:
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise ImportProblem(path, f'{what} {number} has no "{key}"', f'give it "{key}": "..."')
    return value
