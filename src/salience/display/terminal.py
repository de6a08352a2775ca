"""Texts on a terminal: what would move its cursor, change its colours or turn a line is shown."""

from __future__ import annotations

import re

# Controls but tabs and newlines; marks that turn the direction of a line.
_ACTING = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str, escape: str = "") -> str:
    r"""A text with each control character as its escape: ``\x1b`` for the one that terminals obey.

    Tabs and newlines stay. A carriage return before a newline goes, as it ends the same line.
    `escape` is the form of every escape, as in "\\u{:04x}" for JSON.
    """
    if text.isascii() and text.isprintable():
        return text

    def escaped(match: re.Match[str]) -> str:
        code = ord(match[0])
        return (escape or ("\\x{:02x}" if code < 0x100 else "\\u{:04x}")).format(code)

    return _ACTING.sub(escaped, text.replace("\r\n", "\n"))
