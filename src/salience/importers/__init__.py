"""Memories from elsewhere: notes, chats, JSON lines, and what other memory systems keep.

>>> from salience.importers import read
>>> memory.add_many(read("notes/"))                                        # doctest: +SKIP

`read` finds out the format of a file or folder by itself. What it yields are plain mappings, which
can be looked at, changed and left out before they are added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from salience.importers import _archives, conversation, jsonl, markdown, quarantine
from salience.importers._source import (
    Address,
    DateOrder,
    ImportProblem,
    Item,
    Job,
    LeftOut,
    Place,
    inside,
    located,
    stop,
    unreadable,
)
from salience.importers.detection import NOTES, SHAPES, detect, files_in, shape_of, tried
from salience.importers.shapes import distinct
from salience.importers.systems import basic_memory
from salience.lazily import dataclass, replace

__all__ = [
    "FORMATS",
    "SERVERS",
    "DateOrder",
    "ImportProblem",
    "Item",
    "Items",
    "Place",
    "detect",
    "located",
    "read",
]


@dataclass(frozen=True)
class Format:
    """A format and its reader, which takes a file, or also a folder as a whole."""

    about: str
    read: Callable[[Place, Job], Iterator[Item]]
    of_folders: bool = False


def _shaped(name: str) -> Format:
    """The format of one or more shapes."""

    def read(place: Place, job: Job) -> Iterator[Item]:
        yield from distinct(shape_of(name, place).read(place, job))

    about = next(shape.about for shape in SHAPES if shape.name == name)
    return Format(about, read, name in ("chroma", "mem0", "opencode", "slack"))


def _of_files(place: Place, job: Job) -> Iterator[Item]:
    yield from distinct(_each_file(place, job, None))


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "jsonl": Format(
            "JSON: memories one a line or in a list; messages of OpenAI, ShareGPT, LMSYS",
            jsonl.read,
        ),
        "markdown": Format(
            "notes: Markdown, Org, HTML, or a folder or zip of them (Obsidian, Logseq, Notion)",
            markdown.read,
            True,
        ),
        "basic-memory": Format("Basic Memory: a folder of notes", basic_memory.read, True),
        "roam": Format("Roam Research: the JSON of a graph", markdown.read_roam),
        "text": Format("a text, or a folder of them", markdown.read_texts, True),
        "csv": Format("a table: Readwise, or columns by name or by --map", jsonl.read_csv),
        "conversation": Format("a conversation with questions about it", conversation.read, True),
        **{name: _shaped(name) for name in dict.fromkeys(shape.name for shape in SHAPES)},
        "quarantine": Format("what `salience doctor --fix` has set aside", quarantine.read),
        "files": Format("a folder or zip with files of several of these", _of_files, True),
    }
)
"""The formats of files and folders by name."""

_OF_NOTES = ("markdown", "basic-memory")
_ATTACHED = ("text", "csv")  # to the notes of a vault, or to the chats of an export
SERVERS = ("langgraph", "mem0")
"""The formats that take the address of a server, too."""


def _each_file(folder: Place, job: Job, only: str | None) -> Iterator[Item]:
    """The memories of each file in a folder, perhaps of one format only."""
    assert isinstance(folder, Path)
    for file in files_in(folder):
        try:
            name = detect(inside(file, folder))
            if only is not None and name in _ATTACHED and name != only:
                continue
            if only not in (None, name):
                problem = f"is of the format {name}, not {only}"
                raise ImportProblem(file, problem, "import it by its own path")
            where = file.relative_to(folder).as_posix()
            for item in _read(name, file, job):
                yield _placed(item, where)
        except ImportProblem as problem:
            job.left_out(problem)


def _of_notes(name: str, folder: Path, job: Job) -> Iterator[Item]:
    """The notes of a folder; files of other formats in it are reported as left out."""
    yield from FORMATS[name].read(folder, job)
    for file in files_in(folder):
        found = None if file.suffix.lower() in NOTES else tried(file)
        if found is not None and found not in _ATTACHED:
            problem = f"is of the format {found}, in a folder of notes"
            job.left_out(ImportProblem(file, problem, "import it by its own path"))


def _placed(item: Item, where: str) -> Item:
    has_more = item.place and not where.endswith(item.place)  # a note's place is its file
    place = f"{where}, {item.place}" if has_more else where
    return Item(item, place, namespace=item.namespace, assumed=item.assumed)


def _read(name: str, place: Place, job: Job) -> Iterator[Item]:
    format = FORMATS[name]
    if isinstance(place, Path) and name != "hindsight" and _archives.is_archive(place):
        yield from _of_archive(name, place, job)
    elif isinstance(place, Path) and place.is_dir() and not format.of_folders:
        yield from distinct(_each_file(place, job, name))
    elif isinstance(place, Path) and place.is_dir() and name in _OF_NOTES:
        yield from _of_notes(name, place, job)
    else:
        yield from format.read(place, job)


def _of_archive(name: str, archive: Path, job: Job) -> Iterator[Item]:
    """The memories of a zip, whose problems name it and the part."""

    def named(problem: ImportProblem) -> ImportProblem:
        if not isinstance(problem.path, Path) or not problem.path.is_relative_to(folder):
            return problem
        part = problem.path.relative_to(folder).as_posix()
        where = f"{part}, {problem.place}" if problem.place else part
        return ImportProblem(archive, f"{where}: {problem.problem}", problem.remedy)

    with _archives.folder_of(archive, job.left_out) as folder:
        inner = replace(job, left_out=lambda problem: job.left_out(named(problem)))
        try:
            yield from _read(name, folder, inner)
        except ImportProblem as problem:
            raise named(problem) from None


class Items(Iterator[Item]):
    """The memories of a file, folder or server, read while they are iterated over.

    `blank` lists the notes without any text, which are skipped, as far as it has been read.
    """

    def __init__(
        self,
        place: Place,
        format: str,
        left_out: LeftOut | None = None,
        columns: Mapping[str, str] | None = None,
        dates: DateOrder | None = None,
    ) -> None:
        self.format = format
        self.blank: list[str] = []
        job = Job(left_out or stop, self.blank.append, columns or {}, dates)
        self._items = _read(format, place, job)

    def __next__(self) -> Item:
        return next(self._items)


def read(
    path: str | Place,
    format: str | None = None,
    left_out: LeftOut | None = None,
    columns: Mapping[str, str] | None = None,
    dates: DateOrder | None = None,
) -> Items:
    """The memories at `path`, one after another, ready for `Memory.add_many`.

    Args:
        path: a file, a folder, a zip, or the address of a server, which needs a format of
            `SERVERS`.
        format: one of `FORMATS`; by default detected by what is in the file or folder.
        left_out: called with each part that cannot be read (a note, a line, a message), which is
            left out; without it, they raise.
        columns: of a table, the names of the columns that hold fields, by field.
        dates: "dmy" or "mdy" for the order in dates of a chat of WhatsApp that may be read in both,
            which are refused without it.

    Raises:
        ImportProblem: there is nothing at the path, the format is unknown or the file is damaged.
            Damage further down a file is found when the reading gets there.
    """
    place = located(path)
    if isinstance(place, Address):
        if format is None or format not in SERVERS:
            raise ImportProblem(
                place, "is the address of a server", f"give its format, one of {', '.join(SERVERS)}"
            )
        return Items(place, format, left_out)
    try:
        exists = place.exists()
    except OSError as problem:  # a name that is too long, a folder that may not be looked into
        raise unreadable(place, problem) from None
    if not exists:
        raise ImportProblem(place, "does not exist", "check the path")
    if not place.is_file() and not place.is_dir():
        raise ImportProblem(place, "can be read only once", "write it to a file first")
    name = format or detect(place)
    if name not in FORMATS:
        names = ", ".join(FORMATS)
        raise ImportProblem(place, f"there is no format {name!r}", f"use one of {names}")
    if dates not in (None, *get_args(DateOrder)):
        orders = " or ".join(get_args(DateOrder))
        raise ImportProblem(place, f"its dates are to be {dates!r}", f"use {orders}")
    return Items(place, name, left_out, columns, dates)
