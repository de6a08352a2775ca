"""Junk: texts that can answer no question, recognised by a few plain rules.

Each rule looks at the text alone and gives its reason. None of them judges what a text means.
"""

from __future__ import annotations

import re
from collections import Counter

from salience.write.dedup.recall_loop import MEMORY_REFERENCE

_WORD = re.compile(r"[^\W_]+")
_PLACEHOLDERS = frozenset(
    "null none nil undefined nan n/a na tbd todo test testing untitled lorem ipsum".split()
)
_SMALL_TALK = frozenset(
    (
        "ok okay yes no yeah yep nope sure thanks thank you hi hello hey bye goodbye great cool "
        "nice done please welcome"
    ).split()
)
_BLOB_CHARACTERS = 200  # without a space: no language has such words
_REPEATED_MIN_WORDS = 12
_REPEATED_SHARE = 0.8  # of the words of a text that are one and the same


def junk_reason(text: str) -> str | None:
    """The reason why a text is junk; None if it may say something.

    In this order: it has no letter or digit; it is only a placeholder ("null", "TODO"); it is only
    small talk ("ok", "thanks!"), of at most three words; one word makes up 80 % of 12 or more;
    a run of 200 characters without a space is most of it; two or more memories were copied into it
    out of a context that salience wrote.
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    if not words:
        return "has no letter or digit"
    bare = text.strip().strip("\"'.!?()[]{}<> ").casefold()
    if bare in _PLACEHOLDERS:
        return f"is only a placeholder: {bare}"
    if len(words) <= 3 and _SMALL_TALK.issuperset(words):
        return f"is only small talk: {' '.join(words)}"
    most, count = Counter(words).most_common(1)[0]
    if len(words) >= _REPEATED_MIN_WORDS and count >= _REPEATED_SHARE * len(words):
        return f"says {most!r} {count} times in {len(words)} words"
    longest = max(map(len, text.split()))
    if (
        longest >= _BLOB_CHARACTERS
        and longest > len(text) / 2
        and text.isascii()
        and "://" not in text
    ):
        return f"is a run of {longest:,} characters without a space"
    copied = len(MEMORY_REFERENCE.findall(text))
    if copied > 1:
        return f"repeats {copied} memories out of a context"
    return None
