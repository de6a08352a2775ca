"""Entries: objects of JSON files, and the items made of what other systems kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from salience.importers._source import ImportProblem, Item, clean, moment, parsed, text

ORIGIN = "imported_from"
"""The key of the metadata that names the system a memory comes from."""

_ID_BYTES = 16


def imported(origin: str, place: str, fields: Mapping[str, Any]) -> Item:
    """An item without empty fields, whose metadata name the system that it comes from.

    `updated_at`, which a store sets by itself, is kept in the metadata if it is another time than
    `created_at`.
    """
    kept = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    updated_at = kept.pop("updated_at", None)
    metadata = {key: value for key, value in fields.get("metadata", {}).items() if value != ""}
    if updated_at is not None and updated_at != kept.get("created_at"):
        metadata.setdefault("updated_at", _written(updated_at))
    return Item({**kept, "metadata": {ORIGIN: origin, **metadata}}, place)


def _written(time: Any) -> Any:
    return time.isoformat() if isinstance(time, datetime) else time


def derived_id(*parts: Any) -> str:
    """An id made of parts: the same for the same parts, 32 hexadecimal digits."""
    written = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(written.encode(errors="replace"), digest_size=_ID_BYTES).hexdigest()


class Ids:
    """Ids of what has none of its own, made of what it says and of the conversation it stands in.

    They never depend on the position in a file: an export that lists its newest conversations first
    gives the same ones when it has grown. What is said again in a conversation is told apart.
    """

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()

    def of(self, *parts: Any) -> str:
        """The id of parts; another one each time the same parts come again."""
        made = derived_id(*parts)
        self._made[made] += 1
        return made if self._made[made] == 1 else derived_id(*parts, self._made[made])

    def turn(self, session: str, turn: Mapping[str, Any]) -> str:
        """The id of a turn of a session."""
        return self.of(session, *(turn.get(name) for name in _SAID))

    def session(self, turns: Iterable[Mapping[str, Any]]) -> str:
        """The id of a session, which its first turns tell from others, however it goes on."""
        first = islice(turns, _OPENING)
        return self.of([turn.get("id") or [turn.get(name) for name in _SAID] for turn in first])


_SAID = ("speaker", "created_at", "content")
_OPENING = 2  # turns: a greeting and its answer


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """The JSON of a file with its place: one document (""), or one of each line.

    Raises:
        ImportProblem: the file is not JSON; names the line.
    """
    whole = text(path)
    numbered = [(n, line) for n, line in enumerate(whole.split("\n"), start=1) if line.strip()]
    if len(numbered) < 2 or not _is_json(numbered[0][1]):
        yield "", parsed(path, whole)
        return
    for number, line in numbered:
        yield f"line {number}", parsed(path, line, line=number)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def objects(path: Path, *names: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file with their places.

    They are the elements of an array, of the lists under some names in an object, or one a line.

    Raises:
        ImportProblem: the file is not JSON, or an entry no object.
    """
    for place, document in documents(path):
        yield from entries(path, document, *names, place=place)


def entries(
    path: Path, document: Any, *names: str, place: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of one document (see `objects`) with their places."""
    lists: dict[str, Any] = {"": [document]}
    if isinstance(document, list):
        lists = {"item": document}
    elif isinstance(document, dict) and any(isinstance(document.get(n), list) for n in names):
        lists = {name: document[name] for name in names if isinstance(document.get(name), list)}
    for name, elements in lists.items():
        for number, element in enumerate(elements, start=1):
            own = ", ".join(filter(None, (place, f"{name} {number}" if name else "")))
            if not isinstance(element, dict):
                raise ImportProblem(
                    path,
                    f"{own or 'it'} is not a JSON object but {type(element).__name__}",
                    "export it again",
                )
            yield own, element


def required(path: Path, place: str, entry: Mapping[str, Any], name: str) -> str:
    """The text of an entry under a name; empty if it is blank.

    Raises:
        ImportProblem: there is none.
    """
    value = entry.get(name)
    if not isinstance(value, str):
        raise ImportProblem(path, f"{place}: has no text {name!r}", "export it again")
    return clean(value)


def listing(value: Any) -> list[str]:
    """The texts of a list, or of one text with commas; none of anything else."""
    parts = value.split(",") if isinstance(value, str) else value
    texts = (clean(part) for part in parts if isinstance(part, str)) if _is_list(parts) else ()
    return list(dict.fromkeys(text for text in texts if text))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def mapping(value: Any) -> dict[str, Any]:
    """A mapping, or an empty one."""
    return dict(value) if isinstance(value, Mapping) else {}


def time(value: Any) -> datetime | None:
    """A time from ISO 8601 text, a number or a datetime; None for what is none."""
    value = moment(value)
    if isinstance(value, str):
        try:
            value = moment(datetime.fromisoformat(value))
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None
