"""Trigrams of a text, and the similarity of two sets of them, as in pg_trgm."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")


def trigrams(text: str) -> frozenset[str]:
    """The trigrams of a text as in pg_trgm.

    Each word (a run of letters and digits, case-folded) is padded with two spaces before and one
    after it; its trigrams are all windows of three characters.

    Source: PostgreSQL 18 documentation, appendix F.35, pg_trgm.
    """
    windows: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        padded = f"  {word} "
        windows.update(padded[i : i + 3] for i in range(len(padded) - 2))
    return frozenset(windows)


def trigram_similarity(left: frozenset[str], right: frozenset[str]) -> float:
    """|A n B| / |A u B| of two trigram sets, 0 when either is empty; in [0, 1] (pg_trgm)."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if shared else 0.0
