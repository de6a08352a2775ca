"""Memories from elsewhere: notes, chats, JSON lines, and what other memory systems keep.

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

from salience.importers import (
    _sqlite,
    chatgpt,
    claude_code,
    conversation,
    jsonl,
    markdown,
    quarantine,
)
from salience.importers._source import (
    FLAT,
    Address,
    ImportProblem,
    Item,
    LeftOut,
    Place,
    decoded,
    head,
    located,
    unreadable,
)
from salience.importers.systems import (
    basic_memory,
    chroma,
    hindsight,
    langgraph,
    letta,
    mcp_memory,
    mem0,
    openmem,
    zep,
)
from salience.retrieval.safety import QUARANTINE_END

__all__ = [
    "FORMATS",
    "SERVERS",
    "ImportProblem",
    "Item",
    "Items",
    "Place",
    "detect",
    "located",
    "read",
]

FORMATS: Mapping[str, Callable[[Path], Iterator[Item]]] = MappingProxyType(
    {
        "jsonl": jsonl.read,
        "conversation": conversation.read,
        "markdown": markdown.read,
        "chatgpt": chatgpt.read,
        "claude-code": claude_code.read,
        "basic-memory": basic_memory.read,
        "chroma": chroma.read,
        "hindsight": hindsight.read,
        "langgraph": langgraph.read,
        "letta": letta.read,
        "mcp-memory": mcp_memory.read,
        "mem0": mem0.read,
        "openmem": openmem.read,
        "quarantine": quarantine.read,
        "zep": zep.read,
    }
)
"""The readers of files and folders by the name of their format."""

SERVERS: Mapping[str, Callable[[Place], Iterator[Item]]] = MappingProxyType(
    {"langgraph": langgraph.read, "mem0": mem0.read}
)
"""The readers that take the address of a server, too."""

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".markdown": "markdown",
    ".af": "letta",
}
_EXPORT = re.compile(rb'\{"salience": *"export"')
_FIRST = rf"\A\s*(?:\[\s*)?\{{{FLAT}"  # within the first object of a file
_SIGNS = {  # in the first characters of JSON; the first that fits counts
    "chatgpt": r'"mapping"\s*:\s*\{',
    "letta": r'\A\s*\{\s*"(?:agents|agent_type)"\s*:',
    "zep": rf'"(?:fact|source_description)"\s*:{FLAT}"(?:valid_at|invalid_at|reference_time)"\s*:',
    "hindsight": rf'"items"\s*:\s*\[\s*\{{{FLAT}"fact_type"\s*:',
    "mcp-memory": rf'{_FIRST}"(?:entityType|relationType)"\s*:|\A\s*\{{\s*"entities"\s*:\s*\[',
    "mem0": rf'"results"\s*:\s*\[\s*\{{{FLAT}"memory"\s*:|{_FIRST}"memory"\s*:{FLAT}"hash"\s*:',
    "conversation": r'\A\s*\{.*"memories"\s*:\s*\[',
}


_LOOKED_AT = 20  # notes of a folder


class Items(Iterator[Item]):
    """The memories of a file, folder or server, read while they are iterated over.

    `blank` lists the notes without any text, which are skipped, as far as it has been read.
    """

    def __init__(self, place: Place, format: str, left_out: LeftOut | None = None) -> None:
        self.format = format
        self.blank: list[str] = []
        if isinstance(place, Address):
            self._items = SERVERS[format](place)
        elif format == "markdown":
            self._items = markdown.read(place, left_out, self.blank.append)
        elif format == "basic-memory":
            self._items = basic_memory.read(place, left_out, self.blank.append)
        elif format == "jsonl":
            self._items = jsonl.read(place, left_out)
        elif format == "quarantine":
            self._items = quarantine.read(place, left_out)
        else:
            self._items = FORMATS[format](place)

    def __next__(self) -> Item:
        return next(self._items)


def read(
    path: str | Place,
    format: str | None = None,
    left_out: LeftOut | None = None,
) -> Items:
    """The memories at `path`, one after another, ready for `Memory.add_many`.

    Args:
        path: a file, a folder, or the address of a server, which needs a format of `SERVERS`.
        format: one of `FORMATS`; by default detected by the ending and first bytes of the file.
        left_out: called with each note or line that cannot be read, which is left out; without it,
            they raise.

    Raises:
        ImportProblem: there is nothing at the path, the format is unknown or the file is damaged.
            Damage further down a file is found when the reading gets there.
    """
    place = located(path)
    if isinstance(place, Address):
        if format is None or format not in SERVERS:
            raise ImportProblem(
                place, "is the address of a server", f"give its format, one of {_names(SERVERS)}"
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
        raise ImportProblem(place, f"there is no format {name!r}", f"use one of {_names(FORMATS)}")
    return Items(place, name, left_out)


def detect(path: Path) -> str:
    """The name of the format of a file or folder.

    Raises:
        ImportProblem: it is of no known format.
    """
    if path.is_dir():
        return _of_folder(path)
    suffix = path.suffix.lower()
    if suffix in (".md", ".markdown"):
        return "basic-memory" if basic_memory.is_note(path) else "markdown"
    if path.name.endswith(QUARANTINE_END):
        return "quarantine"
    name = _SUFFIXES.get(suffix)
    if name not in (None, "jsonl"):
        return name
    start = head(path)
    if _EXPORT.match(start):
        raise ImportProblem(
            path, "is an export of salience", "bring it back by Memory.import_ or `salience import`"
        )
    if start.startswith(_sqlite.MAGIC):
        return _of_database(path)
    if start.startswith(b"PK\x03\x04") or suffix == ".zip":
        return "hindsight" if hindsight.is_transfer(path) else "chatgpt"
    # The last character may be cut in half.
    source = decoded(path, start, errors="ignore").lstrip()
    if source.startswith(("{", "[")):
        if jsonl.LISTING.match(start):
            return "jsonl"
        signs = (name for name, sign in _SIGNS.items() if re.search(sign, source, re.DOTALL))
        found = next(signs, None)
        if found in (None, "conversation"):
            found = "claude-code" if claude_code.is_transcript(path) else found
        return found if found and (name is None or found != "conversation") else "jsonl"
    if name is not None:
        return name
    if source.startswith(("---\n", "---\r\n", "# ")):
        return "markdown"
    raise ImportProblem(
        path, "is of no known format", f"give it as format, one of {_names(FORMATS)}"
    )


def _of_folder(path: Path) -> str:
    if any(path.glob("conversations*.json")):
        return "chatgpt"
    if (path / chroma.FILE).is_file():
        return "chroma"
    if (path / "meta.json").is_file() and (path / "collection").is_dir():
        return "mem0"
    notes = sorted(path.rglob("*.md"))
    if any(basic_memory.is_note(note) for note in notes[:_LOOKED_AT]):
        return "basic-memory"
    if not notes and any(claude_code.is_transcript(file) for file in path.rglob("*.jsonl")):
        return "claude-code"
    return "markdown" if notes or not any(path.glob("*.json")) else "conversation"


def _of_database(path: Path) -> str:
    tables = _sqlite.columns(path)
    if path.name == chroma.FILE:
        return "chroma"
    if tables.get(langgraph.TABLE, set()) >= langgraph.COLUMNS:
        return "langgraph"
    if all(tables.get(table, set()) >= names for table, names in openmem.TABLES.items()):
        return "openmem"
    raise ImportProblem(
        path, "is a database of no known system", "bring a store of salience by `salience copy`"
    )


def _names(formats: Mapping[str, object]) -> str:
    return ", ".join(formats)
