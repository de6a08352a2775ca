"""Languages other than English: a table of cues each, and detection of a text's language.

English has cues of its own (`query_cues`, `memory_cues`); a text that is in none of these languages
is read by them.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from salience.language.cues import read_table
from salience.language.english import STOP_WORDS
from salience.language.languages.table import SCRIPTS, Language, read_language, script_of, writing

_IN_LATIN = {
    "de": "German",
    "nl": "Dutch",
    "fr": "French",
    "it": "Italian",
    "es": "Spanish",
    "pt": "Portuguese",
}
_OF_SCRIPT = {"cyrillic": "ru", "hangul": "ko", "kana": "ja", "han": "zh"}
_NAMES = _IN_LATIN | {"ru": "Russian", "ko": "Korean", "ja": "Japanese", "zh": "Chinese"}
# Words of English, too, tell no language alone, and neither do letters.
_ENGLISH = STOP_WORDS.union(
    "abcdefghijklmnopqrstuvwxyz", "met die hat war den im come son pour par van bin ton".split()
)
# Beside words of English, this one is a bean.
_ENGLISH_TOO = _ENGLISH | {"soy"}


LANGUAGES = tuple(_NAMES)
"""The codes of these languages (ISO 639-1)."""


@cache
def language_of_code(code: str) -> Language:
    """The table of one of the `LANGUAGES`, which is read when it is first asked for."""
    is_spaced = code not in ("ko", "ja", "zh")
    is_capital_a_name = code != "de"  # every noun has one
    return read_language(
        code, _NAMES[code], is_spaced=is_spaced, is_capital_a_name=is_capital_a_name
    )


ENGLISH = read_language("en", "English", stop_words=STOP_WORDS)
"""States in English; its other cues are in `query_cues` and `memory_cues`."""
STATE_WORDS = frozenset(read_table("en")["state_words"].words)
"""One of these is in every state of English, and quick to look for."""
_MIN_KANA = 0.1  # of the words of a Japanese text


def language_of(words: Collection[str]) -> Language | None:
    """The language of a text with these folded words; None for English, or if it is not known.

    Another script decides by itself. In Latin script that language is taken which has the most of
    its stop words in the text, of which its `marks` count twice: at least two, not all of them
    words of English, and more than there are English stop words. Of two with as many, it is the one
    with more that are its own.
    """
    distinct = frozenset(words)
    if "".join(distinct).isascii():
        return _latin(distinct)
    place, share = writing([*words])
    if share < 0.5:
        return _latin(distinct)
    script = SCRIPTS[place]
    if script == "han":
        kana = sum(script_of(word) == "kana" for word in words)
        script = "kana" if kana >= _MIN_KANA * len(words) else script
    return language_of_code(_OF_SCRIPT[script]) if script in _OF_SCRIPT else None


@cache
def _in_latin() -> tuple[frozenset[str], list[tuple[Language, frozenset[str], frozenset[str]]]]:
    """Words of all languages but English, and each with its evidence, and that for it alone."""
    read = [language_of_code(code) for code in _IN_LATIN]
    listed = [
        (
            one,
            one.stop_words | one.marks,
            one.stop_words.difference(*(other.stop_words for other in read if other is not one)),
        )
        for one in read
    ]
    return frozenset().union(*(evidence for _, evidence, _ in listed)) - _ENGLISH, listed


def _latin(distinct: frozenset[str]) -> Language | None:
    foreign, languages = _in_latin()
    if distinct.isdisjoint(foreign):
        return None
    english = len(distinct & STOP_WORDS)
    if 2 * english > len(distinct):
        return None
    best, most = None, (max(1, english), len(distinct))
    shared = _ENGLISH_TOO if english else _ENGLISH
    for language, evidence, distinctive in languages:
        there = distinct & evidence
        count = len(there) + len(distinct & language.marks)
        if (count, len(distinct & distinctive)) > most and not there <= shared:
            best, most = language, (count, len(distinct & distinctive))
    return best
