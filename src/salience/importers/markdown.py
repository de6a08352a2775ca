"""Notes in Markdown, one file or a folder of them, with YAML front matter and [[wiki links]]."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from salience.importers import jsonl
from salience.importers._entries import time
from salience.importers._front_matter import divided
from salience.importers._source import ImportProblem, Item, LeftOut, clean, inside, moment, text
from salience.language.tokens import slug
from salience.language.wiki_links import CODE, WIKI_LINK, linked_names

MAX_NOTE_CHARACTERS = 20_000
"""A longer note is divided at its headings into several memories."""

_MAX_TITLE_CHARACTERS = 500
_LISTED_PROBLEMS = 10  # of the notes of a folder that cannot be read
_MIN_SECONDS = 100_000_000  # since 1970; smaller numbers spell a date of at most 8 digits
_BLANK = "\ufffc"  # neither a space nor a letter, so that a heading of code stays one
_SUFFIXES = frozenset((".md", ".markdown"))
_TITLE = re.compile(r"#[ \t]+(\S.*)$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_TAG = re.compile(r"(?<![\w/#&\[])#([\w/-]*[^\W\d_][\w/-]*)")
_DATE_KEYS = ("date", "created")
_OWN_KEY = "salience"  # of the fields that `salience export --format markdown` writes
_READ_KEYS = frozenset(("title", "tags", "tag", *_DATE_KEYS))
_NAMED_DATE = re.compile(
    r"(?<![^\W_])(?P<year>(?:19|20)\d\d)(?P<sign>[-_.]?)(?P<month>\d\d)(?P=sign)(?P<day>\d\d)"
    r"(?:(?<=\d{8})T?(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?:[0-5]\d)?)?(?=[\W_T]|$)"
)


@dataclass(slots=True)
class _Note:
    path: Path
    place: str  # the path within the folder, without the suffix
    front: dict[str, Any]
    body: str
    plain: str  # the body with its code blanked out, character for character
    title: str = field(init=False)
    id: str = ""

    def __post_init__(self) -> None:
        written = self.front.get("title")
        first_line = _TITLE.match(self.plain)
        title = str(written) if _is_word(written) else _words(first_line, self.body)
        self.title = clean(title)[:_MAX_TITLE_CHARACTERS] or self.path.stem

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


def read(
    path: Path, left_out: LeftOut | None = None, blank: Callable[[str], object] | None = None
) -> Iterator[Item]:
    """Yield the notes of a file, or of a folder and the folders in it.

    The id of a note is made of its path in the folder. Its title is that of the front matter, else
    a heading of the first level on its first line, else the name of the file. `[[Links]]` become
    links of type "mentions" to the note that is named by path, file, title or alias; the targets
    that no note has are also listed in `metadata["unresolved_links"]`. Hidden files and folders are
    left out. Title and tags of the front matter that are no text, and dates that are no time, stay
    in the metadata.
    The time of a note is a date in its front matter, else in the name of the file, else that of the
    file's last change. A note that says nothing is skipped, and `blank` called with its path in the
    folder. A note that an export has written is the memory that it was, with all its fields.

    Raises:
        ImportProblem: a file cannot be read, or its front matter is broken; names all of them,
            unless `left_out` is called with them, one by one.
    """
    notes, problems = [], []
    for file in _files(path):
        try:
            notes.append(_note(inside(file, path), path if path.is_dir() else path.parent))
        except ImportProblem as problem:
            problems.append(problem)
    if left_out is not None:
        for error in problems:
            left_out(error)
    elif problems:
        raise _together(path, problems)
    for note in notes:
        if note.is_blank and blank is not None:
            blank(note.file_name)
    notes = [note for note in notes if not note.is_blank]
    taken: set[str] = set()
    for note in notes:
        note.id = note.own["id"] if note.own else _unused(_id(note.place), taken)
        taken.add(note.id)
    targets = _targets(notes)
    for note in notes:
        yield from [_written_back(note)] if note.own else _items(note, targets)


def _written_back(note: _Note) -> Item:
    """The memory that a note was written from, with what its text and front matter say now."""
    shown = {"title": "title", "created": "created_at", "tags": "tags"}
    fields = {field: note.front[key] for key, field in shown.items() if key in note.front}
    return jsonl.item_of({"content": note.body, **(note.own or {}), **fields}, note.file_name)


def _together(path: Path, problems: list[ImportProblem]) -> ImportProblem:
    if len(problems) == 1:
        return problems[0]
    listed = [f"{p.within(path)}: {p.problem}" for p in problems[:_LISTED_PROBLEMS]]
    if len(problems) > _LISTED_PROBLEMS:
        listed.append(f"and {len(problems) - _LISTED_PROBLEMS:,} more")
    return ImportProblem(
        path,
        f"{len(problems):,} notes cannot be read: {'; '.join(listed)}",
        "repair them, or leave them out",
    )


def _words(heading: re.Match[str] | None, body: str) -> str:
    """The words of a heading without closing signs; empty if there is none."""
    if heading is None:
        return ""
    words = body[heading.start(1) : heading.end(1)].rstrip()
    bare = words.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else words


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES)
    visible = [
        file
        for file in files
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
    ]
    if not visible:
        raise ImportProblem(path, "holds no notes", "give a folder with files that end in .md")
    return sorted(visible)


def _note(file: Path, folder: Path) -> _Note:
    source = text(file)
    front, body = divided(file, source)
    body = body.strip()
    plain = CODE.sub(lambda code: re.sub(r"[^\n]", _BLANK, code[0]), body)
    return _Note(file, file.relative_to(folder).with_suffix("").as_posix(), front, body, plain)


def _unused(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _targets(notes: list[_Note]) -> dict[str, str]:
    """The id of the note that each name stands for; clearer kinds of names come first."""
    targets: dict[str, str] = {}
    for kind in (
        [(note, [note.place]) for note in notes],
        [(note, [note.path.stem]) for note in notes],
        [(note, [note.title]) for note in notes],
        [(note, _texts(note.front.get("aliases"))) for note in notes],
        [(note, [note.id]) for note in notes],
    ):
        for note, names in kind:
            for name in names:
                targets.setdefault(_folded(name), note.id)
    return targets


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


def _items(note: _Note, targets: dict[str, str]) -> Iterator[Item]:
    parts = _parts(note)
    written, unread = _created(note)
    unread |= {key for key in ("title", "tags", "tag") if not _is_read(key, note.front.get(key))}
    written = written or _named_date(note.path.stem)
    created = written or datetime.fromtimestamp(note.path.stat().st_mtime, tz=UTC)
    in_metadata = unread | (note.front.keys() - _READ_KEYS)
    further = {key: value for key, value in note.front.items() if key in in_metadata}
    shared = {"kind": "note", "created_at": created, "tags": _tags(note)}
    for number, (start, stop) in enumerate(parts, start=1):
        links, unresolved = _links(note, note.plain[start:stop], targets)
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


def _part_id(note: _Note, number: int) -> str:
    return note.id if number == 1 else f"{note.id}#{number}"


def _parts(note: _Note) -> list[tuple[int, int]]:
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
    note: _Note, plain: str, targets: dict[str, str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The links of a part of a note, and the targets that no note has."""
    targets_found: dict[str, None] = {}
    unresolved: dict[str, None] = {}
    for name in linked_names(plain):
        target = targets.get(_folded(name)) or targets.get(_id(name))
        if target is None:
            unresolved[name] = None
            target = _id(name)
        if target != note.id:
            targets_found[target] = None
    links = [{"target": target, "type": "mentions", "weight": 1.0} for target in targets_found]
    return links, list(unresolved)


def _is_read(key: str, value: Any) -> bool:
    """Test whether all parts of a title or of tags are text."""
    parts = [value] if key == "title" else _listed(value)
    return all(part is None or _is_word(part) for part in parts)


def _tags(note: _Note) -> list[str]:
    written = _texts(note.front.get("tags")) + _texts(note.front.get("tag"))
    tags = [tag.lstrip("#") for tag in written] + _TAG.findall(WIKI_LINK.sub(" ", note.plain))
    return [tag for tag in dict.fromkeys(tags) if tag]


def _created(note: _Note) -> tuple[datetime | None, set[str]]:
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
    return None


def _spelt(value: Any) -> Any:
    """A date (20260103) or a year that YAML took for a number, as text."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and 0 <= value < _MIN_SECONDS else value
