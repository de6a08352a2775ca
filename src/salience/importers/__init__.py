"""Memories from elsewhere: Markdown notes, ChatGPT exports, JSON lines and conversations.

>>> from salience.importers import read
>>> memory.add_many(read("notes/"))                                        # doctest: +SKIP

`read` finds out the format of a file or folder by itself. What it yields are plain mappings, which
can be looked at, changed and left out before they are added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from salience.importers import chatgpt, conversation, jsonl, markdown
from salience.importers._source import ImportProblem, Item, LeftOut, decoded, head, unreadable

__all__ = ["FORMATS", "ImportProblem", "Item", "Items", "detect", "read"]

FORMATS: Mapping[str, Callable[[Path], Iterator[Item]]] = MappingProxyType(
    {
        "jsonl": jsonl.read,
        "conversation": conversation.read,
        "markdown": markdown.read,
        "chatgpt": chatgpt.read,
    }
)
"""The readers by the name of their format."""

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".markdown": "markdown",
    ".zip": "chatgpt",
}
_EXPORT = re.compile(rb'\{"salience": *"export"')
_TREE = re.compile(r'"mapping"\s*:\s*\{')
_CONVERSATION = re.compile(r'"memories"\s*:\s*\[')


class Items(Iterator[Item]):
    """The memories of a file or folder, read while they are iterated over.

    `blank` lists the notes without any text, which are skipped, as far as it has been read.
    """

    def __init__(self, path: Path, format: str, left_out: LeftOut | None = None) -> None:
        self.format = format
        self.blank: list[str] = []
        if format == "markdown":
            self._items = markdown.read(path, left_out, self.blank.append)
        elif format == "jsonl":
            self._items = jsonl.read(path, left_out)
        else:
            self._items = FORMATS[format](path)

    def __next__(self) -> Item:
        return next(self._items)


def read(
    path: str | Path,
    format: str | None = None,
    left_out: LeftOut | None = None,
) -> Items:
    """The memories at `path`, one after another, ready for `Memory.add_many`.

    Args:
        path: a file or a folder.
        format: one of `FORMATS`; by default detected by the ending and first bytes of the file.
        left_out: called with each note or line that cannot be read, which is left out; without it,
            they raise.

    Raises:
        ImportProblem: there is nothing at the path, the format is unknown or the file is damaged.
            Damage further down a file is found when the reading gets there.
    """
    path = Path(path)
    try:
        exists = path.exists()
    except OSError as problem:  # a name that is too long, a folder that may not be looked into
        raise unreadable(path, problem) from None
    if not exists:
        raise ImportProblem(path, "does not exist", "check the path")
    if not path.is_file() and not path.is_dir():
        raise ImportProblem(path, "can be read only once", "write it to a file first")
    name = format or detect(path)
    if name not in FORMATS:
        raise ImportProblem(path, f"there is no format {name!r}", f"use one of {_names()}")
    return Items(path, name, left_out)


def detect(path: Path) -> str:
    """The name of the format of a file or folder.

    Raises:
        ImportProblem: it is of no known format.
    """
    if path.is_dir():
        if any(path.glob("conversations*.json")):
            return "chatgpt"
        notes = any(path.rglob("*.md")) or not any(path.glob("*.json"))
        return "markdown" if notes else "conversation"
    name = _SUFFIXES.get(path.suffix.lower())
    if name not in (None, "jsonl"):
        return name
    start = head(path)
    if _EXPORT.match(start):
        raise ImportProblem(
            path, "is an export of salience", "bring it back by Memory.import_ or `salience import`"
        )
    if name is not None:
        return name
    if start.startswith(b"PK\x03\x04"):
        return "chatgpt"
    # The last character may be cut in half.
    source = decoded(path, start, errors="ignore").lstrip()
    if source.startswith(("{", "[")):
        if jsonl.LISTING.match(start):
            return "jsonl"
        if _TREE.search(source):
            return "chatgpt"
        return "conversation" if _CONVERSATION.search(source) else "jsonl"
    if source.startswith(("---\n", "---\r\n", "# ")):
        return "markdown"
    raise ImportProblem(path, "is of no known format", f"give it as format, one of {_names()}")


def _names() -> str:
    return ", ".join(FORMATS)
