"""The table of cues: patterns and word lists that tell something about a text.

A cue is registered when it is read, as the compiled pattern or the set of words that the code uses.
Its row says what it is for, and shows a text that it catches and one that it must not.

Tables are kept as text beside the code that reads them:

    # a comment
    ## name: what it is for
    words between blanks, or a pattern, whose lines are joined without a blank
    + a text that it catches
    - a text that it must not catch

In a pattern `@{name}` stands for the pattern of an entry above, `@{name|}` for any of its words. An
example with a blank at an end stands in quotation marks. An entry whose name begins with _ is a
part of others, or is read by code of its own, and has no examples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from salience.language.tokens import words
from salience.lazily import dataclass, field, regex

_PART = regex(r"@\{(\w+)(\|?)\}")
_FOLDER = Path(__file__).parent / "tables"


@dataclass
class Entry:
    """An entry of a table: its name, what it is for, its lines, and examples of both kinds."""

    name: str
    purpose: str
    lines: list[str] = field(default_factory=list)
    catches: list[str] = field(default_factory=list)
    must_not_catch: list[str] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        """The words that are listed, in their order."""
        return " ".join(self.lines).split()

    @property
    def pattern(self) -> str:
        """The pattern, with the parts that it names in their places."""
        return "".join(self.lines)


@cache
def read_table(name: str, folder: Path = _FOLDER) -> Mapping[str, Entry]:
    """The entries of a file, by name, in their order."""
    entries: dict[str, Entry] = {}
    entry = Entry("", "")

    def part(match: re.Match[str]) -> str:
        named = entries[match[1]]
        return "|".join(named.words) if match[2] else named.pattern

    for line in (folder / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("## "):
            title, _, purpose = line[3:].partition(": ")
            entry = entries[title] = Entry(title, purpose)
        elif line.startswith("+ "):
            entry.catches.append(_unquoted(line[2:]))
        elif line.startswith("- "):
            entry.must_not_catch.append(_unquoted(line[2:]))
        elif line and not line.startswith("# "):
            entry.lines.append(_PART.sub(part, line) if "@{" in line else line)
    return entries


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] == text[-1] == '"' and len(text) > 1 else text


@dataclass(frozen=True)
class Cue:
    """A pattern or a set of words, its purpose, and an example and a counterexample.

    The examples are written as the cue sees texts: mostly in lower case.
    """

    name: str
    purpose: str
    matcher: re.Pattern[str] | frozenset[str]
    catches: str
    must_not_catch: str

    def is_in(self, text: str) -> bool:
        """Test whether the pattern matches anywhere in a text, or one of the words occurs in it."""
        if isinstance(self.matcher, frozenset):
            return not self.matcher.isdisjoint(words(text))
        return self.matcher.search(text) is not None


CUES: dict[str, Cue] = {}
"""Every cue by its name."""


class CueTable:
    """The cues of a file, each registered when it is read."""

    def __init__(self, name: str) -> None:
        self._entries = read_table(name)

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def pattern(self, name: str) -> re.Pattern[str]:
        """The compiled pattern of a cue."""
        entry = self._entries[name]
        compiled = regex(entry.pattern)
        CUES[name] = Cue(name, entry.purpose, compiled, entry.catches[0], entry.must_not_catch[0])
        return compiled

    def words(self, name: str, others: frozenset[str] = frozenset()) -> frozenset[str]:
        """The words of a cue, with others that belong to it."""
        entry = self._entries[name]
        listed = others.union(entry.words)
        CUES[name] = Cue(name, entry.purpose, listed, entry.catches[0], entry.must_not_catch[0])
        return listed

    def groups(self, beginning: str) -> tuple[frozenset[str], ...]:
        """The words of each cue whose name begins so."""
        return tuple(self.words(name) for name in self._entries if name.startswith(beginning))
