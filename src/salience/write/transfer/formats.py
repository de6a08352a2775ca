"""Exports in formats of others, made of the lines of an export: Markdown notes, JSON of mem0."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from hashlib import md5
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from salience.errors import InvalidInput, shown
from salience.language.tokens import slug
from salience.lazily import regex
from salience.records.record import BLANK
from salience.write.items import CHECKS
from salience.write.transfer import lines
from salience.write.transfer.files import written

OWN_KEY = "salience"
"""The key of a note's front matter that has the fields which a note has no place for."""

_NAME_CHARACTERS = 60
_UNPRINTED = regex("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ROLES = ("user", "assistant")


class Exporter(Protocol):
    """A memory, as far as it exports itself."""

    def export(self, target: Any, /) -> Any: ...


def export_as(
    memory: Exporter,
    target: str | os.PathLike[str],
    format: str,
    ids: Container[str] | None = None,
) -> int:
    """Write the memories of a namespace in a format of others: the number of memories.

    "markdown" makes a folder of notes, which `salience.importers` reads back with all fields and
    links. "mem0" makes a file of the JSON that mem0 returns from `get_all`; what is not active is
    left out. History and vectors are in neither: `Memory.export` has them.

    Args:
        memory: a memory, also one at a server.
        target: the folder, which must be empty or not exist, or the file.
        format: "markdown" or "mem0".
        ids: the ids of the memories to write; all by default.

    Raises:
        InvalidInput: the format is unknown, or the folder holds something.
    """
    write = FORMATS.get(format)
    if write is None:
        raise InvalidInput("format", f"is {shown(format)}", f"use one of {', '.join(FORMATS)}")
    with tempfile.TemporaryFile() as file:
        memory.export(file)
        file.seek(0)
        chosen = (each for each in _memories(file) if ids is None or each["id"] in ids)
        return write(chosen, Path(target))


def _memories(source: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The fields and links of the memories of an export."""
    for raw in source:
        line = lines.parsed(raw)
        if "memory" in line:
            yield {**line["memory"], **({"links": line["links"]} if "links" in line else {})}


def _write_mem0(memories: Iterator[dict[str, Any]], target: Path) -> int:
    results = [_mem0(fields) for fields in memories if fields.get("status", "active") == "active"]
    with written(target) as write:
        write(json.dumps({"results": results}, ensure_ascii=False, indent=1) + "\n")
    return len(results)


def _mem0(fields: Mapping[str, Any]) -> dict[str, Any]:
    speaker = fields.get("speaker")
    entry = {
        "id": fields["id"],
        "memory": fields["content"],
        "hash": md5(fields["content"].encode(), usedforsecurity=False).hexdigest(),
        "metadata": fields.get("metadata"),
        "created_at": fields["created_at"],
        "updated_at": fields.get("updated_at", fields["created_at"]),
        "user_id": fields.get("user_id"),
        "agent_id": fields.get("agent_id"),
        "run_id": fields.get("session_id"),
        "actor_id": speaker,
        "role": speaker if speaker in _ROLES else None,
        "categories": fields.get("tags"),
        "expiration_date": _last_day(fields.get("expires_at")),
    }
    return {name: value for name, value in entry.items() if value is not None}


def _last_day(expires_at: str | None) -> str | None:
    """The last whole day before a time: mem0 knows days alone, and keeps a memory through its."""
    if expires_at is None:
        return None
    end: date = (datetime.fromisoformat(expires_at) - timedelta(days=1)).date()
    return end.isoformat()


def _write_markdown(memories: Iterator[dict[str, Any]], target: Path) -> int:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput("target", f"{target} is there already", "give a new or empty folder")
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        names: set[str] = set()
        for fields in memories:
            name = _name(fields, names)
            names.add(name)
            note = folder / f"{name}.md"
            note.write_text(_note(fields), encoding="utf-8", newline="\n")
        os.replace(folder, target)  # an empty folder at the target gives way
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return len(names)


def _name(fields: Mapping[str, Any], taken: set[str]) -> str:
    """The name of a note's file: of its title, else of its first words."""
    words = fields.get("title") or fields["content"][: 2 * _NAME_CHARACTERS]
    base = slug(words).replace("/", "-")[:_NAME_CHARACTERS].strip("-") or "memory"
    number, name = 1, base
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name


def _note(fields: Mapping[str, Any]) -> str:
    """A note: front matter that people read, the other fields in one line, the content."""
    content = fields["content"]
    kept = CHECKS.keys() - {"added_at"} | {"links"}  # a note is added when it is imported
    known = {name: value for name, value in fields.items() if name in kept}
    own = {"kind": BLANK.kind, **known}
    front = {"title": own.pop("title", None), "created": own.pop("created_at"),
             "tags": own.pop("tags", None)}  # fmt: skip
    if "\r" not in content and content.strip():  # files have other ends of lines
        del own["content"]
    front[OWN_KEY] = own
    head = "".join(f"{key}: {_yaml(value)}\n" for key, value in front.items() if value is not None)
    return f"---\n{head}---\n\n{content}\n"


def _yaml(value: Any) -> str:
    """A JSON value on one line of YAML, which takes fewer characters and other numbers."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_yaml(key)}: {_yaml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    if isinstance(value, float) and math.isfinite(value):
        mantissa, exponent, power = repr(value).partition("e")
        sign = "" if not exponent or power.startswith("-") else "+"
        point = "" if "." in mantissa else ".0"
        return f"{mantissa}{point}{exponent}{sign}{power.removeprefix('+')}"
    written = json.dumps(value, ensure_ascii=False)
    return _UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


FORMATS: Mapping[str, Callable[[Iterator[dict[str, Any]], Path], int]] = MappingProxyType(
    {"markdown": _write_markdown, "mem0": _write_mem0}
)
"""The functions that write memories to a path, by the name of the format."""
