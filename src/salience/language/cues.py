"""The table of cues: patterns and word lists that tell something about a text.

A cue is registered where it is defined, as the compiled pattern or the set of words that the code
uses. Its row says what it is for, and shows a text that it catches and one that it must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from salience.language.tokens import words


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
        if isinstance(self.matcher, re.Pattern):
            return self.matcher.search(text) is not None
        return not self.matcher.isdisjoint(words(text))


CUES: dict[str, Cue] = {}
"""Every cue by its name."""


def pattern_cue(
    name: str, purpose: str, pattern: str, *, catches: str, must_not_catch: str
) -> re.Pattern[str]:
    """Register a pattern as a cue, and return it compiled."""
    compiled = re.compile(pattern)
    CUES[name] = Cue(name, purpose, compiled, catches, must_not_catch)
    return compiled


def word_cue(
    name: str, purpose: str, listed: str | Iterable[str], *, catches: str, must_not_catch: str
) -> frozenset[str]:
    """Register words, given as a set or separated by spaces, as a cue, and return their set."""
    distinct = frozenset(listed.split() if isinstance(listed, str) else listed)
    CUES[name] = Cue(name, purpose, distinct, catches, must_not_catch)
    return distinct
