"""Detection of the format of a file or folder: by its contents, then by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from salience.importers import _archives, jsonl
from salience.importers._archives import HTML, is_archive
from salience.importers._entries import documents, mapping
from salience.importers._source import ImportProblem, Job, decoded, head
from salience.importers.chats import CHATS
from salience.importers.chats.messengers import MARKS, WHATSAPP
from salience.importers.notes import NOTION
from salience.importers.shapes import Shape
from salience.importers.systems import basic_memory
from salience.importers.systems.agents import AGENTS, is_transfer
from salience.importers.systems.graphs import GRAPHS
from salience.importers.systems.stores import CHROMA_FILE, STORES
from salience.lazily import regex
from salience.retrieval.safety import QUARANTINE_END

SHAPES: tuple[Shape, ...] = (*CHATS, *STORES, *AGENTS, *GRAPHS)
NOTES = frozenset((".md", ".markdown", ".org"))
"""The endings of notes."""
_SUFFIXES = {
    **dict.fromkeys((".md", ".markdown", ".org"), "markdown"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".af": "letta",
    ".mbox": "mbox",
}
_DATABASES = frozenset((".db", ".sqlite", ".sqlite3", ".vscdb"))
# Files of exports that hold settings, accounts and ratings.
_OTHERS = regex(
    r"(?:users?|channels|groups|dms|mpims|integration_logs|message_feedback|model_comparisons|"
    r"shared_conversations|export_manifest|group_chats|shopping|sora|user_settings|canvases|"
    r"huddle_transcripts|lists|file_conversations|api_conversation_history|task_metadata)\.json"
)
_EXPORT = regex(rb'\{"salience": *"export"')
_LOOKED_AT = 20  # files of a folder
_SAMPLED = 200  # lines of a file
_SHOWN = 8  # keys
_LEAST_SHARE = 0.5  # of the keys of an object that a format has, to be called near it


def detect(path: Path) -> str:
    """The name of the format of a file or folder.

    Raises:
        ImportProblem: it is of no known format.
    """
    if path.is_dir():
        return _of_folder(path)
    suffix = path.suffix.lower()
    if suffix in NOTES:
        return "basic-memory" if basic_memory.is_note(path) else "markdown"
    if path.name.endswith(QUARANTINE_END):
        return "quarantine"
    start = head(path)
    if _EXPORT.match(start):
        raise ImportProblem(
            path, "is an export of salience", "bring it back by Memory.load or `salience import`"
        )
    if _archives.is_database(path):
        return _of_database(path)
    if is_archive(path):
        if is_transfer(path):
            return "hindsight"
        with _archives.folder_of(path) as folder:
            return _of_folder(folder, path)
    if suffix in HTML:
        return "markdown"
    name = _SUFFIXES.get(suffix)
    if name and name != "jsonl":
        return name
    # The last character may be cut in half.
    source = decoded(path, start, errors="ignore").lstrip("\ufeff \t\r\n")
    if source.startswith(("{", "[")) and not (suffix == ".txt" and _is_whatsapp(source)):
        return _of_json(path, name)
    if name is None and _is_whatsapp(source):
        return "whatsapp"
    if name is None and re.match(r"From \S.*\n(?:.+\n)*?(?:Date|Subject|From):", source):
        return "mbox"
    marks = ("---\n", "---\r\n") if suffix == ".txt" else ("---\n", "---\r\n", "# ")
    if not name and source.startswith(marks):
        return "markdown"
    if name or suffix == ".txt":
        return name or "text"
    raise ImportProblem(
        path,
        "is of no known format",
        'name it, as format="text" (--format text); `salience import --formats` lists them',
    )


def shape_of(name: str, path: object) -> Shape:
    """The shape of a format that a file has; the first of the format, if it has none."""
    shapes = [shape for shape in SHAPES if shape.name == name]
    if len(shapes) == 1 or not isinstance(path, Path) or not path.is_file():
        return shapes[0]
    start = sample(path)
    return next((shape for shape in shapes if shape.fits(start)), shapes[0])


def sample(path: Path) -> Any:
    """The document of a file of JSON, or a list of its first lines that are whole."""
    documents_read = list(islice(documents(path, Job(lambda problem: None)), _SAMPLED))
    if len(documents_read) == 1 and not documents_read[0][0]:
        return documents_read[0][1]
    return [document for _, document in documents_read]


def files_in(folder: Path) -> Iterator[Path]:
    """The visible files of a folder and those in it that may hold memories, by name."""
    suffixes = {".json", ".txt", ".zip", *_SUFFIXES, *_DATABASES}
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        is_hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
        may_hold = file.suffix.lower() in suffixes and not _OTHERS.fullmatch(file.name)
        if may_hold and not is_hidden and not file.is_dir():
            yield file


def _is_whatsapp(source: str) -> bool:
    lines = source.split("\n")[:_LOOKED_AT]
    return any(WHATSAPP.match(line.translate(MARKS)) for line in lines)


def _of_json(path: Path, name: str | None) -> str:
    start = sample(path)
    for shape in SHAPES:
        if shape.signs and shape.fits(start):
            return shape.name
    first = next(iter(start), None) if isinstance(start, list) else start
    if isinstance(first, dict):
        if isinstance(start, dict) and _is_evaluation(start):
            return "conversation"
        if isinstance(first.get("title"), str) and isinstance(first.get("children"), list):
            return "roam"
    entries = start[:_LOOKED_AT] if isinstance(start, list) else [start]
    if name == "jsonl" or not start or any(map(_is_memory, entries)):
        return "jsonl"
    if jsonl.is_conversation(start) or jsonl.LISTING.match(head(path)):
        return "jsonl"
    raise _unknown(path, start, first)


def _is_evaluation(document: dict[str, Any]) -> bool:
    listed = document.get("memories")
    return isinstance(listed, list) and not any("content" in mapping(e) for e in listed[:_SHOWN])


def _is_memory(entry: Any) -> bool:
    return jsonl.messages_of(entry) is not None or any(map(jsonl.is_content, mapping(entry)))


def _unknown(path: Path, start: Any, first: Any) -> ImportProblem:
    """The error for JSON that is of no format: what it is, and what comes nearest."""
    keys = [str(key) for key in mapping(first)]
    what = f"an object with {', '.join(keys[:_SHOWN]) or 'no keys'}"
    what = what if isinstance(first, dict) else f"a {type(first).__name__}"
    shape = f"a list that begins with {what}" if isinstance(start, list) else what
    remedy = "write it as JSON lines of memories"
    common = [(len(s.keys() & {*keys}), len(s.keys()), s) for s in SHAPES if s.signs]
    count, _, nearest = max(common, key=lambda each: (each[0], each[0] / each[1]))
    if count > _LEAST_SHARE * len(keys):
        further = ", ".join(sorted(nearest.keys() - {*keys})[:_SHOWN])
        remedy = f"the nearest format is {nearest.name}, which also has {further}; or {remedy}"
    return ImportProblem(path, f"is JSON of no known shape: {shape}", remedy)


def _of_folder(path: Path, original: Path | None = None) -> str:
    if (path / CHROMA_FILE).is_file():
        return "chroma"
    if (path / "meta.json").is_file() and (path / "collection").is_dir():
        return "mem0"
    if any(
        (root / "message").is_dir() and (root / "part").is_dir()
        for root in (path, path / "storage")
    ):
        return "opencode"
    day = "[12][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json"
    if (path / "users.json").is_file() and any((*path.glob(day), *path.glob(f"*/{day}"))):
        return "slack"
    exports = {"chatgpt", "claude-ai"} & {tried(f) for f in path.glob("conversations*.json")}
    if exports:
        return exports.pop() if len(exports) == 1 else "files"
    visible = [file for file in path.rglob("*") if file.suffix.lower() in NOTES]
    if visible:
        sampled = sorted(visible)[:_LOOKED_AT]
        return "basic-memory" if any(map(basic_memory.is_note, sampled)) else "markdown"
    pages = [file for file in path.rglob("*") if file.suffix.lower() in HTML]
    if any(NOTION.fullmatch(page.stem) for page in pages):
        return "markdown"
    if pages and not any(files_in(path)):
        return "markdown"
    return _of_files(path, original)


def _of_files(path: Path, original: Path | None) -> str:
    files = list(islice(files_in(path), _LOOKED_AT))
    formats = [name for name in dict.fromkeys(map(tried, files)) if name is not None]
    if files:  # files of no known format say so when they are read; a zip is a folder of its own
        return formats[0] if len(formats) == 1 and not any(map(is_archive, files)) else "files"
    remedy = "give a folder of notes, or with files of a known format"
    raise ImportProblem(original or path, "holds no notes, and no file of a known format", remedy)


def tried(path: Path) -> str | None:
    """The name of the format of a file or folder; None if it is of no known format."""
    try:
        return detect(path)
    except ImportProblem:
        return None


def _of_database(path: Path) -> str:
    if path.name == CHROMA_FILE:
        return "chroma"
    tables = _archives.columns(path)
    for shape in SHAPES:
        needed = shape.tables.items()
        if needed and all(tables.get(table, set()) >= names for table, names in needed):
            return shape.name
    raise ImportProblem(
        path,
        f"is a database of no known system: it has the tables {', '.join(sorted(tables)[:_SHOWN])}",
        "bring a store of salience by `salience copy`",
    )
