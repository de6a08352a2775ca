"""Secrets in a text: keys, which have a shape, and passwords and PINs that it states."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from salience.language.cues import read_table
from salience.lazily import regex

Secret = Literal["key", "password"]
_LEAST_KEY = 14  # characters without a blank, but for an address and a private key
_KEY = regex(lambda: read_table("secrets")["key"].pattern, re.I)
_TOLD = regex(lambda: read_table("secrets")["told"].pattern, re.I)


@cache
def _signs(in_ascii: bool) -> tuple[str, ...]:
    """The signs that a text may have, which is in ASCII or not."""
    return tuple(s for s in read_table("secrets")["_signs"].words if s.isascii() or not in_ascii)


def secret_in(text: str) -> Secret | None:
    """The kind of secret that a text seems to hold, None for none.

    Most texts have no long run of characters and no sign, and cost no pattern.
    """
    is_long = max(map(len, text.split()), default=0) >= _LEAST_KEY
    if (is_long or "://" in text or "-----" in text) and _KEY.search(text):
        return "key"
    lines = filter(_has_sign, text.splitlines()) if _has_sign(text) else ()
    return "password" if any(_TOLD.search(line) for line in lines) else None


def _has_sign(text: str) -> bool:
    return any(map(text.casefold().__contains__, _signs(text.isascii())))
