"""The rules by which statements of a session are kept: corrections, conventions and decisions.

A rule is a pattern over one sentence in lower case, with sentences that it catches and others that
it must not; `rules.txt` lists them. What is asked, supposed, meant for this once or pasted is not
kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from salience.language.cues import Entry, read_table

Kind = Literal["correction", "convention", "decision", "finding"]
Speaker = Literal["user", "assistant"]
_TABLE = read_table("rules", Path(__file__).parent)


@dataclass(frozen=True)
class Rule:
    """A pattern of a sentence that is kept, who has to say it, and examples of both kinds."""

    name: str
    kind: Kind
    speakers: tuple[Speaker, ...]
    pattern: re.Pattern[str]
    catches: tuple[str, ...]
    must_not_catch: tuple[str, ...]


def _rule(entry: Entry) -> Rule:
    kind, speakers = entry.purpose.split(", ")
    return Rule(
        entry.name,
        cast("Kind", kind),
        cast("tuple[Speaker, ...]", tuple(speakers.split(" or "))),
        re.compile(entry.pattern),
        tuple(entry.catches),
        tuple(entry.must_not_catch),
    )


def _any_language(name: str) -> re.Pattern[str]:
    return re.compile("|".join(_TABLE[one].pattern for one in _TABLE if one.startswith(name)))


RULES = tuple(_rule(entry) for name, entry in _TABLE.items() if not name.startswith("_"))
"""The rules in their order: the first that catches a sentence names it."""
SUPPOSED = _any_language("_supposed")
"""Sentences that ask or suppose."""
PASSING = _any_language("_passing")
"""Sentences that are meant for this once."""
SECRET = re.compile(_TABLE["_secret"].pattern, re.I)
"""Texts that may be secrets; a sentence with one is never kept."""
HEADER = re.compile(_TABLE["_header"].pattern)
"""The words of a line that ends in a colon, whose list is kept."""
REASON = re.compile(_TABLE["_reason"].pattern)
"""The beginning of a sentence that says why."""
