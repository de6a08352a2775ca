"""Scripts: in which a word is written, and which share of a text is not in Latin script."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

_RANGES = (  # first code point, script; up to the next one
    (0x0000, "latin"),
    (0x0370, "greek"),
    (0x0400, "cyrillic"),
    (0x0530, "armenian"),
    (0x0590, "hebrew"),
    (0x0600, "arabic"),
    (0x0700, "other"),
    (0x0750, "arabic"),
    (0x0780, "other"),
    (0x0900, "devanagari"),
    (0x0980, "bengali"),
    (0x0A00, "other"),
    (0x0B80, "tamil"),
    (0x0C00, "other"),
    (0x0E00, "thai"),
    (0x0E80, "other"),
    (0x10A0, "georgian"),
    (0x1100, "hangul"),
    (0x1200, "other"),
    (0x1780, "khmer"),
    (0x1800, "other"),
    (0x1E00, "latin"),
    (0x1F00, "greek"),
    (0x2000, "latin"),
    (0x2E80, "han"),
    (0x3040, "kana"),
    (0x3100, "han"),
    (0x3130, "hangul"),
    (0x3190, "han"),
    (0x31F0, "kana"),
    (0x3200, "han"),
    (0xAC00, "hangul"),
    (0xD7B0, "other"),
    (0xF900, "han"),
    (0xFB00, "latin"),
    (0xFB1D, "hebrew"),
    (0xFB50, "arabic"),
    (0xFE70, "arabic"),
    (0xFF00, "latin"),
    (0xFF66, "kana"),
    (0xFFA0, "hangul"),
    (0xFFE0, "other"),
    (0x20000, "han"),
    (0x32000, "other"),
)
_STARTS = tuple(start for start, _ in _RANGES)
SCRIPTS = ("latin", *sorted({script for _, script in _RANGES} - {"latin"}))
"""The scripts that are told apart; their places are stored, so a new one comes at the end."""
_PLACE_OF = {script: place for place, script in enumerate(SCRIPTS)}
LATIN = (0, 0.0)
"""The `writing` of a text in Latin script."""


def script_of(word: str) -> str:
    """The script of a word's first character; a figure counts as Latin."""
    return _RANGES[bisect_right(_STARTS, ord(word[0])) - 1][1]


def writing(words: Sequence[str]) -> tuple[int, float]:
    """The script that a text is written in besides Latin, and the share of words not in Latin.

    The script is its place in `SCRIPTS`: the most frequent one that is not Latin. A figure is no
    word.
    """
    counts = Counter(script_of(word) for word in words if not word.isdecimal())
    total, latin = counts.total(), counts.pop("latin", 0)
    if not counts:
        return LATIN
    most = min(counts, key=lambda script: (-counts[script], _PLACE_OF[script]))
    return _PLACE_OF[most], (total - latin) / total
