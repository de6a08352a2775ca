"""Notes as memories: their titles, times, tags and parts, and the links between them."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from salience.importers import jsonl
from salience.importers._entries import time
from salience.importers._source import Item, Job, clean, moment
from salience.language.passages import CODE, linked_names
from salience.language.tokens import slug
from salience.lazily import dataclass, field, regex

MAX_NOTE_CHARACTERS = 20_000
"""A longer note is divided at its headings into several memories."""

NOTION = regex(r"(?P<name>.+?) (?P<id>[0-9a-f]{32})")
"""The name of a file of Notion, with the id of its page."""

_MAX_TITLE_CHARACTERS = 500
_MIN_SECONDS = 100_000_000  # since 1970; smaller numbers spell a date of at most 8 digits
_BLANK = "\ufffc"  # neither a space nor a letter, so that a heading of code stays one
_TITLE = regex(r"#[ \t]+(\S.*)$", re.MULTILINE)
_HEADING = regex(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_TAG = regex(r"(?<!\S)#(?:\[\[([^\[\]\n]+)\]\]|([\w/-]*[^\W\d_][\w/-]*))")
_COLOUR = regex(r"(?=.*\d)(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
_NOTE_LINK = regex(
    r"\]\(\s*(?:<([^<>\n]+)>|([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*))(?:\s+\"[^\"\n]*\")?\s*\)"
)
_NOTE_END = regex(r"\.(?:md|markdown|org)(?:#.*)?$", re.IGNORECASE)
_BLOCK = regex(r"^\s*(?:[-*]\s+)?:?id::?\s+(\S+)\s*$", re.MULTILINE)
_BLOCK_LINK = regex(r"\(\(([\w-]{6,})\)\)")
_DATE_KEYS = ("date", "created", "created_at", "date created")
_OWN_KEY = "salience"  # of the fields that `salience export --format markdown` writes
_READ_KEYS = frozenset(("title", "tags", "tag", *_DATE_KEYS))
_NAMED_DATE = regex(
    r"(?<![^\W_])(?P<year>(?:19|20)\d\d)(?P<sign>[-_./]?)(?P<month>\d\d)(?P=sign)(?P<day>\d\d)"
    r"(?:(?<=\d{8})T?(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?:[0-5]\d)?)?(?=[\W_T]|$)"
)
_SPELT_DATE = regex(r"([A-Z][a-z]{2,8}) (\d{1,2})(?:st|nd|rd|th)?, ((?:19|20)\d\d)")


@dataclass
class Note:
    """A note: where it lies, its front matter, and its text.

    `place` is its path within the folder, without the ending. A note may come with an id of its
    own, a title, and a time of its making.
    """

    path: Path
    place: str
    front: dict[str, Any]
    body: str
    id: str = ""
    title: str = ""
    dated: datetime | None = None
    has_title_line: bool = True
    plain: str = field(init=False)  # the body with its code blanked out, character for character

    def __post_init__(self) -> None:
        self.body = self.body.strip()
        self.plain = CODE.sub(lambda code: re.sub(r"[^\n]", _BLANK, code[0]), self.body)
        written = self.front.get("title")
        title = str(written) if _is_word(written) else self.title
        if not clean(title) and self.has_title_line:
            title = _words(_TITLE.match(self.plain), self.body)
        self.title = clean(title)[:_MAX_TITLE_CHARACTERS] or unquote(self.name)

    @property
    def name(self) -> str:
        """The name of the note, as links have it."""
        return self.place.rpartition("/")[2].replace("___", "/")

    @property
    def file_name(self) -> str:
        """The path within the folder."""
        return self.place + self.path.suffix

    @property
    def own(self) -> dict[str, Any] | None:
        """The fields of the memory that the note was written from; None if it was not."""
        fields = self.front.get(_OWN_KEY)
        return fields if isinstance(fields, dict) and isinstance(fields.get("id"), str) else None

    @property
    def is_blank(self) -> bool:
        """True if it has no text, and nothing in its front matter but dates."""
        values = (value for key, value in self.front.items() if key not in _DATE_KEYS)
        return not clean(self.body) and not any(value or value == 0 for value in values)


def items_of(notes: Sequence[Note], job: Job) -> Iterator[Item]:
    """Yield the memories of notes, which link to each other by their names; see `markdown.read`."""
    for note in notes:
        if note.is_blank:
            job.blank(note.file_name)
    notes = [note for note in notes if not note.is_blank]
    taken: set[str] = set()
    for note in notes:
        id = note.own["id"] if note.own else note.id
        note.id = id or _unused(_id(note.place), taken)
        taken.add(note.id)
    targets = _Targets(notes)
    for note in notes:
        yield from [_written_back(note)] if note.own else _items(note, targets)


def _written_back(note: Note) -> Item:
    """The memory that a note was written from, with what its text and front matter say now."""
    names = {"title": "title", "created": "created_at", "tags": "tags"}
    fields = {field: note.front[key] for key, field in names.items() if key in note.front}
    return jsonl.item_of({"content": note.body, **(note.own or {}), **fields}, note.file_name)


def _words(heading: re.Match[str] | None, body: str) -> str:
    """The words of a heading without closing signs; empty without words."""
    if heading is None:
        return ""
    words = body[heading.start(1) : heading.end(1)].rstrip()
    bare = words.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else words


def _unused(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


class _Targets:
    """Targets of links: the ids of notes by their names, the clearer kinds of names first."""

    def __init__(self, notes: Sequence[Note]) -> None:
        self._ids: dict[str, str] = {}
        self._days: dict[date, str] = {}
        for kind in (
            [(note, [note.place, note.file_name]) for note in notes],
            [(note, [note.name, unquote(note.name)]) for note in notes],
            [(note, _ends(note.place)) for note in notes],
            [(note, [note.title]) for note in notes],
            [(note, _texts(note.front.get("aliases"))) for note in notes],
            [(note, _texts(note.front.get("alias"))) for note in notes],
            [(note, [note.id, *_BLOCK.findall(note.body)]) for note in notes],
        ):
            for note, names in kind:
                for name in names:
                    self._ids.setdefault(_folded(name), note.id)
        for note in notes:
            for name in (note.name, note.title):
                if day := _day(name):
                    self._days.setdefault(day, note.id)

    def named(self, name: str) -> str | None:
        """The id of the note that a name stands for; a date may be written otherwise."""
        day = _day(name)
        id = self._ids.get(_folded(name)) or self._ids.get(_id(name))
        return id or (self._days.get(day) if day else None)

    def at(self, note: Note, path: str) -> str | None:
        """The id of the note at a path from that of another one."""
        path = _NOTE_END.sub("", unquote(path))
        if of_notion := NOTION.fullmatch(path.rpartition("/")[2]):
            return self.named(of_notion["id"])
        folder = note.place.rpartition("/")[0]
        joined = posixpath.normpath(posixpath.join(folder, path))
        ids = (self._ids.get(_folded(name)) for name in (joined, path.lstrip("/")))
        return next(filter(None, ids), None) or self.named(path.rpartition("/")[2])


def _ends(place: str) -> list[str]:
    """The ends of a path, by which a note is named where it is clear: b/c of a/b/c."""
    parts = place.replace("___", "/").split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts))]


def _day(name: str) -> date | None:
    """The day that a name is, as journals write it: 2026-01-10, 2026_01_10 or Jan 10th, 2026."""
    numeric, spelt = _NAMED_DATE.fullmatch(name), _SPELT_DATE.fullmatch(name)
    try:
        if numeric and numeric["sign"]:
            return date(*(int(numeric[part]) for part in ("year", "month", "day")))
        if spelt:
            return datetime.strptime(f"{spelt[1][:3]} {spelt[2]} {spelt[3]}", "%b %d %Y").date()
    except ValueError:
        pass
    return None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _id(name: str) -> str:
    """A name as an id; unchanged if its last part has neither letters nor digits."""
    return slug(name) if slug(name.rpartition("/")[2]) else clean(_folded(name)) or "-"


def _is_word(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _listed(value: Any) -> list[Any]:
    """The parts of a front matter value: a list, or one text with commas."""
    if isinstance(value, str):
        return value.split(",")
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> list[str]:
    """The texts and numbers of a front matter value."""
    return [
        text for text in (clean(str(part)) for part in _listed(value) if _is_word(part)) if text
    ]


def _items(note: Note, targets: _Targets) -> Iterator[Item]:
    parts = _parts(note)
    written, unread = _created(note)
    unread |= {key for key in ("title", "tags", "tag") if not _is_read(key, note.front.get(key))}
    written = written or note.dated or _named_date(note.name)
    created = written or datetime.fromtimestamp(note.path.stat().st_mtime, tz=UTC)
    in_metadata = unread | (note.front.keys() - _READ_KEYS)
    further = {key: value for key, value in note.front.items() if key in in_metadata}
    shared = {"kind": "note", "created_at": created, "tags": _tags(note)}
    for number, (start, stop) in enumerate(parts, start=1):
        front = note.front if number == 1 else {}
        links, unresolved = _links(note, front, note.plain[start:stop], targets)
        metadata = {**further, "path": note.file_name}
        heading = _words(_HEADING.match(note.plain, start), note.body) if number > 1 else ""
        if unresolved:
            metadata["unresolved_links"] = unresolved
        if len(parts) > 1:
            metadata |= {"part": number, "parts": len(parts)}
        if number > 1:
            links.insert(
                0, {"target": _part_id(note, number - 1), "type": "mentions", "weight": 1.0}
            )
        title = f"{note.title}: {heading}" if heading else note.title
        fields = {
            **shared,
            "id": _part_id(note, number),
            "title": title[: 2 * _MAX_TITLE_CHARACTERS],
            "content": clean(note.body[start:stop]) or note.title,
            "metadata": metadata,
            "links": links,
        }
        yield Item(fields, note.file_name, assumed=() if written else ("created_at",))


def _part_id(note: Note, number: int) -> str:
    return note.id if number == 1 else f"{note.id}#{number}"


def _parts(note: Note) -> list[tuple[int, int]]:
    """The start and end of the parts of a note: as few as fit, divided at headings if possible."""
    size = len(note.body)
    if size <= MAX_NOTE_CHARACTERS:
        return [(0, size)]
    headings = [match.start() for match in _HEADING.finditer(note.plain)]
    paragraphs = [match.end() for match in re.finditer(r"\n\s*\n", note.body)]
    parts, start = [], 0
    while start < size:
        stop = start + MAX_NOTE_CHARACTERS
        if stop < size:
            stop = _last(headings, start, stop) or _last(paragraphs, start, stop) or stop
        parts.append((start, min(stop, size)))
        start = stop
    return [(start, stop) for start, stop in parts if note.body[start:stop].strip()]


def _last(places: list[int], start: int, stop: int) -> int | None:
    return max((place for place in places if start < place <= stop), default=None)


def _links(
    note: Note, front: dict[str, Any], plain: str, targets: _Targets
) -> tuple[list[dict[str, Any]], list[str]]:
    """The links of a part of a note, and the targets that no note has.

    They are `[[Names]]` in its text and its front matter, paths of notes in Markdown, and blocks.
    """
    names = [*_linked_in(front), *linked_names(_TAG.sub(" ", plain))]
    ids = {name: targets.named(name) for name in names}
    for path in (bare or plain_path for bare, plain_path in _NOTE_LINK.findall(plain)):
        if _NOTE_END.search(path) and "://" not in path:
            ids[_NOTE_END.sub("", unquote(path)).rpartition("/")[2]] = targets.at(note, path)
    blocks = {name: targets.named(name) for name in _BLOCK_LINK.findall(plain)}
    ids |= {name: target for name, target in blocks.items() if target}
    ends = dict.fromkeys(target or _id(name) for name, target in ids.items())
    links = [{"target": t, "type": "mentions", "weight": 1.0} for t in ends if t != note.id]
    return links, [name for name, target in ids.items() if target is None]


def _linked_in(value: Any) -> Iterator[str]:
    """The names that front matter links to; without quotes they are lists in lists."""
    if isinstance(value, str):
        yield from linked_names(value)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key not in (_OWN_KEY, "tags", "tag"):
                yield from _linked_in(part)
    elif isinstance(value, list):
        for part in value:
            is_link = isinstance(part, list) and len(part) == 1 and isinstance(part[0], str)
            yield from linked_names(f"[[{part[0]}]]") if is_link else _linked_in(part)


def _is_read(key: str, value: Any) -> bool:
    """Test whether all parts of a title or of tags are text."""
    parts = [value] if key == "title" else _listed(value)
    return all(part is None or _is_word(part) for part in parts)


def _tags(note: Note) -> list[str]:
    """The tags of the front matter and of the text, where nothing stands before the sign."""
    written = _texts(note.front.get("tags")) + _texts(note.front.get("tag"))
    tags = [tag.lstrip("#").removeprefix("[[").removesuffix("]]") for tag in written]
    matches = _TAG.findall(note.plain)
    tags += [page.strip() or word for page, word in matches if not _COLOUR.fullmatch(word)]
    return [tag for tag in dict.fromkeys(tags) if tag]


def _created(note: Note) -> tuple[datetime | None, set[str]]:
    """The time of a note by its front matter, and the keys whose values are no time."""
    values = {key: moment(_spelt(note.front.get(key))) for key in _DATE_KEYS}
    times = {key: time(value) for key, value in values.items()}
    unread = {key for key, value in values.items() if value is not None and times[key] is None}
    written = next((each for each in times.values() if each is not None), None)
    return written, unread


def _named_date(name: str) -> datetime | None:
    """The first date in the name of a file: 2026-01-10, 2026_01_10, 20260110 or 202601101530."""
    for match in _NAMED_DATE.finditer(name):
        parts = match.group("year", "month", "day", "hour", "minute")
        year, month, day, hour, minute = (int(part or 0) for part in parts)
        try:
            return datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:  # no date of the calendar
            continue
    spelt = _day(name)
    return datetime(spelt.year, spelt.month, spelt.day, tzinfo=UTC) if spelt else None


def _spelt(value: Any) -> Any:
    """A date (20260103) or a year that YAML took for a number, as text."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and 0 <= value < _MIN_SECONDS else value
