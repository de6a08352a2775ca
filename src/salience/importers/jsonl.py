"""Memories as JSON, one object a line; an object with `messages` is a whole conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salience.importers._entries import Ids
from salience.importers._source import (
    FLAT,
    ImportProblem,
    Item,
    LeftOut,
    clean,
    head,
    lines,
    moment,
    parsed,
    text,
)
from salience.records.field_types import STATUSES
from salience.records.fields import FIELDS

_ALIASES = {
    "text": "content",
    "memory": "content",
    "session": "session_id",
    "timestamp": "created_at",
    "name": "speaker",
    "role": "speaker",
}
_BOOKKEEPING = frozenset(
    ("namespace", "updated_at", "version", "last_accessed", "access_count", "accesses")
)
_INACTIVE = frozenset(STATUSES) - {"active"}  # other texts are no status
_FIELDS = (*(name for name in FIELDS if name not in {*_BOOKKEEPING, "status"}), "links")
_TIMES = {name for name, field in FIELDS.items() if field.type == "time"}
_RANKS = {name: rank for rank, name in enumerate((*_FIELDS, *_ALIASES))}
LISTING = re.compile(
    rb'\s*\{\s*("(total|cursor)"\s*:[^,]*,\s*)*"memories"\s*:\s*\[\s*(\]|\{'
    + FLAT.encode()
    + rb'"content"\s*:)'
)
"""The start of what `salience list --json` prints."""
_BEFORE_JSON = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of an object: the number of its line, or of its element in an array."""

    path: Path
    number: int
    in_array: bool = False

    def __str__(self) -> str:
        return f"{'item' if self.in_array else 'line'} {self.number}"

    def problem(self, problem: str, remedy: str) -> ImportProblem:
        if self.in_array:
            return ImportProblem(self.path, f"{self}: {problem}", remedy)
        return ImportProblem(self.path, problem, remedy, line=self.number)

    @property
    def name(self) -> str:
        return f"{self.path.stem}:{self.number}"


def read(path: Path, left_out: LeftOut | None = None) -> Iterator[Item]:
    """Yield the memories of a file with a JSON object in each line, or of one JSON array.

    The array may be in what `salience list --json` prints.

    An object has the fields of a memory, or their aliases: `text` or `memory` for `content`,
    `session` for `session_id`, `timestamp` for `created_at`, `name` or `role` for `speaker`. Other
    keys go to the metadata, except for those that a store counts by itself. The `status` of a
    memory that is not active (see `salience.records.field_types.STATUSES`) is passed on: `add_many`
    refuses it, `Memory.update` sets it. An object with `messages` gives a turn for each message
    that has text, all in one session. An item without content gets its place as its id, as it will
    be refused.

    Args:
        path: the file.
        left_out: called with each line that is no JSON object, which is left out.

    Raises:
        ImportProblem: a line is no JSON object, without `left_out`; the array is broken.
    """
    start = head(path).lstrip(_BEFORE_JSON)
    if start.startswith(b"[") or LISTING.match(start):
        whole = parsed(path, text(path))
        elements = list(enumerate(whole["memories"] if isinstance(whole, dict) else whole, start=1))
        if isinstance(whole, dict) and whole.get("order") == "newest":
            elements.reverse()  # what was written first is written first again
        entries = ((_Place(path, number, in_array=True), entry) for number, entry in elements)
    else:
        numbered = lines(path, left_out)
        entries = ((_Place(path, number), line) for number, line in numbered if line.strip())
    ids = Ids()
    for place, entry in entries:
        try:
            items = _items(place, entry, ids)
        except ImportProblem as problem:
            if left_out is None:
                raise
            left_out(problem)
        else:
            yield from items


def _items(place: _Place, source: Any, ids: Ids) -> list[Item]:
    """The memories of one entry: an element of an array, or the text of a line."""
    entry = source if place.in_array else parsed(place.path, source, line=place.number)
    if not isinstance(entry, dict):
        raise place.problem(
            f"not a JSON object but {type(entry).__name__}", 'write it as {"content": "..."}'
        )
    if isinstance(entry.get("messages"), list):
        return list(_turns(place, entry, ids))
    item = item_of(entry, str(place))
    if "content" not in item:
        item.setdefault("id", place.name)
    return [item]


def item_of(entry: dict[str, Any], place: str) -> Item:
    """The memory of a mapping with its fields, or their aliases; other keys are metadata."""
    namespace = entry.get("namespace")
    item = Item({}, place, namespace=None if namespace is None else str(namespace))
    extra: dict[str, Any] = {}
    # Of two names for a field the first one counts, and the other is an extra.
    for key in sorted(entry, key=lambda key: _RANKS.get(key, len(_RANKS))):
        value = entry[key]
        name = key if key in _FIELDS else _ALIASES.get(key)
        if name in _TIMES:
            value = moment(value)
        if value is None or key in _BOOKKEEPING or (key, value) == ("status", "active"):
            continue
        if key == "status" and isinstance(value, str) and value in _INACTIVE:
            name = key
        if name is None or name in item:
            extra[key] = value
        elif name == "content":
            content = _text(value)
            if content:
                item["content"] = content
        else:
            item[name] = value
    if extra:
        item["metadata"] = {**extra, **_mapping(item.get("metadata"))}
    return item


def _text(value: Any) -> str:
    """The text of a content: text, or a list of parts of which some have text."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        texts = (part.get("text") if isinstance(part, dict) else part for part in value)
        return clean("\n\n".join(part for part in texts if isinstance(part, str)))
    return ""


def _mapping(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"metadata": value}


def _turns(place: _Place, entry: dict[str, Any], ids: Ids) -> Iterator[Item]:
    """The messages of a conversation, each with the fields that the conversation has."""
    shared = item_of({key: value for key, value in entry.items() if key != "messages"}, str(place))
    name = shared.pop("id", None)
    turns = []
    for number, message in enumerate(entry["messages"], start=1):
        if not isinstance(message, dict):
            raise place.problem(
                f"message {number} is not a JSON object but {type(message).__name__}",
                'write it as {"role": "user", "content": "..."}',
            )
        own = item_of(message, f"{place}, message {number}")
        if "content" in own:  # else a call of a tool, or an empty answer
            turns.append(own)
    session = str(shared.get("session_id") or name or ids.session(turns))
    for own in turns:
        item = {"kind": "turn", **shared, **own, "session_id": session}
        item.setdefault("id", ids.turn(session, own))
        metadata = {**_mapping(shared.get("metadata")), **_mapping(own.get("metadata"))}
        yield Item(
            {**item, "metadata": metadata} if metadata else item,
            own.place,
            namespace=own.namespace or shared.namespace,
        )
