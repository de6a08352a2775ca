"""JSON with comments: read it, and change one member of it, leaving every other byte as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from salience.lazily import dataclass, regex

_SPACE = regex(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = regex(r'"(?:[^"\\]|\\.)*"', re.S)
_SCALAR = regex(r"[^\s,\]}/]+")
_MARK = "\ufeff"  # that some editors write first
_UNIT = "  "


@dataclass(frozen=True)
class _Member:
    """A member of an object: where its key begins, and its value."""

    key: str
    start: int
    value: _Node


@dataclass(frozen=True)
class _Node:
    """A value in a text: where it begins and ends, and the members if it is an object."""

    start: int
    end: int
    members: tuple[_Member, ...] | None = None

    def member(self, key: str) -> _Member | None:
        """The last member of a name, which is the one that counts."""
        return next((each for each in reversed(self.members or ()) if each.key == key), None)


def read(text: str) -> Any:
    """The value of a text in JSON with comments and trailing commas; {} for an empty text.

    Raises:
        ValueError: says where it is damaged.
    """
    if not text.strip(_MARK).strip():
        return {}
    _, plain = _Reader(text).document()
    return json.loads(plain)


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of keys, made where there are none.

    Raises:
        ValueError: the text is damaged, or what is on the path is not an object.
    """
    if not text.strip(_MARK).strip():
        return text[: text.startswith(_MARK)] + _dumped(_nested(path, value), "", "\n") + "\n"
    node, _ = _Reader(text).document()
    for depth, key in enumerate(path):
        if node.members is None:
            raise ValueError(f"{'.'.join(path[:depth]) or 'the file'} is not an object")
        member = node.member(key)
        if member is None:
            return _inserted(text, node, key, _nested(path[depth + 1 :], value))
        node = member.value
    dumped = _dumped(value, _indent_of(text, node.start), _line_end(text))
    return text[: node.start] + dumped + text[node.end :]


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path; unchanged without one."""
    if not text.strip(_MARK).strip():
        return text
    node, _ = _Reader(text).document()
    for key in path[:-1]:
        member = node.member(key)
        if member is None:
            return text
        node = member.value
    while (member := node.member(path[-1])) is not None:
        text = _removed(text, node, member)
        node, _ = _Reader(text).document()
        for key in path[:-1]:
            inner = node.member(key)
            assert inner is not None  # nothing but its member was removed
            node = inner.value
    return text


def _inserted(text: str, node: _Node, key: str, value: Any) -> str:
    """The text with one more member, behind the last one of an object."""
    assert node.members is not None
    line_end = _line_end(text)
    inner = _indent_within(text, node)
    member = f"{json.dumps(key, ensure_ascii=False)}: {_dumped(value, inner, line_end)}"
    if not node.members:
        start = node.start + 1
        inside = text[start : node.end - 1]
        closing = "" if "\n" in inside else line_end + _indent_of(text, node.start)
        return f"{text[:start]}{line_end}{inner}{member}{closing}{text[start:]}"
    last = node.members[-1].value.end
    after = _after_comma(text, last)  # of a trailing comma, which the new member gets, too
    end = last if after is None else after
    end += len(_rest_of_line(text, end))
    before, tail = (",", "") if after is None else ("", ",")
    return f"{text[:last]}{before}{text[last:end]}{line_end}{inner}{member}{tail}{text[end:]}"


def _removed(text: str, node: _Node, member: _Member) -> str:
    assert node.members is not None
    place = node.members.index(member)
    after = _after_comma(text, member.value.end)
    start = member.start
    while text[start - 1] in " \t\r\n":
        start -= 1
    if place + 1 == len(node.members) and place > 0 and after is None:
        comma = _after_comma(text, node.members[place - 1].value.end)
        assert comma is not None
        return text[: comma - 1] + text[comma:start] + text[member.value.end :]
    return text[:start] + text[member.value.end if after is None else after :]


def _after_comma(text: str, place: int) -> int | None:
    """The place behind the comma that comes next, None if another thing does."""
    match = _SPACE.match(text, place)
    end = match.end() if match else place
    return end + 1 if text[end : end + 1] == "," else None


def _rest_of_line(text: str, place: int) -> str:
    """The rest of a line, if that is nothing but blanks and a comment; else ""."""
    match = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n)").match(text, place)
    return match[0] if match and match[0].strip() else ""


def _indent_within(text: str, node: _Node) -> str:
    """The indent of the members of an object."""
    assert node.members is not None
    for member in node.members:
        before = text[text.rfind("\n", 0, member.start) + 1 : member.start]
        if not before.strip():
            return before
    match = re.search(r"^([ \t]+)\S", text, re.M)
    return _indent_of(text, node.start) + (match[1] if match else _UNIT)


def _indent_of(text: str, place: int) -> str:
    """The indent of the line of a place."""
    line = text[text.rfind("\n", 0, place) + 1 : place].lstrip(_MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(value: Any, indent: str, line_end: str) -> str:
    """A value as JSON, its lines behind the first indented like their surroundings."""
    unit = "\t" if indent.startswith("\t") else _UNIT
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{line_end}{indent}".join(lines)


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


class _Reader:
    """A reader of one text; it notes where the values stand, and writes plain JSON beside."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = int(text.startswith(_MARK))
        self._plain: list[str] = []

    def document(self) -> tuple[_Node, str]:
        """The node of the whole text, and its plain JSON."""
        self._skip()
        node = self._value()
        self._skip()
        if self._place < len(self._text):
            raise self._damaged()
        return node, "".join(self._plain)

    def _value(self) -> _Node:
        start = self._place
        if self._next() == "{":
            return self._object(start)
        if self._next() == "[":
            self._take("[")
            self._items("]", lambda: self._value())
            return _Node(start, self._place)
        pattern = _STRING if self._next() == '"' else _SCALAR
        self._plain.append(self._matched(pattern))
        return _Node(start, self._place)

    def _object(self, start: int) -> _Node:
        members: list[_Member] = []

        def member() -> None:
            begin, key = self._place, self._matched(_STRING)
            self._plain.append(key)
            self._skip()
            self._take(":")
            self._skip()
            members.append(_Member(json.loads(key), begin, self._value()))

        self._take("{")
        self._items("}", member)
        return _Node(start, self._place, tuple(members))

    def _items(self, end: str, item: Any) -> None:
        """Items with commas between them, and perhaps one behind the last."""
        first = True
        while True:
            self._skip()
            if self._next() == end:
                self._take(end)
                return
            if not first:
                self._plain.append(",")
            item()
            first = False
            self._skip()
            if self._next() == ",":
                self._place += 1
            elif self._next() != end:
                raise self._damaged()

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._place)
        if match:
            self._place = match.end()

    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _take(self, character: str) -> None:
        if self._next() != character:
            raise self._damaged()
        self._plain.append(character)
        self._place += 1

    def _matched(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._place)
        if match is None:
            raise self._damaged()
        self._place = match.end()
        return match[0]

    def _damaged(self) -> ValueError:
        line = self._text.count("\n", 0, self._place) + 1
        return ValueError(f"line {line} is not JSON")
