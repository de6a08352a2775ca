"""Entries: objects of JSON files, and the items made of what other systems kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import blake2b
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

from salience.importers._source import (
    ImportProblem,
    Item,
    Job,
    Place,
    clean,
    lines,
    moment,
    parsed,
    text,
)
from salience.lazily import regex

ORIGIN = "imported_from"
"""The key of the metadata that names the system a memory comes from."""

_ID_BYTES = 16


def imported(origin: str, place: str, fields: Mapping[str, Any]) -> Item:
    """An item without empty fields, whose metadata name the system that it comes from.

    `updated_at`, which a store sets by itself, is kept in the metadata if it is another time than
    `created_at`.
    """
    filled = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    updated_at = filled.pop("updated_at", None)
    metadata = {key: value for key, value in fields.get("metadata", {}).items() if value != ""}
    if updated_at is not None and updated_at != filled.get("created_at"):
        metadata.setdefault("updated_at", _written(updated_at))
    return Item({**filled, "metadata": {ORIGIN: origin, **metadata}}, place)


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
        id = derived_id(*parts)
        self._made[id] += 1
        return id if self._made[id] == 1 else derived_id(*parts, self._made[id])

    def turn(self, session: str, turn: Mapping[str, Any]) -> str:
        """The id of a turn of a session."""
        return self.of(session, *(turn.get(name) for name in _SAID))

    def session(self, turns: Iterable[Mapping[str, Any]]) -> str:
        """The id of a session, which its first turns tell from others, however it goes on."""
        first = islice(turns, _OPENING)
        return self.of([turn.get("id") or [turn.get(name) for name in _SAID] for turn in first])


_SAID = ("speaker", "created_at", "content")
_OPENING = 2  # turns: a greeting and its answer


PLACE = "\0place"
"""The key of an entry's place in its file, if that is not its place in the document."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
_LOOKED_AT = 20  # lines


def documents(path: Any, job: Job, gathered: bool = False) -> Iterator[tuple[str, Any]]:
    """The JSON of a file with its place: one document (""), or one of each line.

    Lines that are not JSON are left out, unless the whole is. `gathered`, the lines are one
    document: a list of their objects, each with its place.
    """
    gathered_lines = []
    for where, document in _lines(path, job):
        if not gathered or not where:
            yield where, document
        elif isinstance(document, dict):
            gathered_lines.append({**document, PLACE: where})
        else:
            problem = f"not a JSON object but {type(document).__name__}"
            number = int(where.removeprefix("line "))
            job.left_out(ImportProblem(path, problem, "remove the line", line=number))
    if gathered_lines:
        yield "", gathered_lines


def _lines(path: Path, job: Job) -> Iterator[tuple[str, Any]]:
    """The place and the JSON of each line; of a file that is one document, that alone."""
    numbered = ((number, line) for number, line in lines(path, job.left_out) if line.strip())
    start = list(islice(numbered, _LOOKED_AT))
    if start and not is_json(start[0][1]):
        content = text(path)
        if is_json(content) or not any(is_json(line) and "{" in line for _, line in start[1:]):
            yield "", parsed(path, content)
            return
    for number, line in chain(start, numbered):
        try:
            document = parsed(path, line, line=number)
        except ImportProblem as problem:
            job.left_out(problem)
        else:
            yield "" if len(start) == 1 else f"line {number}", document


def is_json(source: str) -> bool:
    """Test whether a text is JSON."""
    try:
        json.loads(source)
    except (ValueError, RecursionError):
        return False
    return True


def entries(
    path: Place, document: Any, *names: str, place: str = "", job: Job
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a document with their places.

    They are the elements of an array, of the lists under some names in an object, or the document
    itself. What is not an object is left out.
    """
    lists: dict[str, Any] = {"": [document]}
    if isinstance(document, list):
        lists = {"item": document}
    elif isinstance(document, dict) and any(isinstance(document.get(n), list) for n in names):
        lists = {name: document[name] for name in names if isinstance(document.get(name), list)}
    for name, elements in lists.items():
        for number, element in enumerate(elements, start=1):
            position = ", ".join(filter(None, (place, f"{name} {number}" if name else "")))
            if isinstance(element, dict):
                yield str(element.get(PLACE, position)), element
                continue
            problem = f"{position or 'it'} is not a JSON object but {type(element).__name__}"
            job.left_out(ImportProblem(path, problem, "export it again"))


def html_text(path: Path, source: str) -> str:
    """The text of a page of HTML as Markdown; scripts, styles and its head are left out.

    Raises:
        ImportProblem: the library that reads it is not installed.
    """
    try:
        soup = import_module("bs4").BeautifulSoup(source, "html.parser")
        convert = import_module("markdownify").MarkdownConverter
    except ImportError:
        remedy = "pip install 'salience[import]'"
        raise ImportProblem(path, "is HTML, which needs markdownify", remedy) from None
    for unread in soup(["head", "script", "style", "template"]):
        unread.decompose()
    text = str(convert(heading_style="ATX", bullets="-").convert_soup(soup))
    return _EMPTY_LINES.sub("\n\n", text).strip()


_EMPTY_LINES = regex(r"[ \t]*\n(?:[ \t]*\n)+")


def links(type: str, targets: Iterable[str]) -> list[dict[str, Any]]:
    """Links of a type, one to each of the targets."""
    return [{"target": target, "type": type, "weight": 1.0} for target in dict.fromkeys(targets)]


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
    """A time from ISO 8601 text, a number or a datetime; None for anything else."""
    value = moment(value)
    if isinstance(value, str):
        try:
            value = moment(datetime.fromisoformat(value))
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None
