"""TOML: set or remove one table of a text, leaving every other line as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from salience.lazily import regex

_HEADER = regex(r"^\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_PART = regex(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([A-Za-z0-9_-]+)")
_BARE = regex(r"[A-Za-z0-9_-]+")


def read(text: str) -> dict[str, Any]:
    """The value of a text.

    Raises:
        ValueError: says where it is damaged.
    """
    return tomllib.loads(text)


def with_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """The text with a table at a path, in the place of the one that is there, else at the end.

    Raises:
        ValueError: it is written in a form that cannot be changed so.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    table = line_end.join(_lines_of(path, values)) + line_end
    span = _span(text, path)
    if span is not None:
        changed = text[: span[0]] + table + text[span[1] :]
    else:
        gap = "" if not text.strip() else line_end * (2 - text.endswith("\n"))
        changed = text + gap + table
    return _checked(text, changed, path, values)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table at a path; unchanged without one.

    Raises:
        ValueError: it is written in a form that cannot be changed so.
    """
    span = _span(text, path)
    changed = text
    if span is not None:
        before, after = text[: span[0]], text[span[1] :]
        if not after and re.search(r"\n\r?\n\Z", before):  # the line that was put before it
            before = re.sub(r"\r?\n\Z", "", before)
        changed = before + after
    return _checked(text, changed, path, None)


def _checked(text: str, changed: str, path: Sequence[str], values: Mapping[str, Any] | None) -> str:
    """The changed text, if that says what is meant and nothing else."""
    expected = read(text)
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {}) if values is not None else inner.get(key, {})
    if values is None:
        inner.pop(path[-1], None)
    else:
        inner[path[-1]] = dict(values)
    try:
        actual = read(changed)
    except ValueError:
        actual = None
    if _without_empty(actual) != _without_empty(expected):
        raise ValueError(f"{'.'.join(path)} is written in a form that cannot be changed safely")
    return changed


def _without_empty(value: Any) -> Any:
    """The value without empty tables, which TOML may leave out."""
    if not isinstance(value, dict):
        return value
    inner = {key: _without_empty(each) for key, each in value.items()}
    return {key: each for key, each in inner.items() if each != {}}


def _span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """The beginning and the end of a table with those within it; None if there is none."""
    start = end = None
    place = 0
    inside = False
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line.rstrip("\r\n"))
        if header is not None or line.lstrip().startswith("[["):
            names = _names(header[1]) if header else ()
            inside = names[: len(path)] == tuple(path)
            if inside and start is None:
                start = place
        place += len(line)
        if inside and line.strip() and not line.lstrip().startswith("#"):
            end = place  # comments behind it belong to what comes next
    return None if start is None or end is None else (start, end)


def _names(header: str) -> tuple[str, ...]:
    parts = _PART.findall(header)
    return tuple(json.loads(f'"{a}"') if a else b or c for a, b, c in parts)


def _lines_of(path: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    lines = [f"[{'.'.join(map(_key, path))}]"]
    tables = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    lines += [f"{_key(name)} = {_value(v)}" for name, v in values.items() if name not in tables]
    for name, table in tables.items():
        lines += ["", *_lines_of((*path, name), table)]
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """A text, number, truth value or list; a text of JSON is one of TOML, but for DEL."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
